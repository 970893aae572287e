"""Extracted records to NodeRAG's graph: entities, relationships, semantic units and more are nodes.

Each kind of node is noted in turn: its names, its texts, the chunks it is read from, its edges.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.columns import Texts, cells, row_ids
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.clustering import kmeans
from graphrag_bench.graph.extraction import TextExtraction
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.communities import leiden
from graphrag_bench.offline.sentences import Sentences, vectors_of
from graphrag_bench.offline.text_graph import text_graph
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import IntArray, best_first

ENTITY, RELATIONSHIP, UNIT = "entity", "relationship", "semantic unit"
ATTRIBUTE, ELEMENT, TITLE, TEXT = "attribute", "high-level element", "title", "text"
EMBEDDED = (UNIT, ATTRIBUTE, ELEMENT, TEXT)
"""The types that vectors find."""
_IN_TITLE = 3


@artifact(
    "graph.heterogeneous",
    provides={"node.name", "node.type", "node.description", "relationship.weight"},
)
def heterogeneous(
    *,
    text_extraction: TextExtraction,
    chunk_table: ChunkTable,
    embedder: Embedder,
    progress: Progress,
    relationship_tokens: PositiveInt = 60,
    attribute_tokens: PositiveInt = 150,
    element_tokens: PositiveInt = 150,
    pivots: PositiveInt = 10,
    cluster_size: PositiveInt = 39,
    neighbours: NonNegativeInt = 10,
    balance: bool = True,
    seed: NonNegativeInt = 0,
) -> Graph:
    """Seven types of nodes, each described by its text, joined by edges without a name.

    An `entity` is a normalised name. A `relationship`, told in `relationship_tokens`, is joined to
    its two entities. A `semantic unit` is a distinct description of the extraction (without a
    language model a sentence), joined to the entities that it is told of. An `attribute` tells, in
    `attribute_tokens`, of an entity in two units or more that is important, which
    `important_nodes` says; where none is, of the one in the most units. A `high-level element`
    tells of a Leiden community in `element_tokens` and is joined to those of its units and
    attributes that are in its k-means cluster of vectors, to all of them where clusters have
    `cluster_size` members or fewer on average. Its `title` names the three most connected
    entities. A `text` is a chunk, joined to its units. Units, attributes, elements and texts are
    joined to the `neighbours` most similar of these. With `balance` an edge weighs 1 / the higher
    degree of its ends, else 1. Attributes and elements are central sentences. Raises UserError when
    nothing was extracted, or nothing is described.
    Source: NodeRAG (Xu et al. 2025), graph decomposition, augmentation and enrichment; its release.
    Deviation: extracted, not written by a model.
    """
    made = _Nodes(len(chunk_table))
    entities = _base(made, text_extraction, chunk_table, relationship_tokens)
    units = made.of(UNIT)
    known = Sentences.of(made.texts_of(units), embedder, progress)
    _attributes(made, entities, units, known, attribute_tokens, pivots)
    elements = _elements(made, embedder, progress, element_tokens, seed)
    _join_elements(made, elements, embedder, progress, cluster_size, seed)
    first = len(made.names)
    for row, passage in enumerate(chunk_table.passages):
        made.add(TEXT, str(row), passage, (row,))
    for unit in units:
        made.join(unit, [first + chunk for chunk in made.chunks[unit]])
    if neighbours:
        _join_similar(made, embedder, progress, neighbours)
    graph = made.graph()
    if not balance:
        return graph
    degree = graph.degree
    return replace(graph, weight=1.0 / np.maximum(degree[graph.source], degree[graph.target]))


@dataclass
class _Nodes:
    """Nodes as they come, and the pairs that are joined, each once."""

    n_chunks: int
    types: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    chunks: list[tuple[int, ...]] = field(default_factory=list)
    pairs: dict[tuple[int, int], None] = field(default_factory=dict)

    def add(self, kind: str, name: str, text: str, chunks: Iterable[int]) -> int:
        """The row of a new node; an entity's name has no colon, so that others cannot be it."""
        self.types.append(kind)
        self.names.append(name if kind == ENTITY else f"{kind}: {name}")
        self.texts.append(text)
        self.chunks.append(tuple(sorted(set(chunks))))
        return len(self.names) - 1

    def join(self, node: int, others: Iterable[int]) -> None:
        """Note edges from a node, but for those that are there, whichever way they point."""
        for other in others:
            if node != other and (other, node) not in self.pairs:
                self.pairs[node, other] = None

    def of(self, *types: str) -> list[int]:
        """The nodes of some types."""
        return [row for row, kind in enumerate(self.types) if kind in types]

    def texts_of(self, rows: Sequence[int]) -> list[str]:
        """The texts of some nodes."""
        return [self.texts[row] for row in rows]

    def graph(self) -> Graph:
        """The nodes and edges so far, every weight 1; an edge is read where its first end is."""
        ends = np.array(list(self.pairs), np.int64).reshape(-1, 2)
        sizes = [len(held) for held in self.chunks]
        of = np.repeat(np.arange(len(sizes)), sizes)
        columns = np.array([chunk for held in self.chunks for chunk in held], np.int64)
        node_chunk = cells(of, columns, (len(sizes), self.n_chunks))
        return Graph(
            names=Texts.of(self.names),
            types=Texts.of(self.types),
            descriptions=Texts.of(self.texts),
            source=ends[:, 0],
            target=ends[:, 1],
            weight=np.ones(len(ends)),
            synonym=np.zeros(len(ends), bool),
            relations=Texts.of(["joined to"] * len(ends)),
            node_chunk=node_chunk,
            relationship_chunk=node_chunk[ends[:, 0]],
            statistics={
                f"nodes: {kind}": self.types.count(kind) for kind in dict.fromkeys(self.types)
            },
        )


