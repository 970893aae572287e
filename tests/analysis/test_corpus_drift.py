"""Drift between versions of a corpus, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from graphrag_bench.analysis.drift import jaccard, members, reports_kept, share_kept
from graphrag_bench.columns import Texts
from graphrag_bench.graph.communities import Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.communities import leiden

TRIANGLES = Graph.from_arrays([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3], names=list("abcdef"))


def reports(*texts: str) -> Reports:
    return Reports(Texts.of(["A"] * len(texts)), Texts.of(list(texts)), np.zeros(len(texts)))


def test_communities_are_the_same_where_their_members_are() -> None:
    before = members(TRIANGLES, leiden(graph=TRIANGLES))
    assert before == [frozenset("abc"), frozenset("def")]
    assert share_kept(before, [frozenset("fed"), frozenset("ab")]) == 0.5
    assert share_kept([], before) == 1.0


def test_a_report_is_kept_word_for_word_and_counted_once() -> None:
    assert reports_kept(reports("x", "y", "y"), reports("y", "z")) == 0.5


def test_jaccard_is_the_mean_over_the_questions_of_both() -> None:
    before = {"p": ["a", "b", "c"], "q": [], "only before": ["a"]}
    after = {"p": ["c", "d"], "q": [], "only after": ["a"]}
    assert jaccard(before, after) == pytest.approx((1 / 4 + 1) / 2)
    with pytest.raises(ValueError, match="no question"):
        jaccard({"a": []}, {"b": []})
