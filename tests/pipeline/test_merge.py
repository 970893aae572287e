import numpy as np
from by_hand import check, ranked

from graphrag_bench.algorithms.path_values import ChosenRelation, Exploration, Hop, RankedPaths
from graphrag_bench.pipeline.merge import merge, split
from graphrag_bench.values import Keywords, Mentions, NodeScores, Path, Query, Subgraph

LEFT, RIGHT = ranked(7, 3, 5, scores=(0.9, 0.6, 0.1)), ranked(3, 9, scores=(0.8, 0.2))


def test_ranked_rows_are_merged_by_rule():
    for rule, expected in (
        ("interleave", [(7, 0.9), (3, 0.8), (9, 0.2), (5, 0.1)]),
        ("max", [(7, 0.9), (3, 0.8), (9, 0.2), (5, 0.1)]),
        ("union", [(7, 0.9), (3, 0.6), (5, 0.1), (9, 0.2)]),
        # row 3 is second on the left and first on the right
        ("reciprocal_rank_fusion", [(3, 1 / 62 + 1 / 61), (7, 1 / 61), (9, 1 / 62), (5, 1 / 63)]),
        # the left scores sum to 1.6, the right ones to 1.0
        ("sum_of_normalised", [(3, 0.375 + 0.8), (7, 0.5625), (9, 0.2), (5, 0.0625)]),
        ("sum", [(3, 1.4), (7, 0.9), (9, 0.2), (5, 0.1)]),
    ):
        check(merge([LEFT, RIGHT], rule), *zip(*expected, strict=True))
        assert merge([ranked(), RIGHT], rule).ids.tolist() == RIGHT.ids.tolist()
        assert len(merge([ranked(), ranked()], rule)) == 0
        tied = merge([ranked(8), ranked(2)], rule).ids.tolist()
        assert tied == ([8, 2] if rule in ("interleave", "union") else [2, 8])


def test_score_vectors_are_merged_by_rule():
    for rule, expected in (("interleave", [1.25, 0.75]), ("max", [1.0, 3.0]), ("sum", [2.0, 3.0])):
        left, right = NodeScores(np.array([1.0, 3.0])), NodeScores(np.array([1.0, 0.0]))
        assert merge([left, right], rule).values.tolist() == expected


ADA, OTTO = ChosenRelation(0, "founded", True, 0.5), ChosenRelation(3, "taught", True, 0.5)
FIRST, SECOND, THIRD = (Hop(row, True, 0.5) for row in range(3))
ONE, TWO, THREE = (Path((0, row), (row,), 0.5) for row in (1, 2, 3))


def test_names_paths_and_explorations_are_joined_without_duplicates():
    for one, other, both in (
        (Mentions(("b", "a")), Mentions(("c", "b")), Mentions(("b", "a", "c"))),
        (Query(("x",)), Query(("x", "y")), Query(("x", "y"))),
        (Keywords(("a",), ("t",)), Keywords(("b", "a"), ("t", "u")),
         Keywords(("a", "b"), ("t", "u"))),
        (Subgraph((0, 1), (4,), (ONE,), ("a",)), Subgraph((1, 2), (4, 5), (TWO,), ("b", "a")),
         Subgraph((0, 1, 2), (4, 5), (ONE, TWO), ("a", "b"))),
        (Exploration((ADA,), ((FIRST,), (SECOND,))), Exploration((ADA, OTTO), ((THIRD, FIRST),)),
         Exploration((ADA, OTTO), ((FIRST, THIRD), (SECOND,)))),
        (RankedPaths((ONE, TWO)), RankedPaths((TWO, THREE)), RankedPaths((ONE, TWO, THREE))),
    ):  # fmt: skip
        assert merge([one, other], "max") == merge([one, other], "union") == both


def test_values_are_split_into_items():
    assert [one.items() for one in split(RIGHT)] == [[(3, 0.8)], [(9, 0.2)]]
    assert split(Mentions(("a", "b"))) == [Mentions(("a",)), Mentions(("b",))]
    assert split(Query(())) == []
