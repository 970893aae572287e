"""What a block of questions holds together grows by ranked rows, not by vectors over a table."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from graphrag_bench.columns import Texts
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.tri_graph import TriGraph
from graphrag_bench.graph.triple_scorer import MlpTripleScorer, MlpWeights
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import NodeScores, Question, Ranked
from operators.chunk_walk import similarity
from operators.node.activation import activate
from operators.relationship.linking import link
from operators.relationship.ranking import aggregator
from operators.relationship.triples import WHOLE_AT_ONCE, triple_scores

N_NODES, N_ROWS, BLOCK = 5000, 20_000, 64
VECTOR = 8 * N_ROWS
"""Bytes of one score for every relationship."""


class Random:
    """A vector of four numbers for each text."""

    identity = "random"
    dimension = 4

    def encode(self, texts, *, kind):
        return np.random.default_rng(3).random((len(texts), 4), np.float32)


@pytest.fixture(scope="module")
def parts():
    chance = np.random.default_rng(0)
    graph = Graph.from_arrays(*chance.integers(N_NODES, size=(2, N_ROWS)), n_nodes=N_NODES)
    index = VectorIndex(chance.random((N_ROWS, 4), np.float32))
    return {"graph": graph, "embedder": Random()}, index


def peak_of(function, n: int) -> int:
    """The most bytes held at a time while a block of `n` questions is worked on."""
    questions = [Question(str(number), "where") for number in range(n)]
    function(questions)  # what is made once for a graph
    tracemalloc.start()
    kept = function(questions)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(kept) == n
    return peak


def few(n: int) -> list[Ranked]:
    return [Ranked(np.array([number]), np.ones(1)) for number in range(n)]


def mlp(graph: Graph) -> MlpTripleScorer:
    def drawn(*shape: int) -> np.ndarray:
        return np.random.default_rng(1).random(shape).astype(np.float32)

    weights = MlpWeights(drawn(4 * 4 + 20, 2), drawn(2), drawn(2), drawn(1), drawn(4))
    relation = np.zeros(N_ROWS, np.int64)
    return MlpTripleScorer(
        weights, drawn(N_NODES, 4), np.ones(N_NODES, bool), drawn(1, 4), relation
    )


def test_facts_are_linked_a_question_at_a_time(parts):
    shared, index = parts
    peak = peak_of(
        lambda asked: link(asked, [None] * len(asked), relationship_index=index, **shared), BLOCK
    )
    assert peak < 12 * VECTOR


def test_triples_are_scored_by_cosine_a_question_at_a_time(parts):
    shared, index = parts
    none = [None] * BLOCK
    peak = peak_of(
        lambda asked: triple_scores(asked, none, none, triple_scorer=index, **shared), BLOCK
    )
    assert peak < 12 * VECTOR


def test_the_trained_scorer_takes_a_few_questions_of_the_whole_graph_at_a_time(parts):
    shared, _ = parts
    scorer = mlp(shared["graph"])

    def peak(n: int) -> int:
        none = [None] * n
        return peak_of(
            lambda asked: triple_scores(asked, none, few(n), triple_scorer=scorer, **shared), n
        )

    assert peak(BLOCK) < peak(WHOLE_AT_ONCE) + 8 * VECTOR


def test_questions_of_the_whole_graph_are_scored_as_if_alone(parts):
    shared, _ = parts
    scorer, n = mlp(shared["graph"]), WHOLE_AT_ONCE + 3
    questions = [Question(str(number), "where") for number in range(n)]
    none = [None] * n
    together = triple_scores(questions, none, few(n), triple_scorer=scorer, **shared)
    own = np.arange(0, N_ROWS, 7)
    mixed = [Ranked(own, np.ones(len(own))), *none[1:]]
    found = triple_scores(questions, mixed, few(n), triple_scorer=scorer, **shared)
    assert set(found[0].ids.tolist()) <= set(own.tolist())
    for one, other in zip(together[1:], found[1:], strict=True):
        assert one.items() == other.items()


def test_scores_of_all_relationships_and_chunks_are_computed_when_they_are_read(parts):
    shared, index = parts
    graph = shared["graph"]
    mass = NodeScores(np.random.default_rng(2).random(N_NODES))
    assert (
        peak_of(lambda asked: [aggregator(mass, graph=graph) for _ in asked], BLOCK) < 12 * VECTOR
    )
    peak = peak_of(
        lambda asked: similarity(
            asked, [None] * len(asked), chunk_index=index, embedder=shared["embedder"]
        ),
        BLOCK,
    )
    assert peak < 2 * VECTOR
    found, scores = aggregator(mass, graph=graph, unit="fact", top_k=3)
    assert scores.top(3).items() == found.items()


def test_only_active_nodes_are_held(parts):
    """Each node is in one sentence with its neighbour; three nodes of the many become active."""
    n = N_ROWS
    named = csr_matrix((np.ones(n, bool), (np.arange(n), np.arange(n) // 2)), shape=(n, n // 2))
    names = [f"n{node}" for node in range(n)]
    tri_graph = TriGraph(
        Texts.of(names),
        Texts.of([f"s{row}" for row in range(n // 2)]),
        named,
        csr_matrix(np.ones((n, 1), np.int64)),
    )
    graph = Graph.from_arrays([], [], names=names)
    index = VectorIndex(np.ones((n // 2, 4), np.float32) / 2)

    def run(asked):
        return activate(
            few(len(asked)), asked, graph=graph, tri_graph=tri_graph, sentence_index=index,
            embedder=Random(), threshold=0.0,
        )  # fmt: skip

    assert peak_of(run, BLOCK) < 16 * VECTOR
    _, active = run([Question("q", "where")])[0]
    assert np.flatnonzero(active.values).tolist() == [0, 1]
