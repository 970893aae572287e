"""What scores the triples of a graph: the index of their texts, or a scorer trained on paths.

Training questions become examples: triples, distances to the topic entities, and labels.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.triple_scorer import MlpTripleScorer, MlpWeights, distances, means_of
from graphrag_bench.contract import artifact
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.synthetic import TrainingSet
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.precision import one_thread
from graphrag_bench.errors import UserError
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.indices.vectors import index_texts
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import FloatArray, IntArray
from graphrag_bench.world.facts import World

_MACHINE_ID = re.compile(r"^[mg]\.[\w.]+$")
Float32 = NDArray[np.float32]


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
    kinds: dict[str, int] = {}
    relation = np.array([kinds.setdefault(name, len(kinds)) for name in graph.relations], np.int64)
    names, readable, relations = _vectors(graph.names, kinds, embedder, progress, "names")
    if names.shape[1] != triple_weights.dimension:
        raise UserError(
            f"The triple scorer was trained with vectors of {triple_weights.dimension} numbers; "
            f"the embedder gives {names.shape[1]}."
        )
    return MlpTripleScorer(triple_weights, names, readable, relations, relation)


def _vectors(
    names: Iterable[str], relations: Iterable[str], embedder: Embedder, progress: Progress,
    label: str,
) -> tuple[Float32, NDArray[np.bool_], Float32]:  # fmt: skip
    """Unit vectors of names, which of them are readable, and those of relations."""
    shown = [triple_text(name, "", "") for name in names]
    texts = [*shown, *(triple_text("", name, "") for name in relations)]
    vectors = index_texts(texts, embedder, progress, label).vectors
    return vectors[: len(shown)], np.array(list(map(bool, shown)), bool), vectors[len(shown) :]


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
    `negatives` others (0 for all), half of them near the topic entities. Training ends when the
    loss on `dev_share` of the questions has not fallen for `patience` epochs; the best weights are
    kept, ties to the earlier epoch. They begin uniform within 1 / sqrt(inputs). Raises UserError
    for no example of both kinds, or one question. The same bytes on the same kind of machine.
    Source: SubgraphRAG (Li et al. 2025), section 3.1 and its code (1024 hidden units, Adam, 1e-3,
    patience 10).
    Deviation: negatives are sampled, and the development questions are some of those for training.
    """
    import torch

    data = training.read(questions)
    chance = np.random.default_rng(training_seed)
    examples = examples_of(questions_of(data), negatives, chance)
    n = len(examples.texts)
    if n < 2 or not 0 < examples.label.sum() < len(examples.label):
        raise UserError(
            f"Data set '{data.name}': {n} training questions have topic entities and answers "
            "in their graphs; two at least are needed, and triples on and off the paths between."
        )
    read = _vectors(examples.names, examples.relations, embedder, progress, "training names")
    vectors = Vectors(embedder.encode(list(examples.texts), kind="question"), *read)
    n_dev = min(max(1, round(dev_share * n)), n - 1)
    is_dev = np.isin(examples.question, chance.permutation(n)[:n_dev])
    weights = _first_weights(embedder.dimension, hidden, chance)
    steps = torch.optim.Adam(list(weights.values()), lr=learning_rate)
    best, since, best_weights = np.inf, 0, _arrays(weights)
    with one_thread(), progress.task("training epochs", epochs) as advance:
        for _ in range(epochs):
            for rows in _batches(chance.permutation(np.flatnonzero(~is_dev)), batch):
                steps.zero_grad()
                _loss(weights, examples, vectors, rows).backward()
                steps.step()
            with torch.no_grad():
                dev = _batches(np.flatnonzero(is_dev), batch)
                losses = [_loss(weights, examples, vectors, rows, "sum") for rows in dev]
            loss = sum(map(float, losses)) / int(is_dev.sum())
            advance(1)
            if loss < best:
                best, since, best_weights = loss, 0, _arrays(weights)
            elif (since := since + 1) >= patience:
                break
    return MlpWeights(**best_weights)


def _batches(rows: IntArray, size: int) -> list[IntArray]:
    return [rows[at : at + size] for at in range(0, len(rows), size)]


