"""Table of all chunks of a corpus, which also records the documents that contain each chunk."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphrag_bench.arrays import IntArray
from graphrag_bench.columns import Columns, Texts, bool_csr, row_ids, sorted_csr
from graphrag_bench.text import show_briefly


@show_briefly
@dataclass(frozen=True, eq=False)
class ChunkTable(Columns):
    """Table of all chunks of a corpus. A chunk is identified by its row number.

    `documents` holds the ids of all documents. `chunk_document` (bool CSR, n_chunks x n_documents)
    marks the documents of each chunk.

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
        """Return the title and the text of a chunk, on separate lines."""
        title = self.titles[row]
        return f"{title}\n{self.texts[row]}" if title else self.texts[row]

    @property
    def passages(self) -> list[str]:
        """The title and the text of every chunk, on separate lines."""
        return [self.passage(row) for row in range(len(self))]

    def documents_of(self, row: int) -> list[str]:
        """Return the ids of the documents that contain a chunk, in corpus order."""
        return self.documents.take(row_ids(self.chunk_document, row))

    def chunks_of(self, document: str) -> list[int]:
        """Return the chunks of a document in table order. An unknown document has no chunks."""
        rows, matrix = self._by_document
        return row_ids(matrix, rows[document]).tolist() if document in rows else []

    @cached_property
    def _by_document(self) -> tuple[dict[str, int], Any]:
        rows = {name: row for row, name in enumerate(self.documents)}
        return rows, sorted_csr(self.chunk_document.T)

    def ranked_documents(self, rows: IntArray) -> dict[str, int]:
        """Return {document id: rank from 1}. A document is ranked by its first chunk in `rows`."""
        return shared_ranks(self.documents_of(int(row)) for row in rows)

    @classmethod
    def of(cls, rows: list[tuple[str, str, str]]) -> "ChunkTable":
        """Make a chunk table from (document id, title, text) rows. Equal passages are merged."""
        contents = {row: at for at, row in enumerate(dict.fromkeys(row[1:] for row in rows))}
        names = {name: at for at, name in enumerate(dict.fromkeys(name for name, *_ in rows))}
        pairs = dict.fromkeys((contents[row[1:]], names[row[0]]) for row in rows)
        chunk, document = np.array(list(pairs), np.int64).reshape(-1, 2).T
        titles, texts = (Texts.of([content[n] for content in contents]) for n in (0, 1))
        incidence = bool_csr(chunk, document, (len(contents), len(names)))
        return cls(titles, texts, Texts.of(list(names)), incidence)


def shared_ranks(groups: Iterable[Iterable[str]]) -> dict[str, int]:
    """Rank each name by its first group. Names with the same first group share a rank.

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
