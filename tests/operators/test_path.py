"""Operators over paths, worked out by hand; their searches have tests of their own."""

import numpy as np
import pytest

from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.ranked_paths import RankedPaths
from graphrag_bench.graph.reasoning_steps import StepNodes
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import Path, Question, Ranked
from operators.chunk import frompaths
from operators.path.between_steps import k_shortest
from operators.path.flow import flow_prune
from operators.path.members import members
from operators.path.pooling import pool

A, B, C, D, E, F = range(6)
SQUARES = Graph.from_arrays([A, A, B, C, D, C, F], [B, C, D, D, E, F, E])
SIX = Graph.from_arrays([A, A, B, C, C, D, D], [B, C, D, D, E, E, F])
QUESTION = Question("q", "anything")


def ranked(*ids: int, scores: tuple[float, ...] = ()) -> Ranked:
    return Ranked(np.array(ids, np.int64), np.array(scores or [1.0] * len(ids)))


def names(found: RankedPaths) -> list[str]:
    return ["".join("ABCDEF"[node] for node in path.nodes) for path in found.paths]


# ---- path.flow_prune


def test_the_three_most_reliable_paths_of_the_paper_s_example():
    found = flow_prune(ranked(E, A, D), graph=SQUARES, theta=0.05, top_k=3)
    assert names(found) == ["ED", "ABD", "ACD"]
    assert [path.score for path in found.paths] == pytest.approx([1.35, 0.777083, 0.777083])


CODE = {
    "graph": SQUARES, "reliability": "edge_flow", "alpha": 0.8, "theta": 0.3, "dedup": "node_set",
    "at_most_half": True,
}  # fmt: skip
"""The settings of the released code."""


def test_the_flow_of_the_released_code_is_a_reliability_of_its_own():
    found = flow_prune(ranked(A, E), graph=SQUARES)
    assert found.paths[0].score == pytest.approx(0.543463, abs=1e-6)
    coded = flow_prune(ranked(A, E), **CODE)
    assert names(coded) == ["ABDE", "EFCA", "ACDE"]
    assert coded.paths[0].score == pytest.approx(0.406667, abs=1e-6)
    undecayed = flow_prune(ranked(A, E), **{**CODE, "alpha": 1.0})
    assert undecayed.paths[0].score == pytest.approx((0.5 + 0.5 + 0.5) / 3)


def test_the_settings_of_either_flow_are_those_of_the_other():
    given = ranked(A, D, E)
    one_way = {**CODE, "direction": "out", "at_most_half": False}
    assert names(flow_prune(ranked(A, E), **one_way)) == ["ABDE", "ACDE", "ACFE"]
    assert names(flow_prune(given, **{**one_way, "max_hops": 1})) == ["DE"]
    assert names(flow_prune(given, graph=SQUARES, theta=0.05, at_most_half=True, max_hops=2)) == [
        "ED", "ABD", "ACD",
    ]  # fmt: skip
    assert names(flow_prune(ranked(A, D), graph=SQUARES, max_hops=2, at_most_half=True)) == [
        "ABD", "ACD",
    ]  # fmt: skip
    assert len(flow_prune(ranked(A, E), graph=SQUARES, at_most_half=True, top_k=2)) == 2


def test_a_start_of_many_neighbours_sends_in_any_case_or_is_pruned_like_others():
    """A has two neighbours, so that a share is 1/2."""
    fork = Graph.from_arrays([A, A, B], [B, C, D])
    ways = {"graph": fork, "direction": "out", "theta": 0.6}
    assert names(flow_prune(ranked(A, B), **ways)) == ["AB"]
    assert names(flow_prune(ranked(A, B), theta_on_start=True, **ways)) == []


def test_an_end_that_sends_on_adds_to_what_others_have():
    """Rows A-B, A-D, D-C, B-C, C-B, from A to B: D and B have .35, D sends C .245, and B as much
    where it may: (1 + .35 + .245 + .35) / 3, or with .49 for C."""
    ring = Graph.from_arrays([A, A, D, B, C], [B, D, C, C, B])
    ways = {"graph": ring, "direction": "out", "theta": 0.0}
    kept, sent = (
        flow_prune(ranked(A, B), expand_target=sends, **ways).paths for sends in (False, True)
    )
    assert [path.nodes for path in kept] == [path.nodes for path in sent] == [(A, B), (A, D, C, B)]
    assert [path.score for path in kept] == pytest.approx([1.35, 1.945 / 3])
    assert [path.score for path in sent] == pytest.approx([1.35, 2.19 / 3])


