"""Attributes of nodes: named values, each with the chunks that state it, stored beside a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.columns import Columns, Texts, incidence
from graphrag_bench.errors import UserError, did_you_mean
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
    def of(cls, stated: Iterable[Stated], n_chunks: int) -> NodeAttributes:
        """The rows of what is stated; what has no letters in its name or value is left out."""
        found: dict[tuple[int, str, str], tuple[str, dict[int, None]]] = {}
        for node, name, value, chunks in stated:
            key = node, normalise_name(name), normalise_name(value)
            if all(key[1:]):
                held = found.setdefault(key, (" ".join(value.split()), {}))[1]
                held.update(dict.fromkeys(chunks))
        rows = sorted(found.items(), key=lambda row: row[0][0])  # stable: in order of mention
        return cls(
            np.array([key[0] for key, _ in rows], np.int64),
            Texts.of([key[1] for key, _ in rows]),
            Texts.of([value for _, (value, _) in rows]),
            incidence([held for _, (_, held) in rows], n_chunks),
        )

    def __len__(self) -> int:
        return len(self.node)

    @cached_property
    def name_numbers(self) -> Mapping[str, int]:
        """Every name, numbered in order of first appearance."""
        return {name: number for number, name in enumerate(dict.fromkeys(self.names))}

    @cached_property
    def name_of_row(self) -> IntArray:
        """The number of each row's name, int64 (n,)."""
        return np.array([self.name_numbers[name] for name in self.names], np.int64)

    @cached_property
    def value_words(self) -> list[str]:
        """Each value as plain words in spaces."""
        return [f" {normalise_name(value)} " for value in self.values]

    @cached_property
    def n_stating(self) -> IntArray:
        """The number of chunks that state each row, int64 (n,)."""
        return np.asarray(np.diff(self.chunk.indptr), np.int64)

    def rows_of(self, node: int) -> IntArray:
        """The rows of a node, int64 (n_found,), those that most chunks state first; ties as is."""
        first, last = np.searchsorted(self.node, [node, node + 1])
        rows: IntArray = np.arange(first, last)
        order = np.argsort(-self.n_stating[rows], kind="stable")
        return np.asarray(rows[order], np.int64)

    def told(self, row: int) -> str:
        """A row as "name: value"."""
        return f"{self.names[row]}: {self.values[row]}"


def rows_named(attributes: NodeAttributes, names: tuple[str, ...]) -> NDArray[np.bool_] | None:
    """Which rows have one of the names, bool (n,); None, which is all of them, for ().

    Raises UserError for a name that no attribute has, with the nearest ones.
    """
    if not names:
        return None
    wanted = []
    for name in names:
        if (number := attributes.name_numbers.get(normalise_name(name))) is None:
            hint = did_you_mean(normalise_name(name), attributes.name_numbers)
            raise UserError(f"No attribute of this graph has the name '{name}'. {hint}")
        wanted.append(number)
    return np.isin(attributes.name_of_row, wanted)


show_briefly(NodeAttributes)
