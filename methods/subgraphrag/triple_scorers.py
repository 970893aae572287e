"""Scorers of triples: the cosine of triple and question, or an MLP trained on shortest paths."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import BoolArray, IntArray
from graphrag_bench.contract import artifact
from graphrag_bench.data.dataset import Dataset, TrainingSet
from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.embedding.precision import one_thread
from graphrag_bench.embedding.sentence_embedder import device_of
from graphrag_bench.embedding.vector_index import VectorIndex, index_texts
from graphrag_bench.errors import UserError
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.world.dataset import world_of
from methods.subgraphrag.triples import (
    N_DISTANCES,
    MlpTripleScorer,
    MlpWeights,
    RowIds,
    distances,
    means_of,
)

if TYPE_CHECKING:
    from torch import Tensor

    Weights = Mapping[str, Tensor]

_MACHINE_ID = re.compile(r"^[mg]\.[\w.]+$")


@artifact("triple_index")
def triple_index(*, graph: Graph, embedder: Embedder, progress: Progress) -> VectorIndex:
    """Embed each relationship as the text "head relation tail".

    Source: this project, for path pooling (Wang et al. 2025).
    """
    names = list(graph.names)
    rows = zip(graph.source.tolist(), graph.relations, graph.target.tolist(), strict=True)
    texts = [triple_text(names[head], relation, names[tail]) for head, relation, tail in rows]
    return index_texts(texts, embedder, progress, "triples")


def triple_text(head: str, relation: str, tail: str) -> str:
    """Join head, relation and tail with spaces. Dots and underscores in the relation become spaces.

    Freebase machine ids (m.0k2, g.11b) and empty parts are left out.
    """
    spaced = re.sub(r"[._]+", " ", relation).strip()
    return " ".join(part for part in (head, spaced, tail) if part and not _MACHINE_ID.match(part))


@artifact("triple_scorer.cosine")
def cosine_scorer(*, triple_index: VectorIndex) -> VectorIndex:
    """Score triples by the cosine similarity of their text to the question, without training.

    Source: this project, for path pooling (Wang et al. 2025).
    """
    return triple_index


@artifact("triple_scorer.mlp")
def mlp_scorer(
    *, triple_weights: MlpWeights, graph: Graph, embedder: Embedder, progress: Progress
) -> MlpTripleScorer:
    """Combine the trained weights with the vectors of node names and relation names of a graph.

    Raises UserError if the weights were trained with vectors of another dimension.
    Source: SubgraphRAG (Li et al. 2025), Section 3.1.
    """
    kinds: dict[str, int] = {}
    relation = np.array([kinds.setdefault(name, len(kinds)) for name in graph.relations], np.int64)
    if embedder.dimension != triple_weights.dimension:
        raise UserError(
            f"The triple scorer was trained with vectors of length {triple_weights.dimension}, "
            f"but the vectors of the embedder have length {embedder.dimension}."
        )
    known, readable, relations = _vectors(graph.names, kinds, embedder, progress, "names")
    names = np.zeros((len(readable), embedder.dimension), np.float32)
    names[readable] = known
    return MlpTripleScorer(triple_weights, names, readable, relations, relation)


def _vectors(
    names: Iterable[str], kinds: Iterable[str], embedder: Embedder, progress: Progress, label: str
) -> tuple[Vectors, BoolArray, Vectors]:
    """Return vectors of readable names, the mask of readable names, and vectors of relations."""
    shown = [triple_text(name, "", "") for name in names]
    readable = np.array(shown, object).astype(bool)
    texts = [*filter(None, shown), *(triple_text("", name, "") for name in kinds)]
    vectors = index_texts(texts, embedder, progress, label).vectors
    n_readable = int(readable.sum())
    return vectors[:n_readable], readable, vectors[n_readable:]


LEARNING_RATE, PATIENCE, MOST_EPOCHS, RECALL_AT = 1e-3, 10, 10_000, 100
"""The learning rate of Adam, the patience and the maximum number of epochs, and k of recall@k.

