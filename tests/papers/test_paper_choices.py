"""Choices of the papers in Hydra's groups, and the runs of tables."""

import re

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from graphrag_bench.papers.choices import chunking, content, names, table_runs
from graphrag_bench.papers.printed import Recipe, load_table, table_names

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
