"""A graph network trained on a synthetic world: its graphs, its questions and the training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.extraction import Extraction
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.query_gnn import GnnWeights, Shape, edges_of, mentions_weight
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.nlp import Nlp
from graphrag_bench.offline.extraction import nlp_extraction
from graphrag_bench.offline.gnn_network import (
    Grouped,
    arrays,
    dense,
    first_parameters,
    logits,
    loss_of,
)
from graphrag_bench.offline.indices import name_index
from graphrag_bench.offline.planted import planted_extraction
from graphrag_bench.offline.synonymy import kg_synonymy
from graphrag_bench.offline.triple_training import one_thread
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import IntArray, Ranked
from graphrag_bench.world.facts import World, WorldSettings
from graphrag_bench.world.making import make_world

Float32 = NDArray[np.float32]
Reading = Literal["stated", "tagged"]
"""How a world becomes a graph: by the facts that it states, or as spaCy reads its passages."""
WORLD_SEED = 2_000_003
"""What is added to the training seed for that of the world, so that no run asks of it."""
N_BEST = 20
"""The entities among which the development recall looks for those that are wanted."""


class Schedule(NamedTuple):
    """How long a network is trained, and in what steps."""

    learning_rate: float
    epochs: int
    batch: int


class Learnt(NamedTuple):
    """A graph to learn on: its edges, and for each question its vector, start and wanted nodes.

    `relations` float32 (n_kinds, d), `questions` float32 (n, d); `start`, `share` and `wanted`
    have one array for each question: its entities, their shares, and the nodes of its evidence.
    """

    edges: Grouped
    n_nodes: int
    relations: Float32
    questions: Float32
    start: tuple[IntArray, ...]
    share: tuple[Float32, ...]
    wanted: tuple[IntArray, ...]
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
    batch: PositiveInt = 8,
    learning_rate: Annotated[float, Field(gt=0)] = 5e-4,
    world_size: Annotated[int, Field(ge=12)] = 300,
    questions: Annotated[int, Field(ge=2)] = 200,
    readings: tuple[Reading, ...] = ("stated", "tagged"),
    dev_share: Annotated[float, Field(gt=0, lt=1)] = 0.1,
    training_seed: NonNegativeInt = 0,
) -> GnnWeights:
    """A network that finds the entities of a question's evidence, trained on a synthetic world.

    The world has nothing of the data set of the run. Each of the `readings` of its passages is a
    graph with edges between similar names; training takes the graphs in turn, epoch by epoch. A
    question starts at the entity that it names, by one over the number of passages that name it,
    and wants every entity of the passages that answer it. The epoch with the lowest loss on the
    development questions is kept, ties to the earlier one. The same bytes for the same settings
    on the same kind of machine. Statistics: losses of the kept epoch, and `dev_recall`, the share
    of the wanted entities among the 20 best. Raises UserError where no question can be learnt
    from, and for no `readings`.
    Source: GFM-RAG (Luo et al. 2025), its release: loss, AdamW, 5e-4, batches of 8; it has 512
    hidden units in 6 layers.
    Deviation: small, one synthetic world in place of 60 graphs, and no training on the graphs'
    own triples before.
    """
    if not readings:
        raise UserError("build.gnn_weights.readings must name a reading: stated, tagged or both.")
    chance = np.random.default_rng(training_seed)
    seed = WORLD_SEED + training_seed
    asked = {"size": world_size, "n_questions": questions, "seed": seed}
    world = make_world(WorldSettings.model_validate(asked))
    is_dev = np.zeros(questions, bool)
    is_dev[chance.permutation(questions)[: max(1, round(dev_share * questions))]] = True
    table = chunks_of(world)
    graphs = (
        read_graph(table, reading, embedder, nlp, progress) for reading in dict.fromkeys(readings)
    )
    learnt = [_learnt(world, table, graph, embedder, is_dev) for graph in graphs]
    shape = Shape(embedder.dimension, hidden, layers)
    return trained(learnt, shape, Schedule(learning_rate, epochs, batch), chance, progress)


def chunks_of(world: World) -> ChunkTable:
    """The passages of a world, each of them a chunk; passages that say the same are one."""
    return ChunkTable.of([(one.id, one.title, one.text) for one in world.passages])


def read_graph(
    table: ChunkTable, reading: Reading, embedder: Embedder, nlp: Nlp, progress: Progress
) -> Graph:
    """The knowledge graph of a world's passages, with synonymy edges."""
    extraction: Extraction
    if reading == "stated":
        extraction = planted_extraction(chunk_table=table, aliases="as_written")
    else:
        extraction = nlp_extraction(chunk_table=table, nlp=nlp, progress=progress)
    names = name_index(
        extraction=extraction, chunk_table=table, embedder=embedder, progress=progress
    )
    return kg_synonymy(
        extraction=extraction, chunk_table=table, name_index=names, progress=progress
    )