def test_every_setting_reaches_the_search():
    given = ranked(A, D, E)
    assert names(flow_prune(given, graph=SQUARES, direction="out", max_hops=1)) == ["DE"]
    assert names(flow_prune(given, graph=SQUARES, max_hops=1)) == ["ED"]
    no_start = flow_prune(given, graph=SQUARES, theta=0.05, reliability="exclude_start", top_k=1)
    assert no_start.paths[0].score == pytest.approx(0.35)
    assert names(flow_prune(ranked(A, D), graph=SQUARES, per_pair_top=1)) == ["ABD"]
    assert names(flow_prune(given, graph=SQUARES, theta=0.51, theta_on_start=True)) == []
    dag = flow_prune(ranked(A, D), graph=SQUARES, theta=0.0, enumeration="flow_dag")
    assert names(dag) == ["ABD", "ACD"]


def test_fewest_hops_first_and_chance_keep_other_paths_best_first():
    """All six: ED 1.35, ABD and ACD .777083, ABDE, ACDE and EFCA .533935. Of two that are kept by
    hops one is ABD or ACD, by chance."""
    given = ranked(A, D, E)
    ways = {"graph": SQUARES, "theta": 0.05}
    best = names(flow_prune(given, **ways))
    assert best == ["ED", "ABD", "ACD", "ABDE", "ACDE", "EFCA"]
    assert names(flow_prune(given, select="hop_first", top_k=3, **ways)) == ["ED", "ABD", "ACD"]
    tied = [names(flow_prune(given, select="hop_first", seed=s, top_k=2, **ways)) for s in range(9)]
    assert {tuple(found) for found in tied} == {("ED", "ABD"), ("ED", "ACD")}
    drawn = [
        names(flow_prune(given, select="random", seed=seed, top_k=3, **ways)) for seed in range(10)
    ]
    assert all(found == sorted(found, key=best.index) and len(found) == 3 for found in drawn)
    assert len(set(map(tuple, drawn))) > 3
    again = names(flow_prune(given, select="random", seed=4, top_k=3, **ways))
    assert again == drawn[4]


def test_fewest_hops_win_over_more_reliable_paths_of_more_hops():
    """A-B joins two hubs of ten neighbours each, .7 / 10 without the start's own resource; C-D-E
    has (.7 + .7 * .7 / 2) / 2."""
    leaves = [(hub, 5 + 9 * hub + leaf) for hub in (A, B) for leaf in range(9)]
    hubs = Graph.from_arrays(*zip((A, B), (C, D), (D, E), *leaves, strict=True))
    ways = {"graph": hubs, "theta": 0.0, "reliability": "exclude_start", "top_k": 1}
    (best,) = flow_prune(ranked(A, B, C, E), **ways).paths
    assert (best.nodes, best.score) == ((C, D, E), pytest.approx(0.4725))
    (first,) = flow_prune(ranked(A, B, C, E), select="hop_first", **ways).paths
    assert (first.nodes, first.score) == ((A, B), pytest.approx(0.07))
    coded = flow_prune(ranked(A, D, E), select="hop_first", top_k=1, **CODE)
    assert names(coded) in (["DE"], ["ED"])


# ---- path.k_shortest


class Fixed:
    """Every text is the first axis."""

    identity = "fixed"
    dimension = 2

    def encode(self, texts, *, kind):
        assert kind == "question"
        return np.tile(np.array([1.0, 0.0], np.float32), (len(texts), 1))


def alike(*cosines: float) -> VectorIndex:
    first = np.array(cosines)
    return VectorIndex(np.stack([first, np.sqrt(1 - first**2)], axis=1).astype(np.float32))


LIKE = {
    "relationship_index": alike(0.2, 0.9, 0.5, 0.7, 0.6, 0.8, 0.4),
    "embedder": Fixed(),
    "graph": SIX,
}
STEPS = StepNodes(np.arange(6), np.array([1, 1, 2, 2, 3, 3]), np.ones(6), 3)


def test_the_best_paths_of_both_transitions():
    found = k_shortest(QUESTION, STEPS, k=2, max_path_edges=3, top_k=5, **LIKE)
    assert names(found) == ["AC", "DE", "ACD", "CDE", "DCE"]
    assert [path.transition for path in found.paths] == [1, 2, 1, 2, 2]
    assert [path.score for path in found.paths] == pytest.approx([0.9, 0.8, 0.8, 0.75, 0.65])


def test_the_least_likely_pairs_are_left_out():
    scores = np.array([0.9, 0.5, 0.9, 0.5, 0.9, 0.5])
    steps = StepNodes(STEPS.ids, STEPS.steps, scores, 3)
    found = k_shortest(QUESTION, steps, k=1, max_pairs_per_transition=1, **LIKE)
    assert names(found) == ["AC", "CE"]
    every = k_shortest(QUESTION, steps, k=1, max_pairs_per_transition=None, **LIKE)
    assert len(every) == 8


