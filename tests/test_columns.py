"""Columns saved to disk and loaded by memory map."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from graphrag_bench.columns import Columns, TextRows, Texts, bool_csr, save_array


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


def test_texts_are_joined_row_by_row():
    names = Texts.of(["é", "b", "", "dd"])
    matrix = csr_matrix(np.array([[1, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 1]], bool))
    assert list(names.join_rows(matrix, ", ")) == ["é, b, dd", "", ", dd"]


def test_a_cell_given_twice_is_stored_once():
    incidence = bool_csr(np.array([2, 0, 2, 2]), np.array([1, 1, 1, 0]), (3, 2))
    assert incidence.toarray().astype(int).tolist() == [[0, 1], [0, 0], [1, 1]]
    assert incidence.indices.tolist() == [1, 0, 1]
