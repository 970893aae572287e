"""TF-IDF over texts, by scikit-learn."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Columns, Texts
from graphrag_bench.contract import artifact
from graphrag_bench.errors import UserError
from graphrag_bench.indices.vectors import node_texts
from graphrag_bench.text import search_words
from graphrag_bench.values import FloatArray


@dataclass(frozen=True, eq=False)
class Tfidf(Columns):
    """Unit rows, float64 CSR (n, n_words); row i belongs to row i of the table it indexes.

    `words` is the vocabulary in column order, `idf` float64 (n_words,). Raw counts times
    ln((1 + n) / (1 + df)) + 1, as scikit-learn has them; no stop words.
    """

    rows: Any
    words: Texts
    idf: FloatArray

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Tfidf":
        """The index of these texts; raises UserError when they hold no word."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(analyzer=search_words)
        try:
            rows = vectorizer.fit_transform(list(texts)).tocsr()
        except ValueError as error:
            raise UserError(f"TF-IDF: the texts hold no word to search by ({error}).") from None
        rows.sort_indices()
        words = Texts.of([str(word) for word in vectorizer.get_feature_names_out()])
        return cls(rows, words, np.asarray(vectorizer.idf_, np.float64))

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def scores(self, query: str) -> FloatArray:
        """The cosine of every row with the query, float64 (n,) in 0..1; 0 without a known word."""
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
    """A TF-IDF index of the nodes' descriptions, fitted once.

    A node without a description is indexed by its name. Raises UserError when there is no word in
    them. Source: KGP (Wang et al. 2024); Zhou et al. 2025, section 5.
    """
    return Tfidf.of(node_texts(graph))
