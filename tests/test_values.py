"""The values that flow: ranked rows, states that never change, and the slot of each type."""

import numpy as np
import pytest

from graphrag_bench import values
from graphrag_bench.values import (
    Chunk,
    Mentions,
    Node,
    NodeScores,
    Question,
    Ranked,
    RetrievalState,
    slot_of,
    value,
)

nan, inf = np.nan, np.inf


def ids(ranked: Ranked[Node]) -> list[int]:
    return ranked.ids.tolist()


def test_the_best_rows_come_first():
    best = Ranked.top([0.1, 0.9, 0.5], 2)
    assert ids(best) == [1, 2]
    assert best.scores.tolist() == [0.9, 0.5]


def test_ties_go_to_the_lower_id_also_at_the_cut():
    assert ids(Ranked.top([1.0, 2.0, 1.0, 1.0], 3)) == [1, 0, 2]


def test_scores_that_differ_after_the_sixth_decimal_are_a_tie():
    assert ids(Ranked.top([0.5, 0.5000001], 2)) == [0, 1]
    assert ids(Ranked.top([0.5, 0.500002], 2)) == [1, 0]


def test_only_the_rows_among_a_choice_are_ranked():
    assert ids(Ranked.top([9.0, 1.0, 2.0], 5, among=[2, 1, 2])) == [2, 1]


def test_more_than_there_are_gives_all_and_none_gives_all():
    assert ids(Ranked.top([1.0, 2.0], 10)) == [1, 0]
    assert ids(Ranked.top([1.0, 2.0], None)) == [1, 0]


def test_scores_that_are_not_finite_rank_last():
    assert ids(Ranked.top([nan, inf, -5.0, -inf, 1.0], None)) == [4, 2, 0, 1, 3]


def test_ranked_rows_can_not_be_written_to():
    ranked = Ranked.top([1.0, 2.0], 2)
    with pytest.raises(ValueError, match="read-only"):
        ranked.ids[0] = 7
    with pytest.raises(ValueError, match="read-only"):
        ranked.scores[0] = 7


def test_ranked_rows_do_not_change_with_the_array_they_were_made_of():
    given = np.array([1.0, 2.0])
    ranked = Ranked[Node](np.array([0, 1]), given)
    given[0] = 9.0
    assert ranked.scores.tolist() == [1.0, 2.0]


def test_writing_gives_a_new_state_and_leaves_the_old_one_alone():
    old = RetrievalState(Question("q", "Who?"))
    new = old.write({"mentions": Mentions(("ada",))})
    assert old.get("mentions") is None
    assert new.get("mentions") == Mentions(("ada",))
    assert list(new) == ["mentions"]


def test_a_question_holds_no_gold():
    assert set(Question.__dataclass_fields__) == {
        "id",
        "text",
        "scope",
        "entities",
        "form",
        "open_tokens",
    }


def test_a_type_lives_in_one_slot_and_nodes_are_no_chunks():
    assert slot_of(Ranked[Node]) == "nodes"
    assert slot_of(Ranked[Chunk]) == "chunks"
    assert slot_of(NodeScores) == "node_scores"
    assert slot_of(int) is None
    assert slot_of(list[int]) is None
    assert slot_of("Mentions") is None


@pytest.fixture
def own_slots(monkeypatch):
    """The slots may be added to, and are put back afterwards."""
    monkeypatch.setattr(values, "_slots", dict(values._slots))


@pytest.mark.usefixtures("own_slots")
def test_a_slot_that_another_type_holds_is_refused():
    with pytest.raises(ValueError, match="slot 'mentions' already holds Mentions"):

        @value("mentions")
        class Names:
            pass


@pytest.mark.usefixtures("own_slots")
def test_a_notebook_cell_run_again_replaces_its_value_type():
    def cell() -> type:
        @value("itinerary")
        class Plan:
            pass

        return Plan

    old, new = cell(), cell()
    assert slot_of(new) == "itinerary"
    assert slot_of(old) is None
