"""PropRAG: PageRank over entities and passages, with or without the facts as nodes."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveInt

from graphrag_bench.algorithms.graph import Graph, nodes_of_types
from graphrag_bench.algorithms.pagerank import Walk, personalised_pagerank, walk_with_chunks
from graphrag_bench.algorithms.views import inverse
from graphrag_bench.arrays import IntArray
from graphrag_bench.columns import sorted_csr
from graphrag_bench.contract import operator
from graphrag_bench.values import Chunk, ChunkScores, Node, Ranked
from operators.pagerank import Damping, chunk_ppr

ContainsWeight = Annotated[float, Field(gt=0)]


def with_cliques(graph: Graph, types: tuple[str, ...]) -> Graph:
    """Return a graph in which edges between their neighbours replace the nodes of some types.

    The weight of such an edge is the number of replaced nodes that both neighbours had in common.
    It is added to the weight of the edge that they already had. The replaced nodes keep their rows,
    but have no edges and are in no chunk.
    Source: PropRAG's code (dd90210).
    """
    from scipy.sparse import diags, triu

    if (typed := nodes_of_types(graph, types)) is None:
        return graph
    key = ("cliques", types)
    if key not in graph.walks:
        others = diags((~typed).astype(np.float64))
        named = graph.adjacency[np.flatnonzero(typed)].astype(bool).astype(np.float64) @ others
        joined = triu(others @ graph.adjacency @ others + named.T @ named, k=1, format="csr")
        inside = (others @ graph.node_chunk).astype(bool)
        for matrix in (joined, inside):
            matrix.eliminate_zeros()
        rows = joined.tocoo()
        graph.walks[key] = Graph.from_arrays(
            rows.row, rows.col, sorted_csr(inside), weight=rows.data, n_nodes=graph.n_nodes
        )
    result: Graph = graph.walks[key]
    return result


@operator("chunk.clique_ppr", batched=True)
def clique_ppr(
    nodes: Sequence[Ranked[Node]],
    chunk_scores: Sequence[ChunkScores],
    *,
    graph: Graph,
    damping: Damping = 0.75,
    passage_weight: NonNegativeFloat = 0.05,
    contains_weight: ContainsWeight = 1.0,
    cliques: tuple[str, ...] = (),
    top_k: PositiveInt = 50,
) -> list[Ranked[Chunk]]:
    """Return the chunks with the highest personalised PageRank, as `chunk.ppr` does.

    Nodes of the types in `cliques` are removed, and their neighbours are joined to each other. The
    weight of such an edge is the number of removed nodes that both neighbours share.
    Source: PropRAG (Wang and Han 2025), first walk, and its code.
    """
    return chunk_ppr(
        nodes, chunk_scores, graph=with_cliques(graph, cliques), damping=damping,
        passage_weight=passage_weight, contains_weight=contains_weight, top_k=top_k,
    )  # fmt: skip


def walk_among(walk: Walk, rows: IntArray) -> Walk:
    """Return the random walk that uses only the given distinct rows and the edges between them."""
    from scipy.sparse import diags

    weights = walk.transition[rows][:, rows] @ diags(walk.strength[rows])
    strength = np.asarray(weights.sum(axis=0), np.float64).ravel()
    return Walk(sorted_csr(weights @ diags(inverse(strength))), strength)


@operator("chunk.focused_ppr")
def focused_ppr(
    nodes: Ranked[Node],
    chunks: Ranked[Chunk],
    chunk_scores: ChunkScores,
    *,
    graph: Graph,
    damping: Damping = 0.45,
    passage_weight: NonNegativeFloat = 0.05,
    contains_weight: ContainsWeight = 1.0,
    cliques: tuple[str, ...] = (),
    top_k: PositiveInt = 4,
) -> Ranked[Chunk]:
    """Rank the given chunks by personalised PageRank in the subgraph of these chunks.

    The subgraph consists of the given chunks, their nodes and the edges between them. Settings,
    restart weights and scores are as in `chunk.clique_ppr`. Nodes outside the subgraph are ignored.
    If all restart weights are 0, the restart is uniform.
    Source: PropRAG (Wang and Han 2025), walk over the subgraph, and its code.
    """
    if not len(chunks):
        return chunks
    rows = np.unique(chunks.ids)
    inside = np.unique(graph.chunk_node[rows].indices).astype(np.int64)
    whole = walk_with_chunks(
        with_cliques(graph, cliques), relationships=True, contains="one",
        contains_weight=contains_weight,
    )  # fmt: skip
    walk = walk_among(whole, np.concatenate([inside, graph.n_nodes + rows]))
    reset = np.zeros(len(walk))
    known = np.isin(nodes.ids, inside)
    np.maximum.at(reset, np.searchsorted(inside, nodes.ids[known]), nodes.scores[known])
    reset[len(inside) :] = passage_weight * np.maximum(chunk_scores.values[rows], 0.0)
    mass = personalised_pagerank(walk, reset, damping)[len(inside) :]
    return Ranked.best(rows, mass / (mass.max() or 1.0), top_k)
