"""Communities that nodes are in."""

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
    top_k: PositiveInt | None = 4,
) -> Ranked[Community]:
    """The communities down to a level that hold the most of the nodes, all of them for None.

    Score: the number of given nodes in it, plus its report's rating / 11, so that the rating
    settles ties. Communities with none of the nodes or without a report are left out. Ties by
    lower id.
    Source: Zhou et al. 2025, section 6.1, community "Entity" (its text ranks by rating); count
    first as Microsoft GraphRAG's local search does.
    """
    seeds = np.zeros(communities.nodes.shape[1])
    seeds[nodes.ids] = 1.0
    counts = np.asarray(communities.nodes @ seeds, np.float64)
    among = reported(communities, reports, level)
    return Ranked.top(counts + fraction(reports), top_k, among=among[counts[among] > 0])
