"""Chance-corrected agreement of two raters who label the same items."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.evaluation.statistics import clusters_of, resampled_sums

ItemT = TypeVar("ItemT", bound=Hashable)
Item = tuple[str, str, str, str]
"""Question, two runs in the order of the comparison, and criterion."""
Labels = Mapping[Item, str]
"""`A` where the first run of the item won, `B` where the second did, `tie`."""
_RESAMPLES = 500


@dataclass(frozen=True)
class Agreement:
    """Over the `n` items that both have labelled: the share labelled alike, and Cohen's kappa.

    `kappa` is 1 for agreement everywhere, 0 for as much as chance gives, with its 95 % bootstrap
    interval; None where both give one and the same label throughout, which chance explains whole.
    """

    n: int
    alike: float
    kappa: float | None
    low: float | None = None
    high: float | None = None


def agreement(
    first: Mapping[ItemT, str],
    second: Mapping[ItemT, str],
    *,
    scope: Callable[[ItemT], str] | None = None,
) -> Agreement | None:
    """The agreement over the items that both have; None when there is no such item.

    The interval draws items of one `scope` together, those on one question for instance.
    Source: Cohen 1960.
    """
    items = [item for item in first if item in second]
    if not items:
        return None
    labels = sorted({held[item] for item in items for held in (first, second)})
    cells = np.zeros((len(items), len(labels), len(labels)))
    for row, item in enumerate(items):
        cells[row, labels.index(first[item]), labels.index(second[item])] = 1
    counts = cells.sum(0)
    alike = round(float(np.trace(counts)) / len(items), 6)
    kappa = float(_kappa(counts[None])[0])
    if np.isnan(kappa):
        return Agreement(len(items), alike, None)
    clusters = None if scope is None else clusters_of([scope(item) for item in items])
    drawn = _kappa(resampled_sums(cells, clusters, _RESAMPLES, np.random.default_rng(0)))
    known = drawn[~np.isnan(drawn)]
    low, high = np.quantile(known, [0.025, 0.975]) if len(known) else (kappa, kappa)
    return Agreement(
        len(items), alike, round(kappa, 6), round(float(low), 6), round(float(high), 6)
    )


def _kappa(counts: NDArray[Any]) -> NDArray[np.float64]:
    n = counts.sum((1, 2))
    alike = np.trace(counts, axis1=1, axis2=2) / n
    by_chance = (counts.sum(2) * counts.sum(1)).sum(1) / n**2
    room = 1 - by_chance
    found: NDArray[np.float64] = np.full(len(counts), np.nan)
    np.divide(alike - by_chance, room, out=found, where=room > 1e-12)
    return found
