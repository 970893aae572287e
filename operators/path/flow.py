"""PathRAG's paths between retrieved nodes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.graph.edge_flow_paths import edge_flow_paths
from graphrag_bench.graph.flow_paths import Dedup, Direction, Kept, Select, flow_paths
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.ranked_paths import RankedPaths
from graphrag_bench.values import Node, Ranked

PAPER, CODE = (0.7, 0.01), (0.8, 0.3)
"""Alpha and theta of the paper (theta is ours: it gives none) and of the released code."""


@operator("path.flow_prune")
def flow_prune(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    profile: Literal["paper", "code"] = "paper",
    alpha: Annotated[float, Field(gt=0, le=1)] | None = None,
    theta: Annotated[float, Field(ge=0)] | None = None,
    max_hops: PositiveInt = 3,
    direction: Direction = "both",
    enumeration: Literal["alive_simple", "flow_dag"] = "alive_simple",
    reliability: Literal["node_sum", "exclude_start"] = "node_sum",
    per_pair_top: PositiveInt | None = None,
    dedup: Dedup = "reversal",
    theta_on_start: bool = False,
    expand_target: bool = False,
    top_k: PositiveInt = 15,
    select: Select = "reliability",
    seed: NonNegativeInt = 0,
) -> RankedPaths:
    """The `top_k` most reliable paths between the nodes, best first, by the resource they carry.

    For each ordered pair the start has resource 1. A node with resource S and n neighbours sends
    `alpha` * S / n to each of those that are reached for the first time, unless S / n is below
    `theta` (the start sends in any case, but for `theta_on_start`; the end sends nothing, but for
    `expand_target`). A path has at most `max_hops` hops over nodes that sent; with `flow_dag` each
    hop leads a level on. Score: the sum of its nodes' resources / hops, above 1 for one hop; with
    `exclude_start` without the start's 1. Ties by fewer hops, then by node tuple; a path and its
    reversal are one (with `node_set`, all paths over the same nodes). `alpha` and `theta` are 0.7
    and 0.01 unless given. `profile="code"` scores by flow along edges as `edge_flow_paths` says,
    with 0.8 and 0.3; of the other settings it reads `top_k`, `select` and `seed` alone.
    `select` keeps other `top_k` paths, the best of them first: those of the fewest hops, ties by
    score (`hop_first`), or some by chance (`random`, from the `seed`).
    Source: PathRAG (Chen et al. 2025), "Path Retrieval", equations 2 to 4; `code` as released.
    Deviation: theta, which our copy of the paper does not give, is 0.01; max_hops is the code's.
    """
    given = nodes.ids.tolist()
    if profile == "code":
        own = CODE[0] if alpha is None else alpha, CODE[1] if theta is None else theta
        return RankedPaths(tuple(edge_flow_paths(graph, given, *own, top_k, select, seed)))
    from graphrag_bench.graph.flow_kernels import Rules

    rules = Rules(
        alpha=PAPER[0] if alpha is None else alpha,
        theta=PAPER[1] if theta is None else theta,
        max_hops=max_hops,
        theta_on_start=theta_on_start,
        expand_target=expand_target,
        rising=enumeration == "flow_dag",
        count_start=reliability == "node_sum",
    )
    kept = Kept(per_pair_top, dedup, top_k, select, seed)
    return RankedPaths(tuple(flow_paths(graph, given, rules, direction, kept)))