def test_one_step_or_an_empty_one_has_no_path():
    one = StepNodes(np.arange(2), np.array([1, 1]), np.ones(2), 1)
    assert k_shortest(QUESTION, one, **LIKE) == RankedPaths()
    gap = StepNodes(np.arange(2), np.array([1, 3]), np.ones(2), 3)
    assert k_shortest(QUESTION, gap, **LIKE) == RankedPaths()


# ---- path.members and chunk.frompaths

TWO = RankedPaths((Path((C, D), (3,), 0.9, 1), Path((A, C, D), (1, 3), 0.8, 1)))


def test_what_lies_on_paths_comes_once_with_the_score_of_its_first_path():
    nodes, rows = members(TWO)
    assert nodes.ids.tolist() == [C, D, A] and nodes.scores.tolist() == [0.9, 0.9, 0.8]
    assert rows.ids.tolist() == [3, 1] and rows.scores.tolist() == [0.9, 0.8]


def test_what_lies_on_paths_can_come_as_a_prompt_lists_them_with_its_best_score():
    """D-E of the second transition is better than A-C-D of the first."""
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
    found = frompaths(paths, graph=graph)
    assert found.ids.tolist() == [1, 0, 2] and found.scores.tolist() == [0.9, 0.4, 0.4]
    assert frompaths(paths, graph=graph, unit="fact").ids.tolist() == [1, 2]
    assert frompaths(paths, graph=graph, top_k=2).ids.tolist() == [1, 0]


# ---- path.pool

Q, X, Y = 6, 7, 8
LINES = Graph.from_arrays([Q, A, A, B, X, E], [A, B, D, C, Y, Q])
T1, T2, T4, T3, T5, T6 = range(6)
BASE = ranked(T1, T2, T3, T4, T5, T6, scores=(0.9, 0.5, 0.4, 0.7, 0.6, 0.3))


def test_the_relationships_come_in_the_order_of_their_pooled_scores_the_best_last():
    found = pool(BASE, ranked(Q), graph=LINES)
    assert found.ids.tolist() == [T6, T3, T2, T5, T4, T1]
    assert found.scores.tolist() == pytest.approx([0.6, 0.7, 0.85, 0.9, 0.95, 1.2])
    best_first = pool(BASE, ranked(Q), graph=LINES, order="best_first", a=2.0)
    assert best_first.ids.tolist() == [T1, T4, T2, T5, T3, T6]
    both_ends = pool(BASE, ranked(Q), graph=LINES, order="lost_in_middle")
    assert both_ends.ids.tolist() == [T1, T5, T3, T6, T2, T4]


def test_reranking_keeps_the_best_of_the_base_and_reselecting_the_best_pooled():
    cycle = Graph.from_arrays([B, Q, Q, A, C, A, Q], [C, A, B, C, Q, B, A])
    base = ranked(*range(7), scores=(0.9, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2))
    ways = {"graph": cycle, "order": "best_first", "top_k": 4}
    assert set(pool(base, ranked(Q), mode="rerank", **ways).ids.tolist()) == {0, 1, 2, 3}
    assert pool(base, ranked(Q), mode="reselect", **ways).ids.tolist() == [1, 2, 0, 4]
    assert len(pool(base, ranked(Q), mode="reselect", coarse_k=3, **ways)) == 3


def test_a_row_given_twice_counts_once_and_the_order_given_does_not_matter():
    twice = ranked(T2, T1, T6, T3, T4, T5, T1, scores=(0.5, 0.1, 0.3, 0.4, 0.7, 0.6, 0.9))
    found, want = (pool(given, ranked(Q), graph=LINES) for given in (twice, BASE))
    assert found.ids.tolist() == want.ids.tolist()
    assert found.scores.tolist() == want.scores.tolist()


def test_negative_scores_count_as_nothing_and_cosines_can_be_shifted():
    one = Graph.from_arrays([Q, A], [A, B])
    given = ranked(0, 1, scores=(0.5, -0.5))
    found = pool(given, ranked(Q), graph=one, order="best_first")
    assert found.scores.tolist() == pytest.approx([0.5, 0.25])
    shifted = pool(given, ranked(Q), graph=one, order="best_first", scores="cosine")
    assert shifted.scores.tolist() == pytest.approx([1.0, 0.625])


def test_walks_depend_on_the_seed_alone():
    first, second = (pool(BASE, ranked(Q), graph=LINES, search="random_walk") for _ in range(2))
    assert first.scores.tolist() == second.scores.tolist()
