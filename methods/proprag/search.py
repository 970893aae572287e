"""PropRAG's last walk: from the entities of the best paths, among the chunks of its first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeFloat, PositiveInt

from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.node_types import nodes_of
from graphrag_bench.graph.pagerank import personalised_pagerank
from graphrag_bench.graph.ranked_paths import RankedPaths
from graphrag_bench.graph.walk import walk_among, walk_with_chunks
from graphrag_bench.values import Chunk, ChunkScores, Node, Path, Ranked, best_of

Damping = Annotated[float, Field(ge=0, lt=1)]
Joined = Literal["relationships_and_chunks", "chunks"]


@operator("node.of_paths")
def of_paths(
    paths: RankedPaths,
    *,
    graph: Graph,
    types: tuple[str, ...] = (),
    n_paths: PositiveInt = 5,
    top_k: PositiveInt = 5,
) -> Ranked[Node]:
    """The entities of the facts on the best paths, and those of the facts that begin paths.

    Entities are nodes of these `types`, facts the other nodes of a path; without types a path has
    facts alone, and all nodes are entities. A fact's entities are joined to it. Of the first
    `n_paths` paths, and of all paths of one fact, come the `top_k` entities each with the highest
    sum of the scores of their paths; a score counts once for each fact that names the entity.
    Score: the best of these scores divided by the largest of any chosen entity of the same paths,
    0..1; the higher one where an entity is among both. Ties by lower id. Paths whose scores are not
    above 0 give no entities.
    Source: PropRAG (Wang and Han 2025), seeds of the last walk, as in its release.
    """
    typed = nodes_of(graph, types)
    starts = [path for path in paths.paths if len(path.nodes) == 1]
    found: dict[int, float] = {}
    for some in (paths.paths[:n_paths], starts):
        for entity, weight in _entities(some, graph, typed, top_k).items():
            found[entity] = max(weight, found.get(entity, 0.0))
    rows = np.array(list(found), np.int64)
    return best_of(rows, np.array(list(found.values())), len(rows))


def _entities(
    paths: Iterable[Path], graph: Graph, typed: NDArray[np.bool_] | None, top_k: int
) -> dict[int, float]:
    total: dict[int, float] = {}
    best: dict[int, float] = {}
    for path in paths:
        facts = path.nodes if typed is None else [node for node in path.nodes if not typed[node]]
        for fact in facts if path.score > 0 else ():
            near = row_ids(graph.adjacency, fact)
            for entity in (near if typed is None else near[typed[near]]).tolist():
                total[entity] = total.get(entity, 0.0) + path.score
                best[entity] = max(best.get(entity, 0.0), path.score)
    rows = np.array(list(total), np.int64)
    chosen: Ranked[Node] = best_of(rows, np.array(list(total.values())), top_k)
    largest = max((best[entity] for entity in chosen.ids.tolist()), default=1.0)
    return {entity: best[entity] / largest for entity in chosen.ids.tolist()}


@operator("chunk.focused_ppr")
def focused_ppr(
    nodes: Ranked[Node],
    chunks: Ranked[Chunk],
    chunk_scores: ChunkScores,
    *,
    graph: Graph,
    damping: Damping = 0.45,
    passage_weight: NonNegativeFloat = 0.05,
    joined: Joined = "relationships_and_chunks",
    contains_weight: Annotated[float, Field(gt=0)] = 1.0,
    cliques: tuple[str, ...] = (),
    top_k: PositiveInt = 4,
    tolerance: Annotated[float, Field(gt=0)] = 1e-10,
) -> Ranked[Chunk]:
    """The best of the given chunks by personalised PageRank over what is in them alone.

    The walk is that of `chunk.ppr` over these chunks, the nodes in them and the edges between
    these; `joined`, `contains_weight` and `cliques` are as there. It restarts at the given nodes,
    each with its score, and at the chunks with their chunk scores times `passage_weight`; negative
    scores count as 0, nodes outside are left out, of a node given twice the best score counts.
    `damping` is the chance that the walk goes on. Score: the mass of the chunk, divided by that of
    the best one, 0..1; ties by lower id. Without any weight it restarts everywhere alike.
    Source: PropRAG (Wang and Han 2025), the walk over the subgraph, as in its release.
    """
    if not len(chunks):
        return chunks
    held = np.unique(chunks.ids)
    inside = np.unique(graph.chunk_node[held].indices).astype(np.int64)
    whole = walk_with_chunks(
        graph,
        relationships=joined == "relationships_and_chunks",
        contains="one",
        contains_weight=contains_weight,
        cliques=cliques,
    )
    walk = walk_among(whole, np.concatenate([inside, graph.n_nodes + held]))
    reset = np.zeros(len(walk))
    known = np.isin(nodes.ids, inside)
    np.maximum.at(reset, np.searchsorted(inside, nodes.ids[known]), nodes.scores[known])
    reset[len(inside) :] = passage_weight * np.maximum(chunk_scores.values[held], 0.0)
    mass = personalised_pagerank(walk, reset, damping, tolerance)[len(inside) :]
    return best_of(held, mass / (mass.max() or 1.0), top_k)