Source: SubgraphRAG's code, retrieve/configs/retriever (commit 5ad168f).
"""
HELD_OUT = 0.1
"""The fraction of training questions held out if a data set has no validation questions."""


def trained_on(settings: Mapping[str, Any]) -> str:
    """Describe the training data in words, given the settings of `triple_weights`."""
    n = settings["questions"]
    first = "all training questions" if n is None else f"the first {n:,} training questions"
    return (
        f"{first}, all triples of their subgraphs; model by recall@{RECALL_AT} on the set's "
        f"validation questions, or, without these, on {HELD_OUT:.0%} of the training questions"
    )


@artifact("triple_weights", trained_on=trained_on)
def triple_weights(
    *,
    training: TrainingSet,
    embedder: Embedder,
    progress: Progress,
    questions: PositiveInt | None = None,
    device: Literal["cpu", "cuda", "mps"] = "cpu",
) -> MlpWeights:
    """Train weights that distinguish triples on shortest topic-to-answer paths from other triples.

    Only the first `questions` training questions are used. The weights of the epoch with the best
    validation recall@100 are kept. Ties are broken by the lower loss, then by the earlier epoch.
    Training stops after 10 epochs without better recall. The weights are byte-identical on CPUs of
    the same kind. On a GPU, they differ in the last digits. Raises UserError if no training or no
    validation question has a topic-to-answer path, or if all triples lie on such paths. There are
    as many hidden units as embedding dimensions. Adam makes one step per question.
    Source: SubgraphRAG (Li et al. 2025), Section 3.1, and its code.
    Deviation: Without validation questions, a tenth of the training questions is held out.
    """
    place = device_of(device, "build.triple_weights")
    data = training.read(questions)
    examples = examples_of(data, embedder, progress, "training names")
    chance = np.random.default_rng(0)
    if training.validation is not None:
        validation = examples_of(training.validation(), embedder, progress, "validation names")
    else:
        order = chance.permutation(len(examples.questions))
        n_held_out = max(1, round(HELD_OUT * len(order)))
        validation = examples.some(np.sort(order[:n_held_out]))
        examples = examples.some(np.sort(order[n_held_out:]))
    n_examples, n_validation = len(examples.questions), len(validation.questions)
    if not n_examples or not n_validation or all(one.label.all() for one in examples.questions):
        raise UserError(
            f"Data set '{data.name}': {n_examples} training questions and {n_validation} "
            "validation questions have a path from a topic entity to an answer in their graphs. "
            "Both numbers must be above 0, and some triple of a graph must lie outside these paths."
        )
    weights = train(examples, validation, chance, progress, device=place)
    n, n_all = len(data.questions), training.size() if questions else len(data.questions)
    by = f"recall@{RECALL_AT} on {'validation' if training.validation else 'held-out training'}"
    description = f"{n:,} of {n_all:,} questions, all triples; model by {by} questions"
    whole = n == n_all and training.validation is not None
    counts = {"train_questions": n_examples, "validation_questions": n_validation}
    statistics = {**weights.statistics, **counts, "trained_on": description, "whole": whole}
    return replace(weights, statistics=statistics)


class Example(NamedTuple):
    """A training question: the distinct triples of its graph and their labels.

    `nodes` (int32, n_nodes) are row numbers of names. `head` and `tail` (int32, n) are positions in
    `nodes`, and `relation` (int32, n) are row numbers of relations. `near` (float32, n_nodes x 10)
    are the features that `distances` returns. `label` (bool, n) marks triples on a shortest path.
    Questions of a synthetic world share all arrays except `near` and `label`.
    """

    text: str
    nodes: NDArray[np.int32]
    head: NDArray[np.int32]
    relation: NDArray[np.int32]
    tail: NDArray[np.int32]
    near: Vectors
    label: BoolArray


def _examples(
    triples: NDArray[np.integer[Any]], questions: Iterable[tuple[str, Sequence[int], Sequence[int]]]
) -> Iterator[Example]:
    """Yield the questions (text, topics, answers) with a path in these triples, int (3, n)."""
    head, relation, tail = np.unique(triples.astype(np.int32), axis=1)
    nodes, place = np.unique(np.stack([head, tail]), return_inverse=True)
    head, tail = place.reshape(2, -1).astype(np.int32)
    means = means_of(head, tail, len(nodes))
    for text, topics, answers in questions:
        starts, ends = (np.flatnonzero(np.isin(nodes, rows)) for rows in (topics, answers))
        label = on_shortest_paths(head, tail, len(nodes), starts.tolist(), ends.tolist())
        if label.any():
            near = distances(means, np.isin(nodes, topics))
            yield Example(text, nodes, head, relation, tail, near, label)


@dataclass(frozen=True, eq=False)
class Examples:
    """Training questions with the vectors of their texts.

    `vectors`, `names` and `relations` are the float32 unit vectors of the questions, the readable
    names and the relations. `place` (int32, n_names) is 1 + the row of each name in `names`, or 0
    for unreadable names.
    """

    questions: Sequence[Example]
    vectors: Vectors
    names: Vectors
    place: NDArray[np.int32]
    relations: Vectors

    def some(self, rows: IntArray) -> "Examples":
        """Return the questions with these row numbers."""
        questions = [self.questions[row] for row in rows.tolist()]
        return replace(self, questions=questions, vectors=self.vectors[rows])


def examples_of(data: Dataset, embedder: Embedder, progress: Progress, label: str) -> Examples:
    """Return the questions of a data set that have a triple on a shortest path, in order."""
    kept, kinds_of = list[Example](), dict[str, int]()
    if data.synthetic:
        world = world_of(data)
        stated = [
            (one.head, kinds_of.setdefault(normalise_name(one.phrase), len(kinds_of)), one.tail)
            for one in world.facts
            if one.passage is not None
        ]
        names, relations = [normalise_name(one.name) for one in world.entities], list(kinds_of)
        questions = ((one.text, [one.start], [one.answer]) for one in world.chains)
        kept += _examples(np.array(stated, np.int32).reshape(-1, 3).T, questions)
    else:
        graphs = data.subgraphs
        assert graphs is not None  # a training set has subgraphs or is a world
        names, relations = list(graphs.names), list(graphs.relations)
        row_of = {name: row for row, name in enumerate(names)}
        for question in data.questions:
            ends = question.entities, data.gold[question.id].answer_entities
            topics, answers = ([row_of[one] for one in some if one in row_of] for some in ends)
            here = graphs.rows(question.id)
            triples = np.stack([graphs.head[here], graphs.relation[here], graphs.tail[here]])
            kept += _examples(triples, [(question.text, topics, answers)])
    known, readable, kinds = _vectors(names, relations, embedder, progress, label)
    place = np.where(readable, np.cumsum(readable), 0).astype(np.int32)
    texts = [one.text for one in kept]
    return Examples(kept, embedder.encode(texts, kind="question"), known, place, kinds)


def train(
    examples: Examples, validation: Examples, chance: np.random.Generator, progress: Progress,
    epochs: int = MOST_EPOCHS, device: str = "cpu",
) -> MlpWeights:  # fmt: skip
    """Return the weights of the epoch with the best recall on `validation`, with statistics."""
    import torch

    weights = initial_weights(examples.names.shape[1], chance, device)
    steps = torch.optim.Adam(list(weights.values()), lr=LEARNING_RATE, fused=True)
    best_score, n_worse, n = (-1.0, -np.inf), 0, len(examples.questions)
    with one_thread():
        for epoch in range(1, epochs + 1):
            with progress.task(f"training epoch {epoch}", n) as advance:
                for row in chance.permutation(n).tolist():
                    steps.zero_grad()
                    loss_of(logits(weights, examples, row), examples.questions[row]).backward()
                    steps.step()
                    advance(1)
            recall, loss = measure(weights, validation)
            n_worse = 0 if recall > best_score[0] else n_worse + 1
            if (recall, -loss) > best_score:
                best_score = (recall, -loss)
                statistics = {"epoch": epoch, "recall": round(recall, 6), "loss": round(loss, 6)}
                best = {name: one.detach().cpu().numpy().copy() for name, one in weights.items()}
            if n_worse == PATIENCE:
                break
    return MlpWeights(**best, statistics={**statistics, "epochs": epoch})


def initial_weights(d: int, chance: np.random.Generator, device: str = "cpu") -> "Weights":
    """Return random weights: linear layers as in torch, and normally distributed `unreadable`."""
    import torch

    n = 4 * d + 2 * N_DISTANCES
    shapes = {"hidden": ((n, d), n), "bias": ((d,), n), "out": ((d,), d), "out_bias": ((1,), d)}
    arrays = {k: chance.uniform(-(m**-0.5), m**-0.5, size) for k, (size, m) in shapes.items()}
    arrays["unreadable"] = chance.standard_normal(d) * d**-0.5
    weights = {name: torch.from_numpy(one.astype(np.float32)) for name, one in arrays.items()}
    return {name: one.to(device).requires_grad_() for name, one in weights.items()}


def logits(weights: "Weights", data: Examples, row: int) -> "Tensor":
    """Return the logit of each triple of a question, (n,), on the device of the weights."""
    import torch
    from torch.nn.functional import embedding as rows_of

    def tensor(array: NDArray[Any]) -> "Tensor":
        return torch.from_numpy(array).to(weights["hidden"].device)

    # each node and relation is multiplied only once by its block of the hidden weights
    graph, d = data.questions[row], data.names.shape[1]
    sizes = [d, d, d, d, N_DISTANCES, N_DISTANCES]
    question, head, relation, tail, head_near, tail_near = torch.split(weights["hidden"], sizes)
    place = data.place[graph.nodes]
    known = data.names[place[place > 0] - 1]
    table = torch.cat([weights["unreadable"][None], tensor(known)])
    slot = tensor(np.where(place > 0, np.cumsum(place > 0), 0))
    near = tensor(graph.near)
    kinds, kind = np.unique(graph.relation, return_inverse=True)
    of_question = tensor(data.vectors[row]) @ question + weights["bias"]
    inner = rows_of(tensor(kind), tensor(data.relations[kinds]) @ relation + of_question)
    for ends, part, far in ((graph.head, head, head_near), (graph.tail, tail, tail_near)):
        inner = inner + rows_of(tensor(ends), rows_of(slot, table @ part) + near @ far)
    return torch.relu(inner) @ weights["out"] + weights["out_bias"]


def loss_of(scores: "Tensor", question: Example) -> "Tensor":
    """Return the mean cross-entropy of a question's triples."""
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    label = torch.from_numpy(question.label).to(scores.device)
    return binary_cross_entropy_with_logits(scores, label.float())


