"""Every row of every graph type has its documents, and goes with the last of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from growing.test_exact import CASES, built, models_in, world
from toy_runs import WEIGHTLESS, command, ran

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.communities import Communities, Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.sources import (
    attribute_sources,
    documents,
    node_sources,
    relationship_sources,
)
from graphrag_bench.offline.store import Store
from graphrag_bench.progress import Progress

BY_POSITION = {
    "tree", "tree_llm", "passage", "hop", "heterogeneous", "heterogeneous_llm", "layered",
    "layered_llm", "tkg of a core", "hypergraph", "hypergraph of an llm", "hypergraph_synonymy",
}  # fmt: skip
"""Types whose nodes are passages or clusters of them, and are not named by what they say, and one
that is made of passages which all of them choose."""


def sources_of(graph: Graph, table: ChunkTable) -> dict[object, frozenset[str]]:
    """The documents of nodes by name, of relationships by ends, of attributes by what they say."""
    names, nodes, rows = list(graph.names), node_sources(graph), relationship_sources(graph)
    found: dict[object, frozenset[str]] = {
        name: frozenset(documents(nodes, row, table)) for row, name in enumerate(names)
    }
    for row in range(graph.n_relationships):
        ends = names[graph.source[row]], graph.relations[row], names[graph.target[row]]
        found[ends] = found.get(ends, frozenset()) | frozenset(documents(rows, row, table))
    if (held := graph.node_attributes) is not None:
        stating = attribute_sources(graph)
        for row, node in enumerate(held.node.tolist()):
            found[names[node], held.told(row)] = frozenset(documents(stating, row, table))
    return found


@pytest.mark.parametrize("case", CASES)
def test_what_one_document_alone_said_goes_with_it(case: str, tmp_path: Path) -> None:
    """Nodes and relationships of the others stay; none is left that had it as its only source."""
    models, rows = models_in(tmp_path, "write"), list(world().documents[:10])
    store = Store(tmp_path / "artifacts", Progress(quiet=True))

    def made(n: int) -> tuple[Graph, ChunkTable]:
        plan = built(case, rows[:n], models, tmp_path)
        found = store.resources(plan, {"graph", "chunk_table"}, models)
        return found["graph"], found["chunk_table"]

    before, after = sources_of(*made(10)), sources_of(*made(9))
    assert all(before.values())
    assert all(after.values())
    if case in BY_POSITION:
        return
    gone = rows[9].id
    alone = {what for what, held in before.items() if held == {gone}}
    assert alone
    assert not alone & after.keys()
    assert all(gone not in held for held in after.values())


def test_a_report_comes_from_the_documents_of_its_members(tmp_path: Path) -> None:
    models = models_in(tmp_path, "write")
    plan = built("rkg", world().documents[:10], models, tmp_path)
    store = Store(tmp_path / "artifacts", Progress(quiet=True))
    held = store.resources(plan, {"graph", "communities", "reports", "chunk_table"}, models)
    graph, communities, reports = held["graph"], held["communities"], held["reports"]
    assert isinstance(communities, Communities)
    assert isinstance(reports, Reports)
    nodes, table = node_sources(graph), held["chunk_table"]
    for row in range(len(reports)):
        members = communities.nodes[row].indices
        of_members = {name for node in members for name in documents(nodes, int(node), table)}
        assert set(documents(communities.chunks, row, table)) == of_members


def test_a_summary_of_a_tree_comes_from_its_leaves() -> None:
    """Two summaries over three leaves, and one over both: by hand."""
    graph = Graph.from_arrays([3, 3, 4, 5, 5], [0, 1, 2, 3, 4], node_chunk=np.eye(6, 3), n_nodes=6)
    held = node_sources(graph).toarray().astype(int).tolist()
    assert held == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1]]
    rows = relationship_sources(graph).toarray().astype(int).tolist()
    assert rows == [[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]]


def test_the_command_names_the_documents_of_a_node_and_of_a_report(tmp_path: Path) -> None:
    home = f"paths.home={tmp_path}"
    ran("dataset=toy", "method=lgraphrag", *WEIGHTLESS, home, "answer=off", "reference_rows=off")
    root = tmp_path / "artifacts" / "toy"
    (graph,), (reports,) = (
        [path.name for path in (root / name).iterdir() if path.is_dir()]
        for name in ("graph", "reports")
    )

    def asked(key: str, name: str) -> tuple[int, str]:
        done = command("artifacts", "sources", key, name, "--home", str(tmp_path))
        return done.code, done.out + done.err

    code, said = asked(graph, "ada marsh")
    assert (code, "ada" in said, "norvik" in said) == (0, True, True)
    code, said = asked(graph, "ada mash")
    assert (code, "ada marsh" in said) == (2, True)
    title = Reports.load(root / "reports" / reports).titles[0]
    code, said = asked(reports, title)
    assert (code, "report" in said) == (0, True)
