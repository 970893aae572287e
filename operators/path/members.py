"""What lies on paths."""

from __future__ import annotations

import numpy as np

from graphrag_bench.contract import operator
from graphrag_bench.graph.ranked_paths import RankedPaths
from graphrag_bench.values import Node, Ranked, Relationship


@operator("path.members", unordered="the order of the paths, each from its start")
def members(paths: RankedPaths) -> tuple[Ranked[Node], Ranked[Relationship]]:
    """The nodes and the relationships of the paths, each once, in order of first appearance.

    Score: that of the first path which it lies on.
    Source: PathCoRAG, appendix C (the tables of entities and relationships).
    """
    nodes: dict[int, float] = {}
    rows: dict[int, float] = {}
    for path in paths.paths:
        for node in path.nodes:
            nodes.setdefault(node, path.score)
        for row in path.relationships:
            rows.setdefault(row, path.score)
    return (
        Ranked(np.array(list(nodes), np.int64), np.array(list(nodes.values()))),
        Ranked(np.array(list(rows), np.int64), np.array(list(rows.values()))),
    )
