"""Compiled loops over the chunks of nodes and relationships: CSR rows merged, met and counted.

Compiling takes ten to twenty seconds, once a machine; the next process reads the compiled code
from disk.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.graph.compiled import kernel
from graphrag_bench.graph.prefetch import AHEAD, prefetch
from graphrag_bench.values import FloatArray, IntArray

Ids = NDArray[np.signedinteger[Any]]
"""Starts or columns of a CSR, int32 or int64."""
FREE = -1
Span = tuple[int, int]
"""The places of a row's cells: from the first to before the second."""


class Cells(NamedTuple):
    """The cells of a matrix: those of row v are at the places `starts[v]:starts[v + 1]`.

    `columns` (n_cells,) are below `n_columns`, each once in a row; `weights` (n_cells,) are those
    of the cells, or none where each has 1.
    """

    starts: Ids
    columns: Ids
    weights: IntArray
    n_columns: int


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
def taken(column: Ids, rows: IntArray) -> IntArray:
    """The values of a column at some rows, int64 (n_rows,); raises IndexError for one not there."""
    values = np.empty(len(rows), np.int64)
    for place in range(len(rows)):
        if place + AHEAD < len(rows):
            prefetch(column, rows[place + AHEAD])
        if not 0 <= rows[place] < len(column):
            raise IndexError("a row is not one of the column")
        values[place] = column[rows[place]]
    return values


