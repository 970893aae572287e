"""The paths that join nodes within some hops."""

from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.paths import khop_paths
from graphrag_bench.contract import operator
from graphrag_bench.values import Node, Ranked, Subgraph, unique


@operator("subgraph.khop_path", table3="KhopPath")
def khop_path(nodes: Ranked[Node], *, graph: Graph, khop: PositiveInt = 2) -> Subgraph:
    """The paths that join the nodes within `khop` hops of each other, and what lies on them.

    A path starts at the first remaining node, continues to the nearest other one (ties by lower
    id), and ends when none is within reach; its nodes are then no longer remaining. A node that
    reaches no other gives no path, and no path contains another. Synonymy edges count as hops.
    The released code of Zhou et al. effectively runs khop 5.
    Source: Zhou et al. 2025, section 6.1, subgraph "KhopPath"; DALK (Li et al. 2024), section 3.2.
    """
    paths = khop_paths(graph, nodes.ids.tolist(), khop)
    return Subgraph(
        unique([node for path in paths for node in path.nodes]),
        unique([row for path in paths for row in path.relationships]),
        tuple(paths),
    )
