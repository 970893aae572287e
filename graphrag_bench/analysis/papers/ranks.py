"""Rank agreement of the paper's methods and ours, where figures cannot be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphrag_bench.papers.printed import Printed

FEWEST_METHODS = 6
"""Of six methods chance gives one of two orders in 360; of five one in 60, of three one in 3."""
FEWEST_QUESTIONS = 30
"""Over fewer questions the means lie within each other's intervals, and their order is chance."""


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> tuple[float, float] | None:
    """Spearman's rho and Kendall's tau-b of paired figures, -1..1; ties share a rank.

    None where one side is the same everywhere, which has no order.
    """
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    from scipy.stats import kendalltau, spearmanr

    rho, tau = spearmanr(first, second).statistic, kendalltau(first, second).statistic
    return round(float(rho), 6), round(float(tau), 6)


@dataclass(frozen=True)
class Pair:
    """A printed cell and our figure for it over `n_questions`, None where there is none."""

    cell: Printed
    ours: float | None = None
    n_questions: int = 0


def rank_notes(pairs: Sequence[Pair]) -> list[str]:
    """A line for each metric: the rank correlation of paper and ours over the methods of a block.

    Rows of one model and one setting are compared with each other. Of a pair of methods one side
    is taken, as the other follows from it. Of fewer than 6 methods, or fewer than 30 questions, no
    correlation is given, and the line says why.
    """
    notes = []
    for metric in dict.fromkeys(pair.cell.metric for pair in pairs):
        held = [pair for pair in pairs if pair.cell.metric == metric]
        for name, group in _groups(held).items():
            label = f"rank correlation with the paper, {metric}{name}"
            notes.append(f"{label}: {_said(group)}")
    return notes


def _said(group: Sequence[Pair]) -> str:
    methods = {name for pair in group for name in (pair.cell.method, pair.cell.versus) if name}
    fewest = min(pair.n_questions for pair in group)
    if len(methods) < FEWEST_METHODS:
        return (
            f"none over {len(methods)} methods: an order of fewer than {FEWEST_METHODS} is often "
            "chance"
        )
    if fewest < FEWEST_QUESTIONS:
        return (
            f"none over {fewest} questions: fewer than {FEWEST_QUESTIONS} do not settle the order "
            "of methods"
        )
    found = rank_correlation(
        [pair.cell.value or 0.0 for pair in group], [pair.ours or 0.0 for pair in group]
    )
    if found is None:
        return f"none: the figures of one side are all alike (n = {len(group)})"
    spearman, kendall = found
    return f"Spearman {spearman:+.2f}, Kendall {kendall:+.2f} (n = {len(group)})"


def _groups(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    cells = [pair.cell for pair in pairs]
    shared = _shared(cells)
    several = len({cell.llm for cell in cells}) > 1
    groups: dict[str, list[Pair]] = {}
    seen: set[tuple[str, str, str]] = set()
    for pair in pairs:
        cell = pair.cell
        if pair.ours is None or cell.value is None or cell.method == cell.versus:
            continue
        parts = [cell.llm] if several else []
        parts += [item for item in cell.setting if item in shared]
        name = "".join(f", {part}" for part in parts)
        if cell.versus and (name, cell.versus, cell.method) in seen:
            continue
        seen.add((name, cell.method, cell.versus))
        groups.setdefault(name, []).append(pair)
    return groups


def _shared(cells: Sequence[Printed]) -> set[str]:
    having: dict[str, set[str]] = {}
    for cell in cells:
        for item in cell.setting:
            having.setdefault(item, set()).add(cell.method)
    every = {cell.row for cell in cells}
    return {
        item
        for item, methods in having.items()
        if len(methods) > 1 and not all(item in row[3] for row in every)
    }
