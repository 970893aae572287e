"""The chunk table: all chunks of the corpus, with the documents that they come from."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphrag_bench.columns import Columns, Texts, bool_csr, row_ids, sorted_csr
from graphrag_bench.text import show_briefly
from graphrag_bench.values import IntArray


@dataclass(frozen=True, eq=False)
class ChunkTable(Columns):
    """Table of all chunks in corpus order; the number of a chunk is its row, 0..n-1.

    `titles` and `texts` have a row for each chunk. `documents` are the document ids.
    `chunk_document`, a bool CSR matrix (n_chunks, n_documents), marks the documents that contain
    each chunk.

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
        """Return title and text of a chunk on separate lines, or the text if it has no title."""
        title = self.titles[row]
        return f"{title}\n{self.texts[row]}" if title else self.texts[row]

    @property
    def passages(self) -> list[str]:
        """The title and text of every chunk, as `passage` returns them."""
        return [self.passage(row) for row in range(len(self))]

    def documents_of(self, row: int) -> list[str]:
        """Return the ids of the documents that a chunk is in, in corpus order."""
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
        return sorted_csr(self.chunk_document.T)

    def ranked_documents(self, rows: IntArray) -> dict[str, int]:
        """Return the rank, from 1, of each document in a ranking of chunks.

        Documents that first occur with the same chunk share a rank.
        """
        return shared_ranks(self.documents_of(int(row)) for row in rows)

    @classmethod
    def of(cls, rows: list[tuple[str, str, str]]) -> "ChunkTable":
        """Make a chunk table of (document id, title, text) rows; equal passages form one chunk."""
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
    """Return the rank (from 1) of each name; names that first occur in the same group share a rank.

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
