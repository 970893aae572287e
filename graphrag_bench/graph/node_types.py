"""Rows of a graph by the types of its nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.graph.graph import Graph

BoolArray = NDArray[np.bool_]


def nodes_of(graph: Graph, types: tuple[str, ...]) -> BoolArray | None:
    """Which nodes have one of the types, bool (n_nodes,); None, which is all of them, for ().

    Upper and lower case make no difference. Raises UserError where the graph has no types, and for
    a type that none of its nodes has, with the nearest ones.
    """
    if not types:
        return None
    if graph.types is None:
        raise UserError(
            f"types={list(types)}: the nodes of this graph have no types; build.graph=tkg and "
            "build.graph=rkg give them some."
        )
    wanted = []
    for name in types:
        if name.casefold() not in graph.type_numbers:
            hint = did_you_mean(name.casefold(), filter(None, graph.type_numbers))
            raise UserError(f"No node of this graph has the type '{name}'. {hint}")
        wanted.append(graph.type_numbers[name.casefold()])
    return np.isin(graph.type_of_node, wanted)


def relationships_of(graph: Graph, types: tuple[str, ...]) -> BoolArray | None:
    """Which relationships have an end of one of the types, bool (n_relationships,); None for ().

    Raises UserError as `nodes_of` does.
    """
    nodes = nodes_of(graph, types)
    return None if nodes is None else nodes[graph.source] | nodes[graph.target]


def rows_of(mask: BoolArray | None, n_rows: int) -> NDArray[np.int64]:
    """The rows that a mask admits, ascending; all of them for None."""
    return np.arange(n_rows) if mask is None else np.flatnonzero(mask)
