"""Pseudo-questions: what each chunk answers, and what it makes a reader ask next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.columns import NOT_STORED, Columns, Texts
from graphrag_bench.values import IntArray

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
