"""What numbers are worked out by hand with: ranked rows, and an embedder of written vectors."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.values import Ranked


def ranked(*ids: int, scores: Sequence[float] = ()) -> Ranked[Any]:
    """Rows in an order; without scores each has 1."""
    return Ranked(np.array(ids, np.int64), np.array(scores or [1.0] * len(ids)))


def falling(*ids: int) -> Ranked[Any]:
    """Rows in an order with scores from 1 down to a half."""
    return Ranked(np.array(ids, np.int64), np.linspace(1.0, 0.5, len(ids)))


def check(result: Ranked[Any], ids: Sequence[int], scores: Sequence[float]) -> None:
    """Assert that rows come in this order with these scores, to six decimals."""
    assert result.ids.tolist() == list(ids), result.items()
    np.testing.assert_allclose(result.scores, scores, atol=1e-6)


def alone(batched: Callable[..., list[Any]]) -> Callable[..., Any]:
    """A batched operator as a function of one question; a value that is left out is None."""
    names = inspect.getfullargspec(batched).args

    def single(*values: Any, **named: Any) -> Any:
        rest = [named.pop(name, None) for name in names[len(values) :]]
        (result,) = batched(*([value] for value in (*values, *rest)), **named)
        return result

    return single


def angle(degrees: float | str) -> tuple[float, float]:
    """The unit vector at an angle to the first axis."""
    turned = np.deg2rad(float(degrees))
    return float(np.cos(turned)), float(np.sin(turned))


def at(*degrees: float) -> VectorIndex:
    """An index of vectors at these angles."""
    return VectorIndex(np.array([angle(one) for one in degrees], np.float32))


def replying(*replies: Any) -> Scripted:
    """A model that gives these replies, or failures, one after the other."""
    rest = list(replies)
    return Scripted(answer=lambda chat: rest.pop(0))


Vectors = Mapping[str, Sequence[float]] | Callable[[str], Sequence[float]]


class Planted:
    """An embedder whose vectors are written down by text, or one for all; it notes each call."""

    identity, dimension = "planted", 2

    def __init__(self, vectors: Vectors = lambda _: (1, 0)) -> None:
        self.vector_of = vectors if callable(vectors) else vectors.__getitem__
        self.batches: list[list[str]] = []
        self.kinds: list[str] = []

    def encode(self, texts: Sequence[str], *, kind: str) -> Any:
        """The vectors, float32 (n, dimension)."""
        self.batches.append(list(texts))
        self.kinds.append(kind)
        rows = [self.vector_of(text) for text in texts]
        return np.array(rows, np.float32) if rows else np.zeros((0, 2), np.float32)
