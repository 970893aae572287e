"""Ranked rows, immutable states, and the slots of value types."""

import numpy as np
import pytest

from graphrag_bench import values
from graphrag_bench.values import Mentions, Node, NodeScores, Question, Ranked, RetrievalState

slot_of, nan, inf = values.slot_of, np.nan, np.inf


def test_rows_are_ranked_by_score_to_six_decimals_then_by_id():
    for scores, k, among, best in (
        ([1.0, 2.0, 1.0, 1.0], 3, None, [1, 0, 2]),  # ties to the lower id
        ([0.5, 0.5000001], 2, None, [0, 1]),
        ([0.5, 0.500002], 2, None, [1, 0]),
        ([9.0, 1.0, 2.0], 5, [2, 1, 2], [2, 1]),
        ([nan, inf, -5.0, -inf, 1.0], None, None, [4, 2, 0, 1, 3]),
    ):
        ranked = Ranked.top(scores, k, among)
        assert ranked.ids.tolist() == best
        assert np.array_equal(ranked.scores, np.array(scores)[best], equal_nan=True)


def test_ranked_rows_are_immutable_copies_and_states_are_new():
    scores = np.array([1.0, 2.0])
    ranked = Ranked[Node](np.array([0, 1]), scores)
    scores[0] = 9.0
    assert ranked.scores.tolist() == [1.0, 2.0]
    for column in (ranked.ids, ranked.scores):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 7
    old = RetrievalState(Question("q", "Who?"))
    new = old.write({"mentions": Mentions(("ada",))})
    assert (old.get("mentions"), [*new], new.get("mentions").names) == (
        None,
        ["mentions"],
        ("ada",),
    )


def test_a_slot_belongs_to_one_type_and_a_cell_run_again_replaces_its_type(monkeypatch):
    monkeypatch.setattr(values, "SLOTS", dict(values.SLOTS))

    def cell(slot: str) -> type:
        @values.value(slot)
        class Plan:
            pass

        return Plan

    assert (slot_of(Ranked[Node]), slot_of(NodeScores)) == ("nodes", "node_scores")
    assert {slot_of(other) for other in (int, list[int], "Mentions")} == {None}
    with pytest.raises(ValueError, match="'mentions'.*Mentions"):
        cell("mentions")
    old, new = cell("itinerary"), cell("itinerary")
    assert (slot_of(old), slot_of(new)) == (None, "itinerary")
