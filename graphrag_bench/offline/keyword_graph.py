"""Chunks to the keyword-chunk graph and the vectors of its keywords, without a language model."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.columns import Texts, cells
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.tri_graph import KeywordGraph
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.nlp import Nlp
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.indices import index_texts
from graphrag_bench.offline.tagging import TitleUse, read_chunks
from graphrag_bench.progress import Progress
from graphrag_bench.values import IntArray


@artifact("keyword_graph")
def keyword_graph(
    *,
    chunk_table: ChunkTable,
    nlp: Nlp,
    progress: Progress,
    titles: bool = True,
    min_chunks: PositiveInt = 1,
) -> KeywordGraph:
    """The words of the chunks, joined to every chunk and every sentence that holds them.

    Words are of two characters or more, in lower case, without scikit-learn's English stop words;
    those in less than `min_chunks` chunks are left out, and so are sentences that hold no other.
    With `titles` the title of a chunk is one of its sentences. Equal sentences are one.
    Raises UserError when no word is left.
    Source: KET-RAG (Huang et al. 2025), the text-keyword bipartite graph; released code 3738db4.
    """
    texts, of_chunk = _sentences(chunk_table, nlp, progress, titles)
    held, words = words_of(texts)
    sentence_chunk = cells(*of_chunk, (len(texts), len(chunk_table)))
    keyword_chunk = (held.T.astype(np.int64) @ sentence_chunk.astype(np.int64)).tocsr().astype(bool)
    kept = np.flatnonzero(np.diff(keyword_chunk.indptr) >= min_chunks)
    if not len(kept):
        raise UserError(
            f"The keyword graph has no keyword: no word, stop words aside, is in {min_chunks} "
            "chunks or more. Likely causes: build.keyword_graph.min_chunks is too high, or the "
            "corpus holds no text."
        )
    keyword_sentence = held.T.tocsr()[kept]
    told = np.unique(keyword_sentence.indices)
    keyword_sentence = keyword_sentence[:, told].astype(bool)
    keyword_chunk = keyword_chunk[kept]
    for matrix in (keyword_sentence, keyword_chunk):
        matrix.sort_indices()
    return KeywordGraph(
        Texts.of([words[row] for row in kept]),
        Texts.of([texts[row] for row in told]),
        keyword_sentence,
        keyword_chunk,
    )


@artifact("keyword_index")
def keyword_index(
    *, keyword_graph: KeywordGraph, embedder: Embedder, progress: Progress
) -> VectorIndex:
    """One vector for each keyword: the mean of the vectors of the sentences that hold it.

    The mean is not normalised: its product with a question is the mean cosine of the sentences
    with the question, -1..1.
    Source: KET-RAG (Huang et al. 2025), keyword embeddings; released code 3738db4.
    """
    told = index_texts(list(keyword_graph.sentences), embedder, progress, "sentences of keywords")
    holds = keyword_graph.keyword_sentence.astype(np.float64)
    n_sentences = np.diff(holds.indptr)[:, None]
    means = (holds @ np.asarray(told.vectors, np.float64)) / n_sentences
    return VectorIndex(means.astype(np.float32), told.statistics)


def words_of(texts: list[str]) -> tuple[Any, list[str]]:
    """Bool CSR (n_texts, n_words) of the words in each text, and the words in column order.

    As scikit-learn reads them: lower case, two characters or more, English stop words left out.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    reader = CountVectorizer(binary=True, stop_words="english")
    reading = reader.build_analyzer()
    if not any(reading(text) for text in texts):
        return cells(_NONE, _NONE, (len(texts), 0)), []
    held = reader.fit_transform(texts).tocsr().astype(bool)
    held.sort_indices()
    return held, [str(word) for word in reader.get_feature_names_out()]


_NONE = np.zeros(0, np.int64)


def _sentences(
    chunk_table: ChunkTable, nlp: Nlp, progress: Progress, titles: bool
) -> tuple[list[str], tuple[IntArray, IntArray]]:
    rows: dict[str, int] = {}
    sentences, chunks = [], []
    use: TitleUse = "entity" if titles else "off"
    for chunk, (title, found) in enumerate(read_chunks(chunk_table, nlp, progress, use)):
        for text in (title, *(sentence.text for sentence in found)):
            if line := " ".join(text.split()):
                sentences.append(rows.setdefault(line, len(rows)))
                chunks.append(chunk)
    return list(rows), (np.array(sentences, np.int64), np.array(chunks, np.int64))
