"""The prize-collecting Steiner tree of nodes and relationships."""

from typing import Annotated

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.paths import prized_subgraph, relationship_prizes
from graphrag_bench.contract import operator
from graphrag_bench.values import Node, Ranked, Relationship, Subgraph, best_first, unique


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