def _learnt(
    world: World,
    table: ChunkTable,
    graph: Graph,
    embedder: Embedder,
    is_dev: NDArray[np.bool_],
) -> Learnt:
    """What the questions of a world, whose passages are the graph's chunks, teach about it.

    A question whose entity is no node, or that all or no nodes are wanted for, is left out.
    """
    weight = mentions_weight(graph)
    named = graph.node_chunk.T.tocsr()
    named.sort_indices()
    texts, start, wanted, kept = [], [], [], []
    for number, chain in enumerate(world.chains):
        node = graph.row_of.get(normalise_name(world.entities[chain.start].name))
        chunks = [row for name in world.evidence(chain) for row in table.chunks_of(name)]
        nodes = np.unique(named[chunks].indices).astype(np.int64)
        if node is None or not 0 < len(nodes) < graph.n_nodes:
            continue
        texts.append(chain.text)
        start.append(np.array([node], np.int64))
        wanted.append(nodes)
        kept.append(number)
    edges, relations = edges_of(graph)
    grouped = Grouped.of(edges, graph.n_nodes, len(relations))
    return Learnt(
        grouped, graph.n_nodes,
        embedder.encode(list(relations), kind="passage"), embedder.encode(texts, kind="question"),
        tuple(start), tuple(weight[nodes].astype(np.float32) for nodes in start), tuple(wanted),
        is_dev[kept],
    )  # fmt: skip


def trained(
    learnt: Sequence[Learnt],
    shape: Shape,
    schedule: Schedule,
    chance: np.random.Generator,
    progress: Progress,
) -> GnnWeights:
    """The weights of the epoch with the lowest loss on the questions that are for development.

    Raises UserError where there are no questions of both kinds.
    """
    import torch

    is_dev = np.concatenate([one.is_dev for one in learnt])
    if not is_dev.any() or is_dev.all():
        raise UserError(
            "The graph network has nothing to learn from: it needs questions for training and for "
            "development whose entity is a node of the graph. Raise build.gnn_weights.questions, "
            "or read the world by build.gnn_weights.readings=[stated]."
        )
    weights = {name: torch.from_numpy(held) for name, held in first_parameters(shape, chance)}
    for tensor in weights.values():
        tensor.requires_grad_()
    steps = torch.optim.AdamW(list(weights.values()), lr=schedule.learning_rate)
    best, kept = np.inf, GnnWeights(arrays(weights))
    with one_thread(), progress.task("training epochs", schedule.epochs) as advance:
        for epoch in range(1, schedule.epochs + 1):
            told = _epoch(weights, learnt, shape, schedule.batch, chance, steps)
            measured = _measured(weights, learnt, shape, schedule.batch)
            advance(1)
            if measured["dev_loss"] < best:
                best = measured["dev_loss"]
                statistics = {"epoch": epoch, "train_loss": round(told, 6), **measured}
                kept = GnnWeights(arrays(weights), statistics=statistics)
    if not np.isfinite(best):
        raise UserError(
            f"The graph network did not learn: its loss is no number after {schedule.epochs} "
            f"epochs. Lower build.gnn_weights.learning_rate, which is {schedule.learning_rate}."
        )
    progress.say(
        f"graph network: {kept.statistics['dev_recall']:.0%} of the wanted entities of "
        f"{int(is_dev.sum())} development questions are among the {N_BEST} best "
        f"(epoch {kept.statistics['epoch']:.0f} of {schedule.epochs})"
    )
    n_questions = {"train_questions": int((~is_dev).sum()), "dev_questions": int(is_dev.sum())}
    return replace(kept, statistics={**kept.statistics, **n_questions})


def _epoch(
    weights: dict[str, Any],
    learnt: Sequence[Learnt],
    shape: Shape,
    batch: int,
    chance: np.random.Generator,
    steps: Any,
) -> float:
    total, n_questions = 0.0, 0
    for one in learnt:
        order = chance.permutation(np.flatnonzero(~one.is_dev))
        for at in range(0, len(order), batch):
            rows = order[at : at + batch]
            steps.zero_grad()
            loss = loss_of(*_found(weights, one, shape, rows))
            loss.backward()
            steps.step()
            total += float(loss.detach()) * len(rows)
            n_questions += len(rows)
    return total / n_questions


def _found(weights: dict[str, Any], one: Learnt, shape: Shape, rows: IntArray) -> tuple[Any, Any]:
    import torch

    places = rows.tolist()
    start = dense([one.start[at] for at in places], [one.share[at] for at in places], one.n_nodes)
    ones = [np.ones(len(one.wanted[at]), np.float32) for at in places]
    wanted = dense([one.wanted[at] for at in places], ones, one.n_nodes)
    found = logits(
        weights, shape, one.edges, torch.from_numpy(one.relations),
        torch.from_numpy(one.questions[rows]), torch.from_numpy(start),
    )  # fmt: skip
    return found, torch.from_numpy(wanted)


def _measured(
    weights: dict[str, Any], learnt: Sequence[Learnt], shape: Shape, batch: int
) -> dict[str, float]:
    import torch

    losses, shares = 0.0, []
    with torch.no_grad():
        for one in learnt:
            dev = np.flatnonzero(one.is_dev)
            for at in range(0, len(dev), batch):
                rows = dev[at : at + batch]
                found, wanted = _found(weights, one, shape, rows)
                losses += float(loss_of(found, wanted)) * len(rows)
                shares += list(map(partial(_recall, one), rows.tolist(), found.numpy()))
    mean = {"dev_loss": losses / len(shares), "dev_recall": float(np.mean(shares))}
    return {name: round(value, 6) for name, value in mean.items()}


def _recall(one: Learnt, row: int, found: Float32) -> float:
    best: Ranked[Any] = Ranked.top(found, N_BEST)
    return float(np.isin(one.wanted[row], best.ids).mean())
