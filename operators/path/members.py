"""What is on paths."""

from __future__ import annotations

from typing import Literal

from graphrag_bench.contract import operator
from graphrag_bench.graph.ranked_paths import RankedPaths
from graphrag_bench.values import Node, Ranked, Relationship


@operator("path.members", unordered="the order of the paths, each from its start")
def members(
    paths: RankedPaths, *, order: Literal["given", "transition"] = "given"
) -> tuple[Ranked[Node], Ranked[Relationship]]:
    """The nodes and the relationships of the paths, each once, in order of first appearance.

    With `transition` the paths are traversed as a prompt lists them: transition by transition,
    each in the order given. Score: the highest of the paths that it is on.
    Source: PathCoRAG, appendix C (the tables of entities and relationships).
    """
    along = list(paths.paths)
    if order == "transition":
        along.sort(key=lambda path: path.transition)
    nodes: dict[int, float] = {}
    rows: dict[int, float] = {}
    for path in along:
        for held, members_of in ((nodes, path.nodes), (rows, path.relationships)):
            for one in members_of:
                held[one] = max(held.get(one, path.score), path.score)
    return Ranked.of(nodes), Ranked.of(rows)
