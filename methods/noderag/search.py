"""NodeRAG's search: nodes that hold a name, a walk of a few steps, and a quota for each type."""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.algorithms.graph import Graph, nodes_of
from graphrag_bench.algorithms.pagerank import walk_of_nodes
from graphrag_bench.contract import operator
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Mentions, Node, NodeScores, Ranked

Quota = Annotated[int, Field(ge=0)]


@operator("node.phrase", requires={"node.name"})
def phrase(mentions: Mentions, *, graph: Graph, types: tuple[str, ...] = ()) -> Ranked[Node]:
    """The nodes whose text holds one of the question's names, whole words in a row.

    The text is the description, the name where the graph has none. Score: 1, ties by lower id.
    Case and punctuation make no difference. With `types` only nodes of these types are read.
    Source: NodeRAG (Xu et al. 2025), exact matching of the dual search; its release.
    """
    wanted = [f" {name} " for name in map(normalise_name, mentions.names) if name]
    typed = nodes_of(graph, types)
    rows = np.arange(graph.n_nodes) if typed is None else np.flatnonzero(typed)
    if not wanted:
        return Ranked.empty()
    texts = graph.phrases
    matching = [row for row in rows.tolist() if any(name in texts[row] for name in wanted)]
    return Ranked[Node](np.array(matching, np.int64), np.ones(len(matching)))


@operator("node.shallow")
def shallow(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    damping: Annotated[float, Field(ge=0, le=1)] = 0.5,
    n_steps: PositiveInt = 2,
    types: tuple[str, ...] = (),
    top_k: PositiveInt = 10,
) -> tuple[Ranked[Node], NodeScores]:
    """The nodes that the most of a walk of `n_steps` reaches, and the mass of every node.

    The walk starts at the given nodes alike. At each step the share `damping` of a node's mass goes
    to its neighbours by the weight of the edges, the rest stays, as does all mass of a node
    without any. Mass is in 0..1 and sums to 1; ties by lower id. With `types` only nodes of these
    types are ranked. Nodes that the walk does not reach are left out; without nodes there are none.
    Source: NodeRAG (Xu et al. 2025), shallow personalised PageRank, as its release computes it.
    """
    mass = np.zeros(graph.n_nodes)
    start = np.unique(nodes.ids)
    if len(start):
        mass[start] = 1.0 / len(start)
    walk = walk_of_nodes(graph)
    for _ in range(n_steps):
        moved = walk.transition @ mass
        moved[walk.isolated] = mass[walk.isolated]
        mass = damping * moved + (1.0 - damping) * mass
    typed = nodes_of(graph, types)
    reached = mass > 0 if typed is None else (mass > 0) & typed
    return Ranked[Node].top(mass, top_k, among=np.flatnonzero(reached)), NodeScores(mass)


@operator("node.quota", requires={"node.type"})
def quota(
    node_scores: NodeScores,
    *,
    graph: Graph,
    n_entities: Quota = 10,
    n_titles: Quota = 10,
    n_others: Quota = 20,
    n_relationships: Quota = 30,
) -> Ranked[Node]:
    """The nodes of highest score that a prompt tells: so many of each type, best first.

    The best `n_others` semantic units, attributes and high-level elements, the best
    `n_relationships` relationships, the attributes joined to the best `n_entities` entities and
    the elements joined to the best `n_titles` titles. Score: as given, above 0 but for a node that
    its entity or title brings. Ties by lower id.
    Source: NodeRAG (Xu et al. 2025), its release.
    """
    scores = node_scores.values

    def best(n: int, *types: str) -> Mapping[int, float]:
        known = tuple(kind for kind in types if kind in graph.type_numbers)
        typed = nodes_of(graph, known) if known else np.zeros(graph.n_nodes, bool)
        assert typed is not None
        return dict(Ranked[Node].top(scores, n, np.flatnonzero(typed & (scores > 0))).items())

    chosen = {
        **best(n_others, "semantic unit", "attribute", "high-level element"),
        **best(n_relationships, "relationship"),
    }
    for n, kind, brought in (
        (n_entities, "entity", "attribute"),
        (n_titles, "title", "high-level element"),
    ):
        wanted = graph.type_numbers.get(brought)
        for row in best(n, kind):
            near = graph.adjacency[row].indices
            same = near[graph.type_of_node[near] == wanted] if wanted is not None else near[:0]
            chosen.update((node, float(scores[node])) for node in same.tolist())
    rows = np.array(sorted(chosen), np.int64)
    return Ranked[Node].top(scores, None, rows) if len(rows) else Ranked.empty()
