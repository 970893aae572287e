"""Graphs: tables of nodes and relationships, and matrices that are computed from the tables."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, NonNegativeInt

from graphrag_bench.algorithms import name_dictionary
from graphrag_bench.algorithms.evidence import Fragments, NodeAttributes
from graphrag_bench.algorithms.name_dictionary import Merge, NameDictionary
from graphrag_bench.algorithms.views import Neighbours, Pairs, load_views, save_views, transition_of
from graphrag_bench.arrays import BoolArray, FloatArray, IntArray
from graphrag_bench.columns import NOT_STORED, Columns, TextRows, Texts, bool_csr, sorted_csr
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.text import show_briefly

ATTRIBUTES = {
    "names": "node.name",
    "types": "node.type",
    "descriptions": "node.description",
    "node_attributes": "node.attributes",  # the only one that is not in the table
    "relations": "relationship.name",
    "facts": "relationship.description",
    "keywords": "relationship.keywords",
}
"""The attributes that fields of `Graph` hold. Source: Zhou et al. 2025, Table 2."""


@show_briefly
@dataclass(frozen=True, eq=False)
class Graph(Columns):
    """Graph of nodes and relationships, with the chunks that state them.

    A relationship is a distinct directed fact (head, name, tail) or a synonymy edge. `names` are
    the distinct names of nodes, usually normalised. `types` and `descriptions` belong to nodes, and
    `relations`, `facts` and `keywords` are the names, descriptions and themes of relationships. A
    field that this type of graph lacks is None. `node_chunk` and `relationship_chunk` are bool CSR
    matrices with one column per chunk. In an entity-passage graph, `node_chunk` has edge weights
    (int64). `node_fragments` and `fact_fragments` are the texts that descriptions and facts were
    merged from, if known. `merges` are the aliases of nodes. `statistics` are not saved.

    >>> graph = Graph.from_arrays([0, 1], [1, 2], names=["ada", "norvik", "tarn"])
    >>> graph.n_nodes, graph.degree.tolist(), graph.triple(0)
    (3, [1, 2, 1], ('ada', 'related to', 'norvik'))
    """

    names: Texts
    source: IntArray
    target: IntArray
    weight: FloatArray
    synonym: BoolArray
    relations: Texts
    node_chunk: Any
    relationship_chunk: Any
    types: Texts | None = None
    descriptions: Texts | None = None
    facts: Texts | None = None
    keywords: Texts | None = None
    node_attributes: NodeAttributes | None = None
    node_fragments: Fragments | None = None
    fact_fragments: Fragments | None = None
    merges: tuple[Merge, ...] = field(default=(), metadata=NOT_STORED)
    statistics: Mapping[str, float] = field(default_factory=dict, metadata=NOT_STORED)

    @classmethod
    def from_arrays(
        cls,
        source: ArrayLike,
        target: ArrayLike,
        node_chunk: Any = None,
        relationship_chunk: Any = None,
        weight: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        n_nodes: int | None = None,
        relations: str | Sequence[str] | Texts = "related to",
    ) -> "Graph":
        """Return a graph without synonymy edges. Weights are 1 by default.

        `relations` is one name for all relationships, or a list with one name per relationship.
        `node_chunk` and `relationship_chunk` are CSR matrices or dense arrays.
        """
        from scipy.sparse import csr_matrix, issparse

        def csr(matrix: Any, shape: tuple[int, int]) -> Any:
            if matrix is None:
                return csr_matrix(shape, dtype=bool)
            return matrix if issparse(matrix) else csr_matrix(np.asarray(matrix, bool))

        ends = np.array([source, target], np.int64).reshape(2, -1)
        n_rows = ends.shape[1]
        n = max(n_nodes or 0, int(ends.max(initial=-1)) + 1, len(names or ()))
        inside = csr(node_chunk, (n, 0))
        if not isinstance(relations, Texts):
            relations = Texts.of([relations] * n_rows if isinstance(relations, str) else relations)
        weights = np.ones(n_rows) if weight is None else np.asarray(weight, np.float64)
        return cls(
            Texts.of(list(names) if names else [f"node {i}" for i in range(n)]), ends[0], ends[1],
            weights, np.zeros(n_rows, bool), relations, inside,
            csr(relationship_chunk, (n_rows, inside.shape[1])),
        )  # fmt: skip

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def n_relationships(self) -> int:
        """Number of relationships, including synonymy edges."""
        return len(self.source)

    @property
    def n_chunks(self) -> int:
        """Number of chunks in the chunk table from which the graph was built."""
        return int(self.node_chunk.shape[1])

    @property
    def attributes(self) -> frozenset[str]:
        """Attributes that nodes and relationships of this graph have, for example `node.name`."""
        have = {name for column, name in ATTRIBUTES.items() if getattr(self, column) is not None}
        return frozenset(have | {"relationship.weight"})

    @cached_property
    def nodes_of_type(self) -> Mapping[str, IntArray]:
        """Nodes (int64) of each node type. The types are in lower case."""
        nodes: dict[str, list[int]] = {}
        for node, name in enumerate(self.types or ()):
            nodes.setdefault(name.casefold(), []).append(node)
        return {name: np.array(of_type, np.int64) for name, of_type in nodes.items()}

    @cached_property
    def dictionary(self) -> NameDictionary:
        """Dictionary that finds the names and aliases of nodes in texts."""
        aliases = name_dictionary.unambiguous_aliases(self.merges, self.names)
        return NameDictionary.of(self.names, aliases)

    @cached_property
    def row_of(self) -> TextRows:
        """Mapping from node names to row numbers in the table of nodes."""
        return TextRows.of_columns(self.names, np.arange(self.n_nodes))

    @cached_property
    def chunk_relationship(self) -> Any:
        """Relationships that each chunk states, bool CSR (n_chunks, n_relationships)."""
        return sorted_csr(self.relationship_chunk.T)

    @cached_property
    def chunk_node(self) -> Any:
        """Nodes that each chunk mentions, CSR (n_chunks, n_nodes)."""
        return sorted_csr(self.node_chunk.T)

    @cached_property
    def node_relationship(self) -> Any:
        """Relationships that begin or end at each node, bool CSR (n_nodes, n_relationships)."""
        ends = np.stack([self.source, self.target], axis=1).ravel()
        rows = np.repeat(np.arange(self.n_relationships), 2)
        return bool_csr(ends, rows, (self.n_nodes, self.n_relationships))

    def relationships_at(self, nodes: IntArray) -> IntArray:
        """Return the relationships that begin or end at one of these nodes, int64, ascending."""
        rows = np.sort(self.node_relationship[nodes].indices).astype(np.int64)
        return rows[np.diff(rows, prepend=-1) > 0]

    @cached_property
    def pairs(self) -> Pairs:
        """Pairs of joined nodes, sorted by the lower node and then by the higher node."""
        return Pairs.of_rows(self.source, self.target, self.weight, self.n_nodes)

    @cached_property
    def degree(self) -> IntArray:
        """Number of neighbours of each node, int64 (n_nodes,)."""
        return np.asarray(np.diff(self.adjacency.indptr), np.int64)

    @cached_property
    def adjacency(self) -> Any:
        """Total weight between each pair of nodes (symmetric float64 CSR), without self-loops."""
        from scipy.sparse import csr_matrix

        pairs, n = self.pairs, self.n_nodes
        apart = pairs.source != pairs.target
        ends = pairs.source[apart], pairs.target[apart]
        half = csr_matrix((pairs.weight[apart], ends), shape=(n, n))
        return sorted_csr(half + half.T)

    @cached_property
    def neighbours(self) -> Neighbours:
        """Distinct neighbours of each node, whatever the direction of the relationship."""
        pairs = self.pairs
        ends = np.stack([pairs.source, pairs.target])
        both = Neighbours.of_rows(ends.ravel(), ends[::-1].ravel(), self.n_nodes)
        rows = np.tile(pairs.first.astype(np.int32), 2)[both.rows]
        return replace(both, rows=rows)

    @cached_property
    def out_neighbours(self) -> Neighbours:
        """Neighbours of each node along outgoing relationships."""
        return Neighbours.of_rows(self.source, self.target, self.n_nodes)

    @cached_property
    def transition(self) -> Any:
        """Transposed row-normalised adjacency, float64 CSR. Columns of isolated nodes are 0."""
        return transition_of(self.adjacency)

    @cached_property
    def walks(self) -> dict[tuple[object, ...], Any]:
        """Cache of random walks on this graph, keyed by settings (see `algorithms.pagerank`)."""
        return {}

    @cached_property
    def pair_chunk(self) -> Any:
        """Chunks that state a relationship of each pair, bool CSR (n_pairs, n_chunks)."""
        rows = np.arange(self.n_relationships)
        group = bool_csr(self.pairs.of, rows, (len(self.pairs.source), len(rows)))
        return sorted_csr(group @ self.relationship_chunk)

    @cached_property
    def chunks_per_node(self) -> IntArray:
        """Number of chunks that state relationships of each node, int64 (n_nodes,)."""
        stating = self.node_relationship @ self.relationship_chunk
        return np.asarray(np.diff(stating.indptr), np.int64)

    @cached_property
    def igraph(self) -> Any:
        """Undirected igraph.Graph whose edges are `pairs`, with the edge attribute `weight`."""
        import igraph

        ends = np.stack([self.pairs.source, self.pairs.target], axis=1)
        return igraph.Graph(self.n_nodes, ends, edge_attrs={"weight": self.pairs.weight.tolist()})

    def triple(self, row: int) -> tuple[str, str, str]:
        """Return the head, the relation (name, or else keywords or description) and the tail."""
        columns = (self.relations, self.keywords, self.facts)
        relation = next(filter(None, (column[row] for column in columns if column)), "related to")
        head, tail = int(self.source[row]), int(self.target[row])
        return self.names[head], relation, self.names[tail]

    def chunks_of_node(self, node: int) -> tuple[int, ...]:
        """Return the chunks that the description of a node comes from, in ascending order.

        The result is () without a description, or if the node has several chunks and no fragments.
        """
        return _quoted(self.node_fragments, node, self.descriptions, self.node_chunk)

    def chunks_of_relationship(self, row: int) -> tuple[int, ...]:
        """Return the chunks of the description, as in `chunks_of_node`, or else of the name."""
        if not (self.facts and self.facts[row]) and self.relations[row]:
            return self.chunks_of_triples([row])
        return _quoted(self.fact_fragments, row, self.facts, self.relationship_chunk)

    def chunks_of_triples(self, rows: Iterable[int]) -> tuple[int, ...]:
        """Return the chunks that state at least one of the relationships in `rows`, ascending."""
        ids, ends = self.relationship_chunk.indices, self.relationship_chunk.indptr
        return tuple(sorted({k for row in rows for k in ids[ends[row] : ends[row + 1]].tolist()}))

    def save(self, folder: Path) -> None:
        """Write the graph, and the matrices that are computed from it, to a folder."""
        super().save(folder)
        name_dictionary.save_merges(folder, self.merges)
        save_views(folder / "views", self)

    @classmethod
    def load(cls, folder: Path) -> "Graph":
        """Return the graph that `save` wrote to a folder. Its arrays are memory-mapped."""
        graph = replace(super().load(folder), merges=name_dictionary.load_merges(folder))
        vars(graph).update(load_views(folder / "views"))  # fills the cache of properties
        return graph


def _quoted(
    fragments: Fragments | None, row: int, texts: Texts | None, incidence: Any
) -> tuple[int, ...]:
    if not texts or not (text := texts[row]):
        return ()
    if fragments is not None:
        return tuple(sorted({chunk for part, chunk in fragments.of_row(row) if part in text}))
    chunks = incidence.indices[slice(*incidence.indptr[row : row + 2])].tolist()
    return tuple(chunks) if len(chunks) == 1 else ()


def attributes_of(graph: Graph) -> NodeAttributes:
    """Return the table of node attributes. Raises UserError if the graph has no such table."""
    if graph.node_attributes is None:
        raise UserError("This graph has no node attributes. Set build.graph=attributed.")
    return graph.node_attributes


def nodes_of_types(graph: Graph, types: tuple[str, ...]) -> BoolArray | None:
    """Return a mask of the nodes of these types (any case), or None if `types` is empty."""
    if not types:
        return None
    if graph.types is None:
        raise UserError(
            f"types={list(types)}: this graph has no node types. Set build.graph=tkg or rkg."
        )
    mask = np.zeros(graph.n_nodes, bool)
    for name in map(str.casefold, types):
        if name not in graph.nodes_of_type:
            hint = did_you_mean(name, filter(None, graph.nodes_of_type))
            raise UserError(f"No node of this graph has the type '{name}'. {hint}")
        mask[graph.nodes_of_type[name]] = True
    return mask


Share = Annotated[float, Field(ge=0, lt=1)]


def drop_edges(
    graph: Graph, *, edge_drop: Share = 0.0, edge_drop_seed: NonNegativeInt = 0
) -> Graph:
    """Return a copy of the graph without a random fraction `edge_drop` of its joined node pairs.

    With one seed, a larger `edge_drop` drops the same edges and more.
    Source: PathRAG (Chen et al. 2025), robustness to sparse graphs.
    """
    n_pairs = len(graph.pairs.source)
    order = np.random.default_rng(edge_drop_seed).permutation(n_pairs)
    gone = np.zeros(n_pairs, bool)
    gone[order[: round(edge_drop * n_pairs)]] = True
    rows = np.flatnonzero(~gone[graph.pairs.of])
    arrays = ("source", "target", "weight", "synonym", "relationship_chunk")
    columns: dict[str, Any] = {name: getattr(graph, name)[rows] for name in arrays}
    for name in ("relations", "facts", "keywords", "fact_fragments"):
        if (column := getattr(graph, name)) is not None:
            taken = column.take(rows)
            columns[name] = Texts.of(taken) if isinstance(column, Texts) else taken
    return replace(graph, **columns)


def graph_health(graph: Graph) -> Mapping[str, tuple[int, int]]:
    """Count possible faults of a graph. Return a pair (count, total) for each kind of fault.

    The links of a node lead to its neighbours, or to its chunks if the graph has no relationships.
    The largest part is the largest connected component, where shared chunks also connect nodes. The
    largest hubs are the 1 % of the nodes with the most links, or a single node in a small graph.

    >>> graph = Graph.from_arrays([0], [1], [[1, 1], [1, 0], [0, 0]], names=["a", "b", "c"])
    >>> graph_health(graph)["nodes in one chunk"], graph_health(graph)["isolated nodes"]
    ((1, 3), (1, 3))
    """
    from scipy.sparse import bmat
    from scipy.sparse.csgraph import connected_components

    n, n_chunks, inside = graph.n_nodes, graph.n_chunks, graph.node_chunk
    facts = graph.relationship_chunk[~graph.synonym]
    n_links = np.sort(_links(graph))[::-1]
    links = bmat([[graph.adjacency, inside], [inside.T, None]])
    _, part = connected_components(links, directed=False)
    return {
        "isolated nodes": (int(np.sum(n_links == 0)), n),
        "nodes in one chunk": (int(np.sum(inside.getnnz(axis=1) == 1)), n),
        "nodes in no chunk": (int(np.sum(inside.getnnz(axis=1) == 0)), n),
        "nodes in the largest part": (int(np.bincount(part[:n], minlength=1).max()), n),
        "links of the largest hubs": (int(n_links[: math.ceil(n / 100)].sum()), int(n_links.sum())),
        "merged names": (len(graph.merges), n + len(graph.merges)),
        "chunks without nodes": (int(np.sum(inside.getnnz(axis=0) == 0)), n_chunks),
        "chunks without facts": (int(np.sum(facts.getnnz(axis=0) == 0)), n_chunks),
    }


def hubs(graph: Graph) -> list[tuple[str, int]]:
    """Return (name, number of links) of the five nodes with the most links. Lower rows win ties."""
    n_links = _links(graph)
    order = np.argsort(-n_links, kind="stable")[:5].tolist()
    return [(graph.names[node], int(n_links[node])) for node in order]


def _links(graph: Graph) -> IntArray:
    return graph.degree if graph.n_relationships else graph.node_chunk.getnnz(axis=1)
