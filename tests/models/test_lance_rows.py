"""Vectors in a table of LanceDB: the rows and scores that faiss finds, filtered, read in parts."""

from __future__ import annotations

import builtins
from pathlib import Path

import numpy as np
import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.models.lance_rows import LanceRows
from graphrag_bench.models.nearest import Lists
from graphrag_bench.models.vector_index import VectorIndex

pytest.importorskip("lancedb", reason="needs the extra lancedb")

N, DIMENSION = 300, 16


def unit(rng: np.random.Generator, n: int) -> np.ndarray:
    rows = rng.standard_normal((n, DIMENSION)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """Unit rows, every fifth of which repeats an earlier one: ties."""
    rows = unit(np.random.default_rng(0), N)
    rows[::5] = rows[7]
    return rows


@pytest.fixture(scope="module")
def stored(vectors: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> VectorIndex:
    folder = tmp_path_factory.mktemp("index")
    VectorIndex(vectors, database="lancedb").save(folder)
    assert LanceRows.is_written(folder) and not (folder / "vectors.npy").exists()
    return VectorIndex.load(folder)


@pytest.mark.parametrize("k", [1, 5, 70, N, 2 * N])
def test_a_search_finds_the_rows_and_scores_of_faiss(
    stored: VectorIndex, vectors: np.ndarray, k: int
) -> None:
    queries = np.concatenate([vectors[5:9], unit(np.random.default_rng(1), 20)])
    plain = VectorIndex(vectors).search(queries, k)
    for found, expected in zip(stored.search(queries, k), plain, strict=True):
        assert found.ids.tolist() == expected.ids.tolist()
        np.testing.assert_allclose(found.scores, expected.scores, atol=1e-6)


def test_one_query_finds_what_it_finds_in_a_batch(stored: VectorIndex, vectors: np.ndarray) -> None:
    queries = vectors[:40]
    batch = stored.search(queries, 7)
    for query, expected in zip(queries, batch, strict=True):
        (found,) = stored.search(query[None], 7)
        assert found.ids.tolist() == expected.ids.tolist()
        assert found.scores.tobytes() == expected.scores.tobytes()


def test_rows_are_read_by_slice_by_ids_and_whole(stored: VectorIndex, vectors: np.ndarray) -> None:
    rows = stored.vectors
    assert isinstance(rows, LanceRows)
    assert rows.shape == vectors.shape and rows.dtype == np.float32 and len(rows) == N
    np.testing.assert_array_equal(rows[3:9], vectors[3:9])
    ids = np.array([7, 2, 7, 250])
    np.testing.assert_array_equal(rows[ids], vectors[ids])
    np.testing.assert_array_equal(np.asarray(rows), vectors)
    np.testing.assert_allclose(stored.scores(vectors[3]), vectors @ vectors[3], atol=1e-6)


def test_only_the_rows_within_a_scope_are_searched(
    stored: VectorIndex, vectors: np.ndarray
) -> None:
    rows = stored.vectors
    assert isinstance(rows, LanceRows)
    within = np.array([3, 11, 12, 40, 41, 77])
    queries = unit(np.random.default_rng(2), 3)
    scores, ids = rows.nearest(queries, 4, within)
    for query, told, found in zip(queries, scores, ids, strict=True):
        expected = within[np.argsort(-(vectors[within] @ query), kind="stable")[:4]]
        assert found.tolist() == expected.tolist()
        np.testing.assert_allclose(told, vectors[found] @ query, atol=1e-6)


def test_lists_find_nearly_the_same_and_always_as_many(vectors: np.ndarray, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    VectorIndex(vectors, database="lancedb", lists=Lists(12, 4)).save(folder)
    rows = VectorIndex.load(folder).vectors
    assert isinstance(rows, LanceRows)
    queries = unit(np.random.default_rng(3), 10)
    _, found = rows.nearest(queries, 10)
    exact = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    shared = [len(set(a) & set(b)) for a, b in zip(found.tolist(), exact.tolist(), strict=True)]
    assert sum(shared) >= 40
    _, every = rows.nearest(queries, N)
    assert [sorted(row) for row in every.tolist()] == [list(range(N))] * 10
    within = np.arange(0, N, 29)
    scores, ids = rows.nearest(queries, len(within), within)
    assert [sorted(row) for row in ids.tolist()] == [within.tolist()] * 10
    assert (np.diff(scores, axis=1) <= 0).all()


def test_all_lists_find_what_exact_search_finds(vectors: np.ndarray, tmp_path: Path) -> None:
    VectorIndex(vectors, database="lancedb", lists=Lists(12, 12)).save(tmp_path)
    queries = unit(np.random.default_rng(4), 10)
    plain = VectorIndex(vectors).search(queries, 20)
    for found, expected in zip(VectorIndex.load(tmp_path).search(queries, 20), plain, strict=True):
        assert found.ids.tolist() == expected.ids.tolist()


def test_rows_of_half_precision_are_kept_as_they_are(vectors: np.ndarray, tmp_path: Path) -> None:
    half = vectors.astype(np.float16)
    LanceRows.write(tmp_path, half)
    rows = LanceRows.open(tmp_path)
    assert rows.dtype == np.float16
    assert np.asarray(rows).tobytes() == half.tobytes()


def test_an_index_of_no_rows_is_a_file_and_finds_nothing(tmp_path: Path) -> None:
    VectorIndex(np.zeros((0, DIMENSION), np.float32), database="lancedb").save(tmp_path)
    assert not LanceRows.is_written(tmp_path)
    (found,) = VectorIndex.load(tmp_path).search(np.ones((1, DIMENSION), np.float32), 3)
    assert len(found.ids) == 0


def test_an_empty_table_is_refused(tmp_path: Path, vectors: np.ndarray) -> None:
    with pytest.raises(UserError, match="at least one"):
        LanceRows.write(tmp_path, vectors[:0])


def test_without_the_package_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vectors: np.ndarray
) -> None:
    real = builtins.__import__

    def without(name: str, *given: object, **named: object) -> object:
        if name == "lancedb":
            raise ImportError(name)
        return real(name, *given, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UserError, match=r"graphrag-bench\[lancedb\]"):
        LanceRows.write(tmp_path, vectors)