def measure(weights: "Weights", data: Examples) -> tuple[float, float]:
    """Return the mean recall@100 of labelled triples (ties by position) and the mean loss."""
    import torch

    recalls, losses = [], []
    with torch.no_grad():
        for row, question in enumerate(data.questions):
            scores = logits(weights, data, row)
            best = np.argsort(-scores.cpu().numpy(), kind="stable")[:RECALL_AT]
            recalls.append(question.label[best].sum() / question.label.sum())
            losses.append(float(loss_of(scores, question)))
    return float(np.mean(recalls)), float(np.mean(losses))


def on_shortest_paths(
    source: RowIds, target: RowIds, n_nodes: int, starts: Sequence[int], ends: Sequence[int]
) -> BoolArray:
    """Mark the triples that lie on a shortest path between a start and an end, bool (n_triples,).

    Paths are directed and may lead from start to end or from end to start. For each pair of a start
    and an end, only the direction with the shorter paths counts. If the paths in both directions
    are equally short, both directions count. No path leads from a node to itself.
    Source: SubgraphRAG (Li et al. 2025), Section 3.1; RoG (Luo et al. 2024), labels.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    chosen, nodes = np.zeros(len(source), bool), sorted({*starts, *ends})
    if not nodes:
        return chosen
    along = csr_matrix((np.ones(len(source)), (source, target)), shape=(n_nodes, n_nodes))
    hops, back = (
        dict(zip(nodes, dijkstra(matrix, indices=nodes, unweighted=True), strict=True))
        for matrix in (along, along.T)
    )
    for start, end in product(starts, ends):
        shortest = min(hops[start][end], hops[end][start])
        if 0 < shortest < np.inf:
            for first, last in ((start, end), (end, start)):
                chosen |= hops[first][source] + 1 + back[last][target] == shortest
    return chosen
