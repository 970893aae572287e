"""The prize-collecting Steiner tree of nodes and relationships."""

from typing import Annotated

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import operator
from graphrag_bench.values import (
    DECIMALS,
    FloatArray,
    IntArray,
    Node,
    Ranked,
    Relationship,
    Subgraph,
    best_first,
    unique,
)


@operator("subgraph.steiner", table3="Steiner")
def steiner(
    nodes: Ranked[Node],
    relationships: Ranked[Relationship],
    *,
    graph: Graph,
    n_values: PositiveInt = 4,
    cost: Annotated[float, Field(gt=0)] = 0.5,
) -> tuple[Subgraph, Ranked[Node], Ranked[Relationship]]:
    """The prize-collecting Steiner tree of the graph, its nodes and its relationships by prize.

    Of k given nodes the best has the prize k, the next k - 1, and so on to 1; the best `n_values`
    distinct similarities of the relationships earn theirs as `relationship_prizes` says. Every
    row costs at most `cost`. The score of a node or row is its prize, 0 for those that only
    connect. Ties by lower id. Without a prize nothing is found; nodes without relationships
    give the best one alone.
    Source: G-retriever (He et al. 2024), section 5.3; Zhou et al. 2025, section 6.1, subgraph
    "Steiner" (their text says Steiner tree, both codes solve the prize-collecting one).
    """
    node_prizes, prizes = np.zeros(graph.n_nodes), np.zeros(graph.n_relationships)
    best = unique(nodes.ids[best_first(nodes.scores, nodes.ids)].tolist())
    node_prizes[list(best)] = np.arange(len(best), 0, -1)
    prizes[relationships.ids] = relationship_prizes(relationships.scores, n_values)
    nodes_of_tree, rows = prized_subgraph(graph, node_prizes, prizes, cost)
    by_prize = Ranked[Node].top(node_prizes, None, among=nodes_of_tree)
    rows_by_prize = Ranked[Relationship].top(prizes, None, among=rows)
    subgraph = Subgraph(tuple(by_prize.ids.tolist()), tuple(rows_by_prize.ids.tolist()))
    return subgraph, by_prize, rows_by_prize


DECAY = 0.01
"""How much less than the value before it a prize is at least (the constant c of G-retriever)."""


def relationship_prizes(similarities: FloatArray, n_values: int) -> FloatArray:
    """The prize of each relationship by its similarity, float64 in the order given.

    The best `n_values` distinct similarities (compared by six decimals) earn prizes, all others 0.
    The j-th best of k, counted from 0 and shared by n_j relationships, earns each of them
    min((k - j) / n_j, last - c): `last` is k at first and then (1 - c) times the prize before, c
    is 0.01. So (.9, .9, .7, .2, .1) with k = 3 earn (1.5, 1.5, 1.475, 1.0, 0).
    Source: G-retriever (He et al. 2024), section 5.3, and its released code.
    """
    rounded = np.round(similarities, DECIMALS)
    values = np.unique(rounded)[::-1][:n_values]
    prizes: FloatArray = np.zeros(len(rounded))
    last = float(n_values)
    for position, value in enumerate(values):
        having = rounded == value
        prize = min((n_values - position) / int(having.sum()), last - DECAY)
        prizes[having] = prize
        last = prize * (1 - DECAY)
    return prizes


def prized_subgraph(
    graph: Graph, node_prizes: FloatArray, prizes: FloatArray, cost: float
) -> tuple[IntArray, IntArray]:
    """Return the nodes and the relationship rows of the prize-collecting Steiner tree, ascending.

    `node_prizes` is (n_nodes,), `prizes` (n_relationships,). Every row costs min(`cost`, the best
    prize of a row * (1 - c / 2)) where some row has a prize, else `cost`. A prize up to that
    lowers the row's cost; of a greater one the rest is the prize of a node put in the middle of
    the row, whose halves cost nothing. Rows from a node to itself are left out. The costs of the
    tree and the prizes outside it are at most twice the least possible; of equal trees the order
    of the rows decides, as in the released code. Without a prize the tree is empty.
    Source: G-retriever (He et al. 2024), section 5.3, and its released code; Goemans & Williamson
    1995; Hegde, Indyk & Schmidt 2014, by `pcst_fast` ("gw" pruning).
    """
    best = float(prizes.max(initial=0.0))
    cost = min(cost, best * (1 - DECAY / 2)) if best > 0 else cost
    rows = np.flatnonzero(graph.source != graph.target)
    ends = np.stack([graph.source[rows], graph.target[rows]], axis=1)
    rich = prizes[rows] > cost
    middles = graph.n_nodes + np.arange(rich.sum())
    halves = [np.stack([ends[rich][:, side], middles], axis=1) for side in (0, 1)]
    nodes, edges = _tree(
        np.concatenate([ends[~rich], *halves]),
        np.concatenate([node_prizes, prizes[rows][rich] - cost]),
        np.concatenate([cost - prizes[rows][~rich], np.zeros(2 * len(middles))]),
    )
    plain = edges[edges < len(rows) - len(middles)]
    of_middles = rows[rich][nodes[nodes >= graph.n_nodes] - graph.n_nodes]
    chosen = np.union1d(rows[~rich][plain], of_middles)
    real = nodes[nodes < graph.n_nodes]
    return np.union1d(real, np.union1d(graph.source[chosen], graph.target[chosen])), chosen


def _tree(ends: IntArray, prizes: FloatArray, costs: FloatArray) -> tuple[IntArray, IntArray]:
    from pcst_fast import pcst_fast

    none = np.zeros(0, np.int64)
    if not prizes.any():
        return none, none
    if not len(ends):
        return np.array([prizes.argmax()], np.int64), none
    nodes, edges = pcst_fast(ends, prizes, costs, -1, 1, "gw", 0)  # unrooted, one tree
    return np.asarray(nodes, np.int64), np.asarray(edges, np.int64)
