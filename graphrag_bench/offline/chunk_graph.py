"""Chunks to a graph of nearest chunks, and the PageRank of each chunk in it."""

from __future__ import annotations

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.columns import Texts, cells
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.pagerank import personalised_pagerank
from graphrag_bench.graph.walk import walk_of_nodes
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.keyword_graph import words_of
from graphrag_bench.progress import Progress
from graphrag_bench.values import IntArray, best_first

MAX_DF = 500
"""As of `graph.passage`: a word joins the chunks that hold it, at most so many."""
_BLOCK = 256
_RELATIONS = ("shares words", "is similar", "shares words, is similar")


@artifact("chunk_graph", provides={"relationship.name", "relationship.weight"})
def chunk_graph(
    *,
    chunk_table: ChunkTable,
    chunk_index: VectorIndex,
    progress: Progress,
    lexical: NonNegativeInt = 1,
    semantic: NonNegativeInt = 1,
    max_df: PositiveInt | None = MAX_DF,
) -> Graph:
    """The chunks as nodes, each joined to its nearest ones by words and by vectors.

    Node i is chunk i. A chunk is joined to the `lexical` chunks that share the most distinct words
    with it, stop words aside, and to the `semantic` chunks of the highest cosine; ties by lower
    id. An edge has weight 1 and is named by what joins its ends. Words in more than `max_df`
    chunks count for nothing, so that a word of a chunk costs at most `max_df` comparisons (None:
    no limit); how many words there are, and how many were left out so, is in the statistics.
    Source: KET-RAG (Huang et al. 2025), the KNN graph of its skeleton; released code 3738db4.
    Deviation: chunks that share no word are not joined by words.
    """
    by_words, n_words, n_frequent = _by_words(chunk_table.passages, lexical, max_df, progress)
    by_vectors = _by_vectors(chunk_index, semantic, progress)
    n = len(chunk_table)
    codes = [found.min(axis=0) * n + found.max(axis=0) for found in (by_words, by_vectors)]
    pairs = np.unique(np.concatenate(codes))
    kinds = np.isin(pairs, codes[0]) + 2 * np.isin(pairs, codes[1]) - 1
    ends = np.stack([pairs // n, pairs % n])
    every = np.arange(n)
    return Graph(
        names=Texts.of([f"chunk {row}" for row in range(n)]),
        source=ends[0],
        target=ends[1],
        weight=np.ones(len(pairs)),
        synonym=np.zeros(len(pairs), bool),
        relations=Texts.of([_RELATIONS[kind] for kind in kinds]),
        node_chunk=cells(every, every, (n, n)),
        relationship_chunk=cells(
            np.repeat(np.arange(len(pairs)), 2), ends.T.ravel(), (len(pairs), n)
        ),
        statistics={"words": n_words, "too_frequent": n_frequent},
    )


def n_core(share: float, n_chunks: int) -> int:
    """How many chunks a share of them is: rounded down, one at least."""
    return max(1, int(share * n_chunks + 1e-9))


def core_chunks(chunk_graph: Graph, share: float, damping: float) -> IntArray:
    """The chunks of the highest PageRank in their graph, by id: `n_core` of them.

    `damping` is the chance that the walk goes on. PageRank is
    compared as a multiple of its mean, to six decimals, ties by lower id.
    Source: KET-RAG (Huang et al. 2025), core chunks.
    """
    n = chunk_graph.n_nodes
    mass = personalised_pagerank(walk_of_nodes(chunk_graph), np.zeros(n), damping)
    best: IntArray = np.sort(best_first(mass * n)[: n_core(share, n)])
    return best


def _by_words(
    passages: list[str], k: int, max_df: int | None, progress: Progress
) -> tuple[IntArray, int, int]:
    held, words = words_of(passages)
    frequent = held.getnnz(axis=0) > (len(passages) if max_df is None else max_df)
    held = held[:, np.flatnonzero(~frequent)].astype(np.int32)
    turned = held.T.tocsr()
    found = [np.zeros((2, 0), np.int64)]
    with progress.task("nearest chunks by words", len(passages)) as advance:
        for first in range(0, len(passages), _BLOCK):
            shared = (held[first : first + _BLOCK] @ turned).tocoo()
            row, other = shared.row.astype(np.int64) + first, shared.col.astype(np.int64)
            order = np.lexsort((other, -shared.data, row))
            order = order[row[order] != other[order]]
            row, other = row[order], other[order]
            place = np.arange(len(row)) - np.searchsorted(row, row)
            found.append(np.stack([row[place < k], other[place < k]]))
            advance(min(_BLOCK, len(passages) - first))
    return np.concatenate(found, axis=1), len(words), int(frequent.sum())


def _by_vectors(index: VectorIndex, k: int, progress: Progress) -> IntArray:
    pairs: list[tuple[int, int]] = []
    with progress.task("nearest chunks by vectors", len(index)) as advance:
        for first in range(0, len(index) if k else 0, _BLOCK):
            queries = np.asarray(index.vectors[first : first + _BLOCK], np.float32)
            for row, near in enumerate(index.search(queries, k + 1), first):
                pairs += [(row, int(other)) for other in near.ids[near.ids != row][:k]]
            advance(len(queries))
    return np.array(pairs, np.int64).reshape(-1, 2).T
