"""Agreement of two who give labels to the same items, beyond what chance would give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

ItemT = TypeVar("ItemT", bound=Hashable)


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
    first: Mapping[ItemT, str], second: Mapping[ItemT, str], seed: int = 0
) -> Agreement | None:
    """The agreement over the items that both have; None when there is no such item.

    Source: Cohen 1960.
    """
    pairs = [(label, second[item]) for item, label in first.items() if item in second]
    if not pairs:
        return None
    alike = sum(a == b for a, b in pairs) / len(pairs)
    kappa = _kappa(pairs)
    if kappa is None:
        return Agreement(len(pairs), round(alike, 6), None)
    rng = np.random.default_rng(seed)
    drawn = [_kappa([pairs[i] for i in rng.integers(len(pairs), size=len(pairs))])
             for _ in range(500)]  # fmt: skip
    known = [value for value in drawn if value is not None]
    low, high = np.quantile(known, [0.025, 0.975]) if known else (kappa, kappa)
    return Agreement(
        len(pairs), round(alike, 6), round(kappa, 6), round(float(low), 6), round(float(high), 6)
    )


def _kappa(pairs: list[tuple[str, str]]) -> float | None:
    n = len(pairs)
    alike = sum(a == b for a, b in pairs) / n
    ours, theirs = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    by_chance = sum(ours[label] * theirs[label] for label in sorted(ours)) / n**2
    return None if by_chance == 1 else (alike - by_chance) / (1 - by_chance)
