"""A graph with a share of its edges removed, for studies of sparsity."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeInt

from graphrag_bench.columns import Texts
from graphrag_bench.graph.graph import Graph

Share = Annotated[float, Field(ge=0, lt=1)]


def thinned(graph: Graph, *, edge_drop: Share = 0.0, edge_drop_seed: NonNegativeInt = 0) -> Graph:
    """The graph without a share of its edges, drawn uniformly; all nodes stay.

    An edge is a pair of nodes with all its relationship rows, so that it is gone for every method;
    round(share x pairs) are dropped, and a larger share drops those of a smaller one too. What a
    node says of its own chunks stays.
    Source: PathRAG (Chen et al. 2025), robustness to sparse graphs; drawing and seed are ours.
    """
    n_pairs = len(graph.pairs.source)
    order = np.random.default_rng(edge_drop_seed).permutation(n_pairs)
    gone = np.zeros(n_pairs, bool)
    gone[order[: round(edge_drop * n_pairs)]] = True
    rows = np.flatnonzero(~gone[graph.pairs.of])

    def kept(texts: Texts | None) -> Texts | None:
        return None if texts is None else Texts.of(texts.take(rows))

    return replace(
        graph,
        source=graph.source[rows],
        target=graph.target[rows],
        weight=graph.weight[rows],
        synonym=graph.synonym[rows],
        relations=Texts.of(graph.relations.take(rows)),
        facts=kept(graph.facts),
        keywords=kept(graph.keywords),
        relationship_chunk=graph.relationship_chunk[rows],
        fact_fragments=graph.fact_fragments and graph.fact_fragments.take(rows),
    )
