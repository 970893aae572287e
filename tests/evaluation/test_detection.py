"""The smallest difference that so many questions detect."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphrag_bench.evaluation.statistics import (
    detectable_difference,
    detectable_share,
    sign_flip_p,
)

REACH = 1.959964 + 0.841621


def test_differences_of_one_and_minus_one_need_two_point_eight_standard_errors():
    """The mean of 1, -1, 1, -1 is 0, its variance 4 / 3, the standard error sqrt(4 / 3 / 4)."""
    found = detectable_difference([1, -1, 1, -1])
    assert found == pytest.approx(REACH * math.sqrt(1 / 3), abs=1e-5)


def test_two_questions_of_each_document_that_go_together_count_as_one():
    """Sums 2, -2, 2, -2 of 8 questions: sqrt(4 / 3 * 16) / 8."""
    doubled = [1, 1, -1, -1, 1, 1, -1, -1]
    scopes = [name for name in "abcd" for _ in range(2)]
    clustered = detectable_difference(doubled, scopes)
    assert clustered == pytest.approx(REACH * math.sqrt(4 / 3 * 16) / 8, abs=1e-5)
    assert clustered == pytest.approx(detectable_difference([1, -1, 1, -1]), abs=1e-5)


@pytest.mark.parametrize("same", [[], [1.0], [0.2, 0.2, 0.2]])
def test_differences_that_do_not_spread_tell_nothing(same):
    assert detectable_difference(same) is None


def test_a_hundred_questions_detect_a_fifth_and_four_hundred_a_tenth():
    """2.8016 * sqrt(0.5 / 100) = 0.198."""
    assert detectable_share(100) == pytest.approx(0.1981, abs=1e-4)
    assert detectable_share(400) == pytest.approx(0.0990, abs=1e-4)
    assert detectable_share(100, discordant=0.2) == pytest.approx(0.1253, abs=1e-4)
    assert detectable_share(1) == 1.0
    with pytest.raises(ValueError, match="no questions"):
        detectable_share(0)


def test_a_difference_that_large_is_found_four_times_of_five():
    rng = np.random.default_rng(5)
    n, tests = 100, 2000
    gap = detectable_share(n)
    first = rng.random((n, tests)) < 0.5 - gap / 2
    second = rng.random((n, tests)) < 0.5 + gap / 2
    p = sign_flip_p(second.astype(float) - first, permutations=499)
    assert np.mean(p <= 0.05) == pytest.approx(0.8, abs=0.05)
