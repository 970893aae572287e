"""Compiled loops over the chunks of nodes and relationships: CSR rows merged, met and counted."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.graph.compiled import kernel
from graphrag_bench.values import FloatArray, IntArray

Ids = NDArray[np.signedinteger[Any]]
"""Starts or columns of a CSR, int32 or int64."""
FREE = -1


@kernel
def slot_of(keys: IntArray, key: int) -> int:
    """The slot of a key in a table of 2^i slots, not all taken: its own, or a `FREE` one."""
    mixed = key * 0x9E3779B1
    slot = (mixed ^ (mixed >> 32)) & (len(keys) - 1)
    while keys[slot] != key and keys[slot] != FREE:
        slot = (slot + 1) & (len(keys) - 1)
    return slot


@kernel
def slots_for(n_keys: int) -> IntArray:
    """A free table of which so many keys take at most half, int64 (2^i,)."""
    size = 2
    while size < 2 * n_keys:
        size *= 2
    return np.full(size, FREE, np.int64)


@kernel
def first_columns(
    starts: Ids, columns: Ids, rows: IntArray, scores: FloatArray, most: int
) -> tuple[IntArray, FloatArray]:
    """The first `most` columns of some rows, each once, by the order of the rows, then by id.

    The columns, and the score of the first row that holds each, (n_found,). Columns may be stored
    in any order. Raises IndexError for a row that is not there.
    """
    n_cells = longest = 0
    for row in rows:
        if not 0 <= row < len(starts) - 1:
            raise IndexError("a row is not one of the matrix")
        n_cells += starts[row + 1] - starts[row]
        longest = max(longest, starts[row + 1] - starts[row])
    room = min(n_cells, most + longest)
    keys, found, score = slots_for(room), np.empty(room, np.int64), np.empty(room)
    n_found = 0
    for place in range(len(rows)):
        if n_found >= most:
            break
        begin, rises = n_found, True
        for cell in range(starts[rows[place]], starts[rows[place] + 1]):
            column = columns[cell]
            slot = slot_of(keys, column)
            if keys[slot] == FREE:
                keys[slot] = found[n_found] = column
                score[n_found] = scores[place]
                rises = rises and (n_found == begin or found[n_found - 1] < column)
                n_found += 1
        if not rises:
            found[begin:n_found].sort()
    kept = min(n_found, most)
    return found[:kept], score[:kept]


@kernel
def meeting(columns: Ids, one: tuple[int, int], other: tuple[int, int], met: IntArray) -> int:
    """How many columns two rows share, given as the begin and end of their ascending cells.

    The cells go to the first rows of `met`, int64 (at least the shorter row, 2). The longer row is
    searched in growing strides, so that the time is that of the shorter row, times a logarithm.
    """
    short = 0 if one[1] - one[0] <= other[1] - other[0] else 1
    (cell, end), (low, last) = (one, other) if short == 0 else (other, one)
    n_met = 0
    while cell < end and low < last:
        column, stride = columns[cell], 1
        while low + stride < last and columns[low + stride] <= column:
            low += stride
            stride *= 2
        high = min(low + stride, last)
        while high - low > 1:
            middle = (low + high) // 2
            if columns[middle] <= column:
                low = middle
            else:
                high = middle
        if columns[low] == column:
            met[n_met, short], met[n_met, 1 - short] = cell, low
            n_met += 1
        cell += 1
    return n_met


@kernel
def shorter(starts: Ids, ones: IntArray, others: IntArray) -> int:
    """The most cells that both rows of a pair have."""
    most = 0
    for pair in range(len(ones)):
        one, other = ones[pair], others[pair]
        cells = min(starts[one + 1] - starts[one], starts[other + 1] - starts[other])
        most = max(most, cells)
    return most


@kernel
def grown(keys: IntArray, sums: IntArray) -> tuple[IntArray, IntArray]:
    """A table of twice as many slots with the same keys and sums."""
    wide = np.full(2 * len(keys), FREE, np.int64)
    moved = np.zeros(2 * len(keys), np.int64)
    for slot in range(len(keys)):
        if keys[slot] != FREE:
            to = slot_of(wide, keys[slot])
            wide[to], moved[to] = keys[slot], sums[slot]
    return wide, moved


@kernel
def shared_columns(
    starts: Ids, columns: Ids, weights: IntArray, ones: IntArray, others: IntArray
) -> tuple[IntArray, IntArray]:
    """The columns that rows share, and over all pairs of rows the sum of the products of weights.

    Both int64 (n_found,), in no order; sums of 0 are left out. Columns of a row ascend; `weights`
    are those of the cells, or none where each has 1.
    """
    met = np.empty((shorter(starts, ones, others), 2), np.int64)
    keys, sums, n_keys = slots_for(32), np.zeros(64, np.int64), 0
    for pair in range(len(ones)):
        one, other = ones[pair], others[pair]
        row = starts[one], starts[one + 1]
        for place in range(meeting(columns, row, (starts[other], starts[other + 1]), met)):
            column = columns[met[place, 0]]
            slot = slot_of(keys, column)
            if keys[slot] == FREE:
                keys[slot] = column
                n_keys += 1
            sums[slot] += weights[met[place, 0]] * weights[met[place, 1]] if len(weights) else 1
            if 2 * n_keys > len(keys):
                keys, sums = grown(keys, sums)
    kept = np.flatnonzero(sums)
    return keys[kept], sums[kept]


@kernel
def best_columns(columns: IntArray, sums: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """The `k` columns with the highest sums, highest first, ties by lower id; int64 (<= k,)."""
    best = [(np.int64(0), np.int64(0)) for _ in range(0)]
    for place in range(len(columns)):
        entry = (sums[place], -columns[place])
        if len(best) < k:
            heapq.heappush(best, entry)
        elif entry > best[0]:
            heapq.heapreplace(best, entry)
    found, values = np.empty(len(best), np.int64), np.empty(len(best), np.int64)
    for place in range(len(best) - 1, -1, -1):
        value, below = heapq.heappop(best)
        found[place], values[place] = -below, value
    return found, values


@kernel
def held_by(starts: Ids, columns: Ids, weights: IntArray, row: int, others: Ids) -> IntArray:
    """For each column of a row, the sum of its weights in the other rows, int64 (n_cells,)."""
    begin, end = starts[row], starts[row + 1]
    sums, met = np.zeros(end - begin, np.int64), np.empty((end - begin, 2), np.int64)
    for other in others:
        for place in range(meeting(columns, (begin, end), (starts[other], starts[other + 1]), met)):
            sums[met[place, 0] - begin] += weights[met[place, 1]] if len(weights) else 1
    return sums
