"""Win rates and their tables by hand."""

from graphrag_bench.judging.tables import audit_table, judged_table, match_table
from graphrag_bench.judging.win_rates import BothOrders, HeadToHead, head_to_head


def test_four_questions_by_hand() -> None:
    pairs = [
        BothOrders(True, True, 1),
        BothOrders(True, False, 1),
        BothOrders(False, False, -1),
        BothOrders(True, True, -1),
        BothOrders(None, True, 1),
    ]
    result = head_to_head(pairs, scopes=["x", "x", "y", "z", "z"])
    assert (result.n, result.missing, result.wins, result.ties, result.losses) == (4, 1, 2, 1, 1)
    rates = (result.rate, result.flips, result.first, result.longer)
    assert [one and one.mean for one in rates] == [0.625, 0.25, 5 / 8, (1 + 0.5 + 1 + 0) / 4]
    assert [one and one.clusters for one in rates] == [3] * 4


def test_questions_of_one_document_count_together_by_hand() -> None:
    """Three documents are ahead by 2, by 1 and by -1, together by 2; they turn in 8 ways.

    Two ways are further (4) and four as far: 2 / 8 + 4 / 16. Of four questions by themselves three
    are won; of 16 ways two are further and eight as far: 2 / 16 + 8 / 32.
    """
    pairs = [BothOrders(one, one) for one in (True, True, True, False)]
    assert head_to_head(pairs, scopes=["x", "x", "y", "z"]).p == 0.5
    assert head_to_head(pairs).p == 0.375
    assert head_to_head(pairs, scopes=["x", "y", None, None]).p == 0.375


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
    together = won(6, "a", "a", "a", "b", "b", "b")
    assert [match_table("", [of]).rows[0][9] for of in (won(6), together)] == ["0.0156", "0.2500"]
    values = {"judge:1": {"judged_correctness": {"q1": 1.0, "q2": 0.0, "q3": 1.0, "q4": None}}}
    judged = judged_table([("Ours", values, {"q1": "x", "q2": "x", "q3": "y", "q4": "y"})])
    assert judged.rows[0][2:5] == ("3", "1", "0.667")
    for table in (match_table("", [together]), audit_table([together]), judged):
        assert any("scopes (2" in note for note in table.notes)
    assert not any("scopes" in note for note in judged_table([("Ours", values, {})]).notes)
