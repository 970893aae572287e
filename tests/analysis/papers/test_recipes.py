"""A table prints the runs that `--run` makes; every row has its settings, with the section."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS

from graphrag_bench.analysis.papers.commands import run_lines
from graphrag_bench.analysis.papers.figures import collected
from graphrag_bench.analysis.papers.filled_cells import Filled
from graphrag_bench.analysis.papers.runs import wanted_rows
from graphrag_bench.analysis.papers.sources import FigureSource
from graphrag_bench.analysis.papers.table import comparison_tables, long_table
from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.words import read_words
from graphrag_bench.experiment.checking import checked_words
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.papers.printed import (
    Printed,
    load_paper,
    load_table,
    paper_names,
    table_names,
)
from graphrag_bench.sweeps.cells import composed_cells, one_method_only, split_cells

pytestmark = pytest.mark.slow

MODELS = ("llm=", "llm.", "embedder=", "embedder.")
ABSTRACT = ("zhou2025/fig7", "zhou2025/table10", "pathrag/table1", "pathcorag/table2",
            "pankrag/table1", "zhou2025tr/fig28", "pathrag/fig3")  # fmt: skip
Words = tuple[str, ...]
FILLED = [name for name in table_names() if load_table(name).cells]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    load_plugins(["operators", "methods"])
    return tmp_path


def of_nothing(name: str) -> dict[Printed, Filled]:
    """The cells of a table for which nothing is stored."""
    return collected(load_table(name), [], FigureSource(Path()))


def notes_under(name: str, filled: Mapping[Printed, Filled]) -> list[str]:
    """The notes under a table that is filled so."""
    return [note for block in comparison_tables(load_table(name), filled) for note in block.notes]


unfilled = cache(of_nothing)


@cache
def notes(name: str) -> list[str]:
    """The notes under a table for which nothing is stored."""
    return notes_under(name, unfilled(name))


def printed(
    told: list[str], what: str = "run", heads: Words = ("missing cells", "recipe")
) -> Words:
    """The commands of one kind among the notes."""
    lines = [note.partition(": ") for note in told]
    return tuple(line for head, _, line in lines
                 if head in heads and line.startswith(f"graphrag-bench {what} "))  # fmt: skip


def expanded(line: str) -> list[Words]:
    """The settings of every run of a command, in an order of their own."""
    words = [word for word in shlex.split(line)[2:] if word != "-m"]
    if "-m" not in shlex.split(line):
        return [tuple(sorted(words))]
    names = [word.partition("=")[0] for word in words]
    values = [word.partition("=")[2].split(",") for word in words]
    return [
        tuple(sorted(f"{name}={value}" for name, value in zip(names, chosen, strict=True)))
        for chosen in product(*values)
    ]


def weightless(words: Words) -> list[str]:
    """The settings on the toy set, with models that need no weights and no training."""
    own = [word for word in words if not word.startswith((*MODELS, "dataset", "limit="))]
    return ["dataset=toy", *WEIGHTLESS, *(word for word in own if word != "method.scorer=mlp")]


@pytest.mark.parametrize("name", FILLED)
def test_the_commands_of_a_table_are_the_runs_that_it_makes(name: str) -> None:
    """Every setting of every cell; what is not compared with anything has a sweep alone."""
    made = {tuple(sorted(one.settings)) for one in wanted_rows(load_table(name), [], small=False)}
    lines = printed(notes(name), heads=("missing cells",))
    told = {run for line in lines for run in expanded(line)}
    assert told == made or (name == "pathcorag/fig4" and not told)


@pytest.mark.parametrize("name", FILLED)
def test_each_cell_has_the_command_of_its_own_runs(name: str) -> None:
    table = load_table(name)
    made = {tuple(sorted(one.settings)) for one in wanted_rows(table, [], small=False)}
    for cell, one in unfilled(name).items():
        told = {run for line in run_lines(one.runs) for run in expanded(line)}
        assert told <= made
        assert bool(told) != bool(one.reason), cell


@pytest.mark.parametrize("name", FILLED)
def test_a_command_and_the_run_have_one_key(name: str) -> None:
    """A line of each table as the command line has it, and its rows as `--run` has them."""
    lines = printed(notes(name), heads=("missing cells",))
    if not lines:
        assert name == "pathcorag/fig4"
        return
    shortest = min(lines, key=lambda line: (len(expanded(line)), line))
    words = weightless(tuple(word for word in shlex.split(shortest)[2:] if word != "-m"))
    told = {Experiment.prepare(one_method_only(one), swept=True).key
            for one in composed_cells(split_cells(checked_words(words)))}  # fmt: skip
    made = {
        Experiment.prepare(composed(read_words(weightless(one.settings))), swept=True).key
        for one in wanted_rows(load_table(name), [], small=False)
        if tuple(sorted(one.settings)) in expanded(shortest)
    }
    assert told == made


@pytest.mark.parametrize("name", ABSTRACT)
def test_an_abstract_table_begins_with_the_making_of_its_questions(name: str) -> None:
    making = printed(notes(name), "questions")
    assert making
    commands = [note for note in notes(name) if "graphrag-bench " in note]
    assert " questions dataset=" in commands[0]
    folders = {word.removeprefix("out=") for line in making for word in shlex.split(line)
               if word.startswith("out=")}  # fmt: skip
    abstract = [run for line in printed(notes(name)) for run in expanded(line)
                if not {"dataset=squality", "dataset=summscreen"} & set(run)]  # fmt: skip
    asked = {word.removeprefix("dataset.questions=") for run in abstract for word in run
             if word.startswith("dataset.questions=")}  # fmt: skip
    assert asked == folders
    assert all(any(word.startswith("dataset.questions=") for word in run) for run in abstract)


def test_questions_that_are_there_are_not_made_again(home: Path) -> None:
    assert printed(notes("zhou2025/fig7"), "questions")
    folder = home / "questions" / "multihoprag" / "abstract"
    folder.mkdir(parents=True)
    (folder / "questions.jsonl").write_text("")
    told = notes_under("zhou2025/fig7", of_nothing("zhou2025/fig7"))
    assert not printed(told, "questions")
    asked = "dataset.questions=questions/multihoprag/abstract"
    assert printed(told) and all(asked in line for line in printed(told))


def test_the_command_in_the_csv_makes_questions_then_runs_then_compares() -> None:
    table = load_table("zhou2025/fig7")
    shown = long_table(table, of_nothing("zhou2025/fig7"))
    fills = [row[-1] for row in shown.rows if row[-1].startswith("graphrag-bench")]
    order = re.compile(r"graphrag-bench questions .* && graphrag-bench run .* && .* compare ")
    assert fills and all(order.match(fill) for fill in fills)


@pytest.mark.parametrize("name", paper_names())
def test_what_a_recipe_sets_names_the_section_that_says_so(name: str) -> None:
    paper = load_paper(name)
    section = re.compile(r"section|appendix|Table|code of", re.IGNORECASE)
    assert section.search(paper.source)
    assert paper.making is None or section.search(paper.making.source)
    methods = dict(paper.methods)
    for shape in paper.tables.values():
        methods |= {f"{shape.caption}: {key}": one for key, one in shape.methods.items()}
    said = {key: one.source for key, one in methods.items() if one.also or one.seeds}
    said |= {key: row.source for key, row in paper.settings_of_rows.items()
             if row.also or row.seeds or row.levels}  # fmt: skip
    assert all(section.search(source) for source in said.values()), said


def test_commands_that_differ_in_one_setting_are_one_sweep() -> None:
    base = ("dataset=toy", "method=pathrag", "method.path_order=random")
    seeds = [(*base, f"method.path_seed={seed}", "reference_rows=off") for seed in range(3)]
    (line,) = run_lines(seeds)
    assert line == ("graphrag-bench run -m dataset=toy method=pathrag method.path_order=random "
                    "method.path_seed=0,1,2 reference_rows=off")  # fmt: skip
    both = [(*base, f"method.path_seed={seed}", f"method.k={k}") for seed, k in ((0, 1), (1, 2))]
    assert len(run_lines(both)) == 2  # 0 with 1 and 1 with 2 are not a product
    models = [(*base, f"llm.model={name}") for name in ("a", "b")]
    assert len(run_lines(models)) == 2  # a server for each
