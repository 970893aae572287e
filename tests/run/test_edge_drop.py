"""`build.graph.edge_drop`: the same edges are missing for every method that uses the graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, run_folder

from graphrag_bench.algorithms.graph import Graph

QUIET = [*TOY, "answer=off", "reference_rows=off"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def graphs() -> list[Graph]:
    found = sorted(Path("artifacts/toy/graph").glob("*/recipe.json"))
    return [Graph.load(path.parent) for path in found]


def test_methods_share_the_thinned_graph_and_never_the_whole_one() -> None:
    drop = "build.graph.edge_drop=0.4"
    run_folder(*QUIET, "method=gretriever", drop)
    (first,) = graphs()
    run_folder(*QUIET, "method=tog", drop)
    assert len(graphs()) == 1
    run_folder(*QUIET, "method=tog")
    sizes = sorted(len(graph.pairs.source) for graph in graphs())
    assert sizes[0] == sizes[1] - round(0.4 * sizes[1])
    assert all(graph.n_nodes == first.n_nodes for graph in graphs())
