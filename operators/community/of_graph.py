"""Communities: those of nodes, those of a level, and by vector search."""

from typing import Literal

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.communities import Communities, Reports
from graphrag_bench.contract import operator
from graphrag_bench.values import Community, FloatArray, IntArray, Node, Ranked

_ABOVE_EVERY_RATING = 11.0
"""Ratings are 0..10, so that a rating divided by this never outweighs a count."""


def reported(communities: Communities, reports: Reports, level: int | None) -> IntArray:
    """Return the communities down to a level (None: all) that have a report."""
    lengths = np.diff(reports.texts.offsets)
    shown = lengths > 0 if level is None else (lengths > 0) & (communities.level <= level)
    return np.flatnonzero(shown)


def fraction(reports: Reports) -> FloatArray:
    """Return the ratings as numbers in 0..1 that settle ties between whole numbers."""
    return np.clip(reports.ratings, 0.0, 10.0) / _ABOVE_EVERY_RATING


@operator("community.entity", table3="Entity")
def entity(
    nodes: Ranked[Node],
    *,
    communities: Communities,
    reports: Reports,
    level: NonNegativeInt = 2,
    rank: Literal["count", "rating"] = "count",
    top_k: PositiveInt | None = 4,
) -> Ranked[Community]:
    """The communities of the nodes down to a level, the first `top_k` of them; all for None.

    Score with `rank="count"`: the number of given nodes in it, plus its report's rating / 11, so
    that the rating settles ties; with `rank="rating"`: the rating, 0..10 and rounded to two
    decimals, plus less than 0.01 by the number of nodes, which settles ties. Communities with none
    of the nodes or without a report are left out. Ties by lower id.
    Source: Zhou et al. 2025, section 6.1, community "Entity" (`rating`: the LLM's score); `count`
    as Microsoft GraphRAG's local search does.
    """
    seeds = np.zeros(communities.nodes.shape[1])
    seeds[nodes.ids] = 1.0
    counts = np.asarray(communities.nodes @ seeds, np.float64)
    among = reported(communities, reports, level)
    scores = counts + fraction(reports)
    if rank == "rating":
        scores = np.clip(reports.ratings, 0.0, 10.0).round(2) + counts / (100.0 * (seeds.sum() + 1))
    return Ranked.top(scores, top_k, among=among[counts[among] > 0])


@operator("community.layer", table3="Layer")
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
    among = reported(communities, reports, level)
    if levels == "at":
        divided = np.isin(np.arange(len(communities)), communities.parent)
        among = among[(communities.level[among] == level) | ~divided[among]]
    rated = among[reports.ratings[among] >= 0]
    return Ranked.top(counts + fraction(reports), top_k, among=rated)
