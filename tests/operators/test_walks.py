"""Random walks over nodes and chunks, by hand."""

import numpy as np
from by_hand import alone, check, ranked

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.values import ChunkScores
from operators.pagerank import chunk_ppr, node_ppr

A, B, C, D = range(4)
PATH = Graph.from_arrays([A, B], [B, C], n_nodes=4)
"""A - B - C, and D by itself; weights 1."""


def masses(graph: Graph, *seeds: int, **settings) -> list[float]:
    return alone(node_ppr)(ranked(*seeds), graph=graph, **settings)[1].values.round(6).tolist()


def test_isolated_nodes_parallel_relationships_and_min_mass():
    assert masses(PATH, A, D) == [0.388889, 0.222222, 0.055556, 0.333333]
    assert masses(PATH, A, min_mass=0.1, keep_scores="best") == [0.583333, 0.333333, 0, 0]
    best, scores = alone(node_ppr)(ranked(A), graph=PATH, min_mass=0.1)
    assert best.ids.tolist() == [A, B] and scores.values[C] > 0.08
    heavy = Graph.from_arrays([A, B], [B, C], weight=[1, 3])
    parallel = Graph.from_arrays([A, B, C, B], [B, C, B, C])
    assert masses(heavy, A) == masses(parallel, A) == [0.541667, 0.333333, 0.125]
    assert masses(heavy, A, weighted=False) == [0.583333, 0.333333, 0.083333]


def test_specificity_weights_seeds_by_their_number_of_chunks():
    """A - B in the chunks 0 and 1, B - C in the chunk 2: A is in two chunks, C in one."""
    in_chunks = Graph.from_arrays(
        [A, B], [B, C],
        node_chunk=[[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]],
        relationship_chunk=[[1, 1, 0], [0, 0, 1]], n_nodes=4,
    )  # fmt: skip
    still = {"damping": 0.0}  # the mass is the restart distribution
    assert masses(in_chunks, A, C, **still) == [0.333333, 0.0, 0.666667, 0.0]
    for reset in ("specificity", "uniform"):
        once = masses(in_chunks, C, D, reset=reset, **still)
        assert masses(in_chunks, C, C, D, reset=reset, **still) == once


CHAIN = Graph.from_arrays(
    [A], [B], weight=[2], n_nodes=3,
    node_chunk=[[1, 0, 0], [1, 1, 0], [0, 0, 1]], relationship_chunk=[[1, 0, 0]],
)  # fmt: skip
"""A - B with weight 2; A in chunk 0, B in the chunks 0 and 1, C in chunk 2 alone."""


def walked(nodes, *scores: float, graph: Graph = CHAIN, **settings):
    return alone(chunk_ppr)(nodes, ChunkScores(np.array(scores)), graph=graph, **settings)


def test_chunk_ppr_restarts_at_nodes_and_chunks():
    assert walked(ranked(), 0.5, 1.0, 0.0, damping=0.0).items() == [(1, 1.0), (0, 0.5), (2, 0.0)]
    # Restart: C 1, chunk 1 at 0.05 * 1. Chunk 2 gets 1/3 of C's walk, chunk 1 less than 0.05.
    assert walked(ranked(C), 0, 1.0, 0, top_k=1).ids.tolist() == [2]
    assert walked(ranked(C), 0, 1.0, 0, passage_weight=5.0, top_k=1).ids.tolist() == [1]
    # C and its chunk: c = 0.5 * p + 0.5, p = 0.5 * c, so c = 2/3 and p = 1/3.
    two = Graph.from_arrays([], [], node_chunk=[[1, 0], [0, 1]], n_nodes=2)
    check(walked(ranked(A, B, scores=(3.0, 1.0)), 0, 0, graph=two), [0, 1], [1.0, 1 / 3])
    once = walked(ranked(A), 0, 0, -1.0, top_k=3)
    twice = walked(ranked(A, A, C, scores=(0.2, 1.0, -1.0)), 0, 0, 0, top_k=3)
    assert twice.items() == once.items()
