"""Trees of summaries on passages with known clusters."""

import numpy as np
import pytest
from builds import QUIET, dense, ends, table
from by_hand import Planted

from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.graphs import tree as trees
from graphrag_bench.graphs.tree import tree
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.text import count_tokens

EMBEDDER = Hashing(32)
PLACES = ["Norvik", "Mount Tarn", "Velia", "Port Isk"]
TEXT = "The harbour of {} freezes in month {}. It is cold."
TABLE = table(*(TEXT.format(PLACES[row % 4], row) for row in range(16)))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Trees with two children for each parent, up to two nodes in a layer."""
    monkeypatch.setattr(trees, "CLUSTER_SIZE", 2)
    monkeypatch.setattr(trees, "REDUCTION_DIMENSION", 1)


def grown(vectors, min_cluster_size=2):
    return tree(
        chunk_table=table(*"abcdefgh"[: len(vectors)]),
        chunk_index=VectorIndex(np.array(vectors, np.float32)),
        embedder=Planted(lambda text: vectors["abcdefgh".index(text[0])]),
        llm_build=None, progress=QUIET, clustering="kmeans", min_cluster_size=min_cluster_size,
        seed=0,
    )  # fmt: skip


def built(chunks=TABLE, **settings):
    vectors = EMBEDDER.encode(list(chunks.passages), kind="passage")
    inputs = {"chunk_table": chunks, "chunk_index": VectorIndex(vectors), "embedder": EMBEDDER}
    return tree(**inputs, progress=QUIET, **{"llm_build": None, **settings})


PAIRS = [[0.0], [0.1], [9.0], [9.1]]
"""Two clusters: a and b, c and d."""


def test_leaves_come_first_then_summaries_layer_by_layer():
    graph = grown(PAIRS)
    summaries = ["summary 1.0", "summary 1.1"]
    assert list(graph.names) == [*(f"chunk {row}" for row in range(4)), *summaries]
    assert list(graph.descriptions) == ["a", "b", "c", "d", "a b", "c d"]
    assert list(graph.types) == ["layer 0"] * 4 + ["layer 1"] * 2
    assert ends(graph) == [(4, 0), (4, 1), (5, 2), (5, 3)]
    assert dense(graph.node_chunk) == [*np.eye(4).tolist(), [0] * 4, [0] * 4]
    assert graph.relationship_chunk.nnz == 0


def test_growth_ends_at_the_layer_limit_or_the_least_size(monkeypatch):
    """a, b, c are a cluster; d and e are too few, and join the next layer's clustering."""
    graph = grown([[0.0], [0.1], [0.2], [9.0], [9.1]], min_cluster_size=3)
    assert list(graph.descriptions)[5:] == ["a b c", "d e a b c"]
    assert ends(graph)[3:] == [(6, 3), (6, 4), (6, 5)]
    monkeypatch.setattr(trees, "MAX_LAYERS", 1)
    eight = [[float(row // 2 * 10 + row % 2)] for row in range(8)]
    assert set(grown(eight).types) == {"layer 0", "layer 1"}
    monkeypatch.setattr(trees, "REDUCTION_DIMENSION", 3)
    assert grown(PAIRS).n_nodes == 4


@pytest.mark.parametrize("clustering", ["gmm", "kmeans"])
def test_an_extractive_summary_has_sentences_of_its_leaves_and_fits(monkeypatch, clustering):
    monkeypatch.setattr(trees, "SUMMARY_TOKENS", 30)
    monkeypatch.setattr(trees, "REDUCTION_DIMENSION", 10)
    graph = built(clustering=clustering)
    sentences = {f"{text}." for one in TABLE.texts for text in one.rstrip(".").split(". ")}
    summaries = list(graph.descriptions)[16:]
    assert summaries
    for text in summaries:
        assert count_tokens(text) <= 30
        assert {f"{part}." for part in text.rstrip(".").split(". ")} <= sentences


def test_first_words_replace_a_failed_summary_and_are_counted(monkeypatch):
    """The call about month 3 fails; four texts share eight tokens, two words each."""
    for name, value in {"MAX_LAYERS": 1, "CLUSTER_SIZE": 4, "SUMMARY_TOKENS": 8}.items():
        monkeypatch.setattr(trees, name, value)
    failed = CallFailed("retries_exhausted", "no server")
    model = Scripted([("month 3.", failed), ("harbour", "The harbour.")])
    summaries = list(built(llm_build=model, clustering="kmeans").descriptions)[16:]
    assert summaries.count("The harbour.") == 3
    assert summaries.count("The harbour The harbour The harbour The harbour") == 1
    assert model.meter.fallbacks == 1
