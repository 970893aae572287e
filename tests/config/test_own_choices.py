"""Methods, data sets, models and packages of one's own, used from outside the checkout."""

from pathlib import Path

import pytest
from toy_runs import TOY, command, plan_of, ran

import graphrag_bench as gb
from graphrag_bench.cli.parsing import with_folders
from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.sources import method_file, read
from graphrag_bench.errors import UserError

METHOD = """name: {name}
title: {title}
top_k: 2
retrieve:
  - {{op: chunk.bm25, top_k: 4}}
generate:
  - {{op: context.chunks, top_k: "${{method.top_k}}"}}
  - {{op: answer.direct, use: [context], prompt: "methods:vanilla/prompts/answer.j2"}}
"""
OPERATOR = '''
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.values import Chunk, Question, Ranked


@operator("lab.first")
def first(question: Question, *, chunk_table: ChunkTable, top_k: int = 3) -> Ranked[Chunk]:
    """The first chunks of the corpus."""
    return Ranked[Chunk].top([-row for row in range(len(chunk_table))], top_k)
'''
NO_ANSWER = ["answer=off", "reference_rows=off"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory outside the checkout."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def write(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(METHOD.format(name=name, title=name.title()), encoding="utf-8")
    return path


PLACES = {
    "a relative path": ("mine.yaml", ["method=./mine.yaml"]),
    "a path with a blank": ("my own/mine.yaml", ["method='./my own/mine.yaml'"]),
    "configs of the working directory": ("configs/method/mine.yaml", ["method=mine"]),
    "--config-dir": ("else/method/mine.yaml", ["method=mine", "--config-dir", "else"]),
    "hydra.searchpath": ("else/method/mine.yaml", ["method=mine", "hydra.searchpath=[else]"]),
    "a plug-in": ("mylab/configs/method/mine.yaml", ["method=mine", "plugins=[mylab]"]),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_method_of_ones_own_is_found_wherever_it_is(place: str, here: Path) -> None:
    file, words = PLACES[place]
    write(here / file, "mine")
    (here / "mylab").mkdir(exist_ok=True)
    (here / "mylab" / "__init__.py").touch()
    assert composed(with_folders(["dataset=toy", *words]))["method"]["title"] == "Mine"


@pytest.mark.slow
def test_a_run_finds_it_too_and_python(here: Path) -> None:
    write(here / "else" / "method" / "mine.yaml", "mine")
    words = ["method=mine", "--config-dir", "else"]
    assert ran(*TOY, *NO_ANSWER, *words).methods == ["mine"]
    values = composed(["dataset=toy", "method=./else/method/mine.yaml"])
    assert gb.method("./else/method/mine.yaml").method == values["method"]
    assert gb.method("mine", embedder="hashing").experiment(gb.dataset("toy")).method.name == "mine"


def test_data_sets_models_and_studies_are_files_too(here: Path) -> None:
    write(here / "mine.yaml", "mine")
    (here / "set.yaml").write_text("defaults: [world]\nsize: 20\nhops: 1\n")
    (here / "reader.yaml").write_text("_target_: toy_runs.reader\n")
    file = here / "configs" / "experiment" / "named.yaml"
    file.parent.mkdir(parents=True)
    file.write_text('defaults:\n  - override /method: ./mine.yaml\nanswer: "off"\n')
    values = composed(["dataset=./set.yaml", "llm=./reader.yaml", "experiment=named"])
    assert values["dataset"] == {"name": "world", "size": 20, "hops": 1}
    assert values["llm"] == {"_target_": "toy_runs.reader"}
    assert (values["method"]["name"], values["answer"]) == ("mine", "off")


def test_a_file_may_change_a_few_settings_of_a_built_in_method(here: Path) -> None:
    (here / "mine.yaml").write_text("defaults: [vanilla]\nname: mine\ntop_k: 1\n")
    method, base = (composed([f"method={one}"])["method"] for one in ("./mine.yaml", "vanilla"))
    assert method["top_k"] == 1
    assert method["retrieve"] == base["retrieve"]


def test_an_own_file_comes_before_ours_but_a_method_has_a_name_of_its_own(here: Path) -> None:
    other = write(here / "mine.yaml", "vanilla")
    with pytest.raises(UserError, match=str(other)):
        composed(["method=./mine.yaml"])
    write(here / "configs" / "method" / "vanilla.yaml", "mine")
    assert composed(["method=vanilla"])["method"]["name"] == "mine"


def test_an_own_file_that_is_edited_is_read_again_by_python(here: Path) -> None:
    own = here / "configs" / "chunking" / "mine.yaml"
    own.parent.mkdir(parents=True)
    for size in (50, 60):
        own.write_text(f"variant: token\nsize: {size}\n")
        values = composed(["dataset=toy", "chunking=mine"], method=method_file("vanilla"))
        assert values["chunking"]["size"] == size


def test_a_file_that_cannot_be_read_hurts_only_who_asks_for_it(here: Path) -> None:
    write(here / "configs" / "method" / "mine.yaml", "mine")
    broken = here / "configs" / "method" / "broken.yaml"
    broken.write_text("name: broken\nretrieve:\n  - {op: chunk.bm25\ngenerate: []\n")
    assert composed(["method=mine"])["method"]["name"] == "mine"
    with pytest.raises(UserError, match=f"{broken}, line 4"):
        composed(["method=broken"])
    listed = command("list").out
    assert f"method broken: {broken}, line 4" in listed and "yours, method: mine" in listed


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"\xff\xfe", "utf-8"),
        (b"- a\n- b\n", "a mapping"),
        (b"name: x\nname: y\n", "line 2: "),
        (b"name: mine\nfile: x\n", "'file'"),
    ],
)
def test_what_is_no_method_is_named_with_its_file(content: bytes, name: str, here: Path) -> None:
    (here / "mine.yaml").write_bytes(content)
    with pytest.raises(UserError, match=name) as refusal:
        composed(["method=./mine.yaml"])
    assert str(here / "mine.yaml") in str(refusal.value)


