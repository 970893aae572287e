"""Train GFM-RAG's graph network on a synthetic world, with the loss of the authors' code."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.embedding.nlp import Nlp
from graphrag_bench.embedding.precision import one_thread
from graphrag_bench.embedding.sentence_embedder import device_of
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.extraction import nlp_extraction
from graphrag_bench.graphs.knowledge_graph import kg_synonymy, name_index
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Ranked
from graphrag_bench.world.facts import World, WorldSettings
from graphrag_bench.world.generator import make_world
from graphrag_bench.world.planted import planted_extraction
from graphrag_bench_more.gfmrag.gnn_scorers import (
    GnnWeights,
    KindedEdges,
    NetworkShape,
    edges_of,
    logits,
    mention_weights,
)

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import ModuleDict

TEMPERATURE = 0.2
"""The temperature of the softmax that weights negative entities, as in GFM-RAG's code."""
ENTITY_SHARE, LIST_SHARE = 0.3, 0.7
"""The weights of the two terms of the loss: entity loss and list loss, as in GFM-RAG's code."""
_LEAST = 1e-5
BATCH, DEV_SHARE = 8, 0.1
"""The batch size, as in GFM-RAG's code, and the fraction of questions held out for development."""
WORLD_SEED = 2_000_003
"""Added to the training seed, so that no run is evaluated on the world used for training."""
N_BEST = 20
"""The k of recall@k on the development questions."""


def initialise(network: "ModuleDict", chance: np.random.Generator) -> None:
    """Draw all parameters at random as torch does, except those of layer norms."""
    import torch

    most = 1.0
    for name, values in network.named_parameters():
        if "layer_norm" not in name:
            most = values.shape[1] ** -0.5 if values.ndim == 2 else most  # bias after its weight
            drawn = chance.uniform(-most, most, values.shape).astype(np.float32)
            values.data = torch.from_numpy(drawn)


def loss_of(scores: "Tensor", targets: "Tensor") -> "Tensor":
    """Return the training loss of GFM-RAG for a batch of questions.

    `scores` are logits and `targets` are 1 (target nodes) or 0, both (n_questions, n_nodes). A row
    of `targets` needs both values. The loss is `0.3 * entity_loss + 0.7 * list_loss`. The entity
    loss is a cross-entropy. Half of its weight is divided equally among the target nodes, and the
    other half among the other nodes by a softmax of their logits / 0.2. The list loss is the mean
    of -ln(p / s) over the target nodes, where p is the probability of the node and s the sum of all
    probabilities.
    """
    import torch
    from torch.nn import functional

    chance = torch.sigmoid(scores)
    each = functional.binary_cross_entropy_with_logits(scores, targets, reduction="none")
    n_targets = targets.sum(dim=1, keepdim=True)
    hard = (scores.detach() / TEMPERATURE).masked_fill(targets > 0, -torch.inf)
    weight = targets / n_targets + torch.softmax(hard, dim=1)
    entity = (each * weight).sum(dim=1) / weight.sum(dim=1)
    share = chance / (chance.sum(dim=1, keepdim=True) + _LEAST)
    ranked = (-torch.log(share + _LEAST) * targets).sum(dim=1) / n_targets.squeeze(1)
    return ENTITY_SHARE * entity.mean() + LIST_SHARE * ranked.mean()


class TrainingGraph(NamedTuple):
    """A graph and the questions on which a network is trained.

    The text vectors are `relations` (n_kinds, d) and `questions` (n, d). The matrix `start` (n,
    n_nodes) contains the initial weights of the nodes for each question. `targets` (n, n_nodes) is
    1 at the nodes in the question's evidence and 0 elsewhere. These arrays are float32. `is_dev`
    (bool, n) marks development questions.
    """

    edges: KindedEdges
    relations: Vectors
    questions: Vectors
    start: Vectors
    targets: Vectors
    is_dev: NDArray[np.bool_]


@artifact("gnn_weights.trained")
def trained_weights(
    *,
    embedder: Embedder,
    nlp: Nlp,
    progress: Progress,
    hidden: PositiveInt = 64,
    layers: PositiveInt = 3,
    epochs: PositiveInt = 10,
    learning_rate: Annotated[float, Field(gt=0)] = 5e-4,
    world_size: Annotated[int, Field(ge=12)] = 300,
    questions: Annotated[int, Field(ge=2)] = 200,
    training_seed: NonNegativeInt = 0,
    device: Literal["cpu", "cuda", "mps"] = "cpu",
) -> GnnWeights:
    """Train a graph neural network to find the entities in the evidence of a question.

    The training data is a synthetic world that is independent of the run's data set. Two graphs
    with synonymy edges are built: one of the facts that the passages state, and one of the facts
    that spaCy extracts. Each epoch trains on both graphs.
    A question starts at the entity that it names, with the weight 1 / (number of its passages). Its
    targets are all entities of its gold passages. The weights of the epoch with the lowest
    development loss are kept. Ties are broken by the earlier epoch. The weights are byte-identical
    on CPUs of the same kind. On a GPU, they differ in the last digits. `statistics` contain the
    losses and `dev_recall`, the recall@20 of the targets. Raises UserError if no question is
    usable.
    Source: GFM-RAG (Luo et al. 2025), code: loss, AdamW, learning rate and batch size.
    Deviation: The network is smaller than that of GFM-RAG, which has 512 hidden units in 6 layers.
    One synthetic world replaces 60 graphs, and there is no pretraining on triples.
    """
    place = device_of(device, "build.gnn_weights")
    chance = np.random.default_rng(training_seed)
    sizes = {"size": world_size, "n_questions": questions, "seed": WORLD_SEED + training_seed}
    world = make_world(WorldSettings.model_validate(sizes))
    is_dev = np.zeros(questions, bool)
    is_dev[chance.permutation(questions)[: max(1, round(DEV_SHARE * questions))]] = True
    table = ChunkTable.of([(one.id, one.title, one.text) for one in world.passages])
    planted = planted_extraction(chunk_table=table, aliases="as_written")
    graphs = []
    for extraction in (planted, nlp_extraction(chunk_table=table, nlp=nlp, progress=progress)):
        inputs: dict[str, Any] = {"extraction": extraction, "chunk_table": table}
        names = name_index(**inputs, embedder=embedder, progress=progress)
        graph = kg_synonymy(**inputs, name_index=names, progress=progress)
        graphs.append(_training_graph(world, table, graph, embedder, is_dev))
    shape = NetworkShape(embedder.dimension, hidden, layers)
    network = shape.network()
    initialise(network, chance)
    fit = _train(graphs, network.to(place), learning_rate, epochs, chance, progress)
    return GnnWeights(shape, fit[0], statistics=fit[1])


