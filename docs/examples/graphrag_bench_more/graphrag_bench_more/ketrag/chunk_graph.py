"""KET-RAG: a graph of nearest chunks, its core chunks, and search by keywords."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby
from typing import Annotated, Any

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.algorithms.extraction import (
    ChunkRecords,
    EntityRecord,
    RelationshipRecord,
    TextExtraction,
)
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.pagerank import personalised_pagerank, walk_of_nodes
from graphrag_bench.arrays import IntArray, best_first
from graphrag_bench.columns import Columns, Texts, incidence, row_ids, sorted_csr
from graphrag_bench.contract import Sizes, artifact, builders, operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.nlp import Nlp
from graphrag_bench.embedding.vector_index import VectorIndex, index_texts, products
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.passage_graph import MAX_DF, chunks_as_nodes
from graphrag_bench.graphs.sentences import read_chunks
from graphrag_bench.graphs.text_extraction import (
    CONTINUE,
    EXTRACT,
    MORE,
    llm_text_extraction,
    nlp_text_extraction,
)
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens, n_fitting, search_words
from graphrag_bench.values import Chunk, Query, Question, Ranked
from operators.search import best_hits, search_each, vectors_of

CoreShare = Annotated[float, Field(gt=0, le=1)]
_BLOCK = 256
DAMPING = 0.85
"""Probability of continuing the walk that finds core chunks, as in KET-RAG's code."""
_RELATIONS = ("shares words", "is similar", "shares words, is similar")


@dataclass(frozen=True, eq=False)
class KeywordGraph(Columns):
    """Keywords linked to chunks and to the sentences that contain them.

    `keywords` (n_keywords,) are distinct words in alphabetical order. `sentences` (n_sentences,)
    are distinct, and each contains a keyword. `keyword_sentence` and `keyword_chunk` are bool CSR
    matrices.
    """

    keywords: Texts
    sentences: Texts
    keyword_sentence: Any
    keyword_chunk: Any

    def __len__(self) -> int:
        return len(self.keywords)


@artifact("keyword_graph")
def keyword_graph(*, chunk_table: ChunkTable, nlp: Nlp, progress: Progress) -> KeywordGraph:
    """Link each word of the corpus to the chunks and sentences that contain it.

    Words come from `search_words`, without scikit-learn's English stop words. Sentences without
    words are left out, and equal sentences count once. The title of a chunk is one of its
    sentences. Raises UserError if no word is left.
    Source: KET-RAG (Huang et al. 2025), text-keyword bipartite graph; code 3738db4.
    """
    number: dict[str, int] = {}
    sentences_of = [
        [
            number.setdefault(line, len(number))
            for text in (title, *(sentence.text for sentence in sentences))
            if (line := " ".join(text.split()))
        ]
        for title, sentences in read_chunks(chunk_table, nlp, progress)
    ]
    texts = list(number)
    holds, words = words_of(texts)
    if not words:
        raise UserError(
            "The keyword graph has no keywords, because the corpus has only stop words."
        )
    chunk_sentence = incidence(sentences_of, len(texts)).astype(np.int64)
    keyword_chunk = holds.T.astype(np.int64) @ chunk_sentence.T
    rows = np.flatnonzero(np.diff(holds.indptr))
    return KeywordGraph(
        Texts.of(words),
        Texts.of([texts[row] for row in rows]),
        sorted_csr(holds[rows].T),
        sorted_csr(keyword_chunk.astype(bool)),
    )


@artifact("keyword_index")
def keyword_index(
    *, keyword_graph: KeywordGraph, embedder: Embedder, progress: Progress
) -> VectorIndex:
    """Represent each keyword by the mean vector of its sentences.

    The mean is not normalised. Its product with the vector of a question is therefore the mean
    cosine of the sentences and the question (-1..1).
    Source: KET-RAG (Huang et al. 2025), keyword embeddings; code 3738db4.
    """
    index = index_texts(list(keyword_graph.sentences), embedder, progress, "sentences of keywords")
    holds = keyword_graph.keyword_sentence.astype(np.float64)
    n_sentences = np.diff(holds.indptr)[:, None]
    means = (holds @ np.asarray(index.vectors, np.float64)) / n_sentences
    return VectorIndex(means.astype(np.float32), index.statistics)


