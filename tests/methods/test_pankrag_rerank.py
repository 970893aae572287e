"""Dependency-aware reranking on the four candidates of the specification's example."""

from typing import Any

import numpy as np
import pytest
from by_hand import Planted

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.question_plan import Dependencies
from graphrag_bench.values import Question, Ranked
from methods.pankrag.reranking import likeness, rerank_chunks, rerank_points
from operators.answer.map_reduce import Points

VECTORS = np.array([[1, 0], [0, 1], [0.6, 0.8], [-1, 0]], np.float32)
RELEVANCE = np.array([0.9, 0.8, 0.5, 0.4])
NAMES = ("c1", "c2", "c3", "c4")
FIRST, SECOND = (0.6, 0.8), (1.0, 0.0)
ONE = Dependencies(("1-1",), ("?",), ("d1",))
TWO = Dependencies(("1-1", "1-2"), ("?", "?"), ("d1", "d2"))
KNOWN = {"d1": FIRST, "d2": SECOND, **dict(zip(NAMES, VECTORS.tolist(), strict=True))}


# node i is in chunk i alone, so that a chunk's relevance is the score of its node
GRAPH = Graph.from_arrays(source=[], target=[], node_chunk=np.eye(4), n_nodes=4)
CHUNKS, NODES = Ranked([0, 1, 2, 3], RELEVANCE), Ranked([0, 1, 2, 3], RELEVANCE)


def chunks(dependencies: Dependencies | None, **settings: Any) -> Ranked[Any]:
    return rerank_chunks(
        Question("q", "?"), CHUNKS, NODES, dependencies, graph=GRAPH,
        chunk_index=VectorIndex(VECTORS), embedder=Planted(KNOWN), **settings,
    )  # fmt: skip


@pytest.mark.parametrize(
    "dependencies, settings, scores, order",
    [
        (ONE, {}, [0.80, 0.78, 0.70, 0.24], [1, 0, 2, 3]),
        (ONE, {"alpha": 0.75}, [0.825, 0.80, 0.625, 0.30], [0, 1, 2, 3]),
        (ONE, {"negative": "raw"}, [0.80, 0.78, 0.70, 0.0], [1, 0, 2, 3]),
        (TWO, {}, [0.86, 0.64, 0.62, 0.24], [0, 1, 2, 3]),
        (TWO, {"aggregate": "max"}, [0.94, 0.80, 0.70, 0.24], [0, 1, 2, 3]),
        (Dependencies(), {}, [0.9, 0.8, 0.5, 0.4], [0, 1, 2, 3]),
        (ONE, {"rerank": "off"}, [0.9, 0.8, 0.5, 0.4], [0, 1, 2, 3]),
    ],
)
def test_the_golden_example(
    dependencies: Dependencies, settings: dict[str, Any], scores: list[float], order: list[int]
) -> None:
    found = chunks(dependencies, **settings)
    assert found.ids.tolist() == order
    np.testing.assert_allclose(found.scores, scores, atol=1e-6)


def test_points_are_ranked_likewise_and_keep_their_scores() -> None:
    points = Points(NAMES, (90, 80, 50, 40))
    found = rerank_points(points, ONE, embedder=Planted(KNOWN))
    assert found == Points(("c1", "c2", "c3", "c4"), (90, 80, 50, 40))
    assert rerank_points(points, ONE, embedder=Planted(KNOWN), alpha=0.6).texts[:2] == ("c2", "c1")
    assert rerank_points(points, ONE, embedder=Planted(KNOWN), alpha=0.6, rerank="off") == points


def test_the_clip_comes_after_the_mean_over_dependencies() -> None:
    both = np.array([FIRST, SECOND], np.float32)
    np.testing.assert_allclose(
        likeness(VECTORS, both, "mean", "clip0"), [0.8, 0.4, 0.8, 0], atol=1e-6
    )
    np.testing.assert_allclose(
        likeness(VECTORS, both, "mean", "affine"), [0.9, 0.7, 0.9, 0.1], atol=1e-6
    )
