"""The order of a column of texts, without a Python object for each."""

from __future__ import annotations

import numpy as np

from graphrag_bench.columns import Texts
from graphrag_bench.values import IntArray

_AT_ONCE = 8
"""Bytes that are compared at a time: one number of 64 bits."""


def text_places(texts: Texts) -> IntArray:
    """The number of texts that come before each one, int64 (n,): equal texts have the same.

    The order is that of Python's `sorted`. Texts are compared by eight bytes at a time, and only
    those that were equal so far go on.
    """
    place = np.zeros(len(texts), np.int64)
    tied, depth = np.arange(len(texts)), 0
    while len(tied):
        words, n_bytes = _words(texts, tied, depth)
        order = np.lexsort((n_bytes, words, place[tied]))
        columns = np.stack([place[tied], words.view(np.int64), n_bytes])[:, order]
        new = np.concatenate([[True], (columns[:, 1:] != columns[:, :-1]).any(axis=0)])
        first = np.flatnonzero(new)
        sizes = np.diff(first, append=len(tied))
        before = first - np.searchsorted(columns[0], columns[0, first])
        place[tied[order]] += np.repeat(before, sizes)
        goes_on = np.repeat(sizes > 1, sizes) & (columns[2] == _AT_ONCE)
        tied, depth = np.sort(tied[order][goes_on]), depth + _AT_ONCE
    return place


def _words(texts: Texts, rows: IntArray, depth: int) -> tuple[np.ndarray, IntArray]:
    starts = texts.offsets[rows] + depth
    n_bytes = np.clip(texts.offsets[rows + 1] - starts, 0, _AT_ONCE)
    words = np.zeros(len(rows), np.uint64)
    for at in range(_AT_ONCE):
        held = np.zeros(len(rows), np.uint64)
        inside = at < n_bytes
        held[inside] = texts.blob[starts[inside] + at]
        words = (words << np.uint64(8)) | held
    return words, n_bytes
