"""`graphrag-bench artifacts`: what was built, listed, packed, taken over, and read from others."""

import io
import shutil
import tarfile
from pathlib import Path

import pytest
from toy_runs import TOY, command, plan_of, records, refused, run_folder

from graphrag_bench.artifacts import sharing
from graphrag_bench.errors import UserError
from graphrag_bench.explain.funnel import run_funnel
from graphrag_bench.run.stored import find_run

pytestmark = pytest.mark.usefixtures("copied")

HIPPORAG = [*TOY, "method=hipporag", "answer=off"]
BUILT = [HIPPORAG]


def key_of(resource: str) -> str:
    return next(Path("artifacts/toy", resource).glob("*/recipe.json")).parent.name


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}  # fmt: skip


def test_an_exported_graph_comes_with_what_it_is_built_from_and_is_not_built_again() -> None:
    exported = command("artifacts", "export", key_of("graph")[:6], "graph.tar.gz")
    choice = command("artifacts", "import", "graph.tar.gz", "--home", "theirs")
    assert choice.out.count("new: ") == int(exported.out.split()[0]) >= 4
    mine, theirs = files_below(Path("artifacts")), files_below(Path("theirs/artifacts"))
    assert theirs.items() <= mine.items()
    plan = plan_of(*HIPPORAG, "paths.home=theirs")
    assert "reuse  graph.kg_synonymy" in plan and "reuse  extraction" in plan


def test_equal_artifacts_give_equal_archives() -> None:
    assert exported("a.tar.gz").read_bytes() == exported("b.tar.gz").read_bytes()


def exported(name: str) -> Path:
    """The graph and all that it is built from, as an archive."""
    folder = Path("artifacts")
    graph = sharing.find(folder, key_of("graph"))
    sharing.export_artifacts(sharing.with_inputs(folder, graph), Path(name))
    return Path(name)


def repacked(change: str) -> None:
    """graph.tar.gz with one thing changed, as bad.tar.gz."""
    with tarfile.open("graph.tar.gz") as old, tarfile.open("bad.tar.gz", "w:gz") as new:
        for info in old:
            content = old.extractfile(info)
            assert content is not None
            text = content.read()
            if change == "content" and info.name.endswith("source.npy"):
                text = text[:-1] + bytes([text[-1] ^ 1])
            if change == "key" and info.name.endswith("recipe.json"):
                text = text.replace(b'"builder": "', b'"builder": "x')
            info.size = len(text)
            new.addfile(info, io.BytesIO(text))


@pytest.mark.parametrize("change, file", [("content", "source.npy"), ("key", "recipe.json")])
def test_a_changed_archive_is_refused_and_nothing_is_taken_from_it(change: str, file: str) -> None:
    exported("graph.tar.gz")
    repacked(change)
    with pytest.raises(UserError, match=file):
        sharing.import_artifacts(Path("bad.tar.gz"), Path("theirs/artifacts"))
    assert not files_below(Path("theirs"))


def test_an_exported_graph_can_be_imported_as_a_graph() -> None:
    name = "graph.graphml"
    export = command("artifacts", "export", key_of("graph"), name)
    assert export.code == 0 and "nodes and" in export.out
    other = key_of("extraction")
    assert other in refused("export", other, name, name="artifacts")
    folder = run_folder(*HIPPORAG, f"graph.import_from={name}", "paths.home=new")
    assert records(folder)[0]["documents"]


def test_a_shared_store_is_read_and_never_written(home: Path) -> None:
    shutil.copytree("artifacts", "group")
    before = files_below(Path("group"))
    words = [*HIPPORAG, "paths.home=mine", "paths.shared_artifacts=group"]
    assert "build  " not in plan_of(*words).partition("steps")[0]
    run = find_run(str(run_folder(*words)), ".")
    assert not run_funnel(run, home).unknown
    assert files_below(Path("group")) == before
    assert not list(Path("mine").glob("artifacts/toy/*/*/recipe.json"))
    more = [*words, "method.damping=0.3", "build.graph.synonymy=add"]
    run_folder(*more)
    assert files_below(Path("group")) == before
    assert [path.parent.parent.name for path in Path("mine").glob("artifacts/toy/*/*/recipe.json")]
