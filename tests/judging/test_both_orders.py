"""Win rates and their tables by hand; planted judges are exposed by their rates."""

from collections.abc import Callable

import pytest
from pytest import approx

from graphrag_bench.judging.tables import audit_table, judged_table, match_table
from graphrag_bench.judging.win_rates import BothOrders, HeadToHead, head_to_head

Judge = Callable[[bool, bool, int], bool]
"""Whether A wins, from whether A is better, whether it stands first, and which one is longer."""


def test_four_questions_by_hand() -> None:
    pairs = [
        BothOrders(True, True, 1),
        BothOrders(True, False, 1),
        BothOrders(False, False, -1),
        BothOrders(True, True, -1),
        BothOrders(None, True, 1),
    ]
    result = head_to_head(pairs)
    assert (result.n, result.missing, result.wins, result.ties, result.losses) == (4, 1, 2, 1, 1)
    assert result.rate and result.flips and result.first and result.longer
    assert result.rate.mean == 0.625
    assert (result.flips.mean, result.first.mean) == (0.25, 5 / 8)
    assert result.longer.mean == (1 + 0.5 + 1 + 0) / 4


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
    result = head_to_head(of_document * 6, scopes=scopes)
    for mean in (result.rate, result.first, result.longer, result.flips):
        assert mean is not None and mean.low == approx(mean.high, abs=1e-6)
    assert result.rate is not None and result.rate.clusters == 6
    alone = head_to_head(of_document * 6)
    for mean in (alone.rate, alone.longer, alone.flips):
        assert mean is not None and mean.high - mean.low > 0.1


@pytest.mark.parametrize(
    ("judge", "rate", "flips", "first", "longer_wins"),
    [
        (lambda better, first, longer: better, 0.7, 0.0, 0.5, 0.5),
        (lambda better, first, longer: first, 0.5, 1.0, 1.0, 0.5),
        (lambda better, first, longer: longer == 1, 0.5, 0.0, 0.5, 1.0),
    ],
)
def test_planted_judges_are_exposed_by_their_rates(
    judge: Judge, rate: float, flips: float, first: float, longer_wins: float
) -> None:
    """Of 200 questions 140 have the better answer from A; every second of its answers is longer."""
    pairs = []
    for row in range(200):
        better, longer = row < 140, 1 if row % 2 else -1
        pairs.append(BothOrders(judge(better, True, longer), judge(better, False, longer), longer))
    result = head_to_head(pairs)
    assert result.rate and result.flips and result.first and result.longer
    assert (result.rate.mean, result.flips.mean, result.first.mean) == (rate, flips, first)
    assert result.longer.mean == longer_wins


# ---- tables


def test_a_flip_counts_half_and_is_audited() -> None:
    """40 for A, 20 for B and 20 flips: (40 + 10) / 80; 20 of 80 flipped."""
    verdicts = [(True, True)] * 40 + [(False, False)] * 20 + [(True, False)] * 20
    rates = head_to_head([BothOrders(*both) for both in verdicts])
    (row,) = match_table("", [rates]).rows
    assert row[3:8] == ("80", "0", "40", "20", "20")
    assert row[8].startswith("62.5 [")
    assert audit_table([rates]).rows[0][3].startswith("25.0 [")


def test_verdicts_that_are_missing_leave_dashes() -> None:
    nothing = head_to_head([BothOrders(None, True), BothOrders(None, None)])
    (row,) = match_table("", [nothing]).rows
    assert row[3:] == ("0", "2", "0", "0", "0", "–", "–")
    assert set(audit_table([nothing]).rows[0][3:]) == {"–"}


def won(n: int, *scopes: str) -> HeadToHead:
    """Questions that A wins in both orders."""
    return head_to_head([BothOrders(True, True)] * n, scopes=scopes or None)


def test_p_is_corrected_over_all_pairs_and_criteria_that_have_a_verdict() -> None:
    """Of 6, 8 and 2 questions all won p is 1/64, 1/256, 1/4; times 2, 3, 1; without verdict none.

    The sign test by mid-p: twice half of (1/2)^n.
    """
    none = head_to_head([BothOrders(True, None)])
    table = match_table("", [won(6), none, won(8), won(2)])
    assert [row[9] for row in table.rows] == ["0.0312", "–", "0.0117", "0.2500"]


def test_questions_that_share_a_document_are_drawn_and_turned_together() -> None:
    """Six questions won over two documents count as two: p is 1/4 in the place of 1/64."""
    assert match_table("", [won(6)]).rows[0][9] == "0.0156"
    together = won(6, "a", "a", "a", "b", "b", "b")
    table = match_table("", [together])
    assert table.rows[0][9] == "0.2500"
    for notes in (table.notes, audit_table([together]).notes):
        assert any("scopes (2" in note for note in notes)
    values = {"judge:1": {"judged_correctness": {"q1": 1.0, "q2": 0.0, "q3": 1.0, "q4": None}}}
    judged = judged_table([("Ours", values, {"q1": "x", "q2": "x", "q3": "y", "q4": "y"})])
    assert judged.rows[0][2:5] == ("3", "1", "0.667")
    assert "scopes (2" in judged.notes[1]
    assert "scopes" not in judged_table([("Ours", values, {})]).notes[1]
