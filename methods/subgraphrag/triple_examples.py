"""Training questions as examples: triples, distances to the topic entities, and labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.algorithms.triple_scorer import ScoredQuestion, distances
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.text import normalise_name
from graphrag_bench.values import FloatArray, IntArray
from graphrag_bench.world.facts import World

_NO_VECTOR = np.empty(0, np.float32)


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
    held = data.subgraphs
    assert held is not None  # a training set has subgraphs or is a world
    row_of = {name: row for row, name in enumerate(held.names)}

    def labelled() -> Iterator[Labelled]:
        for question in data.questions:
            here = held.rows(question.id)
            triples = np.stack([held.head[here], held.relation[here], held.tail[here]])
            head, relation, tail = np.unique(triples.astype(np.int64), axis=1)
            answers = data.gold[question.id].answer_entities
            topics, ends = (
                [row_of[name] for name in names if name in row_of]
                for names in (question.entities, answers)
            )
            yield _labelled(question.text, (head, relation, tail), topics, ends)

    return Questions(held.names, held.relations, labelled())


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
    n_names = len(questions.names)
    for one in questions.labelled:
        if not one.label.any():
            continue
        asked = ScoredQuestion(_NO_VECTOR, np.arange(len(one.head)), one.topics)
        ((nodes, found),) = distances(one.head, one.tail, n_names, [asked])
        both = np.concatenate(
            [found[np.searchsorted(nodes, ends)] for ends in (one.head, one.tail)], axis=1
        )
        rows = _drawn(one.label, both, negatives, chance)
        question = np.full(len(rows), len(texts))
        columns.append((question, *(c[rows] for c in (one.head, one.relation, one.tail)),
                        one.label[rows]))  # fmt: skip
        near.append(both[rows])
        texts.append(one.text)
    parts = [np.concatenate(part) for part in zip(*columns, strict=True)] if columns else []
    question, head, relation, tail, label = parts or [np.empty(0, np.int64)] * 5
    held = np.concatenate(near) if near else np.empty((0, 0))
    return Examples(
        tuple(texts), questions.names, questions.relations,
        question, head, relation, tail, held.astype(np.float32), label.astype(bool),
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
    taken = chance.permutation(close)[: negatives // 2]
    rest = chance.permutation(np.setdiff1d(others, taken))[: negatives - len(taken)]
    return np.sort(np.concatenate([np.flatnonzero(label), taken, rest]))


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
