"""The papers' tables: printed cells, meanings of names, and choices in Hydra's groups."""

import re
from functools import cache

import pandas
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from graphrag_bench.config.sources import method_file
from graphrag_bench.data.dataset import card_names, load_card
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import ANSWER_METRICS
from graphrag_bench.judging.answers import MEASURES
from graphrag_bench.judging.pairs import CRITERIA
from graphrag_bench.papers import printed
from graphrag_bench.papers.choices import chunking, content, names, table_runs
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
    result = {f"{kind} {one}" for kind, every in answers for one in every}
    result |= {"cost usd", "time mean"}
    stages = {"retrieve", "convert", "generate"} & {name for name in file if file[name]}
    stages |= {"path.pool"} if words.get("pooling", "off") != "off" else set()
    result |= {f"{kind} {stage}" for kind in ("seconds", "tokens") for stage in stages}
    result |= {f"count {what}" for what in ("documents", "tokens", "questions", "chunks")}
    built = file.get("build", {})
    if words.get("fidelity") == "paper" and built:
        built = {**built, **{key: True for key in file.get("fidelity", {})}}
        result |= {"build tokens"} | {"build report_tokens" for key in built if "reports" in key}
    result |= {f"graph {what}" for what in ("nodes", "relationships") if "graph" in built}
    return result | {"layers retrieved" for name in [words["method"]] if "raptor" in name}


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


GROUPS = ("llm", "embedder", "dataset", "row", "experiment")
LARGE = {"MusiqueQA", "HotpotQA", "ALCE"}
"""The data sets of Zhou et al. on which RAPTOR does not finish."""
NO_GRID = {
    "pathcorag/table5", *(f"zhou2025/{name}" for name in ("table5", "table6", "table8", "fig4")),
    *(f"zhou2025tr/{one}" for one in ("table12", "table13", "table15", "fig15", "fig16", "fig17")),
}  # fmt: skip


@pytest.mark.parametrize("group", GROUPS)
def test_names_are_unique_and_valid_in_hydra(group):
    listed = names(group)
    assert len(listed) == len(set(listed)) > 0
    assert [name for name in listed if not re.fullmatch(r"[\w.+/-]+", name, flags=re.ASCII)] == []
    assert [name for name in listed[:: len(listed) // 200 + 1] if not content(group, name)] == []
    parser = OverridesParser.create()
    for name in listed[:: max(len(listed) // 20, 1)]:
        assert parser.parse_override(f"{group}={name}").value() == name
    for name in ("toy", "my.own", "zhou2025.none", "zhou2025.table5.None", "zhou2025/none"):
        assert content(group, name) is None


def test_rows_models_and_data_sets_by_hand():
    assert content("row", "pathrag.table2.Random.3") == {
        "defaults": [
            {"override /profile": "paper"}, {"override /fidelity": "paper"},
            {"override /method": "pathrag"}, {"override /llm": "pathrag.GPT-4o-mini"},
            {"override /embedder": "pathrag.text-embedding-3-small"},
        ],
        "budget_context": 8000,
        "method": {"path_select": "reliability", "path_order": "random", "path_seed": 3},
        "regime": "published", "reference_rows": "off",
    }  # fmt: skip
    row = content("row", "zhou2025.table5+musique.RAPTOR-K") or {}
    for choice in ({"override /method": "raptor_kmeans"}, {"override /dataset": "musique"}):
        assert choice in row["defaults"]
    level = content("row", "pathrag.fig3.PathRAG.0.1") or {}
    assert level["build"] == {"graph": {"edge_drop": 0.1}}
    llm = content("llm", "zhou2025.Llama-3-8B") or {}
    assert (llm["model"], llm["prices"]) == ("meta-llama/Meta-Llama-3-8B-Instruct", None)
    embedder = {"defaults": ["sentence_transformers", "_self_"], "model": "BAAI/bge-m3"}
    assert content("embedder", "pankrag.BGE-M3") == embedder
    questions = "questions/ultradomain_mix/abstract"
    assert content("dataset", "zhou2025.Mix") == {"name": "ultradomain_mix", "questions": questions}
    assert content("dataset", "zhou2025.PopAll") == {"name": "popqa"}
    assert chunking("zhou2025.PopAll") == {"variant": "token", "join": "corpus"}
    assert chunking("toy") is None
    assert content("dataset", "zhou2025.PopQA") is None  # equal to the card


@pytest.mark.parametrize(
    ("table", "n_rows", "n_runs"),
    [("zhou2025/table9", 24, 48), ("zhou2025/table5", 14 + 78, 78), ("pathrag/table2", 21, 126),
     ("pathpooling/fig5", 12, 12), ("pathpooling/table1", 48, 48), ("pathpooling/fig9", 16, 16)],
)  # fmt: skip
def test_the_runs_of_a_table(table, n_rows, n_runs):
    """Zhou et al. have 13 methods on 6 sets; RAPTOR is another method on 3 of them."""
    runs = table_runs(table)
    assert (len(runs.rows), len(runs.pairs)) == (n_rows, n_runs)


def test_large_sets_use_raptor_k():
    tables = [load_table(name) for name in table_names() if name.startswith("zhou2025")]
    for one in (Recipe(table, cell) for table in tables for cell in table.cells):
        if one.cell.method == "RAPTOR":
            wanted = "raptor_kmeans" if one.cell.dataset in LARGE else "raptor"
            assert f"method={wanted}" in one.required


def test_an_experiment_sweeps_over_rows_and_data_sets():
    methods = ("NaiveRAG", "HyDE", "G-retriever", "HippoRAG", "GraphRAG", "LightRAG", "PathRAG")
    rows = ",".join(f"pathrag.table4.{name}" for name in methods)
    sweeper = {"params": {"row": rows, "dataset": "squality"}}
    hydra = {"mode": "MULTIRUN", "sweeper": sweeper}
    assert content("experiment", "pathrag/table4") == {"hydra": hydra}
    runs = {name: table_runs(name) for name in table_names()}
    assert {name for name, of in runs.items() if "dataset" not in of.params} == NO_GRID
    for of in map(runs.__getitem__, NO_GRID):
        assert len(of.params["row"].split(",")) == len(of.pairs)
