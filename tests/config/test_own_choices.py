"""Methods, data sets, models and studies in files of one's own, used from outside the checkout."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from toy_runs import TOY, command, ran, refused

import graphrag_bench as gb
from graphrag_bench.config.compose import composed
from graphrag_bench.errors import UserError

pytestmark = pytest.mark.slow

METHOD = """name: {name}
title: {title}
top_k: 2
retrieve:
  - {{op: chunk.bm25, top_k: 4}}
generate:
  - {{op: context.chunks, top_k: "${{method.top_k}}"}}
  - {{op: answer.direct, use: [context], prompt: "methods:vanilla/prompts/answer.j2"}}
"""
NO_ANSWER = ["answer=off", "reference_rows=off"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory outside the checkout; what is looked into besides is put back after."""
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("mylab", None)
    yield tmp_path


def write(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(METHOD.format(name=name, title=name.title()), encoding="utf-8")
    return path


PLACES = {
    "a relative path": ("mine.yaml", ["method=./mine.yaml"]),
    "a path with a blank": ("my own/mine.yaml", ["method='./my own/mine.yaml'"]),
    "configs of the working directory": ("configs/method/mine.yaml", ["method=mine"]),
    "--config-dir": ("else/method/mine.yaml", ["method=mine", "--config-dir", "else"]),
    "--config-dir=": ("else/method/mine.yaml", ["method=mine", "--config-dir=else"]),
    "hydra.searchpath": ("else/method/mine.yaml", ["method=mine", "hydra.searchpath=[else]"]),
    "a plug-in": ("mylab/configs/method/mine.yaml", ["method=mine", "plugins=[mylab]"]),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_method_of_ones_own_runs_from_wherever_it_is(place: str, here: Path) -> None:
    file, words = PLACES[place]
    write(here / file, "mine")
    (here / "mylab").mkdir(exist_ok=True)
    (here / "mylab" / "__init__.py").touch()
    ended = ran(*TOY, *NO_ANSWER, *words)
    assert ended.methods == ["mine"]
    assert "Mine" in ended.out
    assert "method.top_k = 2" in command("plan", *TOY, *words).out


def test_the_command_line_and_python_find_the_same_file(here: Path) -> None:
    write(here / "mine.yaml", "mine")
    values = composed(["dataset=toy", "embedder=hashing", "method=./mine.yaml"])
    assert gb.method("./mine.yaml").method == values["method"]


def test_data_sets_models_and_studies_are_files_too(here: Path) -> None:
    write(here / "mine.yaml", "mine")
    (here / "set.yaml").write_text("name: toy\n")
    (here / "reader.yaml").write_text("_target_: toy_runs.reader\n")
    (here / "vectors.yaml").write_text("_target_: graphrag_bench.models.embedder.Hashing\n")
    study = 'defaults:\n  - override /method: ./mine.yaml\nanswer: "off"\nreference_rows: "off"\n'
    for file in (here / "study.yaml", here / "configs" / "experiment" / "named.yaml"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(study)
    words = ["dataset=./set.yaml", "llm=./reader.yaml", "embedder=./vectors.yaml"]
    for experiment in ("./study.yaml", "named"):
        assert ran(*words, f"experiment={experiment}").methods == ["mine"]


def test_a_file_may_change_a_few_settings_of_a_built_in_method(here: Path) -> None:
    (here / "mine.yaml").write_text("defaults: [vanilla]\nname: mine\ntop_k: 1\n")
    values = composed(["method=./mine.yaml"])
    assert values["method"]["top_k"] == 1
    base = composed(["method=vanilla"])
    assert values["method"]["retrieve"] == base["method"]["retrieve"]


def test_an_own_file_comes_before_ours_but_a_method_has_a_name_of_its_own(here: Path) -> None:
    other = write(here / "mine.yaml", "vanilla")
    assert str(other) in refused(*TOY, "method=./mine.yaml")
    write(here / "configs" / "method" / "vanilla.yaml", "mine")
    assert composed(["method=vanilla"])["method"]["name"] == "mine"


def test_a_data_set_of_ones_own_is_found_by_name(here: Path) -> None:
    own = here / "configs" / "dataset" / "small.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("defaults: [world]\nsize: 20\nhops: 1\n")
    assert composed(["dataset=small"])["dataset"] == {"name": "world", "size": 20, "hops": 1}
    assert f"small ({own})" in command("list").out
    assert "'musique'" in refused("dataset=musiqe", "method=bm25")


def test_a_file_that_cannot_be_read_hurts_only_who_asks_for_it(here: Path) -> None:
    write(here / "configs" / "method" / "mine.yaml", "mine")
    broken = here / "configs" / "method" / "broken.yaml"
    broken.write_text("name: broken\nretrieve:\n  - {op: chunk.bm25\ngenerate: []\n")
    assert ran(*TOY, "answer=off", "method=mine").methods == ["mine", "bm25", "vanilla"]
    for name in ("run", "plan"):
        said = refused(*TOY, "method=broken", name=name)
        assert f"{broken}, line 4:" in said
        assert len(said.splitlines()) == 1
    assert f"method broken: {broken}, line 4" in command("list").out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe", "utf-8"),
        (b"- a\n- b\n", "a mapping was expected"),
        (b"name: x\nname: y\n", "line 2: "),
        (b"name: mine\nfile: x\n", "'file' is not a parameter's name"),
    ],
)
def test_what_is_no_method_is_named_with_its_file(content: bytes, said: str, here: Path) -> None:
    (here / "mine.yaml").write_bytes(content)
    message = refused(*TOY, "method=./mine.yaml")
    assert str(here / "mine.yaml") in message
    assert said in message


def test_a_path_and_a_folder_that_are_not_there_are_refused() -> None:
    assert "nowhere" in refused(*TOY, "method=./nowhere.yaml")
    assert "nowhere" in refused(*TOY, "--config-dir", "nowhere")


def test_python_takes_files_folders_and_plug_ins(here: Path) -> None:
    write(here / "mine.yaml", "mine")
    write(here / "configs" / "method" / "named.yaml", "named")
    write(here / "mylab" / "configs" / "method" / "ours.yaml", "ours")
    (here / "mylab" / "__init__.py").touch()
    for name in ("./mine.yaml", "named"):
        run = gb.method(name, embedder="hashing", llm="scripted").run("toy", answer="off")
        assert run.metrics["n"] == 6
    lab = gb.method("ours", plugins=["mylab"], embedder="hashing", llm="scripted")
    assert lab.run("toy", answer="off").folder.parent.name == "ours"
    with pytest.raises(UserError, match="nowhere"):
        gb.method("./nowhere.yaml")


def test_an_unused_parameter_of_an_own_file_is_refused_as_in_a_built_in_one(here: Path) -> None:
    file = write(here / "mine.yaml", "mine")
    file.write_text(file.read_text() + "idle: 3\n")
    assert "'method.idle' of 'mine' is read by no step" in refused(*TOY, "method=./mine.yaml")
    assert "top_k" in refused(*TOY, "method=./mine.yaml", "method.topk=3")
