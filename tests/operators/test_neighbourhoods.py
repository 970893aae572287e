"""Operators that need a neighbourhood read it alone: their memory does not grow with the graph."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from graphrag_bench.graph.exploration import Choice, Exploration
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.paths import khop_paths
from graphrag_bench.llm.meter import Metered
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.values import NodeScores, Question, Ranked, RelationshipScores
from methods.pathcorag.steps import among
from operators.chunk import aggregator
from operators.node.adjacent import specificity
from operators.node.exploring import agent as next_nodes
from operators.relationship.exploring import agent as next_relations
from operators.relationship.ranking import onehop

ASKED = Question("q", "where")
SMALL, LARGE = 1000, 16_000


def ring(n_nodes: int) -> Graph:
    """Every node is joined to the next one, which takes each to two others in any size."""
    nodes = np.arange(n_nodes)
    return Graph.from_arrays(nodes, (nodes + 1) % n_nodes, np.ones((n_nodes, 1)))


def scattered(seed: int) -> Graph:
    """A seeded graph with loops, parallel rows and weights of 0."""
    chance = np.random.default_rng(seed)
    n, n_rows, n_chunks = 12, 40, 5
    return Graph.from_arrays(
        *chance.integers(n, size=(2, n_rows)),
        chance.random((n, n_chunks)) < 0.4,
        chance.random((n_rows, n_chunks)) < 0.4,
        weight=chance.integers(0, 3, n_rows),
    )


def ranked(*ids: int) -> Ranked:
    return Ranked(np.array(ids, np.int64), np.linspace(1.0, 0.5, len(ids)))


def model(reply: str) -> Metered:
    return Metered(Scripted(answer=lambda chat: reply))


def peak(work: Callable[[], object]) -> int:
    """The most bytes held at a time, after a first time that makes what a graph keeps."""
    work()
    tracemalloc.start()
    work()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


GIVEN = ranked(3, 5, 4)
CHOSEN = Exploration((Choice(4, "related to", True, 1.0), Choice(4, "related to", False, 0.5)))
LOCAL = {
    "relationship.onehop": lambda graph: onehop(GIVEN, graph=graph),
    "relationship.among": lambda graph: among(GIVEN, graph=graph),
    "relationship.agent": lambda graph: next_relations(
        ASKED, GIVEN, Exploration(), graph=graph, llm=model("related to: 1")
    ),
    "node.agent": lambda graph: next_nodes(ASKED, CHOSEN, graph=graph, llm=model("node 5: 1")),
    "node.specificity": lambda graph: specificity(GIVEN, graph=graph),
    "subgraph.khop_path": lambda graph: khop_paths(graph, [3, 6, 9], 3),
}


@pytest.mark.parametrize("name", LOCAL)
def test_sixteen_times_the_graph_takes_no_more_memory(name):
    small, large = peak_in(name, SMALL), peak_in(name, LARGE)
    assert large < 1.1 * small + 500


def peak_in(name: str, n_nodes: int) -> int:
    graph = ring(n_nodes)
    return peak(lambda: LOCAL[name](graph))


@pytest.mark.parametrize("seed", range(20))
def test_relationships_at_nodes_are_those_that_a_scan_of_all_finds(seed):
    graph = scattered(seed)
    given = np.random.default_rng(seed).integers(graph.n_nodes, size=seed % 5)
    expected = np.flatnonzero(np.isin(graph.source, given) | np.isin(graph.target, given))
    assert graph.relationships_at(given).tolist() == expected.tolist()
    assert onehop(ranked(*given), graph=graph).ids.dtype == np.int64
    assert sorted(onehop(ranked(*given), graph=graph).ids.tolist()) == expected.tolist()
    inside = np.flatnonzero(np.isin(graph.source, given) & np.isin(graph.target, given))
    assert sorted(among(ranked(*given), graph=graph).ids.tolist()) == inside.tolist()


def test_a_relationship_between_a_node_and_itself_is_at_it_once():
    graph = Graph.from_arrays([1, 0, 1], [1, 1, 1])
    assert graph.node_relationship.toarray().tolist() == [[0, 1, 0], [1, 1, 1]]
    assert graph.relationships_at(np.array([1, 1])).tolist() == [0, 1, 2]


def test_a_node_that_is_not_there_is_an_error():
    with pytest.raises(IndexError):
        onehop(ranked(2), graph=Graph.from_arrays([0], [1]))


@pytest.mark.parametrize("seed", range(20))
def test_chunks_have_the_sums_of_scipy_to_the_last_bit(seed):
    graph, chance = scattered(seed), np.random.default_rng(seed)
    scores = chance.random(graph.n_relationships) * (chance.random(graph.n_relationships) < 0.7)
    best = np.full(len(graph.pairs.source), -np.inf)
    np.maximum.at(best, graph.pairs.of, scores)
    mass = chance.random(graph.n_nodes)
    for how, expected in [
        ({"unit": "fact"}, graph.relationship_chunk.T @ scores),
        ({"unit": "pair"}, graph.pair_chunk.T @ best),
        ({"by": "nodes"}, graph.node_chunk.T @ mass),
    ]:
        found = aggregator(
            RelationshipScores(scores), NodeScores(mass), graph=graph, pad=True, top_k=9, **how
        )
        assert dict(found.items()) == dict(enumerate(expected.tolist()))
