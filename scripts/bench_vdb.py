"""Vector search against raw faiss in the same run, on seeded unit vectors of 384 numbers.

`ours` and `reference` are questions searched a second, the median over repeats that take turns; p50
and p95 are ours in milliseconds for a call, p95 the slow end. A call searches 1,000 questions, or
one. The reference is `faiss.knn` over the same questions and vectors, which settles no ties; ids
that differ from it are an error. Vectors are made in blocks in a file, which both sides map.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import faiss
import numpy as np
from numpy.lib.format import open_memmap

from graphrag_bench.models.embedder import Vectors
from graphrag_bench.models.vector_index import VectorIndex

DIMENSION, TOP_K = 384, 20
N_MILLION, N_100K, N_BATCH = 1_000_000, 100_000, 1000
N_REPEATS, N_REPEATS_OF_ONE = 3, 30
BLOCK = 50_000
Numbers = tuple[float, float, str, dict[str, float]]


def unit_rows(n_rows: int, seed: int) -> Vectors:
    """Rows of length 1 in all directions alike."""
    rows = np.random.default_rng(seed).standard_normal((n_rows, DIMENSION), np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@contextmanager
def index(n_rows: int) -> Iterator[VectorIndex]:
    """The index of so many vectors, mapped from a file."""
    with TemporaryDirectory() as folder:
        path, shape = Path(folder) / "vectors.npy", (n_rows, DIMENSION)
        held = open_memmap(path, "w+", np.float32, shape)
        for start in range(0, n_rows, BLOCK):
            held[start : start + BLOCK] = unit_rows(BLOCK, seed=start + 1)
        del held
        yield VectorIndex.load(Path(folder))


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes by the clock."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def compared(n_rows: int, n_questions: int, n_repeats: int) -> Numbers:
    """Questions a second of both, the two in turns; raises AssertionError where ids differ."""
    asked = unit_rows(n_questions, seed=0)
    with index(n_rows) as ours:

        def raw() -> Vectors:
            found = faiss.knn(asked, ours.vectors, TOP_K, metric=faiss.METRIC_INNER_PRODUCT)
            return np.asarray(found[1])

        same = np.mean([found.ids == row for found, row in zip(ours.search(asked, TOP_K), raw())])
        if same < 0.999:
            raise AssertionError(f"only {same:.4f} of the ids are those of faiss")
        mine, other = [], []
        for _ in range(n_repeats):
            mine.append(seconds(lambda: ours.search(asked, TOP_K)))
            other.append(seconds(raw))
    times = {f"p{part}": 1000 * float(np.percentile(mine, part)) for part in (50, 95)}
    rates = (n_questions / float(np.median(taken)) for taken in (mine, other))
    return *rates, "questions/s", times | {"same_ids": float(same)}


CASES = {
    "batch_1m": lambda: compared(N_MILLION, N_BATCH, N_REPEATS),
    "one_1m": lambda: compared(N_MILLION, 1, N_REPEATS_OF_ONE),
    "batch_100k": lambda: compared(N_100K, N_BATCH, 2 * N_REPEATS),
}
