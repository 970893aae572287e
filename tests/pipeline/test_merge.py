"""Merging what several arms wrote into one slot, by hand."""

import numpy as np
import pytest

from graphrag_bench.algorithms.path_values import ChosenRelation, Exploration, Hop, RankedPaths
from graphrag_bench.pipeline.merge import merge, split
from graphrag_bench.values import (
    Answer,
    Keywords,
    Mentions,
    Node,
    NodeScores,
    Path,
    Query,
    Ranked,
    Subgraph,
)


def rows(*pairs: tuple[int, float]) -> Ranked[Node]:
    return Ranked(np.array([row for row, _ in pairs], np.int64), np.array([s for _, s in pairs]))


def pairs(ranked: Ranked[Node]) -> list[tuple[int, float]]:
    return list(zip(ranked.ids.tolist(), ranked.scores.round(6).tolist(), strict=True))


LEFT = rows((7, 0.9), (3, 0.6), (5, 0.1))
RIGHT = rows((3, 0.8), (9, 0.2))


def test_rows_are_merged_by_turn_by_the_best_score_and_by_first_appearance():
    assert pairs(merge([LEFT, RIGHT], "interleave")) == [(7, 0.9), (3, 0.8), (9, 0.2), (5, 0.1)]
    assert pairs(merge([LEFT, RIGHT], "max")) == [(7, 0.9), (3, 0.8), (9, 0.2), (5, 0.1)]
    assert pairs(merge([LEFT, RIGHT], "union")) == [(7, 0.9), (3, 0.6), (5, 0.1), (9, 0.2)]


def test_scores_add_up_by_rank_as_they_are_or_normalised():
    """Row 3 is second on the left and first on the right: 1/62 + 1/61."""
    merged = pairs(merge([LEFT, RIGHT], "reciprocal_rank_fusion"))
    assert merged == [
        (3, round(1 / 62 + 1 / 61, 6)),
        (7, round(1 / 61, 6)),
        (9, round(1 / 62, 6)),
        (5, round(1 / 63, 6)),
    ]
    # The left scores sum to 1.6, the right ones to 1.0.
    merged = pairs(merge([LEFT, RIGHT], "sum_of_normalised"))
    assert merged == [(3, 0.375 + 0.8), (7, 0.5625), (9, 0.2), (5, 0.0625)]
    # Row 3: 0.6 + 0.8.
    merged = pairs(merge([LEFT, RIGHT], "sum"))
    assert merged == [(3, 1.4), (7, 0.9), (9, 0.2), (5, 0.1)]
    vectors = [NodeScores(np.array([3.0, 0.0])), NodeScores(np.array([1.0, 1.0]))]
    assert merge(vectors, "sum").values.tolist() == [4.0, 1.0]
    merged = merge([rows((1, 3.0), (2, -1.0)), rows((2, 1.0), (1, 1.0))], "sum_of_normalised")
    assert pairs(merged) == [(1, 1.5), (2, 0.5)]
    for rule in ("max", "reciprocal_rank_fusion", "sum", "sum_of_normalised"):
        merged = merge([rows((8, 1.0)), rows((2, 1.0))], rule)
        assert merged.ids.tolist() == [2, 8]


def test_score_vectors_are_normalised_and_summed_or_the_larger_raw_one_counts():
    left, right = NodeScores(np.array([1.0, 3.0])), NodeScores(np.array([1.0, 0.0]))
    assert merge([left, right], "interleave").values.tolist() == [1.25, 0.75]
    left, right = NodeScores(np.array([1.0, 3.0])), NodeScores(np.array([2.0, 0.0]))
    assert merge([left, right], "max").values.tolist() == [2.0, 3.0]


def test_lists_of_names_paths_and_parts_are_joined_each_item_once():
    assert merge([Mentions(("b", "a")), Mentions(("c", "b"))], "union") == Mentions(("b", "a", "c"))
    assert merge([Query(("x",)), Query(("x", "y"))], "max") == Query(("x", "y"))
    merged = merge([Keywords(("a",), ("t",)), Keywords(("b", "a"), ("t", "u"))], "union")
    assert merged == Keywords(("a", "b"), ("t", "u"))
    one = Subgraph((0, 1), (4,), (Path((0, 1), (4,)),), ("a",))
    other = Subgraph((1, 2), (4, 5), (Path((1, 2), (5,)),), ("b", "a"))
    both = (Path((0, 1), (4,)), Path((1, 2), (5,)))
    assert merge([one, other], "max") == Subgraph((0, 1, 2), (4, 5), both, ("a", "b"))
    ada, otto = ChosenRelation(0, "founded", True, 0.5), ChosenRelation(3, "taught", True, 0.5)
    first, second, third = (Hop(row, True, 0.5) for row in range(3))
    one = Exploration((ada,), ((first,), (second,)))
    other = Exploration((ada, otto), ((third, first),))
    merged = merge([one, other], "union")
    assert merged == Exploration((ada, otto), ((first, third), (second,)))
    first, second, third = (Path((0, row), (row,), 0.5) for row in (1, 2, 3))
    merged = merge([RankedPaths((first, second)), RankedPaths((second, third))], "max")
    assert merged == RankedPaths((first, second, third))


def test_splitting_gives_each_item_alone_and_an_answer_is_neither_split_nor_merged():
    assert [pairs(one) for one in split(RIGHT)] == [[(3, 0.8)], [(9, 0.2)]]
    assert split(Mentions(("a", "b"))) == [Mentions(("a",)), Mentions(("b",))]
    assert split(Query(())) == []
    with pytest.raises(TypeError, match="Answer has no items"):
        split(Answer("a"))
    with pytest.raises(TypeError, match="Answer cannot be merged"):
        merge([Answer("a"), Answer("b")], "union")


@pytest.mark.parametrize(
    "rule", ["interleave", "union", "max", "reciprocal_rank_fusion", "sum", "sum_of_normalised"]
)
def test_no_rows_merge_with_some_and_with_none(rule):
    assert merge([rows(), RIGHT], rule).ids.tolist() == RIGHT.ids.tolist()
    assert len(merge([rows(), rows()], rule)) == 0
