"""Records of entities and relationships merged into one graph: noted one by one, merged at once."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from graphrag_bench.columns import Texts, cells
from graphrag_bench.graph.fragments import Fragments
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.node_attributes import NodeAttributes, Stated
from graphrag_bench.text import count_tokens, normalise_name
from graphrag_bench.values import IntArray

BETWEEN = " "
"""The separator of two descriptions of the same thing."""


class _Said:
    def __init__(self) -> None:
        self.rows, self._said = array("q"), array("q")
        self._chunks = array("q")
        self._texts: dict[str, int] = {}

    def add(self, row: int, text: str, chunks: Sequence[int] = ()) -> None:
        self.rows.append(row)
        self._said.append(self._texts.setdefault(text, len(self._texts)))
        self._chunks.append(chunks[0] if len(chunks) == 1 else -1)

    def fragments(self, n_rows: int) -> Fragments:
        rows, said, chunks = (
            np.array(held, np.int64) for held in (self.rows, self._said, self._chunks)
        )
        known = chunks >= 0
        return Fragments.coded(self._texts, rows[known], said[known], chunks[known], n_rows)

    def joined(
        self, n_rows: int, separator: str, *, sort: bool, most_tokens: int | None = None
    ) -> Texts:
        """The distinct texts of each row with `separator`: sorted, or in order of first mention.

        Of each row the first that fit `most_tokens` are taken, and the very first where even that
        does not fit.
        """
        from scipy.sparse import csr_matrix

        rows, said, _, _ = self._distinct()
        texts = list(self._texts)
        if most_tokens is not None:
            n_tokens = np.array([count_tokens(text) for text in texts], np.int64)[said]
            so_far = np.cumsum(n_tokens)
            starts = np.searchsorted(rows, rows)
            kept = so_far - (so_far - n_tokens)[starts] <= most_tokens
            kept |= starts == np.arange(len(rows))
            rows, said = rows[kept], said[kept]
        if sort:
            rank = np.empty(len(texts), np.int64)
            rank[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
            order = np.lexsort((rank[said], rows))
            rows, said = rows[order], said[order]
        ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
        ones = np.ones(len(said), bool)
        held = csr_matrix((ones, said, ends), shape=(n_rows, len(texts)))
        return Texts.of(texts).joined(held, separator)

    def most_frequent(self, n_rows: int) -> Texts:
        rows, said, counts, first = self._distinct()
        order = np.lexsort((first, -counts, rows))
        rows, said = rows[order], said[order]
        best = np.flatnonzero(np.diff(rows, prepend=-1))
        found = np.full(n_rows, len(self._texts))
        found[rows[best]] = said[best]
        texts = [*self._texts, ""]
        return Texts.of([texts[code] for code in found.tolist()])

    def _distinct(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Each row with each of its texts once, by row, then first mention.

        Rows, texts, how often each was said and the place where first, all int64 (n,).
        """
        n_texts = max(len(self._texts), 1)
        codes = np.array(self.rows, np.int64) * n_texts + np.array(self._said, np.int64)
        distinct, first, counts = np.unique(codes, return_index=True, return_counts=True)
        order = np.lexsort((first, distinct // n_texts))
        distinct = distinct[order]
        return distinct // n_texts, distinct % n_texts, counts[order], first[order]


class Merger:
    """Nodes and relationships in order of first mention.

    Nodes are told apart by their normalised name; relationships by their unordered ends, or, where
    they have names (`named`), by (head, name, tail). `nodes` has the row of each name,
    `relationships` that of each such key.
    """

    def __init__(self, *, named: bool = False) -> None:
        self.named = named
        self.nodes: dict[str, int] = {}
        self.relationships: dict[tuple[int, str, int], int] = {}
        self._normal: dict[str, str] = {}
        self._types, self._descriptions = _Said(), _Said()
        self._facts, self._keywords = _Said(), _Said()
        self._relations: list[str] = []
        # flat: the garbage collector would look through a list of pairs again and again
        self._heads, self._tails = array("q"), array("q")
        self._weighed, self._weights = array("q"), array("d")
        self._in_chunks, self._facts_in_chunks = array("q"), array("q")
        self._stated: list[Stated] = []

    def node(
        self, name: str, kind: str = "", description: str = "", chunks: Iterable[int] = ()
    ) -> int | None:
        """The row of a node, after noting what was told of it; None for a name without letters."""
        if not (normal := self._normalised(name)):
            return None
        held = tuple(chunks)
        row = self.nodes.setdefault(normal, len(self.nodes))
        for chunk in held:
            self._in_chunks.extend((row, chunk))
        if text := description.strip():
            self._descriptions.add(row, text, held)
        if kind:
            self._types.add(row, kind)
        return row

    def relationship(
        self,
        source: str,
        target: str,
        *,
        relation: str = "",
        description: str = "",
        keywords: Iterable[str] = (),
        weight: float = 1.0,
        chunks: Iterable[int] = (),
    ) -> None:
        """Note a relationship, but for one with an end that has no letters, and for a loop.

        Ends that are not nodes yet become nodes, without type and description.
        """
        held = tuple(chunks)
        if not self._normalised(source) or not self._normalised(target):
            return
        head, tail = self.node(source, chunks=held), self.node(target, chunks=held)
        assert head is not None and tail is not None  # neither name is empty
        if head == tail:
            return
        key = (head, relation, tail) if self.named else (min(head, tail), "", max(head, tail))
        row = self.relationships.setdefault(key, len(self.relationships))
        if row == len(self._relations):
            self._heads.append(head)
            self._tails.append(tail)
            self._relations.append(relation)
        self._weighed.append(row)
        self._weights.append(weight)
        for chunk in held:
            self._facts_in_chunks.extend((row, chunk))
        if text := description.strip():
            self._facts.add(row, text, held)
        for keyword in keywords:
            self._keywords.add(row, keyword)

    def attribute(self, node: str, name: str, value: str, chunks: Iterable[int] = ()) -> None:
        """Note a named value of a node, which becomes one where it is none yet.

        Nothing is noted where one of the three has no letters.
        """
        held = tuple(chunks)
        if not (self._normalised(name) and self._normalised(value)):
            return
        if (row := self.node(node, chunks=held)) is not None:
            self._stated.append((row, name, value, held))

    def _normalised(self, name: str) -> str:
        normal = self._normal.get(name)
        if normal is None:
            normal = self._normal[name] = normalise_name(name)
        return normal

    @property
    def has_keywords(self) -> bool:
        """Whether any relationship has a keyword."""
        return bool(self._keywords.rows)

    def graph(
        self,
        n_chunks: int,
        *,
        described: bool = True,
        typed: bool = False,
        keywords: bool = False,
        attributes: bool = False,
        most_tokens: int | None = None,
    ) -> Graph:
        """The merged graph, with types, descriptions, keywords and attributes where asked for.

        What is `described` is `typed` too.

        A node's type is the most frequent one, ties to the one seen first; descriptions are the
        distinct ones, sorted, joined by a space, of which `most_tokens` keeps the first mentioned
        that fit; keywords are joined by ", " in order of first mention; weights are summed; a
        relationship keeps the direction of its first mention.
        """
        n, n_rows = len(self.nodes), len(self.relationships)
        of, weight = np.array(self._weighed, np.int64), np.array(self._weights, np.float64)
        told = partial(_Said.joined, separator=BETWEEN, sort=True, most_tokens=most_tokens)
        return Graph(
            names=Texts.of(list(self.nodes)),
            source=np.array(self._heads, np.int64),
            target=np.array(self._tails, np.int64),
            weight=np.bincount(of, weight, n_rows).astype(np.float64),
            synonym=np.zeros(n_rows, bool),
            relations=Texts.of(self._relations),
            node_chunk=_incidence(self._in_chunks, n, n_chunks),
            relationship_chunk=_incidence(self._facts_in_chunks, n_rows, n_chunks),
            types=self._types.most_frequent(n) if described or typed else None,
            descriptions=told(self._descriptions, n) if described else None,
            facts=told(self._facts, n_rows) if described else None,
            keywords=self._keywords.joined(n_rows, ", ", sort=False) if keywords else None,
            node_attributes=NodeAttributes.of(self._stated, n_chunks) if attributes else None,
            node_fragments=self._descriptions.fragments(n) if described else None,
            fact_fragments=self._facts.fragments(n_rows) if described else None,
        )


def _incidence(held: array[int], n_rows: int, n_chunks: int) -> Any:
    rows, chunks = np.array(held, np.int64).reshape(-1, 2).T
    return cells(rows, chunks, (n_rows, n_chunks))
