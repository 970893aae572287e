"""Nodes and relationships of some types only, behind whatever operator found them."""

from __future__ import annotations

from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.node_types import nodes_of, relationships_of
from graphrag_bench.values import Node, Ranked, Relationship


@operator("node.of_type", unordered="the order given")
def of_type(nodes: Ranked[Node], *, graph: Graph, types: tuple[str, ...] = ()) -> Ranked[Node]:
    """The nodes that have one of the types, unchanged; all of them without `types`.

    Upper and lower case make no difference. Raises UserError where the graph has no types, and for
    a type that none of its nodes has, with the nearest ones.
    Source: ours, for operators that take no types themselves.
    """
    typed = nodes_of(graph, types)
    return nodes if typed is None else nodes.take(typed[nodes.ids])


@operator("relationship.of_type", unordered="the order given")
def relationships_of_type(
    relationships: Ranked[Relationship], *, graph: Graph, types: tuple[str, ...] = ()
) -> Ranked[Relationship]:
    """The relationships with an end of one of the types, unchanged; all of them without `types`.

    Upper and lower case make no difference. Raises UserError as `node.of_type` does.
    Source: ours, for operators that take no types themselves.
    """
    typed = relationships_of(graph, types)
    return relationships if typed is None else relationships.take(typed[relationships.ids])
