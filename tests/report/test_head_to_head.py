"""Tables of pairs: what is corrected, and why not where it is not."""

from __future__ import annotations

from graphrag_bench.evaluation.both_orders import BothOrders
from graphrag_bench.report.head_to_head import Match, audit_table, match_table


def match(*counts: tuple[int, bool, bool]) -> Match:
    """Questions with (how many, A won first, A won second), the longer answer on either side."""
    verdicts = [
        BothOrders(first, second, 1 if row % 2 else -1)
        for n, first, second in counts
        for row in range(n)
    ]
    return Match("Ours", "Theirs", "overall", tuple(verdicts))


def test_a_rate_is_shown_with_what_is_left_without_place() -> None:
    """40 for A, 20 for B and 20 flips: (40 + 10) / 80 as judged, 40 / 60 without the flips."""
    (row,) = match_table("", [match((40, True, True), (20, False, False), (20, True, False))]).rows
    assert row[3:8] == ("80", "0", "40", "20", "20")
    assert row[8].startswith("62.5 [")
    assert row[10].startswith("66.7 [") and row[11].startswith("66.7 [")
    assert 62.5 < float(row[10].partition("(")[2].rstrip(")")) < 66.7


def test_a_judge_that_always_takes_the_first_is_not_corrected_and_the_note_says_why() -> None:
    firsts = match((60, True, False))
    table = match_table("", [firsts])
    assert table.rows[0][10:] == ("–", "–")
    assert any("place explains the verdicts as well" in note for note in table.notes)
    (audit,) = audit_table([firsts]).rows
    assert audit[3].startswith("100.0") and audit[4].startswith("100.0")


def test_verdicts_that_are_missing_leave_dashes() -> None:
    nothing = Match("Ours", "Theirs", "overall", (BothOrders(None, True), BothOrders(None, None)))
    (row,) = match_table("", [nothing]).rows
    assert row[3:] == ("0", "2", "0", "0", "0", "–", "–", "–", "–")
    assert set(audit_table([nothing]).rows[0][3:]) == {"–"}
