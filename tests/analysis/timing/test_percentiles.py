"""Percentiles of a few values, by hand and against NumPy's own."""

from __future__ import annotations

import numpy as np
import pytest

from graphrag_bench.analysis.timing.serial import spread


def test_percentiles_lie_between_the_sorted_values() -> None:
    """Five values: p50 at place 2, which is 3; p95 at place 3.8, four fifths from 4 to 9."""
    found = spread([9.0, 1.0, 3.0, 2.0, 4.0])
    assert found == {"p50": 3.0, "p95": 8.0, "mean": 3.8, "least": 1.0, "most": 9.0, "n": 5}


def test_of_twenty_values_p95_lies_next_to_the_largest_but_one() -> None:
    """Place 18.05 of 0..19."""
    assert spread([float(value) for value in range(20)])["p95"] == 18.05


def test_one_value_is_all_of_its_own_spread() -> None:
    found = spread([0.25])
    assert found == dict.fromkeys(("p50", "p95", "mean", "least", "most"), 0.25) | {"n": 1}


def test_it_agrees_with_numpy_on_two_hundred_samples() -> None:
    random = np.random.default_rng(7)
    for _ in range(200):
        values = random.exponential(size=int(random.integers(1, 60))).tolist()
        found = spread(values)
        assert found["p50"] == pytest.approx(float(np.median(values)), abs=1e-6)
        assert found["least"] <= found["p50"] <= found["p95"] <= found["most"]


def test_no_values_have_no_spread() -> None:
    with pytest.raises(ValueError, match="no values"):
        spread([])