class Vectors(NamedTuple):
    """Unit vectors of the questions, of the names (with those that are readable), of relations."""

    questions: Float32
    names: Float32
    readable: NDArray[np.bool_]
    relations: Float32


def _first_weights(d: int, h: int, chance: np.random.Generator) -> dict[str, Any]:
    import torch

    n_inputs = 4 * d + 20
    shapes = {"hidden": (n_inputs, h), "bias": (h,), "out": (h,), "out_bias": (1,)}
    weights = {}
    for name, shape in shapes.items():
        most = (n_inputs if name in ("hidden", "bias") else h) ** -0.5
        weights[name] = chance.uniform(-most, most, shape).astype(np.float32)
    weights["unreadable"] = (chance.standard_normal(d) * d**-0.5).astype(np.float32)
    return {name: torch.from_numpy(one).requires_grad_() for name, one in weights.items()}


def _loss(
    weights: dict[str, Any],
    examples: "Examples",
    vectors: Vectors,
    rows: IntArray,
    how: str = "mean",
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


def _arrays(weights: dict[str, Any]) -> dict[str, Float32]:
    return {name: tensor.detach().numpy().copy() for name, tensor in weights.items()}


class Labelled(NamedTuple):
    """A training question: its triples by rows of names, and which of them lie on the way.

    `head`, `relation`, `tail` are (n,), `topics` the rows of its topic entities, `label` bool (n,).
    """

    text: str
    head: IntArray
    relation: IntArray
    tail: IntArray
    topics: IntArray
    label: NDArray[np.bool_]


class Questions(NamedTuple):
    """The names and relations that all questions share, and the questions, made one at a time."""

    names: tuple[str, ...]
    relations: tuple[str, ...]
    labelled: Iterator[Labelled]


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows of `texts`, `names` and `relations` for each example, (n,) all of them.

    `near` float32 (n, 20) are the distances of head and tail, `label` bool (n,).
    """

    texts: tuple[str, ...]
    names: tuple[str, ...]
    relations: tuple[str, ...]
    question: IntArray
    head: IntArray
    relation: IntArray
    tail: IntArray
    near: NDArray[np.float32]
    label: NDArray[np.bool_]


def questions_of(data: Dataset) -> Questions:
    """The training questions of a set with a subgraph for each, or of a synthetic world."""
    return _of_subgraphs(data) if data.world is None else _of_world(data, data.world)


def _of_subgraphs(data: Dataset) -> Questions:
    graphs = data.subgraphs
    assert graphs is not None  # a training set has subgraphs or is a world
    row_of = {name: row for row, name in enumerate(graphs.names)}

    def labelled() -> Iterator[Labelled]:
        for question in data.questions:
            here = graphs.rows(question.id)
            triples = np.stack([graphs.head[here], graphs.relation[here], graphs.tail[here]])
            head, relation, tail = np.unique(triples.astype(np.int64), axis=1)
            answers = data.gold[question.id].answer_entities
            topics, ends = (
                [row_of[name] for name in names if name in row_of]
                for names in (question.entities, answers)
            )
            yield _labelled(question.text, (head, relation, tail), topics, ends)

    return Questions(graphs.names, graphs.relations, labelled())


def _of_world(data: Dataset, world: World) -> Questions:
    names = tuple(normalise_name(one.name) for one in world.entities)
    kinds: dict[str, int] = {}
    stated = [
        (fact.head, kinds.setdefault(normalise_name(fact.phrase), len(kinds)), fact.tail)
        for fact in world.facts
        if fact.passage is not None
    ]
    head, relation, tail = np.array(stated, np.int64).reshape(-1, 3).T

    def labelled() -> Iterator[Labelled]:
        for chain in world.chains:
            ends = [chain.answer]
            yield _labelled(chain.text, (head, relation, tail), [chain.start], ends)

    return Questions(names, tuple(kinds), labelled())


def _labelled(
    text: str, triples: tuple[IntArray, IntArray, IntArray], topics: list[int], ends: list[int]
) -> Labelled:
    head, relation, tail = triples
    nodes, place = np.unique(np.stack([head, tail]), return_inverse=True)
    own_head, own_tail = place.reshape(2, -1)
    starts, stops = (np.flatnonzero(np.isin(nodes, rows)).tolist() for rows in (topics, ends))
    label = on_shortest_paths(own_head, own_tail, len(nodes), starts, stops)
    return Labelled(text, head, relation, tail, np.array(sorted(set(topics)), np.int64), label)


def examples_of(questions: Questions, negatives: int, chance: np.random.Generator) -> Examples:
    """The examples of the questions that have a positive triple, in order.

    Of the other triples `negatives` are drawn, all for 0: half of them among those within reach of
    the topic entities' distances, as far as there are any, the rest among all.
    """
    texts: list[str] = []
    columns: list[tuple[NDArray[Any], ...]] = []
    near: list[FloatArray] = []
    for one in questions.labelled:
        if not one.label.any():
            continue
        nodes, place = np.unique(np.stack([one.head, one.tail]), return_inverse=True)
        head, tail = place.reshape(2, -1)
        reach = distances(means_of(head, tail, len(nodes)), np.isin(nodes, one.topics))
        both = np.concatenate([reach[ends] for ends in (head, tail)], axis=1)
        rows = _drawn(one.label, both, negatives, chance)
        question = np.full(len(rows), len(texts))
        columns.append((question, *(c[rows] for c in (one.head, one.relation, one.tail)),
                        one.label[rows]))  # fmt: skip
        near.append(both[rows])
        texts.append(one.text)
    parts = [np.concatenate(part) for part in zip(*columns, strict=True)] if columns else []
    question, head, relation, tail, label = parts or [np.empty(0, np.int64)] * 5
    reaches = np.concatenate(near) if near else np.empty((0, 0))
    return Examples(
        tuple(texts), questions.names, questions.relations,
        question, head, relation, tail, reaches.astype(np.float32), label.astype(bool),
    )  # fmt: skip


def _drawn(
    label: NDArray[np.bool_], near: FloatArray, negatives: int, chance: np.random.Generator
) -> IntArray:
    others = np.flatnonzero(~label)
    if not negatives or len(others) <= negatives:
        return np.arange(len(label))
    half = near.shape[1] // 2
    reach = np.concatenate([near[:, 1:half:2], near[:, half + 1 :: 2]], axis=1)
    close = others[reach[others].any(axis=1)]
    drawn = chance.permutation(close)[: negatives // 2]
    rest = chance.permutation(np.setdiff1d(others, drawn))[: negatives - len(drawn)]
    return np.sort(np.concatenate([np.flatnonzero(label), drawn, rest]))


def on_shortest_paths(
    source: IntArray, target: IntArray, n_nodes: int, starts: Iterable[int], ends: Iterable[int]
) -> NDArray[np.bool_]:
    """Which triples lie on a shortest path between a start and an end, bool (n_triples,).

    For each pair of a start and an end, the paths along the triples' direction from the one to the
    other and back are compared; the shorter way counts, both when they are equally long. A pair
    that is not joined, or is one node, gives none.
    Source: SubgraphRAG (Li et al. 2025), section 3.1; their labels, from RoG (Luo et al. 2024).
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    chosen = np.zeros(len(source), bool)
    froms, tos = sorted(set(starts)), sorted(set(ends))
    if not froms or not tos:
        return chosen
    nodes = sorted({*froms, *tos})
    along = csr_matrix((np.ones(len(source)), (source, target)), shape=(n_nodes, n_nodes))
    hops, back = (
        dict(zip(nodes, dijkstra(matrix, indices=nodes, unweighted=True), strict=True))
        for matrix in (along, along.T)
    )
    for start in froms:
        for end in tos:
            ways = []
            for first, last in ((start, end), (end, start)):
                length = hops[first][last]
                if 0 < length < np.inf:
                    on = hops[first][source] + 1 + back[last][target] == length
                    ways.append((length, on))
            shortest = min((length for length, _ in ways), default=0)
            for length, on in ways:
                if length == shortest:
                    chosen |= on
    return chosen
