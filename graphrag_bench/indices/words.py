"""Builders of word indices: BM25 with bm25s, and TF-IDF with scikit-learn."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import FloatArray
from graphrag_bench.columns import Columns, Texts
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.indices.vectors import node_texts
from graphrag_bench.text import search_words


@dataclass(frozen=True, eq=False)
class Bm25:
    """BM25 index of chunks. It uses Lucene's variant of BM25, and ignores English stop words."""

    retriever: Any

    @classmethod
    def of(cls, texts: Sequence[str], k1: float = 1.5, b: float = 0.75) -> "Bm25":
        """Return an index of the texts. Raises UserError if all texts consist of stop words."""
        import bm25s

        retriever = bm25s.BM25(method="lucene", k1=k1, b=b)
        numbers: dict[str, int] = {}
        rows = [[numbers.setdefault(word, len(numbers)) for word in _words(text)] for text in texts]
        if not numbers:
            raise UserError("BM25: the chunks have no words except stop words.")
        retriever.index((rows, numbers), show_progress=False)
        return cls(retriever)

    def scores(self, query: str) -> FloatArray:
        """Return the BM25 score of each chunk for a query, float64 (n,)."""
        known = [word for word in _words(query) if word in self.retriever.vocab_dict]
        if not known:
            return np.zeros(int(self.retriever.scores["num_docs"]))
        return np.asarray(self.retriever.get_scores(known), np.float64)

    def save(self, folder: Path) -> None:
        """Write the index to a folder."""
        self.retriever.save(str(folder / "bm25"), show_progress=False)

    @classmethod
    def load(cls, folder: Path) -> "Bm25":
        """Return the saved index. Its arrays are memory maps."""
        import bm25s

        return cls(bm25s.BM25.load(str(folder / "bm25"), mmap=True, load_corpus=False))


def _words(text: str) -> list[str]:
    from bm25s.stopwords import STOPWORDS_EN

    return [word for word in search_words(text) if word not in STOPWORDS_EN]


@artifact("bm25")
def bm25(*, chunk_table: ChunkTable) -> Bm25:
    """Build a BM25 index of the titles and texts of chunks."""
    return Bm25.of(chunk_table.passages)


@dataclass(frozen=True, eq=False)
class Tfidf(Columns):
    """TF-IDF index of texts, computed as in scikit-learn. Stop words are kept.

    `rows` (float64 CSR, n x n_words) has one unit vector per text, with a column for each of
    `words`. `idf` (float64, n_words) is `1 + ln((1 + n) / (1 + df))` for a word in df of n texts.
    """

    rows: Any
    words: Texts
    idf: FloatArray

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Tfidf":
        """Return an index of the texts. Raises UserError if no text has a word."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(analyzer=search_words)
        try:
            rows = vectorizer.fit_transform(list(texts)).tocsr()
        except ValueError as error:
            raise UserError(f"TF-IDF: the texts have no words ({error}).") from None
        rows.sort_indices()
        words = Texts.of([str(word) for word in vectorizer.get_feature_names_out()])
        return cls(rows, words, np.asarray(vectorizer.idf_, np.float64))

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def scores(self, query: str) -> FloatArray:
        """Return the cosine between the query and each text, float64 (n,) in 0..1."""
        vector = self._vectorizer.transform([query])
        return np.asarray((self.rows @ vector.T).toarray(), np.float64).ravel()

    @cached_property
    def _vectorizer(self) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(analyzer=search_words, vocabulary=list(self.words))
        vectorizer.idf_ = np.array(self.idf)
        return vectorizer


@artifact("tfidf")
def tfidf(*, graph: Graph) -> Tfidf:
    """Build a TF-IDF index of the descriptions of nodes.

    A node without a description is indexed by its name. Raises UserError if no text has a word.
    Source: KGP (Wang et al. 2024); Zhou et al. 2025, section 5.
    """
    return Tfidf.of(node_texts(graph))
