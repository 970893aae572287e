"""Embedding in blocks, exact vector search, and BM25."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_bench.arrays import DECIMALS
from graphrag_bench.embedding import embedder as embedders
from graphrag_bench.embedding import vector_index
from graphrag_bench.embedding.cached_models import CachedEmbedder
from graphrag_bench.embedding.embedder import Hashing, encode_in_blocks
from graphrag_bench.embedding.vector_index import DeviceRows, VectorIndex
from graphrag_bench.indices.words import Bm25
from graphrag_bench.llm.cache import Cache


class Counting(Hashing):
    """Record the texts of each call; raise at the text `stop`."""

    def __init__(self) -> None:
        super().__init__(8)
        self.batches: list[list[str]] = []

    def encode(self, texts, *, kind):
        assert kind == "passage"
        self.batches.append(list(texts))
        if "stop" in texts:
            raise KeyboardInterrupt
        return super().encode(texts, kind=kind)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(embedders, "FIRST_BLOCK", 3)
    monkeypatch.setattr(embedders, "_LARGEST_BLOCK", 6)


def test_distinct_texts_are_embedded_once_in_growing_blocks_that_are_stored(tmp_path):
    counting, counts = Counting(), []
    texts = ["dddd", "ccc", "a", "bb", "a", "ff"]
    vectors = encode_in_blocks(texts, counting, counts.append)
    assert counting.batches == [["a", "bb"], ["ff", "ccc"], ["dddd"]]
    assert counts == [2, 2, 1]
    assert np.array_equal(vectors, Hashing(8).encode(texts, kind="passage"))
    store, again = Cache(tmp_path / "vectors.sqlite"), Counting()
    for model in (Counting(), again):
        with pytest.raises(KeyboardInterrupt):
            encode_in_blocks(["a", "b", "c", "stop"], CachedEmbedder(model, store))
    assert again.batches == [["stop"]]


def unit_rows(n_rows, dimension, seed):
    rows = np.random.default_rng(seed).standard_normal((n_rows, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize(("dimension", "k"), [(32, 10), (384, 400)])
def test_batched_search_equals_a_sort_and_single_queries(dimension, k):
    vectors, queries = unit_rows(3000, dimension, 0), unit_rows(64, dimension, 1)
    vectors[100:350] = vectors[7]  # a border of 251 ties for the query that is this row
    queries[5] = vectors[7]
    index = VectorIndex(vectors)
    for query, ranked in zip(queries, index.search(queries, k), strict=True):
        (alone,) = index.search(query[None], k)
        assert ranked.ids.tobytes() == alone.ids.tobytes()
        assert ranked.scores.tobytes() == alone.scores.tobytes()
        every = np.round((vectors @ query).astype(np.float64), DECIMALS)
        assert every[ranked.ids[-1]] >= np.sort(every)[-k] - 2e-5
        if k == 10:  # of more some scores are on the border of the last decimal
            assert ranked.ids.tolist() == np.argsort(-every, kind="stable")[:k].tolist()


@settings(max_examples=25)
@given(data=st.data())
def test_candidates_of_a_device_give_the_same_bytes(data):
    """Torch on the processor stands for the GPU; few directions make ties at every rank."""
    n, n_directions = data.draw(st.integers(1, 120)), data.draw(st.integers(1, 12))
    draw = np.random.default_rng(data.draw(st.integers(0, 99)))
    vectors = unit_rows(n_directions, 16, 5)[draw.integers(0, n_directions, n)]
    queries, k = np.concatenate([unit_rows(3, 16, 6), vectors[:2]]), data.draw(st.integers(1, 30))
    here, there = VectorIndex(vectors), VectorIndex(vectors)
    vars(there)["_on_gpu"] = DeviceRows(vectors, "cpu")
    at_once = data.draw(st.sampled_from([50, 2**20]))
    nearest, patch = DeviceRows.nearest, mock.patch.object
    with (patch(vector_index, "LEAST_PRODUCTS", 0), patch(vector_index, "_AT_ONCE", at_once),
          patch(DeviceRows, "nearest", autospec=True, side_effect=nearest) as use):  # fmt: skip
        found = there.search(queries, k)
    assert use.call_count
    for one, other in zip(here.search(queries, k), found, strict=True):
        assert one.ids.tobytes() == other.ids.tobytes()
        assert one.scores.tobytes() == other.scores.tobytes()


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (1.2, 0.0)])
def test_bm25_agrees_with_the_textbook(k1, b):
    """Robertson & Zaragoza 2009 with Lucene's idf."""
    rng, scores = np.random.default_rng(0), np.zeros(20)
    vocabulary = ["river", "lens", "comet", "harbour", "mountain", "medal", "salmon"]
    documents = [list(rng.choice(vocabulary, rng.integers(1, 12))) for _ in range(20)]
    query = list(rng.choice([*vocabulary, "unheard"], 4))
    lengths = np.array(list(map(len, documents)))
    for word in query:
        frequency = np.array([document.count(word) for document in documents])
        n_with = (frequency > 0).sum()
        idf = np.log(1 + (20 - n_with + 0.5) / (n_with + 0.5))
        scores += idf * frequency / (frequency + k1 * (1 - b + b * lengths / lengths.mean()))
    index = Bm25.of([" ".join(document) for document in documents], k1, b)
    np.testing.assert_allclose(index.scores(" ".join(query)), scores, atol=1e-5)
