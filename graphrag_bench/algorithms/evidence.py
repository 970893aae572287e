"""Attributes of nodes, and texts of descriptions, with the chunks that state them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrag_bench.arrays import IntArray
from graphrag_bench.columns import Columns, Texts, incidence
from graphrag_bench.text import normalise_name, show_briefly

AttributeMention = tuple[int, str, str, tuple[int, ...]]
"""An attribute of a node: the node, the name, the value, and the chunks that state it."""


@show_briefly
@dataclass(frozen=True, eq=False)
class NodeAttributes(Columns):
    """Table of the distinct attributes of nodes, sorted by `node` and first mention.

    `names` are normalised. Values are compared in normalised form, and `values` has the first
    spelling. `chunk` (bool CSR, n x n_chunks) marks the chunks that state each attribute.
    """

    node: IntArray
    names: Texts
    values: Texts
    chunk: Any

    @classmethod
    def of(cls, stated: Iterable[AttributeMention], n_chunks: int) -> "NodeAttributes":
        """Return the table of the stated attributes. Empty names and values are skipped."""
        found: dict[tuple[int, str, str], tuple[str, list[int]]] = {}
        for node, name, value, chunks in stated:
            key = node, normalise_name(name), normalise_name(value)
            if all(key[1:]):
                found.setdefault(key, (" ".join(value.split()), []))[1].extend(chunks)
        rows = sorted(found.items(), key=lambda row: row[0][0])  # keeps the order of mention
        nodes = np.array([node for (node, _, _), _ in rows], np.int64)
        names = Texts.of([name for (_, name, _), _ in rows])
        values = Texts.of([value for _, (value, _) in rows])
        return cls(nodes, names, values, incidence([own for _, (_, own) in rows], n_chunks))

    def __len__(self) -> int:
        return len(self.node)

    def rows_of(self, node: int) -> IntArray:
        """Return the rows of a node, int64. Attributes that more chunks state come first."""
        first, last = np.searchsorted(self.node, [node, node + 1])
        n_chunks = np.diff(self.chunk.indptr[first : last + 1]).astype(np.int64)
        return np.asarray(first + np.argsort(-n_chunks, kind="stable"), np.int64)

    def text_of(self, row: int) -> str:
        """Return the attribute in `row` as "name: value"."""
        return f"{self.names[row]}: {self.values[row]}"


WHOLE = ""
"""Placeholder for a fragment that is the entire description, to avoid storing it twice."""


@dataclass(frozen=True, eq=False)
class Fragments(Columns):
    """Texts from which the descriptions of nodes (or relationships) were merged, with their chunks.

    Fragment k has the text `texts[text[k]]` (of distinct texts) and comes from chunk `chunk[k]`.
    The fragments of the description in row i are `starts[i]:starts[i + 1]`.
    """

    texts: Texts
    starts: IntArray
    text: IntArray
    chunk: IntArray

    @classmethod
    def of(cls, read: Iterable[tuple[int, str, int]], n_rows: int) -> "Fragments":
        """Return the distinct fragments, given tuples (row of the description, text, chunk)."""
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
        """Return the fragments of the description in `row` as pairs (text, chunk)."""
        part = slice(*self.starts[row : row + 2]) if row < len(self) else slice(0)
        return list(zip(self.texts.take(self.text[part]), self.chunk[part].tolist(), strict=True))

    def take(self, rows: IntArray) -> "Fragments":
        """Return the fragments of the descriptions in `rows`, in the given order."""
        counts = np.diff(self.starts)[rows]
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        places = np.arange(ends[-1]) + np.repeat(self.starts[:-1][rows] - ends[:-1], counts)
        return Fragments(self.texts, ends, self.text[places], self.chunk[places])

    def pairs(self) -> Iterator[tuple[str, int]]:
        """Yield the distinct pairs (text, chunk) of all fragments."""
        codes = np.unique(np.stack([self.text, self.chunk]), axis=1)
        for place, chunk in codes.T.tolist():
            yield self.texts[place], chunk
