"""Merge mentions of entities and relationships into a graph."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from graphrag_bench.algorithms.evidence import AttributeMention, Fragments, NodeAttributes
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts, bool_csr
from graphrag_bench.text import count_tokens, n_fitting, normalise_name, unsigned_name

NO_ENTITIES = (
    "The graph has no entities. The model may be too small for extraction, its context window may "
    "be too short for the prompt, or the model may find no names in these texts. "
)
Mention = tuple[int, str, Sequence[int]]
"""Row of a node or a relationship, its description, and the chunks that state the description."""


class Merger:
    """Builder of a graph from mentions of entities and relationships.

    All entities with the same normalised name become one node. If `signs` is false, names are
    normalised without symbols. If `named` is true, equal triples (head, relation, tail) become one
    relationship. Otherwise, all mentions of the same two nodes become one relationship, whatever
    their direction.
    """

    def __init__(self, *, named: bool = False, signs: bool = True) -> None:
        self.named = named
        self.normalised = cache(normalise_name if signs else unsigned_name)
        self.nodes: dict[str, int] = {}
        self.relationships: dict[tuple[int, str, int], int] = {}
        self.keywords: list[tuple[int, str]] = []  # row of the relationship, keyword
        self._first: list[tuple[int, int, str]] = []  # first mention of each relationship
        self._weights: defaultdict[int, float] = defaultdict(float)
        self._types: list[tuple[int, str]] = []
        self._descriptions: list[Mention] = []
        self._facts: list[Mention] = []
        self._node_chunks: list[tuple[int, int]] = []
        self._relationship_chunks: list[tuple[int, int]] = []
        self._attributes: list[AttributeMention] = []

    def node(
        self, name: str, kind: str = "", description: str = "", chunks: Sequence[int] = ()
    ) -> int | None:
        """Add a mention of an entity and return its node, or return None if the name is empty."""
        if not (normal := self.normalised(name)):
            return None
        row = self.nodes.setdefault(normal, len(self.nodes))
        self._node_chunks += [(row, chunk) for chunk in chunks]
        if text := description.strip():
            self._descriptions.append((row, text, chunks))
        if kind:
            self._types.append((row, kind))
        return row

    def relationship(
        self, source: str, target: str, relation: str = "", description: str = "",
        keywords: Iterable[str] = (), weight: float = 1.0, chunks: Sequence[int] = (),
    ) -> None:  # fmt: skip
        """Add a mention of a relationship and its entities. Loops and empty names are ignored."""
        if not self.normalised(source) or not self.normalised(target):
            return
        head, tail = (self.node(name, chunks=chunks) for name in (source, target))
        if head is None or tail is None or head == tail:
            return
        key = (head, relation, tail) if self.named else (min(head, tail), "", max(head, tail))
        row = self.relationships.setdefault(key, len(self.relationships))
        if row == len(self._first):
            self._first.append((head, tail, relation))
        self._weights[row] += weight
        self._relationship_chunks += [(row, chunk) for chunk in chunks]
        if text := description.strip():
            self._facts.append((row, text, chunks))
        self.keywords += [(row, keyword) for keyword in keywords]

    def attribute(self, node: str, name: str, value: str, chunks: tuple[int, ...] = ()) -> None:
        """Add an attribute of a node. Nothing is added if a name or the value is empty."""
        whole = self.normalised(name) and self.normalised(value)
        if whole and (row := self.node(node, chunks=chunks)) is not None:
            self._attributes.append((row, name, value, chunks))

    def graph(
        self,
        n_chunks: int,
        *,
        keywords: bool = False,
        attributes: bool = False,
        most_tokens: int | None = None,
    ) -> Graph:
        """Return the graph of all mentions.

        `keywords=True` adds the keyword column, and `attributes=True` adds types and attributes of
        nodes. The type of a node is its most frequent type. Ties are broken by the first mention.
        Distinct descriptions are joined in alphabetical order. If `most_tokens` is set, only the
        first descriptions that fit are kept, but at least one. The first mention of a relationship
        determines its direction.
        """
        n, n_rows = len(self.nodes), len(self.relationships)
        columns: dict[str, Any] = {}
        if attributes or not self.named:
            kinds = group_by_row(self._types, n)
            types = [Counter(one).most_common(1)[0][0] if one else "" for one in kinds]
            columns["types"] = Texts.of(types)
        if not self.named:
            joined = _joined(self._descriptions, n, most_tokens)
            columns["descriptions"], columns["node_fragments"] = joined
            joined = _joined(self._facts, n_rows, most_tokens)
            columns["facts"], columns["fact_fragments"] = joined
        if keywords:
            themes = group_by_row(self.keywords, n_rows)
            columns["keywords"] = Texts.of([", ".join(dict.fromkeys(one)) for one in themes])
        if attributes:
            columns["node_attributes"] = NodeAttributes.of(self._attributes, n_chunks)
        graph = Graph.from_arrays(
            [head for head, _, _ in self._first], [tail for _, tail, _ in self._first],
            _incidence(self._node_chunks, n, n_chunks),
            _incidence(self._relationship_chunks, n_rows, n_chunks),
            list(self._weights.values()), list(self.nodes),
            relations=[relation for _, _, relation in self._first],
        )  # fmt: skip
        return replace(graph, **columns)


def group_by_row(notes: Iterable[tuple[int, str]], n_rows: int) -> list[list[str]]:
    """Return the texts of each row, given pairs (row, text)."""
    groups: list[list[str]] = [[] for _ in range(n_rows)]
    for row, text in notes:
        groups[row].append(text)
    return groups


def _joined(
    mentions: Iterable[Mention], n_rows: int, most_tokens: int | None
) -> tuple[Texts, Fragments]:
    rows = group_by_row(((row, text) for row, text, _ in mentions), n_rows)
    texts = [" ".join(sorted(first_fitting(some, most_tokens))) for some in rows]
    read = ((row, text, chunks[0]) for row, text, chunks in mentions if len(chunks) == 1)
    return Texts.of(texts), Fragments.of(read, n_rows)


def first_fitting(texts: Sequence[str], most_tokens: int | None) -> list[str]:
    """Return the first distinct texts that fit `most_tokens` (None: all), but at least one."""
    distinct = list(dict.fromkeys(texts))
    if most_tokens is None:
        return distinct
    return distinct[: max(1, n_fitting([*map(count_tokens, distinct)], most_tokens))]


def _incidence(pairs: Sequence[tuple[int, int]], n_rows: int, n_chunks: int) -> Any:
    rows, chunks = np.array(pairs, np.int64).reshape(-1, 2).T
    return bool_csr(rows, chunks, (n_rows, n_chunks))
