"""Kappa: agreement beyond chance, against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

from graphrag_bench.analysis.judging.agreement import agreement


def test_four_items_by_hand() -> None:
    """Alike 3 of 4; chance: A 3/4 · 2/4 + B 1/4 · 2/4 = 0.5; kappa (0.75 - 0.5) / 0.5."""
    ours = {1: "A", 2: "A", 3: "A", 4: "B"}
    theirs = {1: "A", 2: "A", 3: "B", 4: "B", 5: "A"}
    found = agreement(ours, theirs)
    assert found is not None
    assert (found.n, found.alike, found.kappa) == (4, 0.75, 0.5)
    assert found.low is not None and found.high is not None
    assert found.low <= 0.5 <= found.high


def test_one_label_throughout_has_no_kappa_and_no_shared_item_no_agreement() -> None:
    found = agreement({1: "A", 2: "A"}, {1: "A", 2: "A"})
    assert found is not None and (found.alike, found.kappa) == (1.0, None)
    assert agreement({1: "A"}, {2: "A"}) is None


@pytest.mark.parametrize("seed", range(20))
def test_kappa_is_that_of_scikit_learn(seed: int) -> None:
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(seed)
    first, second = (rng.choice(["A", "tie", "B"], 30).tolist() for _ in range(2))
    found = agreement(dict(enumerate(first)), dict(enumerate(second)))
    assert found is not None and found.kappa == approx(cohen_kappa_score(first, second), abs=1e-6)
