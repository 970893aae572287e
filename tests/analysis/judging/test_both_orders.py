"""Planted judges are exposed by flip rate and length effect; the corrected rate is the truth."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from pytest import approx

from graphrag_bench.analysis.judging.bias import Corrected, corrected
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


def leaning(first_weight: float, length_weight: float, chance: float) -> Judge:
    """A judge that goes by place, by length and by a coin that often, else by quality."""

    def judge(rng: np.random.Generator, better: bool, first: bool, longer: int) -> bool:
        drawn = rng.random()
        if drawn < abs(first_weight):
            return first if first_weight > 0 else not first
        if drawn < abs(first_weight) + length_weight:
            return longer == 1
        if drawn < abs(first_weight) + length_weight + chance:
            return bool(rng.random() < 0.5)
        return better

    return judge


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


def test_the_corrected_rate_is_less_certain_where_documents_are_won_whole() -> None:
    """40 documents of 10 questions, 28 won whole: sd of the rate sqrt(0.7 * 0.3 / 40) = 0.072."""
    pairs = [BothOrders(True, True)] * 280 + [BothOrders(False, False)] * 120
    scopes = [f"document {number}" for number in range(40) for _ in range(10)]
    whole, alone = (corrected(pairs, length=False, scopes=held) for held in (scopes, None))
    assert isinstance(whole, Corrected) and isinstance(alone, Corrected)
    assert whole.rate == alone.rate == approx(0.7, abs=1e-3)
    assert whole.high - whole.low == approx(2 * 1.96 * 0.0725, rel=0.2)
    assert alone.high - alone.low == approx(2 * 1.96 * 0.0229, rel=0.2)


def test_a_judge_without_a_readable_verdict_has_no_rate() -> None:
    found = head_to_head([BothOrders(None, None)] * 3)
    assert (found.n, found.missing, found.rate, found.flips, found.p) == (0, 3, None, None, 1.0)


def test_the_flip_rate_exposes_a_judge_that_always_takes_the_first() -> None:
    pairs = judged(always_first, 200)
    found = head_to_head(pairs)
    assert found.flips is not None and found.first is not None and found.rate is not None
    assert (found.flips.mean, found.first.mean, found.rate.mean) == (1.0, 1.0, 0.5)
    assert "place explains" in str(corrected(pairs, length=False))


def test_the_length_effect_exposes_a_judge_that_takes_the_longer() -> None:
    pairs = judged(longer_wins, 200)
    found = head_to_head(pairs)
    assert found.length is not None and found.longer is not None and found.flips is not None
    assert (found.length.mean, found.longer.mean, found.flips.mean) == (1.0, 1.0, 0.0)
    assert "place and length explain" in str(corrected(pairs, length=True))


def test_a_judge_that_tosses_a_coin_cannot_be_corrected() -> None:
    pairs = judged(coin, 500)
    found = head_to_head(pairs)
    assert found.flips is not None and found.flips.mean == approx(0.5, abs=0.07)
    assert "place explains" in str(corrected(pairs, length=False))
    assert "explain" in str(corrected(pairs, length=True))


def test_a_judge_that_goes_by_quality_shows_no_leaning() -> None:
    pairs = judged(fair, 1000)
    found = head_to_head(pairs)
    assert found.rate is not None and found.rate.mean == TRUTH
    assert found.flips is not None and found.flips.mean == 0.0
    assert found.length is not None and found.length.low < 0 < found.length.high
    both = corrected(pairs, length=True)
    assert isinstance(both, Corrected) and both.rate == approx(TRUTH, abs=0.005)


@pytest.mark.parametrize(
    ("place", "length", "chance"),
    [
        (0.4, 0.0, 0.0),
        (-0.4, 0.0, 0.0),
        (0.3, 0.0, 0.2),
        (0.0, 0.4, 0.0),
        (0.25, 0.3, 0.0),
        (0.25, 0.25, 0.1),
    ],
)
def test_the_corrected_rate_is_within_two_points_of_the_truth(
    place: float, length: float, chance: float
) -> None:
    pairs = judged(leaning(place, length, chance))
    plain = head_to_head(pairs).rate
    found = corrected(pairs, length=True)
    assert plain is not None and abs(plain.mean - TRUTH) > 0.05
    assert isinstance(found, Corrected)
    assert found.rate == approx(TRUTH, abs=0.02)
    assert found.low <= TRUTH <= found.high
    assert found.place == approx(place, abs=0.05)
    assert found.length == approx(length, abs=0.05)


@pytest.mark.parametrize(("place", "chance"), [(0.4, 0.0), (-0.4, 0.0), (0.3, 0.2)])
def test_place_alone_is_corrected_where_lengths_cannot_be(place: float, chance: float) -> None:
    pairs = [
        BothOrders(pair.forward, pair.backward) for pair in judged(leaning(place, 0.0, chance))
    ]
    found = corrected(pairs, length=False)
    assert isinstance(found, Corrected) and found.rate == approx(TRUTH, abs=0.02)
    assert "longer answer on either side" in str(corrected(pairs, length=True))


@pytest.mark.parametrize(
    ("place", "length", "noise"),
    [(0.5, 0.0, 0.0), (-0.5, 0.0, 0.0), (0.5, 0.0, 0.6), (0.0, 0.5, 0.3), (0.4, 0.4, 0.5)],
)
def test_a_leaning_that_adds_to_quality_is_corrected_by_degree(
    place: float, length: float, noise: float
) -> None:
    """Quality of A over B is normal with mean 0.5, so that A is better in 69.1 % of questions."""
    rng = np.random.default_rng(2)
    pairs = []
    for quality in rng.normal(0.5, 1, 8000):
        longer = int(rng.integers(2)) * 2 - 1
        sees = [quality + sign * place + length * longer + noise * rng.normal() for sign in (1, -1)]
        pairs.append(BothOrders(sees[0] > 0, sees[1] > 0, longer))
    found = corrected(pairs, length=True)
    assert isinstance(found, Corrected)
    assert found.by_degree == approx(0.6915, abs=0.02)


def test_two_models_of_the_judge_that_name_different_winners_decide_nothing() -> None:
    held = Corrected(0.53, 0.4, 0.6, quality=0.5, place=0.3, length=0.0, by_degree=0.48)
    assert not held.decided
    assert dataclasses.replace(held, by_degree=0.51).decided


def test_too_few_questions_are_not_corrected() -> None:
    assert "9 questions" in str(corrected([BothOrders(True, True)] * 9, length=False))


def test_a_matrix_has_fifty_on_its_diagonal_and_mirrored_cells_sum_to_a_hundred() -> None:
    cells = win_matrix([[None, 0.8, None], [None, None, 0.25], [None, None, None]])
    assert cells == [[50, 80, None], [approx(20), 50, 25], [None, 75, 50]]


def test_the_wilson_interval_of_two_of_ten() -> None:
    """Centre (0.2 + z²/20) / (1 + z²/10) with z = 1.96: 0.2832, half width 0.2264."""
    found = proportion(2, 10)
    assert (found.mean, found.low, found.high) == approx((0.2, 0.0567, 0.5098), abs=1e-4)
