"""Distances to topic entities by hand, and the scorer against its formula written out."""

import numpy as np
import pytest

from methods.subgraphrag.mlp_scorer import (
    N_DISTANCES,
    MlpTripleScorer,
    MlpWeights,
    distances,
    means_of,
)

SOURCE, TARGET = np.array([0, 1, 3, 0]), np.array([1, 2, 1, 2])
"""0 leads to 1 and 2, 1 to 2, 3 to 1; node 4 stands alone."""
N_NODES, D, HIDDEN = 5, 3, 4
VECTOR = np.array([0.6, 0.8, 0.0], np.float32)


def near(topics: list[int], rows: list[int] | None = None) -> dict[int, np.ndarray]:
    """How each node of some rows lies to the topic entities."""
    ends = np.stack([SOURCE, TARGET])[:, slice(None) if rows is None else rows]
    nodes, place = np.unique(ends, return_inverse=True)
    means = means_of(*place.reshape(ends.shape), len(nodes))
    return dict(zip(nodes.tolist(), distances(means, np.isin(nodes, topics)), strict=True))


def test_distances_are_means_along_the_triples_and_then_against_them():
    """From 0: node 1 hears 0 and 3, half of them topics; node 2 hears 0 and 1."""
    # of hot, forward and reverse the share of topic entities, not that of others
    result = {node: row[1::2].tolist() for node, row in near([0]).items()}
    assert result[0] == [1, 0, 0, 0, 0]
    assert result[1] == [0, 0.5, 0, 0, 0]
    assert result[2] == [0, 0.5, 0.25, 0, 0]
    assert result[3] == [0, 0, 0, 0, 0]


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
    stored, result = scorer(), near([0, 3], own)
    names = np.where(stored.readable[:, None], stored.names, stored.weights.unreadable)
    rows = None if own is None else np.array(own)
    scores = stored.scores(SOURCE, TARGET, VECTOR, rows, np.array([0, 3]))
    for at, row in enumerate(range(4) if own is None else own):
        head, tail = int(SOURCE[row]), int(TARGET[row])
        inputs = np.concatenate(
            [VECTOR, names[head], stored.relations[stored.relation[row]], names[tail],
             result[head], result[tail]]
        )  # fmt: skip
        inner = np.maximum(inputs @ stored.weights.hidden + stored.weights.bias, 0)
        logit = inner @ stored.weights.out + stored.weights.out_bias[0]
        assert scores[at] == pytest.approx(1 / (1 + np.exp(-float(logit))), abs=1e-6)
