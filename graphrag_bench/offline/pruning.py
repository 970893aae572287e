"""Noun phrases that a graph does without: of one passage, no named entity, joining nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from graphrag_bench.graph.extraction import ChunkExtraction
from graphrag_bench.text import normalise_name

Prune = Literal["none", "unjoined", "leaves", "single"]
"""Which phrases of one passage go: none, those with no neighbour, with at most one, or all."""

_MOST_NEIGHBOURS: Mapping[Prune, float] = {"unjoined": 0, "leaves": 1, "single": float("inf")}


def pruned(
    rows: Sequence[ChunkExtraction], named: Sequence[set[str]], prune: Prune
) -> list[ChunkExtraction]:
    """The rows without those phrases and their triples, in the same order.

    `named` has the normalised names of each passage that always stay: named entities, titles.
    A name that is an entity in one passage stays in all. Neighbours are the distinct other ends of
    its triples in all passages.
    """
    if prune == "none":
        return list(rows)
    n_passages: Counter[str] = Counter()
    neighbours: dict[str, set[str]] = {}
    kept: set[str] = set()
    for number, row in enumerate(rows):
        triples = [(normalise_name(one.head), normalise_name(one.tail)) for one in row.triples]
        names = {normalise_name(name) for name in row.entities}
        n_passages.update(names.union(*triples))
        kept |= named[number]
        for head, tail in triples:
            neighbours.setdefault(head, set()).add(tail)
            neighbours.setdefault(tail, set()).add(head)
    most = _MOST_NEIGHBOURS[prune]
    gone = {
        name
        for name, n in n_passages.items()
        if n == 1 and name not in kept and len(neighbours.get(name, ())) <= most
    }
    return [_without(row, gone) for row in rows]


def _without(row: ChunkExtraction, gone: set[str]) -> ChunkExtraction:
    return ChunkExtraction(
        tuple(name for name in row.entities if normalise_name(name) not in gone),
        tuple(
            one
            for one in row.triples
            if normalise_name(one.head) not in gone and normalise_name(one.tail) not in gone
        ),
    )
