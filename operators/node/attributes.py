"""Nodes by their attributes, and those of some types or with some attribute."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt

from graphrag_bench.algorithms.evidence import rows_named
from graphrag_bench.algorithms.graph import Graph, attributes_of, nodes_of
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Node, Query, Question, Ranked, best_of, best_of_each
from operators.similarity import most_similar


@operator("node.by_attribute", batched=True, requires={"node.attributes"})
def nodes_by_attribute(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    attribute_index: VectorIndex,
    graph: Graph,
    embedder: Embedder,
    n_attributes: PositiveInt = 20,
) -> list[Ranked[Node]]:
    """The nodes of the attributes most similar to the question, or to a query used instead.

    An attribute is compared as "node name: value". Score: the best cosine of the node's attributes
    among the `n_attributes` found, -1..1; of several query texts the best one counts. Ties by lower
    id.
    Source: Youtu-GraphRAG (Dong et al. 2025), attributes among what vectors find; its release.
    """
    node = attributes_of(graph).node
    nearest = most_similar(question, query, attribute_index, embedder, n_attributes)
    return [best_of_rows(node[one.ids], one.scores) for one in nearest]


@operator("node.with_attribute", requires={"node.attributes"}, unordered="the order given")
def with_attribute(
    nodes: Ranked[Node], *, graph: Graph, names: tuple[str, ...] = (), value: str = ""
) -> Ranked[Node]:
    """The nodes that have an attribute of one of the names, unchanged; of any name without `names`.

    With `value` the attribute's value holds these words in a row; upper and lower case and
    punctuation make no difference. Raises UserError for a name that no attribute has, with the
    nearest ones.
    Source: ours, a filter as `node.of_type` is one.
    """
    attributes = attributes_of(graph)
    rows = rows_named(attributes, names)
    chosen = np.ones(len(attributes), bool) if rows is None else rows
    if words := normalise_name(value):
        chosen = chosen & np.array([f" {words} " in one for one in attributes.value_words], bool)
    has = np.zeros(graph.n_nodes, bool)
    has[attributes.node[chosen]] = True
    return nodes.take(has[nodes.ids])


def best_of_rows(rows: NDArray[np.int64], scores: NDArray[np.float64]) -> Ranked[Any]:
    """Return each row once with its best score."""
    return best_of(*best_of_each(rows, scores), len(rows))


@operator("node.of_type", unordered="the order given")
def of_type(nodes: Ranked[Node], *, graph: Graph, types: tuple[str, ...] = ()) -> Ranked[Node]:
    """The nodes that have one of the types, unchanged; all of them without `types`.

    Upper and lower case make no difference. Raises UserError where the graph has no types, and for
    a type that none of its nodes has, with the nearest ones.
    Source: ours, for operators that take no types themselves.
    """
    typed = nodes_of(graph, types)
    return nodes if typed is None else nodes.take(typed[nodes.ids])
