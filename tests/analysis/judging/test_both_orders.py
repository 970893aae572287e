"""Planted judges are exposed by flip rate and length effect."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pytest import approx

from graphrag_bench.analysis.judging.both_orders import (
    BothOrders,
    head_to_head,
    proportion,
    win_matrix,
)

pytestmark = pytest.mark.slow

TRUTH = 0.7
Judge = Callable[[np.random.Generator, bool, bool, int], bool]
"""Whether A wins, from whether A is better, whether it stands first, and which one is longer."""


def judged(judge: Judge, n: int = 6000, seed: int = 1) -> list[BothOrders]:
    """Verdicts in both orders on `n` questions, of which `TRUTH` have the better answer from A."""
    rng = np.random.default_rng(seed)
    found = []
    for row in range(n):
        better, longer = row < round(TRUTH * n), int(rng.integers(2)) * 2 - 1
        found.append(
            BothOrders(judge(rng, better, True, longer), judge(rng, better, False, longer), longer)
        )
    return found


def fair(rng: np.random.Generator, better: bool, first: bool, longer: int) -> bool:
    return better


def always_first(rng: np.random.Generator, better: bool, first: bool, longer: int) -> bool:
    return first


def longer_wins(rng: np.random.Generator, better: bool, first: bool, longer: int) -> bool:
    return longer == 1


def coin(rng: np.random.Generator, better: bool, first: bool, longer: int) -> bool:
    return bool(rng.random() < 0.5)


def test_points_are_one_half_where_the_orders_disagree_and_none_where_one_is_missing() -> None:
    assert [BothOrders(*v).points for v in ((True, True), (True, False), (False, False))] == [
        1.0, 0.5, 0.0,
    ]  # fmt: skip
    assert BothOrders(True, None).points is None


def test_four_questions_by_hand() -> None:
    pairs = [
        BothOrders(True, True, 1),
        BothOrders(True, False, 1),
        BothOrders(False, False, -1),
        BothOrders(True, True, -1),
        BothOrders(None, True, 1),
    ]
    found = head_to_head(pairs)
    assert (found.n, found.missing, found.wins, found.ties, found.losses) == (4, 1, 2, 1, 1)
    assert found.rate is not None and found.rate.mean == 0.625
    assert found.flips is not None and found.flips.mean == 0.25
    assert found.first is not None and found.first.mean == 5 / 8
    assert found.longer is not None and found.longer.mean == (1 + 0.5 + 1 + 0) / 4
    assert found.length is not None and found.length.mean == 0.75 - 0.5


def test_questions_of_one_document_count_together_by_hand() -> None:
    """Three documents are ahead by 2, by 1 and by -1, together by 2; they turn in 8 ways.

    Two ways are further (4) and four as far: 2 / 8 + 4 / 16. Of four questions by themselves three
    are won; of 16 ways two are further and eight as far: 2 / 16 + 8 / 32.
    """
    pairs = [BothOrders(one, one) for one in (True, True, True, False)]
    assert head_to_head(pairs, scopes=["x", "x", "y", "z"]).p == 0.5
    assert head_to_head(pairs).p == 0.375
    assert head_to_head(pairs, scopes=["x", "y", None, None]).p == 0.375


def test_every_rate_draws_questions_of_one_document_together() -> None:
    """Each document has a win and a loss and one flip of two: no drawing changes a rate."""
    of_document = [BothOrders(True, True, 1), BothOrders(False, False, -1),
                   BothOrders(True, False, 1), BothOrders(False, True, -1)]  # fmt: skip
    scopes = [f"document {number}" for number in range(6) for _ in of_document]
    found = head_to_head(of_document * 6, scopes=scopes)
    for held in (found.rate, found.first, found.longer, found.flips, found.length):
        assert held is not None and held.low == approx(held.high, abs=1e-6)
    assert found.rate is not None and found.rate.clusters == 6
    alone = head_to_head(of_document * 6)
    for held in (alone.rate, alone.longer, alone.flips, alone.length):
        assert held is not None and held.high - held.low > 0.1


def test_a_judge_without_a_readable_verdict_has_no_rate() -> None:
    found = head_to_head([BothOrders(None, None)] * 3)
    assert (found.n, found.missing, found.rate, found.flips, found.p) == (0, 3, None, None, 1.0)


def test_the_flip_rate_exposes_a_judge_that_always_takes_the_first() -> None:
    pairs = judged(always_first, 200)
    found = head_to_head(pairs)
    assert found.flips is not None and found.first is not None and found.rate is not None
    assert (found.flips.mean, found.first.mean, found.rate.mean) == (1.0, 1.0, 0.5)


def test_the_length_effect_exposes_a_judge_that_takes_the_longer() -> None:
    pairs = judged(longer_wins, 200)
    found = head_to_head(pairs)
    assert found.length is not None and found.longer is not None and found.flips is not None
    assert (found.length.mean, found.longer.mean, found.flips.mean) == (1.0, 1.0, 0.0)


def test_a_judge_that_tosses_a_coin_flips_half_the_time() -> None:
    pairs = judged(coin, 500)
    found = head_to_head(pairs)
    assert found.flips is not None and found.flips.mean == approx(0.5, abs=0.07)


def test_a_judge_that_goes_by_quality_shows_no_leaning() -> None:
    pairs = judged(fair, 1000)
    found = head_to_head(pairs)
    assert found.rate is not None and found.rate.mean == TRUTH
    assert found.flips is not None and found.flips.mean == 0.0
    assert found.length is not None and found.length.low < 0 < found.length.high


def test_a_matrix_has_fifty_on_its_diagonal_and_mirrored_cells_sum_to_a_hundred() -> None:
    cells = win_matrix([[None, 0.8, None], [None, None, 0.25], [None, None, None]])
    assert cells == [[50, 80, None], [approx(20), 50, 25], [None, 75, 50]]


def test_the_wilson_interval_of_two_of_ten() -> None:
    """Centre (0.2 + z²/20) / (1 + z²/10) with z = 1.96: 0.2832, half width 0.2264."""
    found = proportion(2, 10)
    assert (found.mean, found.low, found.high) == approx((0.2, 0.0567, 0.5098), abs=1e-4)
