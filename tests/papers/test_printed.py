"""The papers' tables: printed cells, meanings of names, suspicious numbers."""

import re
from functools import cache

import pandas
import pytest

from graphrag_bench.config.sources import method_file
from graphrag_bench.data.dataset import card_names, load_card
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import ANSWER_METRICS
from graphrag_bench.judging.answers import MEASURES
from graphrag_bench.judging.pairs import CRITERIA
from graphrag_bench.papers import printed
from graphrag_bench.papers.choices import table_runs
from graphrag_bench.papers.printed import Recipe, load_paper, load_table, paper_names, table_names
from graphrag_bench.run.scoring import USAGE


def test_54_files_hold_4398_printed_cells():
    files = sorted(printed.FOLDER.glob("*/*.csv"))
    tables = [pandas.read_csv(file, dtype=str) for file in files]
    for file, table in zip(files, tables, strict=True):
        assert {*(table.paper + "/" + table.table)} == {f"{file.parent.name}/{file.stem}"}
    assert (len(files), sum(map(len, tables))) == (54, 4398)


@pytest.mark.parametrize("name", table_names())
def test_every_printed_name_has_a_meaning(name):
    table = load_table(name)
    paper = table.paper
    for cell in table.cells:
        assert cell.dataset in paper.datasets and cell.llm in {"", *paper.llms}
        assert {cell.method, cell.versus} <= {"", *paper.methods}
        settings = {item for item in cell.setting if not item.startswith("method.")}
        assert settings <= {*paper.settings_of_rows}
        assert Recipe(table, cell).words != ()
        assert table.metric(cell).criteria or len(table.parts(cell)) == 1
    assert set(table.shape.notes) <= {cell.method for cell in table.cells}
    unprinted = table.shape.kind == "unprinted"
    assert unprinted == all(cell.value is None for cell in table.cells)
    assert table_runs(name).pairs or not unprinted


@cache
def given(settings: tuple[str, ...]) -> set[str]:
    """The figures that a run has, by their names in `paper.yaml`."""
    words = dict(word.split("=", 1) for word in settings)
    card, file = load_card(words["dataset"]), method_file(words["method"])
    scored = [*card.metrics, *words.get("evaluation.metrics", "").strip("[]").split(",")]
    metrics = [one for name in scored if name for one in ANSWER_METRICS[name].gives or (name,)]
    kinds = {"metric": metrics, "judged_answer": MEASURES, "judged": CRITERIA, "usage": USAGE}
    answers = kinds.items() if words.get("answer") != "off" else ()
    names = {f"{kind} {one}" for kind, every in answers for one in every}
    names |= {"cost usd", "time mean"}
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
def test_every_column_can_be_filled_by_its_runs(name):
    table = load_table(name)
    for cell in table.cells:
        metric, recipe = table.metric(cell), Recipe(table, cell)
        if metric.kind == "none" or recipe.words is None:
            continue
        named = {f"{metric.kind} {one}" for one in metric.criteria or metric.value.split("|")}
        for side in (side for part in table.parts(cell) for side in part.sides):
            found = named & given(side.words or ())
            assert found == named if metric.criteria else found, (cell, side.words)


def test_misprints_are_suspicious():
    every = [cell for name in table_names() for cell in load_table(name).cells if cell.note]
    sums = [cell for cell in every if "pair sums to" in cell.note]
    assert len(sums) == 2 * 37 + 2  # 37 pairs, and one that sums to 100 but differs from the others
    assert all(cell.suspicious for cell in sums)
    plain = re.compile(r"(diagonal|printed [\d.]+[KM]|printed with a \+ sign|dash in the paper.*)")
    assert not any(cell.suspicious for cell in every if plain.fullmatch(cell.note))
    with pytest.raises(UserError, match="zhou2025/table5"):
        load_table("zhou2025/tabel5")


@pytest.mark.parametrize("name", paper_names())
def test_settings_of_papers_have_a_source(name):
    paper = load_paper(name)
    assert {place.card for place in paper.datasets.values()} <= {None, *card_names()}
    of_tables = [one for shape in paper.tables.values() for one in shape.methods.values()]
    methods = [one for one in (*paper.methods.values(), *of_tables) if one.also or one.seeds]
    rows = [row for row in paper.settings_of_rows.values() if row.also or row.levels]
    made = [paper.making] if paper.making else []
    section = re.compile(r"section|appendix|Table|code of", re.IGNORECASE)
    sources = [one.source for one in (paper, *made, *methods, *rows)]
    assert [source for source in sources if not section.search(source)] == []
