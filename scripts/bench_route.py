"""`chunk.route` against vector search of the same questions, one at a time, over 10^5 chunks.

The chunks are the passages of a synthetic world. A question's 50 candidates are its evidence, then
chunks that their sentences name, then others by chance; embedded are hashed words, through a cache
on disk that holds all texts (the step has run once before). `ours` and `reference` are questions a
second, the median over questions; p50 and p95 are ours in milliseconds. The reference is
`chunk.vdb` over 384 random numbers a chunk.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from bench_vdb import TOP_K, unit_rows
from timing import Numbers, milliseconds, seconds

from graphrag_bench.algorithms.name_dictionary import title_key
from graphrag_bench.contract import alone
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.embedding.cached_models import CachedEmbedder
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.graphs.sentences import split_sentences
from graphrag_bench.llm.cache import Cache
from graphrag_bench.values import Ranked
from operators.chunk.route import route

N_CHUNKS, N_QUESTIONS, N_CANDIDATES = 100_000, 60, 50


def candidates(table: ChunkTable, first: Sequence[int], row_of: dict[str, int]) -> list[int]:
    """Return the given rows, those that their sentences name, and others by chance."""
    rows = dict.fromkeys(first)
    for row in first:
        for sentence in split_sentences(table.texts[row]):
            words = sentence.split()
            pairs = (" ".join(words[at : at + 2]) for at in range(len(words)))
            rows |= {row_of[key]: None for key in map(title_key, pairs) if key in row_of}
    others = np.random.default_rng(0).permutation(len(table))[:N_CANDIDATES].tolist()
    return list(rows | dict.fromkeys(others))[:N_CANDIDATES]


def routes() -> Numbers:
    """Questions a second of the step and of the search."""
    size = int(N_CHUNKS * 0.9)
    data = read_dataset("world", settings={"size": size, "n_questions": N_QUESTIONS})
    table = ChunkTable.of([(doc.id, doc.title, doc.text) for doc in data.documents])
    row_of = {title_key(title): row for row, title in enumerate(table.titles)}
    index = VectorIndex(unit_rows(len(table), seed=1))
    with TemporaryDirectory() as folder:
        embedder = CachedEmbedder(Hashing(384), Cache(Path(folder) / "cache.sqlite"))
        mine, other = [], []
        for number, question in enumerate(data.questions):
            evidence = [table.chunks_of(one)[0] for one in data.gold[question.id].evidence]
            rows = candidates(table, evidence, row_of)
            ranked: Ranked = Ranked(np.array(rows), np.linspace(1.0, 0.1, len(rows)))
            settings = {"chunk_table": table, "embedder": embedder}
            alone(route)(question, ranked, **settings)
            mine.append(seconds(lambda: alone(route)(question, ranked, **settings)))  # noqa: B023
            vector = unit_rows(1, seed=number)
            other.append(seconds(lambda: index.search(vector, TOP_K)))  # noqa: B023
    return milliseconds(1, mine, other)


CASES = {f"routes_{N_CHUNKS}": routes}
