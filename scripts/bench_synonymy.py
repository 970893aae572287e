"""Synonymy edges of seeded names, against plain exact search in blocks, measured in one run.

`ours` and `reference` are names a second: `graph.kg_synonymy` with its defaults, exact up to 50,000
names and in lists above, from names that no fact joins to the graph; and `faiss.knn` in blocks of
1,024 with a dict of pairs. The reference compares each name with all, at the same rate in every
block: of 100,000 names it does four blocks. p50 and p95 are of our repeats, p95 the slow end.
Of 20,000 names pairs that are not the reference's are an error. Vectors have 384 numbers, as those
of the packaged embedder: names come in families of three on average, which share one to three of
20,000 words, some of them frequent, and differ by noise. The recalls are those the builder measures
with 200 nodes: of their ten nearest names, most of which are no synonyms, and of the synonyms. Of
20,000 names they are those of a search in lists. `growth` is the exponent of processor time from
a fifth of the names with the defaults, `growth_lists` with lists at both sizes.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Mapping
from functools import partial

import faiss
import numpy as np

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.extraction import ChunkExtraction, Extraction
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Vectors
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.synonymy import kg_synonymy
from graphrag_bench.progress import Progress

DIMENSION, N_WORDS, MOST_WORDS, SKEW, SPREAD, FAMILY = 384, 20_000, 3, 3, 0.7, 3
K, THRESHOLD, BLOCK, N_BLOCKS, N_REPEATS = 10, 0.8, 1024, 4, 3
SMALL, LARGE = 20_000, 100_000
Numbers = tuple[float, float, str, dict[str, float]]
Pairs = dict[tuple[int, int], float]


def made_up(n_names: int) -> Vectors:
    """The unit vectors of so many names, float32 (n_names, 384)."""
    chance = np.random.default_rng(0)
    n_families = n_names // FAMILY
    drawn = (N_WORDS * chance.random((n_families, MOST_WORDS)) ** SKEW).astype(np.int64)
    said = np.arange(MOST_WORDS) < chance.integers(1, MOST_WORDS + 1, (n_families, 1))
    words = chance.standard_normal((N_WORDS, DIMENSION), np.float32)
    families = np.zeros((n_families, DIMENSION), np.float32)
    for place in range(MOST_WORDS):
        families += words[drawn[:, place]] * said[:, place, None]
    families /= np.linalg.norm(families, axis=1, keepdims=True)
    noise = chance.standard_normal((n_names, DIMENSION), np.float32)
    noise *= SPREAD / np.linalg.norm(noise, axis=1, keepdims=True)
    noise *= chance.random((n_names, 1), np.float32)
    vectors = families[chance.integers(0, n_families, n_names)] + noise
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def builder(vectors: Vectors) -> Callable[..., Graph]:
    """What builds the graph of so many names without a fact; it takes settings."""
    names = tuple(f"name {row}" for row in range(len(vectors)))
    return partial(
        kg_synonymy,
        extraction=Extraction((ChunkExtraction(names, ()),), {}),
        chunk_table=ChunkTable.of([("d", "", "text")]),
        name_index=VectorIndex(vectors),
        progress=Progress(quiet=True),
        synonyms_per_node=K,
        synonymy_threshold=THRESHOLD,
    )


def plain(vectors: Vectors, n_rows: int) -> Pairs:
    """The pairs of the first rows with any, by `faiss.knn` in blocks and a dict."""
    found: Pairs = {}
    for start in range(0, n_rows, BLOCK):
        block = vectors[start : min(start + BLOCK, n_rows)]
        cosines, ids = faiss.knn(block, vectors, K + 1, metric=faiss.METRIC_INNER_PRODUCT)
        for place, column in np.argwhere(np.round(cosines, 6) >= THRESHOLD):
            row, other = start + int(place), int(ids[place, column])
            if row != other:
                pair = (min(row, other), max(row, other))
                cosine = float(np.round(cosines[place, column], 6))
                found[pair] = max(found.get(pair, -1.0), cosine)
    return found


def seconds(call: Callable[[], object], clock: Callable[[], float]) -> float:
    """How long a call takes."""
    gc.collect()
    began = clock()
    call()
    return clock() - began


def compared(n_names: int, n_rows: int) -> tuple[float, float, str, dict[str, float]]:
    """Names a second of both, ours and the reference in turns."""
    vectors = made_up(n_names)
    build = builder(vectors)
    mine, other = [], []
    for _ in range(N_REPEATS):
        mine.append(seconds(build, time.perf_counter))
        other.append(seconds(lambda: plain(vectors, n_rows), time.perf_counter))
    p50, p95 = (n_names / float(np.percentile(mine, part)) for part in (50, 95))
    return p50, n_rows / float(np.median(other)), "names/s", {"p50": p50, "p95": p95}


def recalls(statistics: Mapping[str, float]) -> dict[str, float]:
    """The two recalls of a graph."""
    return {name: statistics[name] for name in ("neighbour_recall", "synonym_recall")}


def of_20k() -> Numbers:
    """20,000 names, exact by default."""
    vectors = made_up(SMALL)
    graph, pairs = builder(vectors)(), plain(vectors, SMALL)
    ends = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    if dict(zip(ends, graph.weight.tolist(), strict=True)) != pairs:
        raise AssertionError("the pairs differ from the plain ones")
    ours, reference, unit, more = compared(SMALL, SMALL)
    listed = recalls(builder(vectors)(exact_up_to=0).statistics)
    return ours, reference, unit, {**more, "synonyms": float(len(pairs)), **listed}


def of_100k() -> Numbers:
    """100,000 names, in lists by default."""
    ours, reference, unit, more = compared(LARGE, N_BLOCKS * BLOCK)
    build, small = builder(made_up(LARGE)), builder(made_up(LARGE // 5))
    made: list[Graph] = []
    listed = seconds(lambda: made.append(build()), time.process_time)
    small_listed = seconds(lambda: small(exact_up_to=0), time.process_time)
    small_exact = seconds(small, time.process_time)
    more |= {"synonyms": float(made[0].n_relationships), **recalls(made[0].statistics)}
    more |= {
        "growth": math.log(listed / small_exact) / math.log(5),
        "growth_lists": math.log(listed / small_listed) / math.log(5),
    }
    return ours, reference, unit, more


CASES = {"synonymy_20k": of_20k, "synonymy_100k": of_100k}
