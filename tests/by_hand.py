"""Ranked rows, vectors and models for tests with values worked out by hand."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.values import Ranked


def ranked(*ids: int, scores: Sequence[float] = ()) -> Ranked[Any]:
    return Ranked(np.array(ids, np.int64), np.array(scores or [1.0] * len(ids)))


def falling(*ids: int) -> Ranked[Any]:
    return Ranked(np.array(ids, np.int64), np.linspace(1.0, 0.5, len(ids)))


def check(result: Ranked[Any], ids: Sequence[int], scores: Sequence[float]) -> None:
    assert result.ids.tolist() == list(ids), result.items()
    np.testing.assert_allclose(result.scores, scores, atol=1e-6)


def alone(batched: Callable[..., list[Any]]) -> Callable[..., Any]:
    """Return a batched operator as a function of one question; missing values are None."""
    names = inspect.getfullargspec(batched).args

    def single(*values: Any, **named: Any) -> Any:
        rest = [named.pop(name, None) for name in names[len(values) :]]
        (result,) = batched(*([value] for value in (*values, *rest)), **named)
        return result

    return single


def angle(degrees: float | str) -> tuple[float, float]:
    """Return the unit vector at an angle to the first axis."""
    turned = np.deg2rad(float(degrees))
    return float(np.cos(turned)), float(np.sin(turned))


def at(*degrees: float) -> VectorIndex:
    """Return an index of vectors at these angles."""
    return VectorIndex(np.array([angle(one) for one in degrees], np.float32))


def replying(*replies: Any) -> Scripted:
    rest = list(replies)
    return Scripted(answer=lambda chat: rest.pop(0))


Vectors = Mapping[str, Sequence[float]] | Callable[[str], Sequence[float]]


class Planted:
    """An embedder with given vectors by text, that records its calls."""

    identity, dimension = "planted", 2

    def __init__(self, vectors: Vectors = lambda _: (1, 0)) -> None:
        self.vector_of = vectors if callable(vectors) else vectors.__getitem__
        self.batches: list[list[str]] = []
        self.kinds: list[str] = []

    def encode(self, texts: Sequence[str], *, kind: str) -> Any:
        self.batches.append(list(texts))
        self.kinds.append(kind)
        rows = [self.vector_of(text) for text in texts]
        return np.array(rows, np.float32) if rows else np.zeros((0, 2), np.float32)