def test_numbers_and_dates_of_a_file_are_those_of_omegaconf(here: Path) -> None:
    (here / "any.yaml").write_text("a: 1e-3\nb: 2024-01-01\nc: .5\nd: 1e5\n")
    assert read(here / "any.yaml") == {"a": 0.001, "b": "2024-01-01", "c": 0.5, "d": 100000.0}


def lab(name: str, init: str, **modules: str) -> None:
    Path(name).mkdir()
    Path(name, "__init__.py").write_text(init)
    for module, text in modules.items():
        Path(name, f"{module}.py").write_text(text)


def test_a_package_of_the_working_directory_comes_beside_the_built_in_ones(
    here: Path, open_registries: None
) -> None:
    lab("mylab_one", "from mylab_one import retrieval\n", retrieval=OPERATOR)
    file = write(here / "mine.yaml", "mine")
    file.write_text(file.read_text().replace("op: chunk.bm25", "op: lab.first"))
    assert "lab.first" in plan_of("plugins=[mylab_one]", *TOY, *NO_ANSWER, "method=./mine.yaml")


@pytest.mark.parametrize(
    ("name", "init", "retrieval", "said"),
    [
        ("mylab_three", "from mylab_three import retrieval\n", "x = 1\ny = x.nothing\n",
         ['mylab_three/retrieval.py", line 2', "AttributeError"]),
        ("nowhere", "", "", ["'nowhere_'"]), ("mylab_four.nowhere", "", "", ["nowhere"]),
        ("../mylab", "", "", ["'../mylab_'"]),
    ],
)  # fmt: skip
def test_a_package_that_cannot_be_used_is_refused_with_the_reason(
    name: str, init: str, retrieval: str, said: list[str]
) -> None:
    if name.isidentifier() and retrieval:
        lab(name, init, retrieval=retrieval)
    else:
        name = f"{name}_"
    with pytest.raises(UserError) as refusal:
        load_plugins([name])
    assert [one for one in said if one not in str(refusal.value)] == []
    assert "graphrag_bench/" not in str(refusal.value)
