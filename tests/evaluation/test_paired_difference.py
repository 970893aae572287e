"""Differences of paired values."""

from __future__ import annotations

import pytest

from graphrag_bench.evaluation.statistics import paired_difference


def test_a_difference_counts_wins_ties_and_losses_of_the_second() -> None:
    found = paired_difference([0, 1, 1, 0], [1, 1, 0, 1])
    assert (found.first, found.second, found.mean) == (0.5, 0.75, 0.25)
    assert (found.wins, found.ties, found.losses, found.n) == (2, 1, 1, 4)


def test_three_questions_all_won_have_one_chance_in_eight() -> None:
    """Of the 2 ** 3 ways to swap, two have a mean as far from 0, none further: p = 2 / 8 / 2."""
    assert paired_difference([0, 0, 0], [1, 1, 1]).p == 0.125


def test_questions_of_one_document_are_drawn_and_swapped_together() -> None:
    """Three scopes of two wins each: one chance in eight again, where six wins have 1 in 64."""
    scopes = ["a", "a", "b", "b", "c", "c"]
    together = paired_difference([0] * 6, [1] * 6, scopes=scopes)
    assert (together.p, together.clusters) == (0.125, 3)
    apart = paired_difference([0] * 6, [1] * 6)
    assert (apart.p, apart.clusters) == (pytest.approx(1 / 64), 0)
    mixed = [1, 1, -1, -1, 1, 1]
    wide, narrow = (paired_difference([0] * 6, mixed, scopes=s) for s in (scopes, None))
    assert wide.low < narrow.low
    assert wide.mean == narrow.mean == pytest.approx(1 / 3, abs=1e-6)


def test_no_difference_has_a_p_of_one_and_an_interval_of_no_width() -> None:
    found = paired_difference([0.3, 0.7], [0.3, 0.7])
    assert (found.p, found.low, found.high) == (1.0, 0.0, 0.0)


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        paired_difference([], [])
