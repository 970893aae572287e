"""What chunks say of nodes and relationships: attributes, and fragments of descriptions."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrag_bench.columns import Columns, Texts, incidence
from graphrag_bench.text import normalise_name, show_briefly
from graphrag_bench.values import IntArray

Stated = tuple[int, str, str, tuple[int, ...]]
"""The row of a node, an attribute's name, its value, and chunks that state it."""


@dataclass(frozen=True, eq=False)
class NodeAttributes(Columns):
    """One row for each distinct (node, name, value), by node, then in order of first mention.

    `node` is int64 (n,). `names` are normalised; `values` are as first written, with single spaces,
    told apart by their normalised form. `chunk` is a bool CSR (n, n_chunks).
    """

    node: IntArray
    names: Texts
    values: Texts
    chunk: Any

    @classmethod
    def of(cls, stated: Iterable[Stated], n_chunks: int) -> "NodeAttributes":
        """The rows of what is stated; what has no letters in its name or value is left out."""
        chunks_of: dict[tuple[int, str, str], tuple[str, dict[int, None]]] = {}
        for node, name, value, chunks in stated:
            key = node, normalise_name(name), normalise_name(value)
            if all(key[1:]):
                chunk_rows = chunks_of.setdefault(key, (" ".join(value.split()), {}))[1]
                chunk_rows.update(dict.fromkeys(chunks))
        rows = sorted(chunks_of.items(), key=lambda row: row[0][0])  # stable: in order of mention
        return cls(
            np.array([key[0] for key, _ in rows], np.int64),
            Texts.of([key[1] for key, _ in rows]),
            Texts.of([value for _, (value, _) in rows]),
            incidence([chunk_rows for _, (_, chunk_rows) in rows], n_chunks),
        )

    def __len__(self) -> int:
        return len(self.node)

    def rows_of(self, node: int) -> IntArray:
        """The rows of a node, int64 (n_found,), those that most chunks state first; ties as is."""
        first, last = np.searchsorted(self.node, [node, node + 1])
        rows: IntArray = np.arange(first, last)
        n_stating = np.diff(self.chunk.indptr[first : last + 1])
        order = np.argsort(-n_stating.astype(np.int64), kind="stable")
        return np.asarray(rows[order], np.int64)

    def text_of(self, row: int) -> str:
        """A row as "name: value"."""
        return f"{self.names[row]}: {self.values[row]}"


show_briefly(NodeAttributes)


WHOLE = ""
"""A fragment that is all of its description, however long: it is not stored twice."""


@dataclass(frozen=True, eq=False)
class Fragments(Columns):
    """What was read of the rows of a table: distinct (row, text, chunk), sorted by row.

    `texts` are distinct; those of row i are at starts[i]..starts[i + 1] - 1 of `text`, a place in
    `texts`, and `chunk`, both int64 (n,); `starts` is int64 (n_rows + 1,).
    """

    texts: Texts
    starts: IntArray
    text: IntArray
    chunk: IntArray

    @classmethod
    def of(cls, read: Iterable[tuple[int, str, int]], n_rows: int) -> "Fragments":
        """The fragments of (row, text, chunk); doubles count once."""
        codes: dict[str, int] = {}
        coded = {(row, codes.setdefault(text, len(codes)), chunk) for row, text, chunk in read}
        rows, places, chunks = np.array(sorted(coded), np.int64).reshape(-1, 3).T
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
        return cls(Texts.of(list(codes)), starts.astype(np.int64), places, chunks)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[tuple[int, str, int]]:
        row = np.repeat(np.arange(len(self)), np.diff(self.starts))
        yield from zip(row.tolist(), self.texts.take(self.text), self.chunk.tolist(), strict=True)

    def of_row(self, row: int) -> list[tuple[str, int]]:
        """Text and chunk of each fragment of a row; none for a row beyond the table."""
        part = slice(*self.starts[row : row + 2]) if row < len(self) else slice(0)
        return list(zip(self.texts.take(self.text[part]), self.chunk[part].tolist(), strict=True))

    def take(self, rows: IntArray) -> "Fragments":
        """The fragments of some rows, in the order given."""
        counts = np.diff(self.starts)[rows]
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        places = np.arange(ends[-1]) + np.repeat(self.starts[:-1][rows] - ends[:-1], counts)
        return Fragments(self.texts, ends, self.text[places], self.chunk[places])

    def pairs(self) -> Iterator[tuple[str, int]]:
        """Each distinct text with each chunk that it was read from."""
        codes = np.unique(np.stack([self.text, self.chunk]), axis=1)
        for place, chunk in codes.T.tolist():
            yield self.texts[place], chunk
