"""Tables of pairs: rates, p, audits and agreement."""

from __future__ import annotations

from graphrag_bench.judging.tables import (
    Match,
    agreement_table,
    audit_table,
    judged_table,
    match_table,
)
from graphrag_bench.judging.win_rates import BothOrders


def match(*counts: tuple[int, bool, bool]) -> Match:
    """Questions with (how many, A won first, A won second), the longer answer on either side."""
    verdicts = [
        BothOrders(first, second, 1 if row % 2 else -1)
        for n, first, second in counts
        for row in range(n)
    ]
    return Match("Ours", "Theirs", "overall", tuple(verdicts))


def test_a_flip_counts_half_and_is_audited() -> None:
    """40 for A, 20 for B and 20 flips: (40 + 10) / 80; 20 of 80 flipped."""
    held = match((40, True, True), (20, False, False), (20, True, False))
    (row,) = match_table("", [held]).rows
    assert row[3:8] == ("80", "0", "40", "20", "20")
    assert row[8].startswith("62.5 [")
    assert audit_table([held]).rows[0][3].startswith("25.0 [")


def test_verdicts_that_are_missing_leave_dashes() -> None:
    nothing = Match("Ours", "Theirs", "overall", (BothOrders(None, True), BothOrders(None, None)))
    (row,) = match_table("", [nothing]).rows
    assert row[3:] == ("0", "2", "0", "0", "0", "–", "–")
    assert set(audit_table([nothing]).rows[0][3:]) == {"–"}


def won(wins: int, losses: int, *scopes: str) -> Match:
    """Questions that A wins in both orders, then those that B does."""
    verdicts = [BothOrders(one, one) for one in [True] * wins + [False] * losses]
    return Match("Ours", "Theirs", f"{wins}-{losses}", tuple(verdicts), scopes or None)


def test_p_is_corrected_over_all_pairs_and_criteria_that_have_a_verdict() -> None:
    """Of 6, 8 and 2 questions all won p is 1/64, 1/256, 1/4; times 2, 3, 1; without verdict none.

    The sign test by mid-p: twice half of (1/2)^n.
    """
    none = Match("Ours", "Theirs", "none", (BothOrders(True, None),))
    table = match_table("", [won(6, 0), none, won(8, 0), won(2, 0)])
    assert [row[9] for row in table.rows] == ["0.0312", "–", "0.0117", "0.2500"]
    assert any("Holm-corrected for the 3 tests of this table" in note for note in table.notes)


def test_questions_that_share_a_document_are_drawn_and_turned_together() -> None:
    """Six questions won over two documents count as two: p is 1/4 in the place of 1/64."""
    alone, together = won(6, 0), won(6, 0, "a", "a", "a", "b", "b", "b")
    assert match_table("", [alone]).rows[0][9] == "0.0156"
    table = match_table("", [together])
    assert table.rows[0][9] == "0.2500"
    assert any("over scopes (2 that questions share: few" in note for note in table.notes)
    assert any("over scopes (2" in note for note in audit_table([together]).notes)
    assert any(note.endswith("over questions") for note in match_table("", [alone]).notes)


def test_kappa_draws_the_criteria_of_a_question_together() -> None:
    """Both criteria of q1 are alike and both of q2 are not: as two items, and not as four."""
    ours, theirs = (
        {(q, "a", "b", name): label for q, label in labels for name in ("overall", "diversity")}
        for labels in ((("q1", "A"), ("q2", "A")), (("q1", "A"), ("q2", "B")))
    )
    whole = agreement_table({"ada": ours, "bo": theirs}, {}).rows[-1]
    assert whole[:5] == ("ada", "bo", "all", "4", "50%")
    assert whole[5] == "0.00 [0.00, 0.00]"


def test_judged_means_draw_questions_of_one_document_together_and_the_note_says_so() -> None:
    values = {"judge:1": {"judged_correctness": {"q1": 1.0, "q2": 0.0, "q3": 1.0, "q4": None}}}
    shared = {"q1": "x", "q2": "x", "q3": "y", "q4": "y"}
    table = judged_table([("Ours", values, shared)])
    assert table.rows[0][2:5] == ("3", "1", "0.667 [0.50, 1.00]")
    assert "over scopes (2 that questions share" in table.notes[1]
    assert "over questions" in judged_table([("Ours", values, {})]).notes[1]
