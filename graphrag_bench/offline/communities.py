"""Graph to communities."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.contract import artifact
from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.leiden import hierarchical_leiden


@artifact("communities.leiden")
def leiden(
    *,
    graph: Graph,
    max_cluster_size: PositiveInt = 10,
    resolution: Annotated[float, Field(gt=0)] = 1.0,
    use_lcc: bool = False,
    seed: NonNegativeInt = 0xDEADBEEF,
) -> Communities:
    """The communities of the graph by hierarchical Leiden, level 0 the coarsest.

    Weighted modularity at `resolution`; a community above `max_cluster_size` nodes is split again
    one level down. Nodes without an edge are in none. `use_lcc` keeps to the largest connected
    component, as the released code of Zhou et al. does; textual graphs fall into thousands of
    parts, which it would leave out. Source: Edge et al. 2024, section 3.1.4; Zhou et al. 2025,
    section 5.
    """
    return hierarchical_leiden(
        graph,
        max_cluster_size=max_cluster_size,
        resolution=resolution,
        use_lcc=use_lcc,
        seed=seed,
    )
