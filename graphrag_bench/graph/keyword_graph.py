"""The keyword-chunk graph: keywords, and the sentences and chunks that hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphrag_bench.columns import Columns, Texts


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
