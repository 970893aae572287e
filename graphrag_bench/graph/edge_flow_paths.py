"""PathRAG's paths as its released code finds them: flow along edges, nothing pruned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from graphrag_bench.graph.flow_paths import Direction, Kept, alive, chosen, ways_of
from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import Path

if TYPE_CHECKING:
    from graphrag_bench.graph.flow_kernels import Rules

Walk = tuple[int, ...]
Hop = tuple[int, int]


def edge_flow_paths(
    graph: Graph, nodes: Sequence[int], rules: Rules, direction: Direction, kept: Kept
) -> list[Path]:
    """The paths with the highest mean flow along their edges, best first.

    All simple paths of up to `max_hops` hops between two of the nodes compete, those of either
    direction of a pair, with `rising` those that get on with every hop. Score: the mean of w over
    the hops of a path, where w is what `edge_flow` says of its ordered pair with the alpha and the
    theta of the rules. Which are kept, their order and the row of a hop: as in `flow_paths`.
    Deviation: successors are visited in order of id; the released code iterates over a set.
    Source: PathRAG (Chen et al. 2025), released code, `find_paths_and_edges_with_stats`.
    """
    everything = rules._replace(theta=0.0, theta_on_start=False, expand_target=True)
    found = alive(graph, nodes, everything, direction)
    walks = [tuple(node for node in row if node >= 0) for row in found.nodes.tolist()]
    scores = np.zeros(len(walks))
    for rows in _pairs(walks):
        flow = edge_flow([walks[row] for row in rows], rules.alpha, rules.theta, rules.max_hops)
        for row in rows:
            along = [flow.get(hop, 0.0) for hop in pairwise(walks[row])]
            scores[row] = sum(along) / len(along)
    return chosen(found._replace(scores=scores), ways_of(graph, direction), kept)


def edge_flow(
    walks: Sequence[Walk], alpha: float, threshold: float, max_hops: int = 3
) -> Mapping[Hop, float]:
    """The flow along the edges of all walks of one ordered pair, which start with one node.

    The start sends 1 / (its successors) along each of them, undecayed. A node other than the end
    whose flow is above the threshold when it is reached sends alpha * flow / (its successors) on,
    and so do the next, up to `max_hops` hops from the start. Successors are those within these
    walks, visited in the order of their ids.
    """
    following: dict[int, set[int]] = {}
    for walk in walks:
        for here, there in pairwise(walk):
            following.setdefault(here, set()).add(there)
    successors = {node: sorted(near) for node, near in following.items()}
    start, end = walks[0][0], walks[0][-1]
    flow: dict[Hop, float] = {(start, n): 1 / len(successors[start]) for n in successors[start]}

    def send(hop: Hop, left: int) -> None:
        here = hop[1]
        if not left or here == end or flow[hop] <= threshold:
            return
        for near in successors[here]:
            sent = flow[hop] * alpha / len(successors[here])
            flow[here, near] = flow.get((here, near), 0.0) + sent
            send((here, near), left - 1)

    for near in successors[start]:
        send((start, near), max_hops - 1)
    return flow


def _pairs(walks: Sequence[Walk]) -> Iterator[list[int]]:
    rows: dict[Hop, list[int]] = {}
    for row, walk in enumerate(walks):
        rows.setdefault((walk[0], walk[-1]), []).append(row)
    yield from rows.values()
