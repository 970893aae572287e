"""The bars of the evidence funnel stay within 100 columns, whatever is said beside them."""

from __future__ import annotations

from graphrag_bench.analysis.funnel.stages import STAGES, Fate, funnel
from graphrag_bench.analysis.funnel.table import funnel_lines

ALL = dict.fromkeys(STAGES, True)


def fate(question: str, right: bool, **verdicts: bool | None) -> Fate:
    return Fate(question, "d", {**ALL, "answered": right, **verdicts}, right)


def test_a_loss_has_a_bar_a_number_a_share_and_its_questions() -> None:
    """Two of four are lost at the end: of the 30 signs of the bar half."""
    made = funnel(STAGES, [fate("a", True), fate("b", True), fate("c", False), fate("d", False)])
    last = list(funnel_lines(made))[-1]
    assert last.startswith("  answered      " + "█" * 15 + "▒" * 15)
    assert last.endswith("     2  -2 (50.0%; 2 question(s) had all in hand)")


def test_remarks_that_are_longer_than_the_line_go_on_below_themselves() -> None:
    lost = [fate(f"q{n}", True, retrieved=False, cut=None, prompt=False) for n in range(1200)]
    found = [fate(f"f{n}", True, extracted=False, linked=False) for n in range(1200)]
    unknown = [fate(f"u{n}", True, retrieved=None, cut=None, prompt=None) for n in range(1200)]
    lines = list(funnel_lines(funnel(STAGES, [*lost, *found, *unknown])))
    assert max(map(len, lines)) <= 100
    (at,) = [row for row, line in enumerate(lines) if line.startswith("  retrieved")]
    assert "1200 of them answered all the same" in " ".join(map(str.strip, lines[at : at + 3]))
    assert lines[at + 1].startswith(" " * 50)
