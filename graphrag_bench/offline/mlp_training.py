"""One hidden layer trained by Adam with early stopping, on one thread, from seeded numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.graph.triple_scorer import MlpWeights
from graphrag_bench.offline.triple_examples import Examples
from graphrag_bench.progress import Progress
from graphrag_bench.values import IntArray

Float32 = NDArray[np.float32]
_PARTS = ("hidden", "bias", "out", "out_bias", "unreadable")


class Schedule(NamedTuple):
    """The size of the layer, and how long it is trained."""

    hidden: int
    learning_rate: float
    patience: int
    epochs: int
    batch: int


class Vectors(NamedTuple):
    """Unit vectors of the questions, of the names (with those that are readable), of relations."""

    questions: Float32
    names: Float32
    readable: NDArray[np.bool_]
    relations: Float32


def trained(
    examples: Examples,
    vectors: Vectors,
    is_dev: NDArray[np.bool_],
    schedule: Schedule,
    chance: np.random.Generator,
    progress: Progress,
) -> MlpWeights:
    """The weights with the lowest mean loss (binary cross-entropy) on the examples `is_dev`.

    Ties go to the earlier epoch. Weights begin uniform within 1 / sqrt(inputs), as torch has it.
    """
    import torch

    weights = {name: torch.from_numpy(values) for name, values in _first(vectors, schedule, chance)}
    for tensor in weights.values():
        tensor.requires_grad_()
    steps = torch.optim.Adam(list(weights.values()), lr=schedule.learning_rate)
    train, dev = np.flatnonzero(~is_dev), np.flatnonzero(is_dev)
    best, kept, since = np.inf, _arrays(weights), 0
    with one_thread(), progress.task("training epochs", schedule.epochs) as advance:
        for _ in range(schedule.epochs):
            order = chance.permutation(train)
            for at in range(0, len(order), schedule.batch):
                steps.zero_grad()
                loss = _loss(weights, examples, vectors, order[at : at + schedule.batch])
                loss.backward()
                steps.step()
            with torch.no_grad():
                found = _mean_loss(weights, examples, vectors, dev, schedule.batch)
            advance(1)
            since += 1
            if found < best:
                best, kept, since = found, _arrays(weights), 0
            if since >= schedule.patience:
                break
    return MlpWeights(**kept)


def _first(
    vectors: Vectors, schedule: Schedule, chance: np.random.Generator
) -> Iterator[tuple[str, Float32]]:
    d, h = vectors.names.shape[1], schedule.hidden
    n_inputs = 4 * d + 20
    shapes = {"hidden": (n_inputs, h), "bias": (h,), "out": (h,), "out_bias": (1,)}
    for name, shape in shapes.items():
        most = (n_inputs if name in ("hidden", "bias") else h) ** -0.5
        yield name, chance.uniform(-most, most, shape).astype(np.float32)
    yield "unreadable", (chance.standard_normal(d) * d**-0.5).astype(np.float32)


def _loss(
    weights: dict[str, Any], examples: Examples, vectors: Vectors, rows: IntArray, how: str = "mean"
) -> Any:
    """The loss of some examples, as torch has it."""
    import torch

    def ends(nodes: IntArray) -> Any:
        readable = torch.from_numpy(vectors.readable[nodes, None])
        known = torch.from_numpy(vectors.names[nodes])
        return torch.where(readable, known, weights["unreadable"])

    inputs = torch.cat(
        [
            torch.from_numpy(vectors.questions[examples.question[rows]]),
            ends(examples.head[rows]),
            torch.from_numpy(vectors.relations[examples.relation[rows]]),
            ends(examples.tail[rows]),
            torch.from_numpy(examples.near[rows]),
        ],
        dim=1,
    )
    inner = torch.relu(inputs @ weights["hidden"] + weights["bias"])
    logits = inner @ weights["out"] + weights["out_bias"]
    labels = torch.from_numpy(examples.label[rows].astype(np.float32))
    return torch.nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction=how)


def _mean_loss(
    weights: dict[str, Any], examples: Examples, vectors: Vectors, rows: IntArray, batch: int
) -> float:
    parts = [rows[at : at + batch] for at in range(0, len(rows), batch)]
    return sum(float(_loss(weights, examples, vectors, part, "sum")) for part in parts) / len(rows)


def _arrays(weights: dict[str, Any]) -> dict[str, Float32]:
    return {name: weights[name].detach().numpy().copy() for name in _PARTS}


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread, so that sums come in one order; as many as before afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
