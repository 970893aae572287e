"""`artifacts` and `cache`: export, import and share artifacts and replies."""

import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest
from toy_runs import TOY, command, command_error, plan_of, reader_prompts, run_folder

from graphrag_bench.artifacts import sharing
from graphrag_bench.errors import UserError

pytestmark = pytest.mark.usefixtures("copied")

HIPPORAG = [*TOY, "method=hipporag", "reference_rows=off"]
BUILT = [HIPPORAG]
KEY = "sk-planted-0123456789abcdef"


def key_of(resource):
    return next(Path("artifacts/toy", resource).glob("*/recipe.json")).parent.name


def files_below(folder):
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}  # fmt: skip


def test_an_imported_graph_has_its_inputs_and_is_reused():
    a, b = "a.tar.gz", "b.tar.gz"
    exported, _ = (command("artifacts", "export", key_of("graph")[:6], name) for name in (a, b))
    assert Path(a).read_bytes() == Path(b).read_bytes()
    imported = command("artifacts", "import", a, "--home", "theirs")
    assert imported.out.count("new: ") == int(exported.out.split()[0]) >= 4
    assert files_below(Path("theirs/artifacts")).items() <= files_below(Path("artifacts")).items()
    plan = plan_of(*HIPPORAG, "paths.home=theirs")
    assert "reuse  graph.kg_synonymy" in plan and "reuse  extraction" in plan


@pytest.mark.parametrize("file", ["source.npy", "recipe.json"])
def test_a_changed_archive_is_refused_as_a_whole(file):
    command("artifacts", "export", key_of("graph"), "graph.tar.gz")
    with tarfile.open("graph.tar.gz") as old, tarfile.open("bad.tar.gz", "w:gz") as new:
        for info in old:
            text = old.extractfile(info).read()
            if info.name.endswith(file):
                text = text[:-1] + bytes([text[-1] ^ 1]) if file == "source.npy" else b"{}"
            info.size = len(text)
            new.addfile(info, io.BytesIO(text))
    with pytest.raises(UserError, match=file):
        sharing.import_artifacts(Path("bad.tar.gz"), Path("theirs/artifacts"))
    assert not files_below(Path("theirs"))


def test_only_graphs_have_health_and_are_exported_as_graphml():
    other = key_of("extraction")
    for words in (("health", other), ("export", other, "graph.graphml")):
        assert other in command_error(*words, name="artifacts")


def test_a_shared_store_is_read_only():
    shutil.copytree("artifacts", "group")
    before = files_below(Path("group"))
    words = [*HIPPORAG, "answer=off", "paths.home=mine", "paths.shared_artifacts=group"]
    for more, n_new in (((), 0), (("method.damping=0.3", "build.graph.synonymy=add"), 1)):
        run_folder(*words, *more)
        assert len(list(Path("mine").glob("artifacts/toy/*/*/recipe.json"))) == n_new
    assert files_below(Path("group")) == before


def test_exported_replies_are_reused_in_another_home():
    ((model, counts),) = json.loads(command("cache", "stats", "--json").out).items()
    assert model.startswith("scripted:") and (counts["usd"], counts["valid"]) == (0, 6)
    name = "shared.jsonl.gz"
    for words in (("export", name), ("import", name, "--home", "other")):
        assert command("cache", *words).out.startswith("6 rows ")
    reader_prompts.clear()
    run_folder(*HIPPORAG, "paths.home=other")
    assert not reader_prompts


def test_no_file_has_the_api_key(fake, home, monkeypatch):
    monkeypatch.setenv("PLANTED_KEY", KEY)
    url = fake.scenario(key=KEY, text=f"the key is {KEY}")
    of_server = ["llm=openai_compatible", "llm.model=fake", f"llm.base_url={url}"]
    of_server += ["llm.api_key_env=PLANTED_KEY", "embedder=hashing", "reference_rows=off"]
    run_folder("dataset=toy", "method=vanilla", *of_server, "paths.home=paid")
    exported = command("cache", "export", "paid/shared.jsonl", "--home", "paid")
    assert exported.out.split()[0] == "6"
    for path in home.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path
