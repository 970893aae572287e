"""The graph of an answer: the nodes and chunks that were found, and the walks that lead to them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.dataset import Gold, item_documents
from graphrag_bench.explain.names import ArtifactNames, has_keys, relationships_in, scores_of
from graphrag_bench.run.folder import Row
from graphrag_bench.text import normalise_name, short
from graphrag_bench.values import IntArray

Vertex = tuple[str, int]
"""A node ("n", row) or a chunk ("c", row)."""
_HOP = float(np.log(2))
"""Cost of each hop: -log(0.5), because the walk continues with probability 0.5."""
_MAX_COST = float(np.log(1e6))
"""Maximum cost of a walk, which corresponds to a probability of one in a million."""
Plain = dict[str, Any]
MAX_NODES = 200
"""Maximum number of nodes and chunks that are drawn. The page shows how many are not drawn."""
MAX_CHUNKS = 20
"""Maximum number of retrieved chunks that are drawn. Gold chunks do not count."""
FIRST_PATHS = 5
"""Number of paths that are drawn before all other nodes and chunks."""
_TEXT_LENGTH = 600


@dataclass(frozen=True)
class ProbableWalks:
    """The most probable walk from a seed to each vertex.

    The vertices are numbered, first all nodes and then all chunks. `before`, int32 (n_nodes +
    n_chunks,), has the previous vertex on the walk to each vertex. It is negative for seeds and for
    vertices that no walk reaches.
    """

    before: IntArray
    n_nodes: int

    @classmethod
    def of(cls, graph: Graph, seeds: Sequence[int], *, through_chunks: bool) -> "ProbableWalks":
        """Return the walks that start at the nodes `seeds`; ids that are not nodes are ignored.

        A walk follows relationships in both directions, with probabilities in proportion to their
        weights. It ends at a chunk. If `through_chunks` is true, it continues to any of its nodes.
        """
        from scipy.sparse.csgraph import dijkstra

        costs, n_nodes = _costs(graph, through_chunks)
        starts = [seed for seed in seeds if 0 <= seed < n_nodes]
        if not starts:
            return cls(np.full(costs.shape[0], -1), n_nodes)
        _, before, _ = dijkstra(
            costs, indices=starts, min_only=True, return_predecessors=True, limit=_MAX_COST
        )
        return cls(before, n_nodes)

    def to(self, last: Vertex) -> list[Vertex]:
        """Return the walk to a vertex, or only the vertex if no walk reaches it."""
        walk, (kind, row) = [last], last
        vertex = row if kind == "n" else self.n_nodes + row
        while 0 <= vertex < len(self.before) and (vertex := int(self.before[vertex])) >= 0:
            walk.append(("n", vertex) if vertex < self.n_nodes else ("c", vertex - self.n_nodes))
        return walk[::-1]


@lru_cache(maxsize=1)
def _costs(graph: Graph, through_chunks: bool) -> tuple[Any, int]:
    from scipy.sparse import block_array, csr_array

    inside = csr_array(graph.node_chunk)
    n_nodes, n_chunks = inside.shape
    nodes = csr_array(graph.adjacency)
    if through_chunks:
        shares = _shares(block_array([[nodes, inside], [inside.T, None]], format="csr"))
    else:
        certain = inside.astype(bool).astype(np.float64)
        empty = csr_array((n_chunks, n_chunks))
        shares = block_array([[_shares(nodes), certain], [None, empty]], format="csr")
    shares.data = _HOP - np.log(shares.data)
    return shares, n_nodes


def _shares(weights: Any) -> Any:
    shares = weights.astype(np.float64)
    sums = np.asarray(shares.sum(axis=1)).ravel()
    shares.data /= np.repeat(sums, np.diff(shares.indptr))
    return shares


@dataclass
class _TraceRows:
    """The nodes, relationships, chunks, paths and links between chunks in the trace of a question.

    `seeds` are the nodes of the first step that found nodes. `score` has the last scores of nodes,
    and `scored_by` is the operator that computed them. `through_chunks` is true if a PageRank walk
    visited chunks. `routes` are links from a chunk to a chunk that one of its sentences names.
    """

    seeds: list[int] = field(default_factory=list)
    nodes: dict[int, None] = field(default_factory=dict)
    score: dict[int, float] = field(default_factory=dict)
    scored_by: str = ""
    relationships: dict[int, float | None] = field(default_factory=dict)
    chunks: dict[int, float] = field(default_factory=dict)
    paths: list[Plain] = field(default_factory=list)
    through_chunks: bool = False
    routes: list[Plain] = field(default_factory=list)

    @classmethod
    def of(cls, trace: Iterable[Mapping[str, Any]]) -> "_TraceRows":
        rows = cls()
        for step in trace:
            rows.through_chunks |= step["step"].endswith(" chunk.ppr")
            rows._add(step["step"].rpartition(" ")[2], step["wrote"])
        return rows

    def _add(self, operator: str, wrote: Mapping[str, Any]) -> None:
        for slot in ("nodes", "step_nodes"):
            if has_keys(value := wrote.get(slot), "ids"):
                self.seeds = self.seeds or list(dict.fromkeys(value["ids"]))
                self.nodes |= dict.fromkeys(value["ids"])
                if "scores" in value:
                    self.score, self.scored_by = scores_of(value), operator
        for slot in ("relationships", "subgraph", "exploration"):
            for row, score in relationships_in(wrote.get(slot)).items():
                if score is not None or row not in self.relationships:
                    self.relationships[row] = score
        if has_keys(chunks := wrote.get("chunks"), "ids", "scores"):
            self.chunks = scores_of(chunks)
        if has_keys(subgraph := wrote.get("subgraph"), "nodes", "paths"):
            self.nodes |= dict.fromkeys(subgraph["nodes"])
            if subgraph["paths"]:
                self.paths = [{"nodes": nodes, "relationships": []} for nodes in subgraph["paths"]]
        if isinstance(paths := wrote.get("paths"), list):
            self.paths = [path for path in paths if has_keys(path, "nodes", "relationships")]
        if isinstance(routes := wrote.get("routes"), list):
            self.routes = routes


def answer_graph(row: Row, gold: Gold, names: ArtifactNames) -> Plain:
    """Return the nodes, edges and paths to draw for a stored question.

    Nodes and chunks have the flags `found` (found by a step) and `gold` (a gold chunk, or a node of
    a gold chunk). Nodes also have the flags `seed` and `answer` (the name is a gold answer). Edges
    have the flags `found`, `synonym`, `walk` (part of the walk from a seed to a node or chunk) and
    `route` (a sentence of one chunk names the other chunk). `size` is the operator whose scores set
    node sizes.

    At most `MAX_NODES` nodes and chunks are drawn, in this order: the first paths, gold chunks,
    retrieved chunks, parents of routes, scored and other found nodes (if there are no paths), nodes
    of relationships, other paths. The walk to a node or chunk is also drawn, except for nodes of
    the first paths. `left_out` is the number of nodes and chunks that are not drawn, and
    `unconnected` names found nodes that have no edge in the drawing. If the question has no trace,
    only its gold chunks are drawn.
    """
    rows = _TraceRows.of(row.get("trace", ()))
    drawing = _Drawing(rows, gold, names)
    edges = list(drawing.edges())
    joined = {edge[end] for edge in edges for end in ("s", "t")}
    every = [drawing.chunk(n) if kind == "c" else drawing.node(n) for kind, n in drawing.shown]
    nodes = [one for one in every if one["kind"] == "chunk" or one["id"] in joined]
    between = {frozenset((edge["s"], edge["t"])): edge["id"] for edge in edges}
    ids = {node["id"] for node in nodes}
    paths = [_path(path, between) for path in rows.paths]
    whole = [path for path in paths if ids.issuperset(path["nodes"])]
    return {
        "nodes": nodes,
        "edges": edges,
        "paths": whole,
        "size": rows.scored_by if rows.score else "",
        "left_out": len(drawing.candidates) - len(every),
        "unconnected": drawing.unconnected(joined),
        "paths_left_out": len(paths) - len(whole),
    }


class _Drawing:
    def __init__(self, rows: _TraceRows, gold: Gold, names: ArtifactNames) -> None:
        self.rows, self.names, self.graph = rows, names, names.graph
        table = names.chunk_table
        documents = [one for name in gold.evidence for one in item_documents(gold, name)]
        chunks = [chunk for one in documents for chunk in table.chunks_of(one)] if table else []
        self.gold_chunks = dict.fromkeys(chunks)
        self.answers = {normalise_name(one) for one in gold.answers}
        self.walks = self.graph and ProbableWalks.of(
            self.graph, rows.seeds, through_chunks=rows.through_chunks
        )
        self.hops: set[frozenset[Vertex]] = set()
        self.candidates = self._candidates()
        self.shown = self.candidates[:MAX_NODES]
        self.nodes = sorted(row for kind, row in self.shown if kind == "n")
        self.incident = self._incident(sorted(row for kind, row in self.shown if kind == "c"))
        self.gold_nodes = {node for node, chunk in self.incident if chunk in self.gold_chunks}

    def _candidates(self) -> list[Vertex]:
        rows = self.rows
        first, later = rows.paths[:FIRST_PATHS], rows.paths[FIRST_PATHS:]
        chunks = [*self.gold_chunks, *list(rows.chunks)[:MAX_CHUNKS]]
        chunks += [route["parent"] for route in rows.routes]
        best = sorted(rows.score, key=lambda node: (-rows.score[node], node))
        ends = [end for row in rows.relationships for end in self._ends(row)]
        on_later = [node for path in later for node in path["nodes"]]
        ordered: list[Vertex] = [("n", node) for path in first for node in path["nodes"]]
        ordered += [one for chunk in chunks for one in self._walk(("c", chunk))]
        scored = () if rows.paths else (*best, *rows.nodes)
        for node in (*scored, *ends, *on_later):
            ordered += self._walk(("n", node))
        return list(dict.fromkeys(ordered))

    def unconnected(self, joined: Collection[str]) -> list[str]:
        beyond = self.candidates[MAX_NODES:]
        rows = [row for row in self.rows.nodes if f"n{row}" not in joined]
        return [self.node(row)["label"] for row in rows if ("n", row) not in beyond]

    def _walk(self, to: Vertex) -> list[Vertex]:
        walk = self.walks.to(to) if self.walks else [to]
        self.hops |= set(map(frozenset, pairwise(walk)))
        return walk

    def _ends(self, row: int) -> tuple[int, ...]:
        graph = self.graph
        if graph is None or not 0 <= row < graph.n_relationships:
            return ()
        return int(graph.source[row]), int(graph.target[row])

    def _incident(self, chunks: Sequence[int]) -> list[tuple[int, int]]:
        if self.graph is None:
            return []
        matrix = self.graph.node_chunk
        nodes = [node for node in self.nodes if 0 <= node < matrix.shape[0]]
        known = [chunk for chunk in chunks if 0 <= chunk < matrix.shape[1]]
        there = matrix[nodes][:, known].tocoo()
        pairs = zip(there.row.tolist(), there.col.tolist(), strict=True)
        return sorted((nodes[row], known[column]) for row, column in pairs)

    def node(self, row: int) -> Plain:
        fields, rows, graph = self.names.row("nodes", row), self.rows, self.graph
        name = str(fields.get("name", f"row {row}"))
        return {"id": f"n{row}", "kind": "node", "label": name} | _without_empty(
            type=fields.get("type", ""),
            text=short(texts[row], _TEXT_LENGTH) if (texts := graph and graph.descriptions) else "",
            score=rows.score.get(row),
            seed=row in rows.seeds,
            found=row in rows.nodes or row in rows.score,
            gold=row in self.gold_nodes,
            answer=normalise_name(name) in self.answers,
        )

    def chunk(self, row: int) -> Plain:
        fields, table = self.names.row("chunks", row), self.names.chunk_table
        documents = fields.get("documents", [])
        label = fields.get("title") or ", ".join(documents) or f"chunk {row}"
        return {"id": f"c{row}", "kind": "chunk", "label": label} | _without_empty(
            documents=documents,
            text=short(table.texts[row], _TEXT_LENGTH) if table and 0 <= row < len(table) else "",
            score=self.rows.chunks.get(row),
            found=row in self.rows.chunks,
            gold=row in self.gold_chunks,
        )

    def edges(self) -> Iterator[Plain]:
        shown, joined = set(self.nodes), set()
        of_paths = [row for path in self.rows.paths for row in path["relationships"]]
        for row in dict.fromkeys([*of_paths, *self.rows.relationships]):
            if (ends := frozenset(self._ends(row))) and ends <= shown:
                joined.add(ends)
                yield self._edge(row, found=True)
        for row in self._joining():
            if frozenset(self._ends(row)) not in joined:
                yield self._edge(row, found=False)
        for node, chunk in self.incident:
            edge = {"id": f"i{node}-{chunk}", "s": f"n{node}", "t": f"c{chunk}", "in": True}
            yield edge | _without_empty(walk=frozenset((("n", node), ("c", chunk))) in self.hops)
        for route in self.rows.routes:
            parent, child = route["parent"], route["child"]
            if {("c", parent), ("c", child)} <= set(self.shown):
                edge = {"id": f"r{parent}-{child}", "s": f"c{parent}", "t": f"c{child}"}
                yield edge | {"label": "names", "text": route["sentence"], "route": True}

    def _joining(self) -> list[int]:
        from scipy.sparse import csr_array, triu

        if self.graph is None or not self.nodes:
            return []
        near, n = self.graph.neighbours, self.graph.n_nodes
        stored = near.rows + 1  # a sparse matrix does not store 0
        rows = csr_array((stored, near.nodes, near.starts), shape=(n, n))
        return [int(row) - 1 for row in triu(rows[self.nodes][:, self.nodes], 1).data]

    def _edge(self, row: int, *, found: bool) -> Plain:
        fields, (source, target) = self.names.row("relationships", row), self._ends(row)
        assert self.graph is not None
        return {"id": f"e{row}", "s": f"n{source}", "t": f"n{target}"} | _without_empty(
            label=fields["relation"],
            text=short(str(fields.get("description", "")), _TEXT_LENGTH),
            found=found,
            walk=frozenset((("n", source), ("n", target))) in self.hops,
            score=self.rows.relationships.get(row),
            synonym=bool(self.graph.synonym[row]),
        )


def _without_empty(**fields: Any) -> Plain:
    return {name: value for name, value in fields.items() if value}


def _path(path: Mapping[str, Any], between: Mapping[frozenset[str], str]) -> Plain:
    nodes = [f"n{row}" for row in path["nodes"]]
    edges = [f"e{row}" for row in path["relationships"]]
    if not edges:
        hops = map(frozenset, pairwise(nodes))
        edges = [between[hop] for hop in hops if hop in between]
    score = path.get("score")
    return {"nodes": nodes, "edges": edges} | ({} if score is None else {"score": score})
