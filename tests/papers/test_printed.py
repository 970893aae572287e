"""The papers' tables: printed cells, meanings of names, suspicious numbers."""

import csv
import re
from functools import cache

import pytest

from graphrag_bench.config.sources import method_file
from graphrag_bench.data.dataset import card_names, load_card
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import ANSWER_METRICS
from graphrag_bench.judging.answers import MEASURES
from graphrag_bench.judging.pairs import CRITERIA
from graphrag_bench.papers.choices import table_runs
from graphrag_bench.papers.printed import (
    FOLDER,
    Recipe,
    load_paper,
    load_table,
    paper_names,
    table_names,
)
from graphrag_bench.run.scoring import USAGE

FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*.csv"))


def test_54_files_hold_4398_printed_cells() -> None:
    n_rows = 0
    for name in FILES:
        with (FOLDER / name).open(encoding="utf-8", newline="") as lines:
            tables = [f"{row['paper']}/{row['table']}.csv" for row in csv.DictReader(lines)]
        assert {*tables} == {name}
        n_rows += len(tables)
    assert (len(FILES), n_rows) == (54, 4398)


@pytest.mark.parametrize("name", table_names())
def test_every_printed_name_has_a_meaning(name: str) -> None:
    table = load_table(name)
    paper = table.paper
    for cell in table.cells:
        assert cell.dataset in paper.datasets
        assert cell.metric in paper.metrics
        assert cell.llm in {"", *paper.llms}
        assert {cell.method, cell.versus} <= {"", *paper.methods}
        printed_items = {item for item in cell.setting if not item.startswith("method.")}
        assert printed_items <= set(paper.settings_of_rows)
        assert Recipe(table, cell).words != ()
        assert table.metric(cell).criteria or len(table.parts(cell)) == 1
    assert set(table.shape.notes) <= {cell.method for cell in table.cells}
    printed = [cell for cell in table.cells if cell.value is not None]
    assert table_runs(name).pairs or table.shape.kind != "unprinted"
    assert bool(printed) == (table.shape.kind != "unprinted")


@cache
def given(settings: tuple[str, ...]) -> set[str]:
    """The figures that a run has, by their names in `paper.yaml`."""
    words = dict(word.split("=", 1) for word in settings)
    card, file = load_card(words["dataset"]), method_file(words["method"])
    answers = words.get("answer") != "off"
    scored = [*card.metrics, *words.get("evaluation.metrics", "").strip("[]").split(",")]
    metrics = [ANSWER_METRICS[name].gives or (name,) for name in scored if name]
    names = {f"metric {one}" for of in metrics for one in of if answers}
    names |= {f"judged_answer {name}" for name in MEASURES if answers}
    names |= {f"judged {name}" for name in CRITERIA if answers}
    names |= {f"usage {name}" for name in USAGE if answers} | {"cost usd", "time mean"}
    stages = {"retrieve", "convert", "generate"} & {name for name in file if file[name]}
    stages |= {"path.pool"} if words.get("pooling", "off") != "off" else set()
    names |= {f"{kind} {stage}" for kind in ("seconds", "tokens") for stage in stages}
    names |= {f"count {what}" for what in ("documents", "tokens", "questions", "chunks")}
    built = file.get("build", {})
    if words.get("fidelity") == "paper" and built:
        built = {**built, **{key: True for key in file.get("fidelity", {})}}
        names |= {"build tokens"} | {"build report_tokens" for key in built if "reports" in key}
    names |= {f"graph {what}" for what in ("nodes", "relationships") if "graph" in built}
    return names | {"layers retrieved" for name in [words["method"]] if "raptor" in name}


@pytest.mark.parametrize("name", table_names())
def test_every_column_can_be_filled_by_its_runs(name: str) -> None:
    """Differences of rows have no figure, nor have methods and data sets that are not here."""
    table = load_table(name)
    for cell in table.cells:
        metric, recipe = table.metric(cell), Recipe(table, cell)
        if metric.kind == "none" or recipe.words is None:
            continue
        wanted = metric.criteria or tuple(metric.value.split("|"))
        named = {f"{metric.kind} {one}" for one in wanted}
        for part in table.parts(cell):
            for side in part.sides:
                found = named & given(side.words or ())
                assert found == named if metric.criteria else found, (cell, side.words)


def test_misprints_are_suspicious() -> None:
    every = [cell for name in table_names() for cell in load_table(name).cells if cell.note]
    sums = [cell for cell in every if "pair sums to" in cell.note]
    assert len(sums) == 2 * 37 + 2  # 37 pairs, and one that sums to 100 but differs from the others
    assert all(cell.suspicious for cell in sums)
    plain = re.compile(r"(diagonal|printed [\d.]+[KM]|printed with a \+ sign|dash in the paper.*)")
    assert not any(cell.suspicious for cell in every if plain.fullmatch(cell.note))
    with pytest.raises(UserError, match="zhou2025/table5"):
        load_table("zhou2025/tabel5")


@pytest.mark.parametrize("name", paper_names())
def test_settings_of_papers_have_a_source(name: str) -> None:
    paper = load_paper(name)
    cards = {place.card for place in paper.datasets.values() if place.card}
    assert cards <= {*card_names()}
    of_tables = [one for shape in paper.tables.values() for one in shape.methods.values()]
    methods = [one for one in (*paper.methods.values(), *of_tables) if one.also or one.seeds]
    rows = [row for row in paper.settings_of_rows.values() if row.also or row.levels]
    made = [paper.making] if paper.making else []
    section = re.compile(r"section|appendix|Table|code of", re.IGNORECASE)
    sources = [one.source for one in (paper, *made, *methods, *rows)]
    assert [source for source in sources if not section.search(source)] == []
