"""Operators that rank communities by their number of chunks or of given nodes."""

from typing import Literal

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.communities import Communities, Reports
from graphrag_bench.arrays import FloatArray, IntArray
from graphrag_bench.contract import operator
from graphrag_bench.values import Community, Node, Ranked


def with_report(communities: Communities, reports: Reports, level: int | None) -> IntArray:
    """Return the ids of the communities down to `level` that have a report, in ascending order."""
    lengths = np.diff(reports.texts.offsets)
    selected = lengths > 0 if level is None else (lengths > 0) & (communities.level <= level)
    return np.flatnonzero(selected)


def rating_fraction(reports: Reports) -> FloatArray:
    """Return the rating of each community report (0..10) divided by 11. The result is below 1."""
    return np.clip(reports.ratings, 0.0, 10.0) / 11.0


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
    """Rank the communities that contain given nodes, from level 0 (the coarsest) down to `level`.

    With `rank="count"`, as in Microsoft GraphRAG, the score is the number of given nodes in the
    community plus rating / 11, where the rating (0..10) of the report breaks ties. With
    `rank="rating"`, as in the paper, the score is the rating, rounded to two decimals. To break
    ties, the score also contains a number below 0.01, which increases with the number of given
    nodes in the community. Communities without a report are left out.
    Source: Zhou et al. (2025), Section 6.1, community "Entity".
    """
    seeds = np.zeros(communities.nodes.shape[1])
    seeds[nodes.ids] = 1.0
    counts = np.asarray(communities.nodes @ seeds, np.float64)
    among = with_report(communities, reports, level)
    scores = counts + rating_fraction(reports)
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
    """Rank all communities from level 0 (the coarsest) down to `level` by their number of chunks.

    The score is the number of chunks plus rating / 11, where the rating (0..10) of the report
    breaks ties. With `levels="at"`, as in Edge et al., only communities at `level`, and coarser
    communities without children, are returned. Communities are left out if they have no report or
    if their rating is below 0. Zhou et al.'s code returns at most 512.
    Source: Zhou et al. (2025), Section 6.1, "Layer"; Edge et al. (2024), Sections 3.1.6 and 4.1.2.
    """
    counts = np.asarray(communities.chunks.sum(axis=1), np.float64).ravel()
    among = with_report(communities, reports, level)
    if levels == "at":
        divided = np.isin(np.arange(len(communities)), communities.parent)
        among = among[(communities.level[among] == level) | ~divided[among]]
    rated = among[reports.ratings[among] >= 0]
    return Ranked.top(counts + rating_fraction(reports), top_k, among=rated)
