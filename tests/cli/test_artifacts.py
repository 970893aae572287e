"""`graphrag-bench artifacts`: export, import, a changed archive, and a shared store."""

import io
import shutil
import tarfile
from pathlib import Path

import pytest
from toy_runs import TOY, command, plan_of, records, refused, run_folder

from graphrag_bench.artifacts import sharing
from graphrag_bench.errors import UserError

pytestmark = pytest.mark.usefixtures("copied")

HIPPORAG = [*TOY, "method=hipporag", "answer=off"]
BUILT = [HIPPORAG]


def key_of(resource: str) -> str:
    return next(Path("artifacts/toy", resource).glob("*/recipe.json")).parent.name


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}  # fmt: skip


def test_an_exported_graph_comes_with_its_inputs_and_is_not_built_again() -> None:
    exported = [
        command("artifacts", "export", key_of("graph")[:6], name)
        for name in ("a.tar.gz", "b.tar.gz")
    ]
    assert Path("a.tar.gz").read_bytes() == Path("b.tar.gz").read_bytes()
    choice = command("artifacts", "import", "a.tar.gz", "--home", "theirs")
    assert choice.out.count("new: ") == int(exported[0].out.split()[0]) >= 4
    assert files_below(Path("theirs/artifacts")).items() <= files_below(Path("artifacts")).items()
    plan = plan_of(*HIPPORAG, "paths.home=theirs")
    assert "reuse  graph.kg_synonymy" in plan and "reuse  extraction" in plan


@pytest.mark.parametrize("file", ["source.npy", "recipe.json"])
def test_a_changed_archive_is_refused_and_nothing_is_taken_from_it(file: str) -> None:
    command("artifacts", "export", key_of("graph"), "graph.tar.gz")
    with tarfile.open("graph.tar.gz") as old, tarfile.open("bad.tar.gz", "w:gz") as new:
        for info in old:
            content = old.extractfile(info)
            assert content is not None
            text = content.read()
            if info.name.endswith(file):
                text = text[:-1] + bytes([text[-1] ^ 1]) if file == "source.npy" else b"{}"
            info.size = len(text)
            new.addfile(info, io.BytesIO(text))
    with pytest.raises(UserError, match=file):
        sharing.import_artifacts(Path("bad.tar.gz"), Path("theirs/artifacts"))
    assert not files_below(Path("theirs"))


def test_an_exported_graph_can_be_imported_as_a_graph() -> None:
    name = "graph.graphml"
    assert command("artifacts", "export", key_of("graph"), name).code == 0
    other = key_of("extraction")
    assert other in refused("export", other, name, name="artifacts")
    folder = run_folder(*HIPPORAG, f"graph.import_from={name}", "paths.home=new")
    assert records(folder)[0]["documents"]


def test_a_shared_store_is_read_and_never_written() -> None:
    shutil.copytree("artifacts", "group")
    before = files_below(Path("group"))
    words = [*HIPPORAG, "paths.home=mine", "paths.shared_artifacts=group"]
    run_folder(*words)
    assert not list(Path("mine").glob("artifacts/toy/*/*/recipe.json"))
    run_folder(*words, "method.damping=0.3", "build.graph.synonymy=add")
    assert files_below(Path("group")) == before
    assert [path.parent.parent.name for path in Path("mine").glob("artifacts/toy/*/*/recipe.json")]
