"""The recipes in scripts/reproduce name tables that are there, and their runs can be planned."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS, command

import graphrag_bench
from graphrag_bench.report.papers import load_paper, load_table, paper_names

FOLDER = Path(graphrag_bench.__file__).parents[1] / "scripts" / "reproduce"
PAPERS = ("zhou2025", "pathrag", "pathcorag", "pankrag", "pathpooling")
VERBS = {"run", "plan", "table", "fetch", "questions", "judge", "compare", "time"}
RUNS = ("run", "plan")
MODELS = ("llm=", "llm.", "embedder=", "embedder.")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def commands(text: str) -> list[list[str]]:
    """The words of every command of a script or page, without the program's name and `$@`."""
    lines = [line.strip() for line in text.replace("\\\n", " ").splitlines()]
    found = [shlex.split(line) for line in lines if line.startswith("graphrag-bench ")]
    return [[word for word in words[1:] if word != "$@"] for words in found]


FILES = sorted(path for path in FOLDER.rglob("*") if path.suffix in (".sh", ".md"))
GIVEN = [(path.relative_to(FOLDER).as_posix(), words)
         for path in FILES for words in commands(path.read_text(encoding="utf-8"))]  # fmt: skip
RECIPES = [(f"{paper}/{name}", words)
           for paper in paper_names()
           for name, shape in load_paper(paper).tables.items()
           for words in commands("\n".join(shape.recipe))]  # fmt: skip


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_has_recipes_at_its_settings_and_small_ones(paper: str) -> None:
    names = {path.name for path in (FOLDER / paper).iterdir()}
    assert names == {"README.md", "paper.sh", "small.sh"}
    text = (FOLDER / paper / "README.md").read_text(encoding="utf-8")
    assert all(f"**{word}.**" in text for word in ("Data", "Models", "Settings", "Cost", "Tables"))


def test_every_word_after_the_program_is_a_command() -> None:
    assert {words[0] for _, words in GIVEN} <= VERBS


@pytest.mark.parametrize(
    "words",
    [pytest.param(words, id=f"{name}: {' '.join(words)}"[:80])
     for name, words in [*GIVEN, *RECIPES] if words[0] in RUNS],
)  # fmt: skip
def test_every_run_of_a_recipe_can_be_planned(words: list[str]) -> None:
    """On the toy set and with models that need no weights; the data sets are another's to check."""
    own = [word for word in words[1:] if not word.startswith((*MODELS, "dataset", "limit="))]
    own = [word for word in own if word not in ("method.scorer=mlp", "-m")]
    swept = any("," in word for word in own)
    planned = command("plan", *(["-m"] if swept else []), "dataset=toy", *WEIGHTLESS, *own)
    assert planned.code == 0, planned.err
    if swept:
        assert planned.out.splitlines()[-1].endswith("same: 0")


@pytest.mark.parametrize("words", [words for _, words in [*GIVEN, *RECIPES] if words[0] == "table"])
def test_every_table_of_a_recipe_is_there(words: list[str]) -> None:
    assert load_table(words[1]).shape.caption
    assert set(words[2:]) <= {"--run", "--small", "limit=1000"}


def test_the_data_sets_of_the_recipes_are_those_of_the_papers() -> None:
    cards = {place.card for name in paper_names() for place in load_paper(name).datasets.values()}
    named = {word.partition("=")[2] for _, words in [*GIVEN, *RECIPES] for word in words
             if word.startswith("dataset=") and "$" not in word}  # fmt: skip
    looped = {name for path in FILES for line in re.findall(r"for set in (.*); do", path.read_text())
              for name in line.split()}  # fmt: skip
    assert {name for text in named for name in text.split(",")} | looped <= {
        *cards, "sample", "jsonl",
    }  # fmt: skip
