"""The chunk table: the units of retrieval and their source documents."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphrag_bench.columns import Columns, Texts, bool_csr, row_ids
from graphrag_bench.text import show_briefly
from graphrag_bench.values import IntArray


@dataclass(frozen=True, eq=False)
class ChunkTable(Columns):
    """Chunks in corpus order, rows 0..n-1.

    `titles` and `texts` are columns; `documents` are document ids; `chunk_document` is a bool CSR
    (n_chunks, n_documents): a chunk that occurs in several documents belongs to all of them.

    >>> rows = [("d1", "Isk", "A river."), ("d2", "Isk", "A river."), ("d3", "", "The sea.")]
    >>> table = ChunkTable.of(rows)
    >>> len(table), table.documents_of(0)
    (2, ['d1', 'd2'])
    """

    titles: Texts
    texts: Texts
    documents: Texts
    chunk_document: Any

    def __len__(self) -> int:
        return len(self.texts)

    def passage(self, row: int) -> str:
        """Return title and text of a chunk on separate lines, or only the text."""
        title = self.titles[row]
        return f"{title}\n{self.texts[row]}" if title else self.texts[row]

    @property
    def passages(self) -> list[str]:
        """The `passage` of every chunk."""
        return [self.passage(row) for row in range(len(self))]

    def documents_of(self, row: int) -> list[str]:
        """Return the document ids of a chunk, in corpus order."""
        return self.documents.take(row_ids(self.chunk_document, row))

    def chunks_of(self, document: str) -> list[int]:
        """Return the chunks of a document in table order; [] for an unknown document."""
        row = self._document_rows.get(document)
        return [] if row is None else row_ids(self._document_chunk, row).tolist()

    @cached_property
    def _document_rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.documents)}

    @cached_property
    def _document_chunk(self) -> Any:
        matrix = self.chunk_document.T.tocsr()
        matrix.sort_indices()
        return matrix

    def ranked_documents(self, rows: IntArray) -> dict[str, int]:
        """Return the rank of each document of the ranked chunks, by `shared_ranks`."""
        return shared_ranks(self.documents_of(int(row)) for row in rows)

    @classmethod
    def of(cls, rows: list[tuple[str, str, str]]) -> "ChunkTable":
        """Return the table of (document id, title, text) rows; equal contents become one chunk."""
        contents: dict[tuple[str, str], int] = {}
        names: dict[str, int] = {}
        pairs = {
            (
                contents.setdefault((title, text), len(contents)),
                names.setdefault(document, len(names)),
            ): None
            for document, title, text in rows
        }
        chunk, document = np.array(list(pairs), np.int64).reshape(-1, 2).T
        return cls(
            Texts.of([title for title, _ in contents]),
            Texts.of([text for _, text in contents]),
            Texts.of(list(names)),
            bool_csr(chunk, document, (len(contents), len(names))),
        )


def shared_ranks(groups: Iterable[Iterable[str]]) -> dict[str, int]:
    """Return the rank of each name, from 1; names that first occur in the same group share a rank.

    >>> shared_ranks([["a"], ["a", "b", "c"], ["d"]])
    {'a': 1, 'b': 2, 'c': 2, 'd': 3}
    """
    ranks: dict[str, int] = {}
    rank = 0
    for group in groups:
        new = [name for name in dict.fromkeys(group) if name not in ranks]
        rank += bool(new)
        ranks |= dict.fromkeys(new, rank)
    return ranks


show_briefly(ChunkTable)
