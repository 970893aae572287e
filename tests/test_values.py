"""Ranked rows, immutable states, the slots of value types, and columns on disk."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from graphrag_bench import values
from graphrag_bench.columns import Columns, TextRows, Texts, bool_csr, save_array
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
    assert (old.get("mentions"), [*new]) == (None, ["mentions"])
    assert new.get("mentions").names == ("ada",)


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


@dataclass
class Named(Columns):
    names: Texts
    node_chunk: csr_matrix


def test_texts_and_sparse_matrices_are_loaded_as_saved(tmp_path):
    matrix = csr_matrix(np.array([[0, 1, 0], [0, 0, 0]], bool))
    Named(Texts.of(["Ada", "", "東京🙂"]), matrix).save(tmp_path)
    loaded = Named.load(tmp_path)
    assert (list(loaded.names), len(loaded.names)) == (["Ada", "", "東京🙂"], 3)
    back = loaded.node_chunk
    assert (back.dtype, back.shape, (back != matrix).nnz) == (bool, (2, 3), 0)
    assert isinstance(loaded.names.blob.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        back.data[0] = False
    with pytest.raises(ValueError, match="allow_pickle"):
        save_array(tmp_path, "names", np.array(["a", None], object))


def test_text_rows_are_looked_up_on_disk(tmp_path):
    numbers = {"東京": 7, "ada": 3, "": 0, "plumless": 1, "buckeroo": 2}
    TextRows.of(numbers).save(tmp_path)
    rows = TextRows.load(tmp_path)
    assert len({*rows.sums.tolist()}) == 4  # CRC-32 of the last two texts is the same
    assert list(rows.items()) == list(numbers.items())
    assert rows.get("bob", 5) == 5 and 3 not in rows
    with pytest.raises(KeyError, match="bob"):
        rows["bob"]


def test_texts_are_joined_row_by_row_and_a_cell_given_twice_is_stored_once():
    names = Texts.of(["é", "b", "", "dd"])
    matrix = csr_matrix(np.array([[1, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 1]], bool))
    assert list(names.join_rows(matrix, ", ")) == ["é, b, dd", "", ", dd"]
    incidence = bool_csr(np.array([2, 0, 2, 2]), np.array([1, 1, 1, 0]), (3, 2))
    assert incidence.toarray().astype(int).tolist() == [[0, 1], [0, 0], [1, 1]]
    assert incidence.indices.tolist() == [1, 0, 1]