def _base(
    made: _Nodes, extraction: TextExtraction, chunk_table: ChunkTable, most_tokens: int
) -> list[int]:
    """Note entities, relationships and semantic units; the entities."""
    base = text_graph(extraction, chunk_table, keywords=False, most_tokens=most_tokens)
    assert base.facts is not None
    entities = [
        made.add(ENTITY, name, name, row_ids(base.node_chunk, row).tolist())
        for row, name in enumerate(base.names)
    ]
    for row, fact in enumerate(base.facts):
        ends = int(base.source[row]), int(base.target[row])
        told = ", ".join(filter(None, (base.names[ends[0]], fact, base.names[ends[1]])))
        held = row_ids(base.relationship_chunk, row).tolist()
        made.join(made.add(RELATIONSHIP, str(row), told, held), ends)
    units: dict[str, tuple[dict[int, None], dict[int, None]]] = {}
    for chunk, records in enumerate(extraction.rows):
        said: list[tuple[tuple[str, ...], str]] = [
            ((one.name,), one.description) for one in records.entities
        ]
        said += [((one.source, one.target), one.description) for one in records.relationships]
        for names, text in said:
            if text := " ".join(text.split()):
                named, held_by = units.setdefault(text, ({}, {}))
                rows = (base.row_of.get(normalise_name(name)) for name in names)
                named.update(dict.fromkeys(row for row in rows if row is not None))
                held_by[chunk] = None
    if not units:
        raise UserError(
            "The graph has no semantic unit: no record of the extraction has a description. "
            "build.text_extraction=nlp describes every entity by its sentence."
        )
    for number, (text, (named, held_by)) in enumerate(units.items()):
        made.join(made.add(UNIT, str(number), text, held_by), named)
    return entities


