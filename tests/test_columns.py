"""Columns saved to disk and loaded by memory map."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from graphrag_bench.columns import Columns, TextRows, Texts, bool_csr, load_array, save_array


@dataclass
class Named(Columns):
    names: Texts
    node_chunk: csr_matrix


def test_an_array_is_loaded_as_a_read_only_map(tmp_path):
    save_array(tmp_path, "weight", np.array([1.5, 2.5]))
    loaded = load_array(tmp_path, "weight")
    assert isinstance(loaded.base, np.memmap)
    assert loaded.tolist() == [1.5, 2.5]
    with pytest.raises(ValueError, match="read-only"):
        loaded[0] = 9.0
    with pytest.raises(ValueError, match="allow_pickle"):
        save_array(tmp_path, "names", np.array(["a", None], object))


def test_texts_and_sparse_matrices_are_loaded_as_saved(tmp_path):
    matrix = csr_matrix(np.array([[0, 1, 0], [0, 0, 0]], bool))
    Named(Texts.of(["Ada", "", "東京🙂"]), matrix).save(tmp_path)
    loaded = Named.load(tmp_path)
    assert (list(loaded.names), len(loaded.names)) == (["Ada", "", "東京🙂"], 3)
    back = loaded.node_chunk
    assert (back.dtype, back.shape, (back != matrix).nnz) == (bool, (2, 3), 0)


def test_text_rows_are_looked_up_on_disk(tmp_path):
    TextRows.of({"東京": 7, "ada": 3, "": 0}).save(tmp_path)
    rows = TextRows.load(tmp_path)
    assert (rows["東京"], rows["ada"], rows[""]) == (7, 3, 0)
    assert list(rows.items()) == [("東京", 7), ("ada", 3), ("", 0)]
    assert rows.get("bob") is None and rows.get("bob", 5) == 5
    assert "ada" in rows and "bob" not in rows and 3 not in rows
    with pytest.raises(KeyError, match="bob"):
        rows["bob"]


def test_texts_with_the_same_check_sum_are_distinguished():
    """CRC-32 of `plumless` and `buckeroo` is the same."""
    rows = TextRows.of({"plumless": 1, "buckeroo": 2})
    assert rows.sums[0] == rows.sums[1]
    assert (rows["plumless"], rows["buckeroo"]) == (1, 2)


def test_texts_are_joined_row_by_row():
    names = Texts.of(["é", "b", "", "dd"])
    matrix = csr_matrix(np.array([[1, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 1]], bool))
    assert list(names.join_rows(matrix, ", ")) == ["é, b, dd", "", ", dd"]
    assert list(names.join_rows(csr_matrix((0, 4), dtype=bool), ", ")) == []


def test_a_cell_given_twice_is_stored_once():
    incidence = bool_csr(np.array([2, 0, 2, 2]), np.array([1, 1, 1, 0]), (3, 2))
    assert incidence.toarray().tolist() == [[False, True], [False, False], [True, True]]
    assert incidence.indices.tolist() == [1, 0, 1]
    assert bool_csr(np.zeros(0, int), np.zeros(0, int), (0, 0)).shape == (0, 0)