def _training_graph(
    world: World, table: ChunkTable, graph: Graph, embedder: Embedder, is_dev: NDArray[np.bool_]
) -> TrainingGraph:
    texts, start, targets, rows = [], [], [], []
    weight = mention_weights(graph)
    for number, chain in enumerate(world.chains):
        node = graph.row_of.get(normalise_name(world.entities[chain.start].name))
        chunks = [row for name in world.evidence(chain) for row in table.chunks_of(name)]
        shares, evidence = np.zeros((2, graph.n_nodes), np.float32)
        evidence[graph.chunk_node[chunks].indices] = 1
        if node is not None and evidence.any() and not evidence.all():
            shares[node] = weight[node]
            texts.append(chain.text)
            start.append(shares)
            targets.append(evidence)
            rows.append(number)
    edges, relations = edges_of(graph)
    return TrainingGraph(
        edges,
        embedder.encode(list(relations), kind="passage"), embedder.encode(texts, kind="question"),
        np.array(start), np.array(targets), is_dev[rows],
    )  # fmt: skip


def _train(
    graphs: Sequence[TrainingGraph], network: "ModuleDict", learning_rate: float, epochs: int,
    chance: np.random.Generator, progress: Progress,
) -> tuple[dict[str, Vectors], dict[str, float]]:  # fmt: skip
    """Return the parameters and statistics of the epoch with the lowest development loss."""
    import torch

    is_dev = np.concatenate([one.is_dev for one in graphs])
    n_train, n_dev = int((~is_dev).sum()), int(is_dev.sum())
    if not n_train or not n_dev:
        raise UserError(
            "No training question or no development question can be used, because the entities of "
            "the questions are not nodes of the graph. Raise build.gnn_weights.questions."
        )
    steps = torch.optim.AdamW(network.parameters(), lr=learning_rate)
    best, arrays, statistics = np.inf, dict[str, Vectors](), dict[str, float]()
    with one_thread(), progress.task("training epochs", epochs) as advance:
        for epoch in range(1, epochs + 1):
            losses = 0.0
            for logit, targets in _batches(network, graphs, chance):
                steps.zero_grad()
                loss = loss_of(logit, targets)
                loss.backward()
                steps.step()
                losses += float(loss.detach()) * len(targets)
            measured = _measure(network, graphs)
            advance(1)
            if measured["dev_loss"] < best:
                best = measured["dev_loss"]
                statistics = {"epoch": epoch, "train_loss": round(losses / n_train, 6), **measured}
                arrays = {n: v.detach().cpu().numpy().copy() for n, v in network.named_parameters()}
    if not np.isfinite(best):
        raise UserError(
            f"The graph network diverged: its loss is not finite after {epochs} epochs. "
            f"Lower build.gnn_weights.learning_rate ({learning_rate})."
        )
    statistics = {**statistics, "train_questions": n_train, "dev_questions": n_dev}
    progress.say(
        f"graph network: recall@{N_BEST} {statistics['dev_recall']:.3f} of the target entities on "
        f"{n_dev} development questions (epoch {statistics['epoch']:.0f} of {epochs})"
    )
    return arrays, statistics


def _batches(
    network: "ModuleDict", graphs: Sequence[TrainingGraph], chance: np.random.Generator | None
) -> "Iterator[tuple[Tensor, Tensor]]":
    import torch

    device = next(network.parameters()).device
    for one in graphs:
        rows = np.flatnonzero(one.is_dev == (chance is None))
        rows = rows if chance is None else chance.permutation(rows)
        for at in range(0, len(rows), BATCH):
            some = rows[at : at + BATCH]
            arrays = one.relations, one.questions[some], one.start[some], one.targets[some]
            *inputs, targets = (torch.from_numpy(array).to(device) for array in arrays)
            yield logits(network, True, one.edges, *inputs), targets


def _measure(network: "ModuleDict", graphs: Sequence[TrainingGraph]) -> dict[str, float]:
    import torch

    losses, recalls = 0.0, []
    with torch.no_grad():
        for logit, targets in _batches(network, graphs, None):
            losses += float(loss_of(logit, targets)) * len(targets)
            for scores, gold in zip(logit.cpu().numpy(), targets.cpu().numpy(), strict=True):
                best: Ranked[Any] = Ranked.top(scores, N_BEST)
                recalls.append(float(gold[best.ids].sum(dtype=float) / gold.sum(dtype=float)))
    mean = {"dev_loss": losses / len(recalls), "dev_recall": float(np.mean(recalls))}
    return {name: round(value, 6) for name, value in mean.items()}
