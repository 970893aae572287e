"""Community operators: ranked communities that have a report, and the members of some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.graph.communities import Communities, Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.node_types import nodes_of
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import (
    Community,
    FloatArray,
    IntArray,
    Node,
    Query,
    Question,
    Ranked,
)
from operators.similarity import vectors_of

_ABOVE_EVERY_RATING = 11.0
"""Ratings are 0..10, so that a rating divided by this never outweighs a count."""


def _reported(communities: Communities, reports: Reports, level: int | None) -> IntArray:
    lengths = np.diff(reports.texts.offsets)
    shown = lengths > 0 if level is None else (lengths > 0) & (communities.level <= level)
    return np.flatnonzero(shown)


def _fraction(reports: Reports) -> FloatArray:
    """The ratings as numbers in 0..1 that settle ties between whole numbers."""
    return np.clip(reports.ratings, 0.0, 10.0) / _ABOVE_EVERY_RATING


@operator("community.entity")
def entity(
    nodes: Ranked[Node],
    *,
    communities: Communities,
    reports: Reports,
    level: NonNegativeInt = 2,
    rank_by: Literal["count", "rating"] = "count",
    top_k: PositiveInt | None = 4,
) -> Ranked[Community]:
    """The communities down to a level that hold the most of the nodes, all of them for None.

    Score: the number of given nodes in it, plus its report's rating / 11, so that the rating
    settles ties; with `rank_by="rating"` the rating alone, 0..10. Communities with none of the
    nodes or without a report are left out. Ties by lower id.
    Source: Zhou et al. 2025, section 6.1, community "Entity" (its text ranks by rating); count
    first as Microsoft GraphRAG's local search does.
    """
    given = np.zeros(communities.nodes.shape[1])
    given[nodes.ids] = 1.0
    counts = np.asarray(communities.nodes @ given, np.float64)
    scores = counts + _fraction(reports) if rank_by == "count" else np.array(reports.ratings)
    among = _reported(communities, reports, level)
    return Ranked.top(scores, top_k, among=among[counts[among] > 0])


@operator("community.layer")
def layer(
    *,
    communities: Communities,
    reports: Reports,
    level: NonNegativeInt = 2,
    levels: Literal["down_to", "at"] = "down_to",
    top_k: PositiveInt | None = None,
) -> Ranked[Community]:
    """All communities down to a level (0 the coarsest), those that occur in most chunks first.

    With `levels="at"` those of the level alone, and the coarser ones that no finer one divides,
    so that no part of the graph is told twice.
    Score: the number of its chunks, plus its report's rating / 11, so that the rating settles
    ties. Communities without a report, or rated below 0, are left out. Ties by lower id. Upstream
    code takes 512 at most.
    Source: Zhou et al. 2025, section 6.1, community "Layer" (down to); Edge et al. 2024, sections
    3.1.6 and 4.1.2 (one level, C0 to C3).
    """
    counts = np.asarray(communities.chunks.sum(axis=1), np.float64).ravel()
    among = _reported(communities, reports, level)
    if levels == "at":
        divided = np.isin(np.arange(len(communities)), communities.parent)
        among = among[(communities.level[among] == level) | ~divided[among]]
    kept = among[reports.ratings[among] >= 0]
    return Ranked.top(counts + _fraction(reports), top_k, among=kept)


@operator("community.vdb", batched=True)
def vdb(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    community_index: VectorIndex,
    communities: Communities,
    reports: Reports,
    embedder: Embedder,
    level: NonNegativeInt | None = None,
    top_k: PositiveInt = 4,
) -> list[Ranked[Community]]:
    """The communities whose reports are most similar to the question, or to a query used instead.

    Score: cosine, -1..1; of several query texts the best one counts. `level` leaves out what lies
    below it (0 is the coarsest). Communities without a report are left out. Ties by lower id.
    Source: Zhou et al. 2025, technical report, B.1, community "VDB".
    """
    among = _reported(communities, reports, level)
    found: list[Ranked[Community]] = []
    for vectors in vectors_of(question, query, embedder):
        if not len(vectors) or not len(among):
            found.append(Ranked.empty())
            continue
        scores = np.max([community_index.scores(vector) for vector in vectors], axis=0)
        found.append(Ranked.top(scores, top_k, among=among))
    return found


@operator("node.members")
def members(
    question: Question,
    found: Ranked[Community],
    query: Query | None = None,
    *,
    communities: Communities,
    graph: Graph,
    node_index: VectorIndex,
    embedder: Embedder,
    types: tuple[str, ...] = (),
    top_k: PositiveInt = 20,
) -> Ranked[Node]:
    """The members of the communities most similar to the question, or to a query used instead.

    Score: cosine, -1..1; of several query texts the best one counts. Ties by lower id. With
    `types` only members of these types are ranked.
    Source: Youtu-GraphRAG (Dong et al. 2025), top-down filtering by communities.
    """
    (vectors,) = vectors_of([question], [query], embedder)
    inside = np.unique(communities.nodes[found.ids].indices).astype(np.int64)
    if (typed := nodes_of(graph, types)) is not None:
        inside = inside[typed[inside]]
    if not len(vectors) or not len(inside):
        return Ranked.empty()
    scores = np.max([node_index.scores(vector) for vector in vectors], axis=0)
    return Ranked.top(scores, top_k, among=inside)