def words_of(texts: list[str]) -> tuple[Any, list[str]]:
    """Return a bool CSR (n_texts, n_words) of words without stop words, and the sorted words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    words_in = [set(search_words(text)) - ENGLISH_STOP_WORDS for text in texts]
    words = sorted(set[str]().union(*words_in))
    number = {word: column for column, word in enumerate(words)}
    return incidence(([number[word] for word in one] for one in words_in), len(words)), words


@artifact("chunk_graph", provides={"relationship.name", "relationship.weight"})
def chunk_graph(
    *,
    chunk_table: ChunkTable,
    chunk_index: VectorIndex,
    progress: Progress,
    max_df: PositiveInt | None = MAX_DF,
) -> Graph:
    """Build the graph of chunks, each linked to its nearest chunk by words and by vectors.

    Node i is chunk i. Each chunk is linked to the chunk that shares the most distinct words with
    it, and to the chunk with the highest cosine. Ties are broken by lower id. Stop words and words
    in more than `max_df` chunks (None: no limit) are ignored. An edge has weight 1, and its name
    states whether its chunks share words, are similar, or both. `statistics` count the words.
    Source: KET-RAG (Huang et al. 2025), KNN graph of the skeleton; code 3738db4.
    Deviation: Chunks without a common word are not linked by words.
    """
    by_words, n_words, n_frequent = _by_words(chunk_table.passages, max_df, progress)
    by_vectors = _by_vectors(chunk_index, progress)
    n = len(chunk_table)
    codes = [near.min(axis=0) * n + near.max(axis=0) for near in (by_words, by_vectors)]
    pairs = np.unique(np.concatenate(codes))
    kinds = np.isin(pairs, codes[0]) + 2 * np.isin(pairs, codes[1]) - 1
    relations = Texts.of([_RELATIONS[kind] for kind in kinds])
    ends = np.stack([pairs // n, pairs % n])
    graph = chunks_as_nodes(n, ends, np.ones(len(pairs)), relations)
    return replace(graph, statistics={"words": n_words, "too_frequent": n_frequent})


def n_core(share: float, n_chunks: int) -> int:
    """Return `share` times the number of chunks, rounded down, at least 1."""
    return max(1, int(share * n_chunks + 1e-9))


def core_chunks(chunk_graph: Graph, share: float) -> IntArray:
    """Return the `n_core` chunks with the highest PageRank, sorted by id.

    PageRank is divided by its mean and rounded to six decimals. Ties are broken by lower id.
    Source: KET-RAG (Huang et al. 2025), core chunks.
    """
    n = chunk_graph.n_nodes
    mass = personalised_pagerank(walk_of_nodes(chunk_graph), np.zeros(n), DAMPING)
    return np.sort(best_first(mass * n)[: n_core(share, n)])


def _by_words(
    passages: list[str], max_df: int | None, progress: Progress
) -> tuple[IntArray, int, int]:
    holds, words = words_of(passages)
    frequent = holds.getnnz(axis=0) > (len(passages) if max_df is None else max_df)
    holds = holds[:, ~frequent].astype(np.int32)
    turned = holds.T.tocsr()
    pairs = [np.zeros((2, 0), np.int64)]
    with progress.task("nearest chunks by words", len(passages)) as advance:
        for first in range(0, len(passages), _BLOCK):
            shared = (holds[first : first + _BLOCK] @ turned).tocoo()
            row, other = shared.row.astype(np.int64) + first, shared.col.astype(np.int64)
            order = np.lexsort((other, -shared.data, row))
            order = order[row[order] != other[order]]
            row, other = row[order], other[order]
            nearest = np.unique(row, return_index=True)[1]
            pairs.append(np.stack([row[nearest], other[nearest]]))
            advance(min(_BLOCK, len(passages) - first))
    return np.concatenate(pairs, axis=1), len(words), int(frequent.sum())


def _by_vectors(index: VectorIndex, progress: Progress) -> IntArray:
    with progress.task("nearest chunks by vectors", 1) as advance:
        nearest = index.search(np.asarray(index.vectors, np.float32), 2)
        advance(1)
    others = [hits.ids[hits.ids != row][:1] for row, hits in enumerate(nearest)]
    rows = np.repeat(np.arange(len(index)), [len(near) for near in others])
    return np.stack([rows, np.concatenate([*others, rows[:0]])])


@artifact("text_extraction.core_nlp")
def core_nlp(
    *,
    chunk_table: ChunkTable,
    chunk_graph: Graph,
    nlp: Nlp,
    progress: Progress,
    share: CoreShare = 0.8,
    join_tokens: PositiveInt | None = None,
) -> TextExtraction:
    """Extract records with `text_extraction.nlp`, but only from the core chunks.

    Core chunks have the highest PageRank in `chunk_graph`. `share` is the fraction of chunks that
    are core chunks, and the statistics contain their number. With `join_tokens`, consecutive core
    chunks with at most that many tokens in total are read as one text. The first of these chunks
    gets the descriptions, and the others get only names and pairs.
    Source: KET-RAG (Huang et al. 2025), skeleton; the default `share` is from its code.
    """
    extract = partial(nlp_text_extraction, nlp=nlp, progress=progress)
    return _of_core(chunk_table, chunk_graph, share, join_tokens, extract)


def _calls(settings: Mapping[str, Any], sizes: Sizes) -> int:
    n, most = n_core(settings["share"], sizes.n_chunks), settings.get("join_tokens")
    return 2 * (n if most is None else max(1, math.ceil(n * min(sizes.chunk / most, 1))))


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    joined = replace(sizes, chunk=max(sizes.chunk, settings["join_tokens"] or 0))
    whole = builders.get("text_extraction.llm").tokens
    assert whole is not None
    return whole({**settings, "max_gleaning": 1}, joined)


@artifact("text_extraction.core_llm", calls=_calls, tokens=_tokens)
def core_llm(
    *,
    chunk_table: ChunkTable,
    chunk_graph: Graph,
    llm_build: ChatModel,
    progress: Progress,
    share: CoreShare = 0.8,
    join_tokens: PositiveInt | None = None,
    max_tokens: PositiveInt | None = None,
    extract_prompt: Prompt = EXTRACT,
    continue_prompt: Prompt = CONTINUE,
    more_prompt: Prompt = MORE,
) -> TextExtraction:
    """Extract records with `text_extraction.llm`, but only from the core chunks.

    `share` and `join_tokens` have the same meaning as in `text_extraction.core_nlp`. Raises
    UserError if no reply about a core chunk can be read.
    Source: KET-RAG (Huang et al. 2025), skeleton; the default `share` is from its code.
    """
    extract = partial(
        llm_text_extraction, llm_build=llm_build, progress=progress, max_tokens=max_tokens,
        extract_prompt=extract_prompt, continue_prompt=continue_prompt, more_prompt=more_prompt,
    )  # fmt: skip
    return _of_core(chunk_table, chunk_graph, share, join_tokens, extract)


def _of_core(
    chunk_table: ChunkTable,
    chunk_graph: Graph,
    share: float,
    join_tokens: int | None,
    extract: Callable[..., TextExtraction],
) -> TextExtraction:
    core = core_chunks(chunk_graph, share).tolist()
    groups = _groups(chunk_table, core, join_tokens or 0)
    titles, texts = zip(*(_joined_text(chunk_table, group) for group in groups), strict=True)
    some = replace(
        chunk_table,
        titles=Texts.of(titles),
        texts=Texts.of(texts),
        chunk_document=chunk_table.chunk_document[[group[0] for group in groups]],
    )
    extraction = extract(chunk_table=some)
    rows = [ChunkRecords()] * len(chunk_table)
    for (first, *others), records in zip(groups, extraction.rows, strict=True):
        rows[first] = records
        for chunk in others:
            rows[chunk] = _names_only(records)
    return TextExtraction(tuple(rows), {**extraction.statistics, "core_chunks": len(core)})


def _groups(table: ChunkTable, core: list[int], most: int) -> list[list[int]]:
    groups: list[list[int]] = []
    used = 0
    for chunk in core:
        n_tokens = count_tokens(table.texts[chunk])
        if not groups or used + n_tokens > most:
            groups.append([])
            used = 0
        groups[-1].append(chunk)
        used += n_tokens
    return groups


def _joined_text(table: ChunkTable, group: list[int]) -> tuple[str, str]:
    runs = [
        (title, " ".join(table.texts.take(np.array(list(run)))))
        for title, run in groupby(group, key=table.titles.__getitem__)
    ]
    together = "\n\n".join("\n".join(filter(None, run)) for run in runs)
    return runs[0] if len(runs) == 1 else ("", together)


def _names_only(records: ChunkRecords) -> ChunkRecords:
    names = dict.fromkeys(entity.name for entity in records.entities)
    pairs = dict.fromkeys((one.source, one.target) for one in records.relationships)
    return ChunkRecords(
        tuple(EntityRecord(name) for name in names),
        tuple(RelationshipRecord(*pair, strength=0.0) for pair in pairs),
    )


Size = Callable[[int], int]
"""Function that returns the size of a chunk in a pool: 1, or its number of tokens."""


@operator("chunk.by_keyword", batched=True)
def by_keyword(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    keyword_graph: KeywordGraph,
    keyword_index: VectorIndex,
    chunk_index: VectorIndex,
    chunk_table: ChunkTable,
    embedder: Embedder,
    n_keywords: PositiveInt = 1000,
    pool: PositiveInt = 20,
    top_k: PositiveInt = 10,
    tokens: PositiveInt | None = None,
) -> list[Ranked[Chunk]]:
    """Rank the chunks of the nearest keywords by similarity to the question or a query.

    The score of a keyword is the mean cosine of its sentences. The chunks of the `n_keywords` best
    keywords fill a pool of `pool` chunks, best keyword first, and for each keyword the most similar
    chunk first. The `top_k` most similar chunks of the pool are returned. With `tokens`, the pool
    has 2 * `tokens` tokens, and the most similar chunks that fit into `tokens` tokens are returned.
    The score of a chunk is its cosine with the question (-1..1), or the highest cosine if a query
    has several texts. Ties are broken by lower id. If the query is empty, no chunks are returned.
    Source: KET-RAG (Huang et al. 2025), keyword channel; code 3630de3 (`tokens`).
    """
    room, most = (pool, top_k) if tokens is None else (2 * tokens, tokens)

    @cache
    def size(chunk: int) -> int:
        return 1 if tokens is None else count_tokens(chunk_table.passage(chunk))

    groups = vectors_of(question, query, embedder)
    rankings: list[Ranked[Chunk]] = []
    for vectors, hits in zip(groups, search_each(groups, keyword_index, n_keywords), strict=True):
        nearest = best_hits(hits, n_keywords).ids
        before, last = _fill_pool(nearest, keyword_graph, size, room)
        rows = np.concatenate([before, last])
        if not len(rows):
            rankings.append(Ranked.empty())
            continue
        cosine = products(vectors, chunk_index.vectors, np.tile(rows, (len(vectors), 1)))
        scores = cosine.max(axis=0).astype(np.float64)
        filling = Ranked[Chunk].best(last, scores[len(before) :])
        filling = _fitting(filling, size, room - sum(map(size, before.tolist())))
        ids = np.concatenate([before, filling.ids])
        scores = np.concatenate([scores[: len(before)], filling.scores])
        rankings.append(_fitting(Ranked.best(ids, scores), size, most))
    return rankings


def _fill_pool(
    keywords: IntArray, keyword_graph: KeywordGraph, size: Size, room: int
) -> tuple[IntArray, IntArray]:
    """Return the chunks before the pool is full, and new chunks of the keyword that fills it."""
    rows: IntArray = np.zeros(0, np.int64)
    for keyword in keywords.tolist():
        chunks = row_ids(keyword_graph.keyword_chunk, keyword)
        new = chunks[~np.isin(chunks, rows)]
        room -= sum(map(size, new.tolist()))
        if room <= 0:
            return rows, new
        rows = np.concatenate([rows, new])
    return rows, rows[:0]


def _fitting(ranked: Ranked[Chunk], size: Size, room: int) -> Ranked[Chunk]:
    return ranked.head(n_fitting([size(chunk) for chunk in ranked.ids.tolist()], room))
