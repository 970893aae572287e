"""The graph of an answer: the nodes and chunks that were found, and the walks that lead to them."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.dataset import Gold, item_documents
from graphrag_bench.explain.names import ArtifactNames, has_keys, relationships_in, scores_of
from graphrag_bench.run.folder import Row
from graphrag_bench.text import normalise_name, short

Vertex = tuple[str, int]
"""A node ("n", row) or a chunk ("c", row)."""
Plain = dict[str, Any]
MAX_NODES, MAX_CHUNKS = 200, 20
"""Maximum number of drawn nodes and chunks, and number of highest-ranked chunks to draw."""
FIRST_PATHS = 5
"""Number of paths that are drawn before all other nodes and chunks."""
_TEXT_LENGTH = 600


class ProbableWalks:
    """The most probable walk from a seed to each vertex.

    A walk follows relationships in both directions, with probabilities in proportion to their
    weights. It ends at a chunk, or continues to a node of the chunk if `through_chunks` is true.
    Walks with a probability below one in a million are left out.
    """

    def __init__(self, graph: Graph, seeds: Sequence[int], *, through_chunks: bool) -> None:
        from scipy.sparse.csgraph import dijkstra

        costs, self.n_nodes = _costs(graph, through_chunks), graph.node_chunk.shape[0]
        starts = [seed for seed in seeds if 0 <= seed < self.n_nodes]
        self.before = np.full(costs.shape[0], -1)
        """The previous vertex on the walk to each vertex. Nodes are numbered before chunks."""
        if starts:
            _, self.before, _ = dijkstra(
                costs, indices=starts, min_only=True, return_predecessors=True, limit=np.log(1e6)
            )

    def to(self, last: Vertex) -> list[Vertex]:
        """Return the walk to a vertex, or only the vertex if no walk reaches it."""
        walk, (kind, row) = [last], last
        vertex = row if kind == "n" else self.n_nodes + row
        while 0 <= vertex < len(self.before) and (vertex := int(self.before[vertex])) >= 0:
            walk.append(("n", vertex) if vertex < self.n_nodes else ("c", vertex - self.n_nodes))
        return walk[::-1]


@lru_cache(maxsize=1)
def _costs(graph: Graph, through_chunks: bool) -> Any:
    from scipy.sparse import block_array, csr_array

    inside, nodes = csr_array(graph.node_chunk), csr_array(graph.adjacency)
    if through_chunks:
        shares = _shares(block_array([[nodes, inside], [inside.T, None]], format="csr"))
    else:
        certain, empty = inside.astype(bool).astype(np.float64), csr_array((inside.shape[1],) * 2)
        shares = block_array([[_shares(nodes), certain], [None, empty]], format="csr")
    shares.data = np.log(2) - np.log(shares.data)  # each hop is taken with probability 0.5
    return shares


def _shares(weights: Any) -> Any:
    shares = weights.astype(np.float64)
    sums = np.asarray(shares.sum(axis=1)).ravel()
    shares.data /= np.repeat(sums, np.diff(shares.indptr))
    return shares


def answer_graph(row: Row, gold: Gold, names: ArtifactNames) -> Plain:
    """Return the nodes, edges and paths to draw for a stored question.

    Nodes and chunks have the flags `found` (by a step) and `gold` (a gold chunk, or a node of a
    gold chunk). Nodes also have the flags `seed` and `answer` (the name is a gold answer). Edges
    have the flags `found`, `synonym`, `walk` (part of the walk from a seed to a node or chunk) and
    `route` (a sentence of one chunk names the other). `size` is the operator that scored the nodes.

    At most `MAX_NODES` nodes and chunks are drawn, and `left_out` is the number of the others.
    `unconnected` names found nodes without an edge in the drawing. Without a trace, only gold
    chunks are drawn.
    """
    drawing = _Drawing(row.get("trace", ()), gold, names)
    shown, beyond = drawing.candidates[:MAX_NODES], drawing.candidates[MAX_NODES:]
    edges = list(drawing.edges())
    joined = {edge[end] for edge in edges for end in ("s", "t")}
    every = [drawing.chunk(n) if kind == "c" else drawing.node(n) for kind, n in shown]
    nodes = [one for one in every if one["kind"] == "chunk" or one["id"] in joined]
    between = {frozenset((edge["s"], edge["t"])): edge["id"] for edge in edges}
    ids, paths = {node["id"] for node in nodes}, []
    for path in drawing.paths:
        on = [f"n{node}" for node in path["nodes"]]
        pairs = [hop for hop in map(frozenset, pairwise(on)) if hop in between]
        hops = [f"e{one}" for one in path["relationships"]] or [between[hop] for hop in pairs]
        score = {"score": path["score"]} if path.get("score") is not None else {}
        paths += [{"nodes": on, "edges": hops, **score}] if ids.issuperset(on) else []
    apart = [n for n in drawing.found if f"n{n}" not in joined and ("n", n) not in beyond]
    return {
        "nodes": nodes,
        "edges": edges,
        "paths": paths,
        "size": drawing.scored_by if drawing.score else "",
        "left_out": len(beyond),
        "unconnected": [drawing.node(n)["label"] for n in apart],
        "paths_left_out": len(drawing.paths) - len(paths),
    }


class _Drawing:
    """The nodes, chunks and paths that the steps of a question found, and those to draw."""

    def __init__(self, trace: Sequence[Plain], gold: Gold, names: ArtifactNames) -> None:
        self.names, self.graph = names, names.graph
        self._read(trace)
        table = names.chunk_table
        documents = [one for name in gold.evidence for one in item_documents(gold, name)]
        chunks = [chunk for one in documents for chunk in table.chunks_of(one)] if table else []
        self.gold_chunks = dict.fromkeys(chunks)
        self.answers = {normalise_name(one) for one in gold.answers}
        self.hops: set[frozenset[Vertex]] = set()
        through_chunks = any(step["step"].endswith(" chunk.ppr") for step in trace)
        self.candidates = self._candidates(through_chunks)
        shown = sorted(self.candidates[:MAX_NODES])
        self.nodes = [row for kind, row in shown if kind == "n"]
        self.incident: list[tuple[int, int]] = []
        if self.graph is not None:
            inside = self.graph.node_chunk
            nodes = [node for node in self.nodes if 0 <= node < inside.shape[0]]
            there = [row for kind, row in shown if kind == "c" and 0 <= row < inside.shape[1]]
            ends = zip(*inside[nodes][:, there].nonzero(), strict=True)
            self.incident = sorted((nodes[row], there[column]) for row, column in ends)
        self.gold_nodes = {node for node, chunk in self.incident if chunk in self.gold_chunks}

    def _read(self, trace: Sequence[Plain]) -> None:
        self.seeds: list[int] = []  # nodes of the first step that found nodes
        self.found: dict[int, None] = {}
        self.score: dict[int, float] = {}  # the last scores of nodes, by the operator `scored_by`
        self.scored_by = ""
        self.relationships: dict[int, float | None] = {}
        self.chunks: dict[int, float] = {}
        self.paths: list[Plain] = []
        self.routes: list[Plain] = []  # from a chunk to a chunk that one of its sentences names
        for step in trace:
            wrote = step["wrote"]
            for slot in ("nodes", "step_nodes"):
                if has_keys(value := wrote.get(slot), "ids"):
                    self.seeds = self.seeds or list(dict.fromkeys(value["ids"]))
                    self.found |= dict.fromkeys(value["ids"])
                    if "scores" in value:
                        self.score = scores_of(value)
                        self.scored_by = step["step"].rpartition(" ")[2]
            for slot in ("relationships", "subgraph", "exploration"):
                for row, score in relationships_in(wrote.get(slot)).items():
                    if score is not None or row not in self.relationships:
                        self.relationships[row] = score
            if has_keys(chunks := wrote.get("chunks"), "ids", "scores"):
                self.chunks = scores_of(chunks)
            if has_keys(subgraph := wrote.get("subgraph"), "nodes", "paths"):
                self.found |= dict.fromkeys(subgraph["nodes"])
                paths = [{"nodes": nodes, "relationships": []} for nodes in subgraph["paths"]]
                self.paths = paths or self.paths
            if isinstance(found := wrote.get("paths"), list):
                self.paths = [path for path in found if has_keys(path, "nodes", "relationships")]
            if isinstance(routes := wrote.get("routes"), list):
                self.routes = routes

    def _candidates(self, through_chunks: bool) -> list[Vertex]:
        # the first paths, then the walks to gold chunks, retrieved chunks, parents of routes, found
        # nodes (best scores first) unless there are paths, nodes of relationships and other paths
        walks = self.graph and ProbableWalks(self.graph, self.seeds, through_chunks=through_chunks)
        first, later = self.paths[:FIRST_PATHS], self.paths[FIRST_PATHS:]
        chunks = [*self.gold_chunks, *list(self.chunks)[:MAX_CHUNKS]]
        chunks += [route["parent"] for route in self.routes]
        best = sorted(self.score, key=lambda node: (-self.score[node], node))
        nodes = [] if self.paths else [*best, *self.found]
        nodes += [end for row in self.relationships for end in self._ends(row)]
        nodes += [node for path in later for node in path["nodes"]]
        ordered: list[Vertex] = [("n", node) for path in first for node in path["nodes"]]
        for last in [*(("c", chunk) for chunk in chunks), *(("n", node) for node in nodes)]:
            walk = walks.to(last) if walks else [last]
            self.hops |= set(map(frozenset, pairwise(walk)))
            ordered += walk
        return list(dict.fromkeys(ordered))

    def _ends(self, row: int) -> tuple[int, ...]:
        graph = self.graph
        if graph is None or not 0 <= row < graph.n_relationships:
            return ()
        return int(graph.source[row]), int(graph.target[row])

    def node(self, row: int) -> Plain:
        fields, graph = self.names.row("nodes", row), self.graph
        name = str(fields.get("name", f"row {row}"))
        return {"id": f"n{row}", "kind": "node", "label": name} | _without_empty(
            type=fields.get("type", ""),
            text=short(texts[row], _TEXT_LENGTH) if (texts := graph and graph.descriptions) else "",
            score=self.score.get(row),
            seed=row in self.seeds,
            found=row in self.found or row in self.score,
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
            score=self.chunks.get(row),
            found=row in self.chunks,
            gold=row in self.gold_chunks,
        )

    def edges(self) -> Iterator[Plain]:
        from scipy.sparse import csr_array, triu

        graph, shown = self.graph, set(self.candidates[:MAX_NODES])
        if graph is not None and self.nodes:
            found = [row for path in self.paths for row in path["relationships"]]
            ends = {row: frozenset(self._ends(row)) for row in (*found, *self.relationships)}
            drawn = [row for row, own in ends.items() if own and own <= {*self.nodes}]
            near, n, joined = graph.neighbours, graph.n_nodes, {ends[row] for row in drawn}
            stored = near.rows + 1  # a sparse matrix does not store 0
            matrix = csr_array((stored, near.nodes, near.starts), shape=(n, n))
            between = (int(row) - 1 for row in triu(matrix[self.nodes][:, self.nodes], 1).data)
            drawn += [row for row in between if frozenset(self._ends(row)) not in joined]
            for row in drawn:
                fields, (source, target) = self.names.row("relationships", row), self._ends(row)
                yield {"id": f"e{row}", "s": f"n{source}", "t": f"n{target}"} | _without_empty(
                    label=fields["relation"],
                    text=short(str(fields.get("description", "")), _TEXT_LENGTH),
                    found=row in ends,
                    walk=frozenset((("n", source), ("n", target))) in self.hops,
                    score=self.relationships.get(row),
                    synonym=bool(graph.synonym[row]),
                )
        for node, chunk in self.incident:
            edge = {"id": f"i{node}-{chunk}", "s": f"n{node}", "t": f"c{chunk}", "in": True}
            yield edge | _without_empty(walk=frozenset((("n", node), ("c", chunk))) in self.hops)
        for route in self.routes:
            parent, child = route["parent"], route["child"]
            if {("c", parent), ("c", child)} <= shown:
                edge = {"id": f"r{parent}-{child}", "s": f"c{parent}", "t": f"c{child}"}
                yield edge | {"label": "names", "text": route["sentence"], "route": True}


def _without_empty(**fields: Any) -> Plain:
    return {name: value for name, value in fields.items() if value}
