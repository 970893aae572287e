"""Whether paper and ours put methods in the same order, where figures cannot be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphrag_bench.report.papers import Printed

FEWEST = 3
"""With fewer methods every order is one of two."""


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho and Kendall's tau-b over `n` methods, -1..1; ties share a rank."""

    spearman: float
    kendall: float
    n: int


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> RankCorrelation | None:
    """The correlation of the ranks of paired figures.

    None for fewer than three pairs, or where one side is the same everywhere, which has no order.
    """
    if len(first) < FEWEST or len(set(first)) == 1 or len(set(second)) == 1:
        return None
    from scipy.stats import kendalltau, spearmanr

    rho, tau = spearmanr(first, second).statistic, kendalltau(first, second).statistic
    return RankCorrelation(round(float(rho), 6), round(float(tau), 6), len(first))


def rank_notes(cells: Sequence[tuple[Printed, float | None]]) -> list[str]:
    """A line for each metric: the rank correlation of paper and ours over the methods of a block.

    Rows of one model and one setting are compared with each other. Of a pair of methods one side
    is taken, as the other follows from it.
    """
    notes = []
    for metric in dict.fromkeys(cell.metric for cell, _ in cells):
        held = [(cell, ours) for cell, ours in cells if cell.metric == metric]
        for name, pairs in _groups(held).items():
            found = rank_correlation(*zip(*pairs, strict=True)) if pairs else None
            label = f"rank correlation with the paper, {metric}{name}"
            if found:
                notes.append(
                    f"{label}: Spearman {found.spearman:+.2f}, Kendall {found.kendall:+.2f} "
                    f"(n = {found.n})"
                )
            elif pairs:
                notes.append(f"{label}: none (n = {len(pairs)}; too few, or all alike)")
    return notes


def _groups(
    cells: Sequence[tuple[Printed, float | None]],
) -> dict[str, list[tuple[float, float]]]:
    """(paper, ours) of the cells that have both, by the model and settings that methods share."""
    shared = _shared([cell for cell, _ in cells])
    several = len({cell.llm for cell, _ in cells}) > 1
    groups: dict[str, list[tuple[float, float]]] = {}
    seen: set[tuple[str, str, str]] = set()
    for cell, ours in cells:
        if ours is None or cell.value is None or cell.method == cell.versus:
            continue
        parts = [cell.llm] if several else []
        parts += [item for item in cell.setting if item in shared]
        name = "".join(f", {part}" for part in parts)
        if cell.versus and (name, cell.versus, cell.method) in seen:
            continue
        seen.add((name, cell.method, cell.versus))
        groups.setdefault(name, []).append((cell.value, ours))
    return groups


def _shared(cells: Sequence[Printed]) -> set[str]:
    """The settings that tell rows apart and that several methods have."""
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
