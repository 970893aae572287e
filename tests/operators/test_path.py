"""Operators over paths, worked out by hand; their searches have tests of their own."""

import numpy as np
import pytest
from by_hand import Planted, ranked

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths, StepNodes
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.values import Path, Question
from methods.pathcorag.steps import k_shortest, members
from methods.pathrag.paths import flow_prune
from operators.chunk.fromrel import frompaths
from operators.path.pool import pool

A, B, C, D, E, F = range(6)
SQUARES = Graph.from_arrays([A, A, B, C, D, C, F], [B, C, D, D, E, F, E])
SIX = Graph.from_arrays([A, A, B, C, C, D, D], [B, C, D, D, E, E, F])
QUESTION = Question("q", "anything")


def names(result: RankedPaths) -> list[str]:
    return ["".join("ABCDEF"[node] for node in path.nodes) for path in result.paths]


def test_every_setting_reaches_the_search():
    ends = ranked(A, D, E)
    assert names(flow_prune(ends, graph=SQUARES, direction="out", max_hops=1)) == ["DE"]
    assert names(flow_prune(ends, graph=SQUARES, max_hops=1)) == ["ED"]
    no_start = flow_prune(ends, graph=SQUARES, theta=0.05, reliability="exclude_start", top_k=1)
    assert no_start.paths[0].score == pytest.approx(0.35)


def test_fewest_hops_first_and_chance_keep_other_paths_best_first():
    """All six: ED 1.35, ABD and ACD .777083, ABDE, ACDE and EFCA .533935. Of two that are kept by
    hops one is ABD or ACD, by chance."""
    ends = ranked(A, D, E)
    ways = {"graph": SQUARES, "theta": 0.05}
    best = names(flow_prune(ends, **ways))
    assert best == ["ED", "ABD", "ACD", "ABDE", "ACDE", "EFCA"]
    assert names(flow_prune(ends, select="hop_first", top_k=3, **ways)) == ["ED", "ABD", "ACD"]
    tied = [names(flow_prune(ends, select="hop_first", seed=s, top_k=2, **ways)) for s in range(9)]
    assert {tuple(result) for result in tied} == {("ED", "ABD"), ("ED", "ACD")}
    drawn = [
        names(flow_prune(ends, select="random", seed=seed, top_k=3, **ways)) for seed in range(10)
    ]
    assert all(result == sorted(result, key=best.index) and len(result) == 3 for result in drawn)
    assert len(set(map(tuple, drawn))) > 3
    again = names(flow_prune(ends, select="random", seed=4, top_k=3, **ways))
    assert again == drawn[4]


def alike(*cosines: float) -> VectorIndex:
    first = np.array(cosines)
    return VectorIndex(np.stack([first, np.sqrt(1 - first**2)], axis=1).astype(np.float32))


LIKE = {
    "relationship_index": alike(0.2, 0.9, 0.5, 0.7, 0.6, 0.8, 0.4),
    "embedder": Planted(),
    "graph": SIX,
}
STEPS = StepNodes(np.arange(6), np.array([1, 1, 2, 2, 3, 3]), np.ones(6), 3)


def test_the_least_likely_pairs_are_left_out():
    scores = np.array([0.9, 0.5, 0.9, 0.5, 0.9, 0.5])
    steps = StepNodes(STEPS.ids, STEPS.steps, scores, 3)
    result = k_shortest(QUESTION, steps, k=1, max_pairs_per_transition=1, **LIKE)
    assert names(result) == ["AC", "CE"]
    every = k_shortest(QUESTION, steps, k=1, max_pairs_per_transition=None, **LIKE)
    assert len(every) == 8


TWO = RankedPaths((Path((C, D), (3,), 0.9, 1), Path((A, C, D), (1, 3), 0.8, 1)))


def test_what_lies_on_paths_comes_once_in_their_order_or_as_a_prompt_lists_them():
    nodes, rows = members(TWO)
    assert nodes.ids.tolist() == [C, D, A] and nodes.scores.tolist() == [0.9, 0.9, 0.8]
    assert rows.ids.tolist() == [3, 1] and rows.scores.tolist() == [0.9, 0.8]
    # D-E of the second transition is better than A-C-D of the first.
    three = RankedPaths(
        (Path((D, E), (5,), 0.9, 2), Path((A, C), (1,), 0.8, 1), Path((A, C, D), (1, 3), 0.7, 1))
    )
    nodes, rows = members(three, order="transition")
    assert nodes.ids.tolist() == [A, C, D, E] and nodes.scores.tolist() == [0.8, 0.8, 0.9, 0.9]
    assert rows.ids.tolist() == [1, 3, 5] and rows.scores.tolist() == [0.8, 0.7, 0.9]


def test_paths_lead_to_the_chunks_that_their_relationships_were_read_from():
    """A-B twice, in chunks 2 and 0; B-C in chunk 1."""
    graph = Graph.from_arrays(
        [A, B, B], [B, A, C],
        node_chunk=np.ones((3, 3)), relationship_chunk=[[0, 0, 1], [1, 0, 0], [0, 1, 0]],
    )  # fmt: skip
    paths = RankedPaths((Path((B, C), (2,), 0.9), Path((A, B), (0,), 0.4)))
    result = frompaths(paths, graph=graph)
    assert result.ids.tolist() == [1, 0, 2] and result.scores.tolist() == [0.9, 0.4, 0.4]
    assert frompaths(paths, graph=graph, unit="fact").ids.tolist() == [1, 2]
    assert frompaths(paths, graph=graph, top_k=2).ids.tolist() == [1, 0]


Q, X, Y = 6, 7, 8


def test_pooling_keeps_the_best_of_the_base_or_the_pooled_and_shifts_cosines():
    cycle = Graph.from_arrays([B, Q, Q, A, C, A, Q], [C, A, B, C, Q, B, A])
    base = ranked(*range(7), scores=(0.9, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2))
    ways = {"graph": cycle, "order": "best_first", "top_k": 4}
    assert set(pool(base, ranked(Q), mode="rerank", **ways).ids.tolist()) == {0, 1, 2, 3}
    assert pool(base, ranked(Q), mode="reselect", **ways).ids.tolist() == [1, 2, 0, 4]
    assert len(pool(base, ranked(Q), mode="reselect", coarse_k=3, **ways)) == 3
    one = Graph.from_arrays([Q, A], [A, B])
    pair = ranked(0, 1, scores=(0.5, -0.5))
    result = pool(pair, ranked(Q), graph=one, order="best_first")
    assert result.scores.tolist() == pytest.approx([0.5, 0.25])
    shifted = pool(pair, ranked(Q), graph=one, order="best_first", scores="cosine")
    assert shifted.scores.tolist() == pytest.approx([1.0, 0.625])
