"""Communities of a level."""

from typing import Literal

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.communities import Communities, Reports
from graphrag_bench.contract import operator
from graphrag_bench.values import Community, Ranked
from operators.community.entity import fraction, reported


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
