"""Distances to topic entities by hand, and the scorer against its formula written out."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_bench.algorithms.triple_scorer import (
    N_DISTANCES,
    MlpTripleScorer,
    MlpWeights,
    ScoredQuestion,
    distances,
)

SOURCE, TARGET = np.array([0, 1, 3, 0]), np.array([1, 2, 1, 2])
"""0 leads to 1 and 2, 1 to 2, 3 to 1; node 4 stands alone."""
N_NODES, D, HIDDEN = 5, 3, 4
VECTOR = np.array([0.6, 0.8, 0.0], np.float32)


def asked(
    topics: list[int], rows: list[int] | None = None, vector: np.ndarray = VECTOR
) -> ScoredQuestion:
    chosen = None if rows is None else np.array(rows, np.int64)
    return ScoredQuestion(vector, chosen, np.array(topics, np.int64))


def near(one: ScoredQuestion) -> dict[int, list[float]]:
    """The share of topic entities (not that of others) of each node: hot, forward, reverse."""
    ((nodes, found),) = distances(SOURCE, TARGET, N_NODES, [one])
    return {node: row[1::2].tolist() for node, row in zip(nodes.tolist(), found, strict=True)}


def test_distances_are_means_along_the_triples_and_then_against_them():
    """From 0: node 1 hears 0 and 3, half of them topics; node 2 hears 0 and 1."""
    found = near(asked([0]))
    assert found[0] == [1, 0, 0, 0, 0]
    assert found[1] == [0, 0.5, 0, 0, 0]
    assert found[2] == [0, 0.5, 0.25, 0, 0]
    assert found[3] == [0, 0, 0, 0, 0]


rows = st.lists(st.integers(0, 3), min_size=1, unique=True).map(sorted)
questions = st.lists(
    st.tuples(st.lists(st.integers(0, 4), unique=True), st.none() | rows), min_size=1, max_size=5
)


@given(questions)
def test_what_a_question_gets_does_not_depend_on_the_others(given_questions):
    every = [asked(topics, own) for topics, own in given_questions]
    together = distances(SOURCE, TARGET, N_NODES, every)
    scored = scorer().scores(SOURCE, TARGET, every)
    for one, (nodes, found), scores in zip(every, together, scored, strict=True):
        ((own_nodes, own),) = distances(SOURCE, TARGET, N_NODES, [one])
        assert nodes.tolist() == own_nodes.tolist()
        assert found.tolist() == own.tolist()
        assert scores.tolist() == scorer().scores(SOURCE, TARGET, [one])[0].tolist()
        assert ((found >= 0) & (found <= 1)).all()


def scorer() -> MlpTripleScorer:
    chance = np.random.default_rng(3)

    def drawn(*shape: int) -> np.ndarray:
        return chance.standard_normal(shape).astype(np.float32)

    weights = MlpWeights(
        drawn(4 * D + 2 * N_DISTANCES, HIDDEN), drawn(HIDDEN), drawn(HIDDEN), drawn(1), drawn(D)
    )
    readable = np.array([True, True, False, True, True])
    return MlpTripleScorer(weights, drawn(N_NODES, D), readable, drawn(2, D),
                           np.array([0, 1, 0, 1]))  # fmt: skip


@pytest.mark.parametrize("own", [None, [0, 2, 3]])
def test_a_score_is_that_of_the_formula_over_the_inputs_side_by_side(own: list[int] | None):
    held, one = scorer(), asked([0, 3], own)
    ((nodes, found),) = distances(SOURCE, TARGET, N_NODES, [one])
    place = {node: row for row, node in enumerate(nodes.tolist())}
    names = np.where(held.readable[:, None], held.names, held.weights.unreadable)
    (scores,) = held.scores(SOURCE, TARGET, [one])
    for at, row in enumerate(range(4) if own is None else own):
        head, tail = int(SOURCE[row]), int(TARGET[row])
        inputs = np.concatenate(
            [VECTOR, names[head], held.relations[held.relation[row]], names[tail],
             found[place[head]], found[place[tail]]]
        )  # fmt: skip
        inner = np.maximum(inputs @ held.weights.hidden + held.weights.bias, 0)
        logit = inner @ held.weights.out + held.weights.out_bias[0]
        assert scores[at] == pytest.approx(1 / (1 + np.exp(-float(logit))), abs=1e-6)


def test_a_scorer_is_read_as_it_was_written(tmp_path: Path):
    scorer().save(tmp_path)
    before, after = scorer(), MlpTripleScorer.load(tmp_path)
    assert np.array_equal(before.relation, after.relation)
    given_question = [asked([1])]
    first, second = (one.scores(SOURCE, TARGET, given_question) for one in (before, after))
    assert first[0].tolist() == second[0].tolist()
