"""The recipes in scripts/reproduce name tables that are there, and their runs can be planned."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS

import graphrag_bench
from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.words import read_words
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.papers.printed import load_paper, load_table, table_names
from graphrag_bench.sweeps.cells import one_method_only

FOLDER = Path(graphrag_bench.__file__).parents[1] / "scripts" / "reproduce"
PAPERS = ("zhou2025", "pathrag", "pathcorag", "pankrag", "pathpooling")
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
RECIPES = [(name, words) for name in table_names()
           for words in commands("\n".join(load_table(name).recipe))]  # fmt: skip


RUN_LINES = sorted({tuple(words) for _, words in [*GIVEN, *RECIPES] if words[0] in RUNS})


@pytest.mark.parametrize("words", RUN_LINES, ids=lambda words: " ".join(words)[:80])
def test_every_run_of_a_recipe_can_be_planned(words: tuple[str, ...]) -> None:
    """The first and the last cell, on the toy set and with models that need no weights."""
    own = [word for word in words[1:] if not word.startswith((*MODELS, "dataset", "limit="))]
    own = [word for word in own if word not in ("method.scorer=mlp", "-m")]
    ends = {tuple(_chosen(word, at) for word in own) for at in (0, -1)}
    load_plugins()
    made = [composed(read_words(["dataset=toy", *WEIGHTLESS, *words])) for words in sorted(ends)]
    keys = {Experiment.prepare(one_method_only(one), swept=True).key for one in made}
    assert len(keys) == len(ends)


def _chosen(word: str, at: int) -> str:
    """A setting with one of its values."""
    name, _, values = word.partition("=")
    return f"{name}={values.split(',')[at]}"


@pytest.mark.parametrize("paper", PAPERS)
def test_a_script_runs_what_the_tables_of_its_paper_print(paper: str) -> None:
    """Tables by `--run`; the runs of figures that are not run by themselves, word for word."""
    text = (FOLDER / paper / "paper.sh").read_text(encoding="utf-8")
    printed = [words for name, words in RECIPES if name.startswith((f"{paper}/", f"{paper}tr/"))]
    assert all(words in printed for words in commands(text) if words[0] == "run")


@pytest.mark.parametrize("paper", PAPERS)
def test_the_cost_of_a_paper_is_planned_at_its_settings(paper: str) -> None:
    text = (FOLDER / paper / "README.md").read_text(encoding="utf-8")
    planned = [words for words in commands(text) if "dataset=sample" not in words]
    assert planned
    settings = set(load_paper(paper).settings)
    assert all(settings <= set(words) for words in planned)


@pytest.mark.parametrize("paper", ["zhou2025", "pathrag", "pathcorag", "pankrag"])
def test_abstract_questions_are_made_before_a_table_asks_them(paper: str) -> None:
    """The folders that the settings of the rows name, by the commands that the tables print."""
    lines = (FOLDER / paper / "paper.sh").read_text(encoding="utf-8").splitlines()
    making: list[str] = []
    sets: list[str] = []
    for line in lines:
        if line.startswith("for set in "):
            sets = line.removeprefix("for set in ").removesuffix("; do").split()
        if "graphrag-bench questions" in line:
            making += [line.strip().replace("$set", name) for name in sets]
        if "graphrag-bench table" not in line or "--run" not in line:
            continue
        table = load_table(shlex.split(line)[2])
        wanted = {table.making(cell.dataset) for cell in table.cells
                  if any(word.startswith("dataset.questions=")
                         for word in table.settings_of_paper(cell) or ())}  # fmt: skip
        assert wanted <= set(making), table.full_name
    assert making