def _attributes(
    made: _Nodes,
    entities: Sequence[int],
    units: Sequence[int],
    known: Sentences,
    most_tokens: int,
    pivots: int,
) -> None:
    """Note the attributes of important entities."""
    graph = made.graph()
    row_of = {text: row for row, text in enumerate(known.texts)}
    is_unit = np.zeros(graph.n_nodes, bool)
    is_unit[list(units)] = True
    important = important_nodes(graph, pivots)
    told_of = {entity: row_ids(graph.adjacency, entity) for entity in entities}
    told_of = {entity: near[is_unit[near]] for entity, near in told_of.items()}
    chosen = [entity for entity, near in told_of.items() if important[entity] and len(near) > 1]
    for entity in chosen or [max(entities, key=lambda entity: len(told_of[entity]))]:
        rows = [row_of[made.texts[unit]] for unit in told_of[entity].tolist()]
        told = known.joined(known.central(rows, most_tokens), most_tokens)
        held = made.chunks[entity]
        made.join(made.add(ATTRIBUTE, made.names[entity], told, held), [entity])


def important_nodes(graph: Graph, pivots: int) -> Any:
    """Which nodes are in the dense core or on many shortest paths, bool (n_nodes,).

    The core is the k-core with k = ln(n) * sqrt(mean degree), rounded; many is more than the mean
    betweenness times log10(n), rounded, counted from the `pivots` most connected nodes.
    Source: NodeRAG (Xu et al. 2025), node importance; its release samples the pivots.
    """
    n = graph.n_nodes
    k = round(math.log(n) * math.sqrt(float(graph.degree.mean())))
    core = np.array(graph.igraph.coreness()) >= max(k, 1)
    starts = best_first(graph.degree.astype(np.float64))[:pivots].tolist()
    between = np.array(graph.igraph.betweenness(directed=False, sources=starts))
    return core | (between > between.mean() * round(math.log10(n)) + 1e-9)


def _elements(
    made: _Nodes, embedder: Embedder, progress: Progress, most_tokens: int, seed: int
) -> Mapping[int, list[int]]:
    """Note one element and its title for each community; the units and attributes of each."""
    graph = made.graph()
    told = {row: row for row in made.of(UNIT, ATTRIBUTE)}
    communities = leiden(graph=graph, max_cluster_size=max(graph.n_nodes, 1), seed=seed)
    known = Sentences.of(made.texts_of(list(told)), embedder, progress)
    row_of = {text: row for row, text in enumerate(known.texts)}
    found: dict[int, list[int]] = {}
    for number in range(len(communities)):
        members = row_ids(communities.nodes, number)
        named = members[[made.types[row] == ENTITY for row in members.tolist()]]
        said = [row for row in members.tolist() if row in told]
        if not len(named) or not said:
            continue
        named = named[best_first(graph.degree[named].astype(np.float64), named)][:_IN_TITLE]
        rows = [row_of[made.texts[row]] for row in said]
        text = known.joined(known.central(rows, most_tokens), most_tokens)
        held = [chunk for row in said for chunk in made.chunks[row]]
        title = ", ".join(made.names[row] for row in named.tolist())
        element = made.add(ELEMENT, str(number), text, held)
        made.join(made.add(TITLE, title, title, held), [element])
        found[element] = said
    return found


def _join_elements(
    made: _Nodes,
    elements: Mapping[int, list[int]],
    embedder: Embedder,
    progress: Progress,
    cluster_size: int,
    seed: int,
) -> None:
    """Join each element to the units and attributes of its community that are in its cluster."""
    told = [*elements, *(row for said in elements.values() for row in said)]
    n_clusters = math.ceil(math.sqrt(len(told)))
    cluster = np.zeros(len(made.names), np.int64)
    if told and len(told) / n_clusters > cluster_size:
        vectors = vectors_of(made.texts_of(told), embedder, progress, "embedding elements")
        cluster[told] = kmeans(vectors, n_clusters, seed)
    for element, said in elements.items():
        made.join(element, [row for row in said if cluster[row] == cluster[element]])


def _join_similar(made: _Nodes, embedder: Embedder, progress: Progress, neighbours: int) -> None:
    """Join each embedded node to the most similar others."""
    rows = made.of(*EMBEDDED)
    vectors = vectors_of(made.texts_of(rows), embedder, progress, "embedding nodes")
    for row, near in zip(rows, VectorIndex(vectors).search(vectors, neighbours + 1), strict=True):
        others: IntArray = np.array(rows, np.int64)[near.ids]
        made.join(row, others[others != row][:neighbours].tolist())
