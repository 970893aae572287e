"""Records of entities and relationships merged into one graph: rows added one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from graphrag_bench.columns import Texts, incidence
from graphrag_bench.graph.graph import Graph
from graphrag_bench.text import count_tokens, fit, normalise_name

BETWEEN = " "
"""The separator of two descriptions of the same thing."""


@dataclass
class _Row:
    """What is known of one node or relationship so far; dicts keep the order of first mention."""

    types: Counter[str] = field(default_factory=Counter)
    descriptions: dict[str, None] = field(default_factory=dict)
    keywords: dict[str, None] = field(default_factory=dict)
    chunks: dict[int, None] = field(default_factory=dict)
    ends: tuple[int, int] = (0, 0)
    relation: str = ""
    weight: float = 0.0

    def tell(self, description: str, chunks: Iterable[int]) -> None:
        """Add one description and the chunks that contain it."""
        if description.strip():
            self.descriptions[description.strip()] = None
        self.chunks.update(dict.fromkeys(chunks))

    def description(self, most_tokens: int | None) -> str:
        """The distinct descriptions, sorted, joined; the first ones that fit `most_tokens`.

        The very first is there even where it alone does not fit.
        """
        told = list(self.descriptions)
        if most_tokens is not None:
            told = told[: max(1, fit([count_tokens(text) for text in told], most_tokens))]
        return BETWEEN.join(sorted(told))


class Merger:
    """Nodes and relationships in order of first mention.

    Nodes are told apart by their normalised name; relationships by their unordered ends, or, where
    they have names (`named`), by (head, name, tail).
    """

    def __init__(self, *, named: bool = False) -> None:
        """Nothing is known yet."""
        self.named = named
        self.nodes: dict[str, _Row] = {}
        self.relationships: dict[tuple[int, str, int], _Row] = {}
        self._rows: dict[str, int] = {}
        self._normal: dict[str, str] = {}

    def node(
        self, name: str, kind: str = "", description: str = "", chunks: Iterable[int] = ()
    ) -> int | None:
        """The row of a node, after noting what was told of it; None for a name without letters."""
        normal = self._normal.get(name)
        if normal is None:
            normal = self._normal[name] = normalise_name(name)
        if not normal:
            return None
        row = self._rows.setdefault(normal, len(self._rows))
        known = self.nodes.setdefault(normal, _Row())
        known.tell(description, chunks)
        if kind:
            known.types[kind] += 1
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
        if not normalise_name(source) or not normalise_name(target):
            return
        head, tail = self.node(source, chunks=held), self.node(target, chunks=held)
        assert head is not None and tail is not None  # neither name is empty
        if head == tail:
            return
        key = (head, relation, tail) if self.named else (min(head, tail), "", max(head, tail))
        row = self.relationships.setdefault(key, _Row(ends=(head, tail), relation=relation))
        row.tell(description, held)
        row.keywords.update(dict.fromkeys(keywords))
        row.weight += weight

    def graph(
        self,
        n_chunks: int,
        *,
        described: bool = True,
        keywords: bool = False,
        most_tokens: int | None = None,
    ) -> Graph:
        """The merged graph; types, descriptions and keywords are columns only where asked for.

        A node's type is the most frequent one, ties to the one seen first; descriptions are the
        distinct ones, sorted, joined by a space, of which `most_tokens` keeps the first mentioned
        that fit; keywords are joined by ", " in order of first mention; weights are summed; a
        relationship keeps the direction of its first mention.
        """
        nodes, rows = list(self.nodes.values()), list(self.relationships.values())
        of_nodes, of_rows = (
            [row.description(most_tokens) for row in table] if described else []
            for table in (nodes, rows)
        )
        ends = np.array([row.ends for row in rows], np.int64).reshape(-1, 2)
        return Graph(
            names=Texts.of(list(self.nodes)),
            source=np.ascontiguousarray(ends[:, 0]),
            target=np.ascontiguousarray(ends[:, 1]),
            weight=np.array([row.weight for row in rows], np.float64),
            synonym=np.zeros(len(rows), bool),
            relations=Texts.of([row.relation for row in rows]),
            node_chunk=incidence([row.chunks for row in nodes], n_chunks),
            relationship_chunk=incidence([row.chunks for row in rows], n_chunks),
            types=Texts.of([_most_frequent(row.types) for row in nodes]) if described else None,
            descriptions=Texts.of(of_nodes) if described else None,
            facts=Texts.of(of_rows) if described else None,
            keywords=Texts.of([", ".join(row.keywords) for row in rows]) if keywords else None,
        )


def _most_frequent(types: Counter[str]) -> str:
    """The most frequent type; Counter keeps the order of first mention among equals."""
    return types.most_common(1)[0][0] if types else ""
