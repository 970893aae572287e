"""Vector search against raw faiss in the same run, on seeded unit vectors of 384 numbers.

`ours` and `reference` are questions searched a second, the median over repeats that take turns; p50
and p95 are ours in milliseconds for a call, p95 the slow end. A call searches 1,000 questions, or
one. The reference is `faiss.knn` over the same questions and vectors in float32. `same_ids` is the
share of ranks with the same id (faiss orders scores that agree in six decimals otherwise), `recall`
the share of its ids that are ours at any rank. Recall below 0.99 is an error. Vectors are made in
blocks in a file, which both sides map.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import faiss
import numpy as np
from numpy.lib.format import open_memmap
from timing import Numbers, in_turns, milliseconds

from graphrag_bench.embedding.embedder import Vectors
from graphrag_bench.embedding.vector_index import Ids, VectorIndex

DIMENSION, TOP_K = 384, 20
N_MILLION, N_100K, N_BATCH = 1_000_000, 100_000, 1000
N_REPEATS, N_REPEATS_OF_100K, N_REPEATS_OF_ONE = 3, 6, 15
BLOCK = 50_000
LEAST_RECALL = 0.99


def unit_rows(n_rows: int, seed: int) -> Vectors:
    """Rows of length 1 in all directions alike."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows, DIMENSION), np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@contextmanager
def mapped(n_rows: int) -> Iterator[VectorIndex]:
    """The index of so many vectors, mapped from a file."""
    with TemporaryDirectory() as folder:
        shape = (n_rows, DIMENSION)
        vectors = open_memmap(Path(folder) / "vectors.npy", "w+", np.dtype(np.float32), shape)
        for start in range(0, n_rows, BLOCK):
            vectors[start : start + BLOCK] = unit_rows(BLOCK, seed=start + 1)
        del vectors
        yield VectorIndex.load(Path(folder))


def compared(n_rows: int, n_questions: int, n_repeats: int) -> Numbers:
    """Questions a second of both, the two in turns; raises AssertionError where ids differ."""
    questions = unit_rows(n_questions, seed=0)
    with mapped(n_rows) as ours:

        def raw() -> Ids:
            hits = faiss.knn(questions, ours.vectors, TOP_K, metric=faiss.METRIC_INNER_PRODUCT)
            return np.asarray(hits[1])

        more = agreement(np.stack([ranked.ids for ranked in ours.search(questions, TOP_K)]), raw())
        if more["recall"] < LEAST_RECALL:
            raise AssertionError(f"recall against faiss is only {more['recall']:.4f}")
        mine, other = in_turns(lambda: ours.search(questions, TOP_K), raw, n_repeats)
    return milliseconds(n_questions, mine, other, **more)


def agreement(ours: Ids, reference: Ids) -> dict[str, float]:
    """The share of ranks with the same id, and of the reference's ids that are ours at any rank."""
    both = [len(np.intersect1d(*pair)) for pair in zip(ours, reference, strict=True)]
    return {"same_ids": float(np.mean(ours == reference)), "recall": sum(both) / reference.size}


CASES = {
    "batch_1m": lambda: compared(N_MILLION, N_BATCH, N_REPEATS),
    "one_1m": lambda: compared(N_MILLION, 1, N_REPEATS_OF_ONE),
    "batch_100k": lambda: compared(N_100K, N_BATCH, N_REPEATS_OF_100K),
}
