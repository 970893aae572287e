"""PathRAG's flow in plain Python, the reference of the compiled one."""

from itertools import permutations

import networkx

SLACK = 1e-12


def near_of(graph, *, outward):
    """Return the neighbours of each node."""
    view = graph.out_neighbours if outward else graph.neighbours
    parts = zip(view.starts[:-1], view.starts[1:], strict=True)
    return {node: view.nodes[first:end].tolist() for node, (first, end) in enumerate(parts)}


def flow(near, start, end, alpha, theta, max_hops, expand_target):
    """Return the resource of each node that is reached, and the nodes that passed it on."""
    resource, expanded, frontier = {start: 1.0}, set(), [start]
    for _ in range(max_hops):
        pending = {}
        for node in frontier:
            if (node == end and not expand_target) or not near[node]:
                continue
            share = resource[node] / len(near[node])
            if share < theta - SLACK and node != start:
                continue
            expanded.add(node)
            for other in near[node]:
                if other not in resource:
                    pending[other] = pending.get(other, 0.0) + alpha * share
        resource.update(pending)
        frontier = list(pending)
    return resource, expanded


def flow_paths(
    near, nodes, *, alpha, theta, max_hops, expand_target=False, count_start=True, node_set=False
):
    """Return the distinct paths over expanded nodes between the nodes, most reliable first."""
    every, network = [], networkx.DiGraph(near)
    for start, end in permutations(sorted(set(nodes)), 2):
        resource, expanded = flow(near, start, end, alpha, theta, max_hops, expand_target)
        for walk in map(tuple, networkx.all_simple_paths(network, start, end, max_hops)):
            if set(walk[:-1]) <= expanded:
                total = sum(resource[node] for node in walk[0 if count_start else 1 :])
                every.append((walk, round(total / (len(walk) - 1), 6)))
    every.sort(key=lambda one: (-one[1], len(one[0]), lower(one[0]), one[0] != lower(one[0])))
    first = {}
    for walk, score in every:
        first.setdefault(tuple(sorted(walk)) if node_set else lower(walk), (walk, score))
    return list(first.values())


def lower(walk):
    return min(walk, walk[::-1])
