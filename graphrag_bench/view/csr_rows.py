"""Where the entries of several CSR rows are, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrag_bench.values import IntArray


def entries(starts: Any, rows: Sequence[int]) -> tuple[IntArray, IntArray]:
    """The row of each entry of some rows, and its place, both int64 in the order of `rows`.

    Those of row v are at `starts[v]` up to `starts[v + 1]`, as in `indptr` of a CSR matrix.
    """
    wanted = np.asarray(rows, np.int64)
    first = np.asarray(starts[wanted], np.int64)
    counts = np.asarray(starts[wanted + 1], np.int64) - first
    before = np.cumsum(counts) - counts
    return np.repeat(wanted, counts), np.arange(counts.sum()) + np.repeat(first - before, counts)
