"""What is joined to chunks alone: entities by their sentences, keywords, and pseudo-questions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.columns import NOT_STORED, Columns, Texts, in_order
from graphrag_bench.values import IntArray


@dataclass(frozen=True, eq=False)
class TriGraph(Columns):
    """Entities, sentences and chunks, and how often each entity is named where.

    `names` (n_entities,) are normalised and unique, in order of first mention; `sentences`
    (n_sentences,) are distinct and name an entity each. `entity_sentence` is a bool CSR;
    `entity_chunk` an int64 CSR of the number of mentions, one column for each chunk.
    """

    names: Texts
    sentences: Texts
    entity_sentence: Any
    entity_chunk: Any

    @cached_property
    def sentence_entity(self) -> Any:
        """Bool CSR (n_sentences, n_entities): the entities of each sentence, in order of id."""
        return in_order(self.entity_sentence.T)

    @cached_property
    def mention_weight(self) -> Any:
        """Float64 CSR (n_chunks, n_entities): ln(1 + how often each chunk names each entity)."""
        weights = self.entity_chunk.T.tocsr().astype(np.float64)
        weights.data = np.log1p(weights.data)
        return weights


@dataclass(frozen=True, eq=False)
class KeywordGraph(Columns):
    """Keywords joined to chunks, and the sentences that say what a keyword means here.

    `keywords` (n_keywords,) are distinct words in alphabetical order; `sentences` (n_sentences,)
    are distinct and hold a keyword each. `keyword_sentence` and `keyword_chunk` are bool CSR.
    """

    keywords: Texts
    sentences: Texts
    keyword_sentence: Any
    keyword_chunk: Any

    def __len__(self) -> int:
        return len(self.keywords)


SEPARATOR = "; "
"""Between the names that a relationship of a hop graph has as its keywords."""


@dataclass(frozen=True, eq=False)
class PseudoQuestions(Columns):
    """Questions of chunks with the names in them, in chunk order.

    `texts` and `chunk`, int64, are (n_questions,); `answered`, bool (n_questions,), is true where
    the chunk answers the question and false where it raises it. `names` are normalised and unique;
    `question_name` is a bool CSR (n_questions, n_names). `chunk` rows are those of the chunk table.
    `statistics` counts the replies that they were read out of, where they have just been.
    """

    texts: Texts
    chunk: IntArray
    answered: NDArray[np.bool_]
    names: Texts
    question_name: Any
    statistics: Mapping[str, float] = field(default_factory=dict, metadata=NOT_STORED)

    def __len__(self) -> int:
        return len(self.texts)

    def names_of(self, chunks: IntArray) -> set[str]:
        """The names in the questions of some chunks."""
        rows = np.flatnonzero(np.isin(self.chunk, chunks))
        return set(self.names.take(np.unique(self.question_name[rows].indices)))
