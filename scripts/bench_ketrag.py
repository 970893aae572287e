"""KET-RAG's nearest chunks by words and its keyword channel, and both as the released code does.

`words`: 2,000 passages of 60 words drawn by rank from 20,000 words, each joined to the one that
shares the most words (`max_df=None`, so that both give the same edges); the plain side intersects
the sets of all pairs. `words_10k` is five times as many with `max_df` 500, beside the plain side's
time for a tenth of the pairs, ten times over. `keywords`: 200 questions, 2,000 chunks, 20,000
keywords; the plain side looks at one question after the other. `ours` and `reference` are passages
or questions a second; p50 and p95 are ours in milliseconds, of a pass or of a question alone.
Embedding is not timed. Other results are an error, where both sides do the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix

from graphrag_bench.columns import Texts
from graphrag_bench.contract import alone
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.keyword_graph import KeywordGraph
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.chunk_graph import chunk_graph
from graphrag_bench.progress import Progress
from graphrag_bench.values import Question
from operators.keyword_channel import by_keyword

N_WORDS, N_EACH, DIMENSION = 20_000, 60, 384
N_QUESTIONS, POOL, TOP_K = 200, 20, 10
Numbers = tuple[float, float, str, dict[str, float]]


def drawn(n_passages: int) -> list[list[int]]:
    """The words of each passage, each once; the word of rank r is drawn 1 / (r + 10) as often."""
    chance = np.random.default_rng(0)
    weights = 1.0 / (np.arange(N_WORDS) + 10)
    words = chance.choice(N_WORDS, (n_passages, N_EACH), p=weights / weights.sum())
    return [sorted(set(row)) for row in words.tolist()]


def joined(passages: Sequence[Sequence[int]], max_df: int | None) -> tuple[Graph, float]:
    """The graph of the nearest chunks by words, and the seconds that it took."""
    texts = [" ".join(f"word{word}" for word in words) for words in passages]
    table = ChunkTable.of([(str(row), "", text) for row, text in enumerate(texts)])
    index = VectorIndex(np.zeros((len(texts), 1), np.float32))
    began = time.perf_counter()
    made = chunk_graph(
        chunk_table=table, chunk_index=index, progress=Progress(quiet=True),
        semantic=0, max_df=max_df,
    )  # fmt: skip
    return made, time.perf_counter() - began


def all_pairs(passages: Sequence[Sequence[int]], n_rows: int) -> tuple[set[tuple[int, int]], float]:
    """The edges of the first `n_rows` passages by comparing each with all, and the seconds."""
    held = [frozenset(words) for words in passages]
    began = time.perf_counter()
    edges = set()
    for row, own in enumerate(held[:n_rows]):
        shared = [len(own & other) for other in held]
        shared[row] = -1
        best = shared.index(max(shared))
        edges.add((min(row, best), max(row, best)))
    return edges, time.perf_counter() - began


def words() -> Numbers:
    """Passages a second, the same edges on both sides."""
    passages = drawn(2_000)
    joined(passages[:100], None)
    made, seconds = joined(passages, None)
    edges, plain = all_pairs(passages, len(passages))
    if set(zip(made.source.tolist(), made.target.tolist(), strict=True)) != edges:
        raise AssertionError("the edges are not those of all pairs")
    return _rates(len(passages), [seconds], plain)


def words_10k() -> Numbers:
    """Passages a second, frequent words left out."""
    passages = drawn(10_000)
    joined(passages[:100], 500)
    _, seconds = joined(passages, 500)
    _, tenth = all_pairs(passages, 1_000)
    return _rates(len(passages), [seconds], 10 * tenth)


def keywords() -> Numbers:
    """Questions a second, the same chunks on both sides."""
    passages = drawn(2_000)
    rows = np.repeat(np.arange(len(passages)), [len(words) for words in passages])
    columns = np.concatenate([np.array(words) for words in passages])
    ones = np.ones(len(rows), bool)
    held = csr_matrix((ones, (columns, rows)), shape=(N_WORDS, len(passages)))
    names = Texts.of([f"word{word}" for word in range(N_WORDS)])
    graph = KeywordGraph(names, names, held, held)
    chance = np.random.default_rng(1)
    index, near = (_unit(chance, n) for n in (len(passages), N_WORDS))
    embedder = Hashing(DIMENSION)
    asked = [Question(str(row), f"What of {row} and {row * 7}?") for row in range(N_QUESTIONS)]
    table = ChunkTable.of([(str(row), "", str(row)) for row in range(len(passages))])
    given = {"keyword_graph": graph, "keyword_index": VectorIndex(near), "chunk_table": table,
             "chunk_index": VectorIndex(index), "embedder": embedder}  # fmt: skip
    settings = {"pool": POOL, "top_k": TOP_K}
    none = [None] * N_QUESTIONS
    by_keyword(asked[:2], none[:2], **given, **settings)
    began = time.perf_counter()
    found = by_keyword(asked, none, **given, **settings)
    seconds = time.perf_counter() - began
    times = []
    for question in asked:
        began = time.perf_counter()
        alone(by_keyword)(question, **given, **settings)
        times.append(time.perf_counter() - began)
    vectors = embedder.encode([question.text for question in asked], kind="question")
    began = time.perf_counter()
    plain = [_plain(vector, held, near, index) for vector in vectors]
    reference = time.perf_counter() - began
    if [ranked.ids.tolist() for ranked in found] != plain:
        raise AssertionError("the chunks are not those of the plain side")
    rate, other, unit, _ = _rates(N_QUESTIONS, [seconds], reference)
    low, high = np.percentile(times, [50, 95]) * 1000
    return rate, other, unit, {"p50": float(low), "p95": float(high)}


def _plain(vector: np.ndarray, held: csr_matrix, near: np.ndarray, index: np.ndarray) -> list[int]:
    """The chunks of one question by a loop over keywords and their chunks."""
    order = np.lexsort((np.arange(len(near)), -np.round((near @ vector).astype(float), 6)))[:1000]
    pool: dict[int, float] = {}
    for keyword in order.tolist():
        own = held.indices[held.indptr[keyword] : held.indptr[keyword + 1]]
        cosine = np.round((index[own] @ vector).astype(float), 6)
        for place in np.lexsort((own, -cosine)).tolist():
            if len(pool) < POOL:
                pool.setdefault(int(own[place]), float(cosine[place]))
        if len(pool) >= POOL:
            break
    return sorted(pool, key=lambda chunk: (-pool[chunk], chunk))[:TOP_K]


def _unit(chance: np.random.Generator, n: int) -> np.ndarray:
    rows = chance.normal(size=(n, DIMENSION)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _rates(n: int, seconds: Sequence[float], reference: float) -> Numbers:
    took = float(np.median(seconds))
    milliseconds = np.percentile(seconds, [50, 95]) * 1000
    spread = {"p50": float(milliseconds[0]), "p95": float(milliseconds[1])}
    return n / took, n / reference, "1/s", spread


CASES = {"words": words, "words_10k": words_10k, "keywords": keywords}
