"""The health of a graph against networkx, and graphs whose entities are joined to passages only."""

from collections import Counter
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Gold
from graphrag_bench.view.health import gold_pairs, health

N_NODES, N_RELATIONSHIPS, N_CHUNKS = 40, 36, 12


def random_graph(seed: int) -> Graph:
    """A sparse graph with isolated nodes, loops and parallel relationships."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, N_NODES - 4, (2, N_RELATIONSHIPS))
    return Graph.from_arrays(
        ends[0], ends[1], rng.random((N_NODES, N_CHUNKS)) < 0.08, n_nodes=N_NODES
    )


def drawn(graph: Graph) -> nx.Graph:
    plain = nx.Graph()
    plain.add_nodes_from(range(graph.n_nodes))
    ends = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    plain.add_edges_from((a, b) for a, b in ends if a != b)
    return plain


@pytest.fixture(params=range(4))
def graph(request: pytest.FixtureRequest) -> Graph:
    return random_graph(request.param)


def test_components_degrees_hubs_and_orphans_are_those_of_networkx(graph: Graph) -> None:
    plain = drawn(graph)
    report = health(graph, None, {})
    sizes = sorted((len(one) for one in nx.connected_components(plain)), reverse=True)
    assert report["components"]["n"] == len(sizes)
    assert report["components"]["largest"] == sizes[:20]
    degrees = dict(plain.degree())
    best = sorted(degrees, key=lambda node: (-degrees[node], node))[:20]
    assert report["hubs"] == [(graph.names[node], degrees[node]) for node in best]
    lonely = [node for node in degrees if not degrees[node]]
    assert report["orphans"] == {"n": len(lonely), "first": [graph.names[n] for n in lonely[:20]]}
    assert sum(n for _, n in report["degrees"]) == graph.n_nodes
    relations = sorted(Counter(graph.relations).items(), key=lambda item: (-item[1], item[0]))
    assert report["relations"] == relations[:20]
    assert report["reach"] is None


def test_gold_pairs_in_reach_are_the_shortest_paths_of_networkx(graph: Graph) -> None:
    table = ChunkTable.of([(f"d{row}", "", f"Text {row}.") for row in range(N_CHUNKS)])
    plain = drawn(graph)
    pairs = list(pairwise(range(N_CHUNKS)))
    gold = {f"q{a}": Gold(evidence=(f"d{a}", f"d{b}")) for a, b in pairs}
    report = health(graph, table, gold)["reach"]
    columns = graph.node_chunk.tocsc()
    nodes = [set(columns[:, row].indices.tolist()) for row in range(N_CHUNKS)]
    hops = dict(nx.all_pairs_shortest_path_length(plain))
    apart = [min((hops[x].get(y, 99) for x in nodes[a] for y in nodes[b]), default=99)
             for a, b in pairs]  # fmt: skip
    assert report["pairs"] == len(apart)
    shares = [sum(far <= k for far in apart) / len(apart) for k in range(4)]
    assert report["within"] == [(k, round(share, 4)) for k, share in enumerate(shares)]


def test_without_relationships_nodes_of_one_chunk_are_joined() -> None:
    incidence = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]]
    report = health(Graph.from_arrays([], [], incidence, names=["a", "b", "c", "d"]), None, {})
    assert report["through"] == "chunks" and report["sizes"]["joined pairs of nodes"] == 2
    assert report["components"] == {"n": 2, "largest": [3, 1], "share": 0.75}
    assert report["hubs"][0] == ("b", 2)
    assert report["orphans"] == {"n": 1, "first": ["d"]}


def test_pairs_of_gold_are_listed_once() -> None:
    gold = {"a": Gold(evidence=("x", "y", "x")), "b": Gold(evidence=("x", "y"))}
    assert gold_pairs(gold) == [(("x",), ("y",))]
