"""Attributes of nodes: the nodes and chunks of the most similar ones, and nodes that have some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveInt

from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph, attributes_of
from graphrag_bench.graph.node_attributes import NodeAttributes, rows_named
from graphrag_bench.graph.node_types import nodes_of
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.text import normalise_name
from graphrag_bench.values import DECIMALS, Chunk, Node, Query, Question, Ranked, best_of
from operators.similarity import most_similar

MinScore = Annotated[float, Field(ge=-1, le=1)]


@operator("node.by_attribute", batched=True, requires={"node.attributes"})
def nodes_by_attribute(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    attribute_index: VectorIndex,
    graph: Graph,
    embedder: Embedder,
    n_attributes: PositiveInt = 20,
    min_score: MinScore = -1.0,
    names: tuple[str, ...] = (),
    types: tuple[str, ...] = (),
) -> list[Ranked[Node]]:
    """The nodes of the attributes most similar to the question, or to a query used instead.

    An attribute is compared as "node name: value". Score: the best cosine of the node's attributes
    among the `n_attributes` found, -1..1; of several query texts the best one counts. Attributes
    below `min_score` are left out. Ties by lower id. With `names` only attributes of these names,
    with `types` only those of nodes of these types are searched. Raises UserError for a name that
    no attribute and a type that no node has, with the nearest ones.
    Source: Youtu-GraphRAG (Dong et al. 2025), attributes among what vectors find; its release.
    """
    held = attributes_of(graph)
    among = _among(graph, held, names, types)
    found = most_similar(question, query, attribute_index, embedder, n_attributes, among)
    return [_best(held.node[one.ids], one.scores) for one in _above(found, min_score)]


@operator("chunk.by_attribute", batched=True, requires={"node.attributes"})
def chunks_by_attribute(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    attribute_index: VectorIndex,
    graph: Graph,
    embedder: Embedder,
    n_attributes: PositiveInt = 20,
    min_score: MinScore = -1.0,
    names: tuple[str, ...] = (),
    types: tuple[str, ...] = (),
) -> list[Ranked[Chunk]]:
    """The chunks that state the attributes most similar to the question, or to a query.

    Score: the best cosine of the attributes that the chunk states among the `n_attributes` found,
    which are those of `node.by_attribute`. Ties by lower id.
    Source: Youtu-GraphRAG (Dong et al. 2025), the chunk of an attribute found; its release.
    """
    held = attributes_of(graph)
    among = _among(graph, held, names, types)
    found = most_similar(question, query, attribute_index, embedder, n_attributes, among)
    chosen: list[Ranked[Chunk]] = []
    for one in _above(found, min_score):
        stating = [row_ids(held.chunk, row) for row in one.ids.tolist()]
        scores = np.repeat(one.scores, [len(chunks) for chunks in stating])
        chosen.append(_best(np.concatenate([np.zeros(0, np.int64), *stating]), scores))
    return chosen


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
    held = attributes_of(graph)
    rows = rows_named(held, names)
    chosen = np.ones(len(held), bool) if rows is None else rows
    if words := normalise_name(value):
        chosen = chosen & np.array([f" {words} " in one for one in held.value_words], bool)
    has = np.zeros(graph.n_nodes, bool)
    has[held.node[chosen]] = True
    return nodes.take(has[nodes.ids])


def _among(
    graph: Graph, held: NodeAttributes, names: tuple[str, ...], types: tuple[str, ...]
) -> NDArray[np.bool_] | None:
    named, typed = rows_named(held, names), nodes_of(graph, types)
    if typed is None:
        return named
    return typed[held.node] if named is None else named & typed[held.node]


def _above(found: Sequence[Ranked[Any]], min_score: float) -> list[Ranked[Any]]:
    return [one.take(np.round(one.scores, DECIMALS) >= min_score) for one in found]


def _best(rows: NDArray[np.int64], scores: NDArray[np.float64]) -> Ranked[Any]:
    ids, places = np.unique(rows, return_inverse=True)
    best = np.full(len(ids), -np.inf)
    np.maximum.at(best, places, scores)
    return best_of(ids, best, len(ids))
