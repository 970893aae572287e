"""Rounds, halves and the front, by hand."""

from __future__ import annotations

from graphrag_bench.searching.halving import front, halved, rounds
from graphrag_bench.searching.journal import Journal, Score


def score(value: float, tokens: float = 1.0, size: int = 1, failed: str = "") -> Score:
    return Score(f"{value} {tokens} {size}", 4, value, tokens, size, failed)


def test_rounds_double_and_have_at_least_eight_questions() -> None:
    assert rounds(100) == [25, 50, 100]
    assert rounds(20) == [8, 10, 20]
    assert rounds(5) == [5]


def test_the_better_half_goes_on_and_a_failed_one_does_not() -> None:
    values = {0: 0.1, 1: 0.9, 2: 0.5, 3: 0.7, 4: 0.7}
    seen: list[tuple[int, int]] = []

    def scored(row: int, n: int) -> Score:
        seen.append((row, n))
        return score(values[row], failed="no" if row == 1 else "")

    found = halved(list(values), 100, scored, lambda: False)
    assert found.scored == ((25, 5), (50, 2), (100, 1))
    assert seen[5:] == [(3, 50), (4, 50), (3, 100)]  # of two alike the first
    assert [row for row, _ in found.rows] == [3] and found.unscored == 0


def test_a_round_that_time_cuts_does_not_count() -> None:
    calls = iter([False] * 5 + [True] * 100)
    found = halved(range(4), 100, lambda row, n: score(row / 10), lambda: next(calls))
    assert found.scored == ((25, 4), (50, 1)) and found.n == 25 and found.unscored == 1
    assert [row for row, _ in found.rows] == [3, 2, 1, 0]


def test_on_the_front_nobody_is_beaten_in_all_three() -> None:
    rows = [
        (0, score(0.9, 100, 10)),
        (1, score(0.9, 90, 10)),  # beats 0
        (2, score(0.5, 50, 10)),
        (3, score(0.5, 60, 5)),  # smaller
        (4, score(0.4, 60, 10)),  # beaten by 2 and 3
        (5, score(0.5, 50, 10)),  # as 2, which came first
        (6, score(0.0, 0, 0)),  # found nothing
    ]
    assert [row for row, _ in front(rows)] == [1, 2, 3]


def test_a_journal_keeps_scores_and_leaves_out_a_line_that_was_cut(tmp_path) -> None:
    journal = Journal(tmp_path)
    journal.add(Score("a", 8, 0.5, 10.0, 3))
    with journal.path.open("a") as file:
        file.write('{"key": "b", "n"')
    again = Journal(tmp_path)
    assert again.get("a", 8) == Score("a", 8, 0.5, 10.0, 3) and again.get("b", 8) is None
    again.add(Score("b", 8, 0.1, 1.0, 1))
    assert Journal(tmp_path).get("b", 8) == Score("b", 8, 0.1, 1.0, 1)
