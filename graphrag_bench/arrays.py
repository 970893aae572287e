"""Array types, and functions that sort rows by score or by first appearance."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
T = TypeVar("T")

DECIMALS = 6
"""Scores are rounded to this many decimals. Further digits depend on batch and processor."""


def unique(items: Sequence[T]) -> tuple[T, ...]:
    """Return the distinct items in order of first appearance."""
    return tuple(dict.fromkeys(items))


def best_score_by_id(
    ids: IntArray, scores: FloatArray, least: float = -np.inf
) -> tuple[IntArray, FloatArray]:
    """Return the distinct ids, ascending, and the best score of each id, but at least `least`."""
    rows, places = np.unique(ids, return_inverse=True)
    best: FloatArray = np.full(len(rows), least)
    np.maximum.at(best, places, scores)
    return rows, best


def best_first(scores: FloatArray, ids: IntArray | None = None) -> IntArray:
    """Return positions, best rounded score first. Ties are broken by the lower id or position."""
    keys = -np.round(scores, DECIMALS)
    return np.argsort(keys, kind="stable") if ids is None else np.lexsort((ids, keys))
