"""What scores the triples of a graph: the index of their texts, or a scorer trained on paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.triple_scorer import MlpTripleScorer, MlpWeights
from graphrag_bench.contract import artifact
from graphrag_bench.data.synthetic import TrainingSet
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.precision import one_thread
from graphrag_bench.errors import UserError
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.indices.vectors import index_texts
from graphrag_bench.progress import Progress
from graphrag_bench.values import IntArray
from methods.subgraphrag.triple_examples import Examples, examples_of, questions_of

_MACHINE_ID = re.compile(r"^[mg]\.[\w.]+$")
Float32 = NDArray[np.float32]
_PARTS = ("hidden", "bias", "out", "out_bias", "unreadable")


@artifact("triple_index")
def triple_index(*, graph: Graph, embedder: Embedder, progress: Progress) -> VectorIndex:
    """One vector for each relationship row: "head relation tail", as `triple_text` writes it.

    Source: our specification of path pooling, 4.2.
    """
    names = list(graph.names)
    rows = zip(graph.source.tolist(), graph.relations, graph.target.tolist(), strict=True)
    texts = [triple_text(names[head], relation, names[tail]) for head, relation, tail in rows]
    return index_texts(texts, embedder, progress, "triples")


def triple_text(head: str, relation: str, tail: str) -> str:
    """Head, relation and tail with single spaces, dots and underscores of the relation as spaces.

    Freebase's machine ids (m.0k2, g.11b) are left out, and so is whatever is empty.
    """
    spaced = re.sub(r"[._]+", " ", relation).strip()
    return " ".join(part for part in (head, spaced, tail) if part and not _MACHINE_ID.match(part))


@artifact("triple_scorer.cosine")
def cosine_scorer(*, triple_index: VectorIndex) -> VectorIndex:
    """The index of the triples as texts: the scorer without training.

    Source: our specification of path pooling, 4.2.
    """
    return triple_index


@artifact("triple_scorer.mlp")
def mlp_scorer(
    *, triple_weights: MlpWeights, graph: Graph, embedder: Embedder, progress: Progress
) -> MlpTripleScorer:
    """The trained weights with the vectors of a graph's names and relations, each text once.

    Raises UserError when the weights were trained with vectors of another length.
    Source: SubgraphRAG (Li et al. 2025), section 3.1.
    """
    names = [triple_text(name, "", "") for name in graph.names]
    kinds: dict[str, int] = {}
    relation = np.array([kinds.setdefault(name, len(kinds)) for name in graph.relations], np.int64)
    texts = [*names, *(triple_text("", name, "") for name in kinds)]
    vectors = index_texts(texts, embedder, progress, "names").vectors
    if vectors.shape[1] != triple_weights.dimension:
        raise UserError(
            f"The triple scorer was trained with vectors of {triple_weights.dimension} numbers; "
            f"the embedder gives {vectors.shape[1]}."
        )
    readable = np.array([bool(name) for name in names], bool)
    split = len(names)
    return MlpTripleScorer(triple_weights, vectors[:split], readable, vectors[split:], relation)


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


@artifact("triple_weights")
def triple_weights(
    *,
    training: TrainingSet,
    embedder: Embedder,
    progress: Progress,
    hidden: PositiveInt = 1024,
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3,
    patience: PositiveInt = 10,
    epochs: PositiveInt = 200,
    batch: PositiveInt = 256,
    questions: PositiveInt = 1000,
    negatives: NonNegativeInt = 50,
    dev_share: Annotated[float, Field(gt=0, lt=1)] = 0.1,
    training_seed: NonNegativeInt = 0,
) -> MlpWeights:
    """The weights that tell triples on shortest paths from topic entity to answer from others.

    Of each of the first `questions` training questions all positive triples are taken, and
    `negatives` others (0 for all), half of them near the topic entities. A share of the questions
    is kept to stop by: training ends when the loss on them has not fallen for `patience` epochs,
    and the best weights are kept. Raises UserError when the questions give no example of both
    kinds, or are fewer than two. The same bytes for the same settings on the same kind of machine.
    Source: SubgraphRAG (Li et al. 2025), section 3.1 and its code (1024 hidden units, Adam, 1e-3,
    patience 10).
    Deviation: negatives are sampled, and the development questions are some of those for training.
    """
    data = training.read(questions)
    chance = np.random.default_rng(training_seed)
    found = examples_of(questions_of(data), negatives, chance)
    n_asked = len(found.texts)
    if n_asked < 2 or not 0 < found.label.sum() < len(found.label):
        raise UserError(
            f"Data set '{data.name}': {n_asked} training questions have topic entities and answers "
            "in their graphs; two at least are needed, and triples on and off the paths between."
        )
    vectors = _vectors(found, embedder, progress)
    n_dev = min(max(1, round(dev_share * n_asked)), n_asked - 1)
    is_dev = np.isin(found.question, chance.permutation(n_asked)[:n_dev])
    schedule = Schedule(hidden, learning_rate, patience, epochs, batch)
    return trained(found, vectors, is_dev, schedule, chance, progress)


def _vectors(examples: Examples, embedder: Embedder, progress: Progress) -> Vectors:
    names = [triple_text(name, "", "") for name in examples.names]
    relations = [triple_text("", name, "") for name in examples.relations]
    texts = [*names, *relations]
    held = index_texts(texts, embedder, progress, "training names").vectors
    readable = np.array([bool(name) for name in names], bool)
    asked = embedder.encode(list(examples.texts), kind="question")
    return Vectors(asked, held[: len(names)], readable, held[len(names) :])


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
