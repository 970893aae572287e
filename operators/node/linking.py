"""Nodes linked to the names in a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.mentions import NameTable
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Mentions, Node, Question, Ranked, unique

By = Literal["vectors", "exact_then_vectors", "names_then_vectors", "none"]
Exact = Literal["proper", "any"]
Row = tuple[int, float]


@operator("node.link", batched=True, requires={"node.name"}, unordered="the order of the names")
def link(
    mentions: Sequence[Mentions],
    question: Sequence[Question],
    *,
    graph: Graph,
    node_index: VectorIndex,
    embedder: Embedder,
    by: By = "vectors",
    exact: Exact = "proper",
    min_score: Annotated[float, Field(ge=-1, le=1)] = -1.0,
    dedupe: bool = False,
) -> list[Ranked[Node]]:
    """The most similar node of each name, in the order of the names.

    Score: cosine, -1..1. A node may come twice unless `dedupe`; names whose best node is below
    `min_score` are left out. No names give no nodes. With `by="exact_then_vectors"` the node
    names that appear in the question word for word come first, in its order and with score 1, the
    longest at every word; with `exact="proper"` only those with a capital letter or a digit there,
    where the question has capitals, so that `country` in a question is not a name. Given names that
    are part of one of these are skipped; any other gets the node of exactly that name, with score
    1, else its most similar one. With `by="names_then_vectors"` the question is not read: each name
    gets the node of exactly that name, else the first of the same normalised name, both with score
    1, else its most similar one. `by="none"` links no name, for a method that links in another way.
    Source: Zhou et al. 2025, section 6.1, "Link" (`vectors`); the other way is ours.
    """
    if by == "none":
        return [Ranked[Node].empty() for _ in mentions]
    if by == "names_then_vectors":
        named = _named([one.names for one in mentions], graph, node_index, embedder)
        return [_linked(hits_of_one, min_score, dedupe) for hits_of_one in named]
    table = graph.name_table if by == "exact_then_vectors" else NameTable.of([])
    found_in = [table.matches(asked.text, proper=exact == "proper") for asked in question]
    wanted = [
        [name for name in one.names if not _inside(name, [known for known, _ in found])]
        for one, found in zip(mentions, found_in, strict=True)
    ]
    unknown = [name for names in wanted for name in names if name not in table.row_of]
    hits = _nearest(unknown, node_index, embedder)
    linked = []
    for found, names in zip(found_in, wanted, strict=True):
        rows: list[Row | None] = [(row, 1.0) for _, row in found]
        rows += [(table.row_of[n], 1.0) if n in table.row_of else next(hits) for n in names]
        linked.append(_linked(rows, min_score, dedupe))
    return linked


def _named(
    names: Sequence[Sequence[str]], graph: Graph, index: VectorIndex, embedder: Embedder
) -> list[list[Row | None]]:
    """The node of each name by that name, by its normalised name, or by similarity."""
    known: dict[str, Row | None] = {}
    for name in unique([name for one in names for name in one]):
        row = graph.row_of.get(name)
        if row is None:
            row = graph.name_table.row_of.get(normalise_name(name))
        if row is not None:
            known[name] = (row, 1.0)
    unknown = [name for one in names for name in one if name not in known]
    hits = _nearest(unknown, index, embedder)
    return [[known[name] if name in known else next(hits) for name in one] for one in names]


def _linked(hits: Sequence[Row | None], min_score: float, dedupe: bool) -> Ranked[Node]:
    """The nodes found that are not below the score, in order."""
    rows = [hit for hit in hits if hit is not None and hit[1] >= min_score]
    if dedupe:
        first = {node: score for node, score in reversed(rows)}
        rows = [(node, first[node]) for node in unique([node for node, _ in rows])]
    return Ranked[Node](
        np.array([node for node, _ in rows], np.int64), np.array([score for _, score in rows])
    )


def _inside(name: str, known: list[str]) -> bool:
    """Whether a name is one of the known names or some whole words of one."""
    return any(f" {name} " in f" {other} " for other in known)


def _nearest(names: list[str], index: VectorIndex, embedder: Embedder) -> Iterator[Row | None]:
    """The nearest node of each name with its cosine; None where the index is empty."""
    vectors = embedder.encode(names, kind="question") if names else np.zeros((0, 1), np.float32)
    for hit in index.search(vectors, 1):
        yield (int(hit.ids[0]), float(hit.scores[0])) if len(hit) else None
