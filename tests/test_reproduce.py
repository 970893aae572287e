"""The recipes in scripts/reproduce name tables that are there, and their runs can be planned."""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS

import graphrag_bench
from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.words import read_words
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.papers.choices import names
from graphrag_bench.papers.printed import load_paper, load_table
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
    found = [shlex.split(line) for line in _unrolled(text) if line.startswith("graphrag-bench ")]
    return [[word for word in words[1:] if word not in ("$@", "$small")] for words in found]


def _unrolled(text: str) -> Iterator[str]:
    """The lines of a script, those of a loop once for each value."""
    name, values, body = "", [""], []
    for line in map(str.strip, text.replace("\\\n", " ").splitlines()):
        if loop := re.match(r"for (\w+) in (.*); do", line):
            name, values, body = f"${loop[1]}", loop[2].split(), []
        elif line == "done":
            yield from (inner.replace(name, value) for value in values for inner in body)
            name, values, body = "", [""], []
        elif name:
            body.append(line)
        else:
            yield line


FILES = sorted(path for path in FOLDER.rglob("*") if path.suffix in (".sh", ".md"))
GIVEN = [words for path in FILES for words in commands(path.read_text(encoding="utf-8"))]
OF_TABLES = re.compile(r"row=|experiment=\w+/")
RUN_LINES = sorted({
    tuple(words) for words in GIVEN if words[0] in RUNS and not any(map(OF_TABLES.match, words))
})  # fmt: skip


def test_the_tables_and_rows_of_the_scripts_are_there() -> None:
    words = [word.partition("=") for line in GIVEN for word in line]
    tables = [value for name, _, value in words if name == "experiment" and "/" in value]
    tables += [line[1] for line in GIVEN if line[0] == "table" and len(line) > 1]
    assert tables and set(tables) <= set(names("experiment"))
    rows = ",".join(value for name, _, value in words if name == "row").split(",")
    patterns = [row.removeprefix("glob(").removesuffix(")") for row in rows]
    assert all(fnmatch.filter(names("row"), pattern) for pattern in patterns)


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
def test_the_cost_of_a_paper_is_planned_at_its_settings(paper: str) -> None:
    text = (FOLDER / paper / "README.md").read_text(encoding="utf-8")
    planned = [words for words in commands(text) if "dataset=sample" not in words]
    assert planned
    settings = set(load_paper(paper).settings)
    assert all(settings <= set(words) for words in planned)


@pytest.mark.parametrize("paper", ["zhou2025", "pathrag", "pathcorag", "pankrag"])
def test_abstract_questions_are_made_before_a_table_asks_them(paper: str) -> None:
    made: list[list[str]] = []
    for words in commands((FOLDER / paper / "paper.sh").read_text(encoding="utf-8")):
        if words[0] == "questions":
            made.append(words)
        for name in [word.removeprefix("experiment=") for word in words if "experiment=" in word]:
            table = load_table(name)
            cells = [cell for cell in table.cells if table.row_words(cell)]
            sets = {cell.dataset for cell in cells if len(table.set_words(cell)) > 1}
            making = [shlex.split(table.making(dataset))[1:] for dataset in sets]
            assert all(words in made for words in making if words), name
    assert made
