"""The chunk table: what is indexed, retrieved and read, and the documents each chunk is from."""

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

    `titles` and `texts` are columns; `documents` holds document ids; `chunk_document` is a bool
    CSR (n_chunks, n_documents), with more than one document where contents are the same.
    """

    titles: Texts
    texts: Texts
    documents: Texts
    chunk_document: Any

    def __len__(self) -> int:
        return len(self.texts)

    def passage(self, row: int) -> str:
        """Title and text of a chunk on lines of their own; the text alone without a title."""
        title = self.titles[row]
        return f"{title}\n{self.texts[row]}" if title else self.texts[row]

    @property
    def passages(self) -> list[str]:
        """Title and text of every chunk, as `passage` gives them."""
        return [self.passage(row) for row in range(len(self))]

    def documents_of(self, row: int) -> list[str]:
        """The ids of the documents a chunk is from, in corpus order."""
        return self.documents.take(row_ids(self.chunk_document, row))

    def chunks_of(self, document: str) -> list[int]:
        """The chunks of a document in table order; none for a document that is not in the table."""
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
        """The distinct documents of some chunks by their first, with ranks as `shared_ranks`."""
        return shared_ranks(self.documents_of(int(row)) for row in rows)

    @classmethod
    def of(cls, rows: list[tuple[str, str, str]]) -> "ChunkTable":
        """The table of (document id, title, text) rows; equal contents become one chunk."""
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
    """Return ranks from 1: the names that a group is the first to have share one."""
    ranks: dict[str, int] = {}
    rank = 0
    for group in groups:
        new = [name for name in dict.fromkeys(group) if name not in ranks]
        rank += bool(new)
        ranks |= dict.fromkeys(new, rank)
    return ranks


show_briefly(ChunkTable)