@kernel
def spans(starts: Ids, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Where the cells of each row begin and end; raises IndexError for a row that is not there."""
    begins, ends = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for place in range(len(rows)):
        if place + AHEAD < len(rows):
            prefetch(starts, rows[place + AHEAD])
        row = rows[place]
        if not 0 <= row < len(starts) - 1:
            raise IndexError("a row is not one of the matrix")
        begins[place], ends[place] = starts[row], starts[row + 1]
    return begins, ends


@kernel
def longest(begins: IntArray, ends: IntArray) -> int:
    """The cells of the longest row, 0 without a row."""
    most = 0
    for place in range(len(begins)):
        most = max(most, ends[place] - begins[place])
    return most


@kernel
def first_columns(
    starts: Ids, columns: Ids, rows: IntArray, scores: FloatArray, most: int
) -> tuple[IntArray, FloatArray]:
    """The first `most` columns of some rows, each once, by the order of the rows, then by id.

    The columns, and the score of the first row that holds each, (n_found,). Columns may be stored
    in any order. Raises IndexError for a row that is not there.
    """
    begins, ends = spans(starts, rows)
    room = min((ends - begins).sum(), most + longest(begins, ends))
    keys, found, score = slots_for(room), np.empty(room, np.int64), np.empty(room)
    n_found = 0
    for place in range(len(rows)):
        if n_found >= most:
            break
        if place + AHEAD < len(rows):
            prefetch(columns, begins[place + AHEAD])
        before, rises = n_found, True
        for cell in range(begins[place], ends[place]):
            column = columns[cell]
            slot = slot_of(keys, column)
            if keys[slot] == FREE:
                keys[slot] = found[n_found] = column
                score[n_found] = scores[place]
                rises = rises and (n_found == before or found[n_found - 1] < column)
                n_found += 1
        if not rises:
            found[before:n_found].sort()
    kept = min(n_found, most)
    return found[:kept], score[:kept]


@kernel
def together(keys: IntArray) -> IntArray:
    """An order of places, int64 (n,), in which places of the same key follow each other."""
    slots = slots_for(len(keys))
    last, before = np.full(len(slots), FREE, np.int64), np.empty(len(keys), np.int64)
    for place in range(len(keys)):
        slot = slot_of(slots, keys[place])
        slots[slot] = keys[place]
        before[place], last[slot] = last[slot], place
    order, n_ordered = np.empty(len(keys), np.int64), 0
    for slot in range(len(slots)):
        place = last[slot]
        while place != FREE:
            order[n_ordered] = place
            n_ordered += 1
            place = before[place]
    return order


@kernel
def ask_for(columns: Ids, row: Span) -> None:
    """Ask for the first 128 cells of a row; the processor asks for more of a longer one itself."""
    for place in range(row[0], min(row[1], row[0] + 128), 16):
        prefetch(columns, place)


@kernel
def marks_for(cells: Cells) -> Ids:
    """Room for `mark`, 0 for each column: 4 bytes a column, 8 where `starts` is int64."""
    return np.zeros(cells.n_columns, cells.starts.dtype)


@kernel
def mark(columns: Ids, row: Span, marks: Ids) -> None:
    """Write the place of each cell of a row, plus 1, at its column."""
    for place in range(row[0], row[1]):
        marks[np.uint64(columns[np.uint64(place)])] = place + 1


@kernel
def meeting(columns: Ids, row: Span, marked: Span, marks: Ids, met: IntArray) -> int:
    """How many columns a row shares with one that is marked; other rows may have been before.

    The places of their cells, in both rows, go to the first rows of `met`, int64 (>= n_cells, 2).
    """
    n_met, n_marked = 0, np.uint64(marked[1] - marked[0])
    for place in range(row[0], row[1]):
        cell = np.int64(marks[np.uint64(columns[np.uint64(place)])]) - 1
        if np.uint64(cell - marked[0]) < n_marked:  # both bounds in one branch to be guessed
            met[n_met, 0], met[n_met, 1] = place, cell
            n_met += 1
    return n_met


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
def added(cells: Cells, met: IntArray, n_met: int, keys: IntArray, sums: IntArray) -> int:
    """How many columns are new among those met, after adding the products of weights to `sums`."""
    columns, weights, n_new = cells.columns, cells.weights, 0
    for place in range(n_met):
        one, other = met[place, 0], met[place, 1]
        slot = slot_of(keys, columns[one])
        if keys[slot] == FREE:
            keys[slot] = columns[one]
            n_new += 1
        sums[slot] += weights[one] * weights[other] if len(weights) else 1
    return n_new


@kernel
def shared_columns(cells: Cells, ones: IntArray, others: IntArray) -> tuple[IntArray, IntArray]:
    """The columns that rows share, and over all pairs of rows the sum of the products of weights.

    Both int64 (n_found,), in no order; sums of 0 are left out. Of each pair the longer row is
    marked, once for all pairs that it is in, and the shorter one read. Raises IndexError for a row
    that is not there.
    """
    columns = cells.columns
    begins, ends = spans(cells.starts, ones)
    firsts, lasts = spans(cells.starts, others)
    for pair in range(len(ones)):
        if lasts[pair] - firsts[pair] > ends[pair] - begins[pair]:
            begins[pair], firsts[pair] = firsts[pair], begins[pair]
            ends[pair], lasts[pair] = lasts[pair], ends[pair]
    order, marks, marked = together(begins), marks_for(cells), -1
    met = np.empty((longest(firsts, lasts), 2), np.int64)
    keys, sums, n_keys = slots_for(32), np.zeros(64, np.int64), 0
    for turn in range(len(order)):
        if turn + AHEAD < len(order):
            later = order[turn + AHEAD]
            ask_for(columns, (firsts[later], lasts[later]))
            ask_for(columns, (begins[later], ends[later]))
        pair = order[turn]
        row, other = (firsts[pair], lasts[pair]), (begins[pair], ends[pair])
        if row[0] == row[1]:
            continue
        if other[0] != marked:
            mark(columns, other, marks)
            marked = other[0]
        n_met = meeting(columns, row, other, marks, met)
        while len(keys) < 2 * (n_keys + n_met):
            keys, sums = grown(keys, sums)
        n_keys += added(cells, met, n_met, keys, sums)
    kept = np.flatnonzero(sums)
    return keys[kept], sums[kept]


@kernel
def largest_of(groups: IntArray, values: FloatArray, n_groups: int) -> FloatArray:
    """The largest value of each group, float64 (n_groups,), -inf for one without; NaN is largest.

    `groups` (n_values,) are below `n_groups`. Raises ValueError for other lengths.
    """
    if len(groups) != len(values):
        raise ValueError("not as many values as groups")
    largest = np.full(n_groups, -np.inf)
    for place in range(len(values)):
        if place + AHEAD < len(groups):
            prefetch(largest, groups[place + AHEAD])
        value, group = values[place], groups[place]
        if value > largest[group] or np.isnan(value):
            largest[group] = value
    return largest


@kernel
def column_sums(cells: Cells, values: FloatArray) -> FloatArray:
    """For each column the sum of its weights times the values of their rows, float64 (n_columns,).

    The transposed matrix times `values` (n_rows,), added in the order of the rows as SciPy does,
    without a copy of the weights; rows of value 0 are not read. Raises ValueError where there is
    not a value for each row.
    """
    starts, columns, weights = cells.starts, cells.columns, cells.weights
    if len(values) != len(starts) - 1:
        raise ValueError("not as many values as rows")
    sums = np.zeros(cells.n_columns)
    for row in range(len(values)):
        value = values[row]
        if value == 0:
            continue
        for place in range(starts[row], starts[row + 1]):
            sums[columns[place]] += weights[place] * value if len(weights) else value
    return sums


@kernel
def best_columns(columns: IntArray, sums: IntArray, k: int) -> tuple[IntArray, FloatArray]:
    """The `k` columns with the highest sums, and these, highest first, ties by lower id."""
    best = [(np.int64(0), np.int64(0)) for _ in range(0)]
    for place in range(len(columns)):
        entry = (sums[place], -columns[place])
        if len(best) < k:
            heapq.heappush(best, entry)
        elif entry > best[0]:
            heapq.heapreplace(best, entry)
    found, values = np.empty(len(best), np.int64), np.empty(len(best))
    for place in range(len(best) - 1, -1, -1):
        value, below = heapq.heappop(best)
        found[place], values[place] = -below, value
    return found, values


@kernel
def held_by(cells: Cells, row: int, others: IntArray, marks: Ids) -> IntArray:
    """For each cell of a row, the sum of its column's weights in the other rows, int64.

    `marks` are those of `marks_for`, which may have served for other rows.
    """
    own = int(cells.starts[row]), int(cells.starts[row + 1])
    firsts, lasts = spans(cells.starts, others)
    sums = np.zeros(own[1] - own[0], np.int64)
    met = np.empty((longest(firsts, lasts), 2), np.int64)
    mark(cells.columns, own, marks)
    for other in range(len(others)):
        for place in range(meeting(cells.columns, (firsts[other], lasts[other]), own, marks, met)):
            weight = cells.weights[met[place, 0]] if len(cells.weights) else 1
            sums[met[place, 1] - own[0]] += weight
    return sums
