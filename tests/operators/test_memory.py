"""What a block of questions holds together, and that neighbourhoods alone are read."""

import numpy as np
import pytest
from by_hand import falling

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.triple_scorer import MlpTripleScorer, MlpWeights
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.values import Question, Ranked
from methods.pathcorag.steps import among
from operators.relationship.onehop import onehop
from operators.relationship.triples import WHOLE_AT_ONCE, triple_scores

# ---- What a block of questions holds together grows by ranked rows, not by vectors over a tab

N_NODES, N_ROWS, BLOCK = 5000, 20_000, 64


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


# ---- Operators that need a neighbourhood read it alone: their memory does not grow with the g


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


@pytest.mark.parametrize("seed", range(20))
def test_relationships_at_nodes_are_those_that_a_scan_of_all_finds(seed):
    graph = scattered(seed)
    given = np.random.default_rng(seed).integers(graph.n_nodes, size=seed % 5)
    expected = np.flatnonzero(np.isin(graph.source, given) | np.isin(graph.target, given))
    assert graph.relationships_at(given).tolist() == expected.tolist()
    assert onehop(falling(*given), graph=graph).ids.dtype == np.int64
    assert sorted(onehop(falling(*given), graph=graph).ids.tolist()) == expected.tolist()
    inside = np.flatnonzero(np.isin(graph.source, given) & np.isin(graph.target, given))
    assert sorted(among(falling(*given), graph=graph).ids.tolist()) == inside.tolist()
