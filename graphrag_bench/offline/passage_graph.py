"""Chunks to a passage graph: passages joined by the entities they share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.columns import Texts, incidence, row_ids
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.nlp import NUMERIC, Nlp
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import IntArray

PASSAGE_ATTRIBUTES = frozenset({"node.description", "relationship.name", "relationship.weight"})
_BLOCK = 65536


@artifact("graph.passage", provides=PASSAGE_ATTRIBUTES)
def passage(
    *,
    chunk_table: ChunkTable,
    nlp: Nlp,
    progress: Progress,
    min_shared: PositiveInt = 1,
    max_df: PositiveInt | None = None,
    title: bool = True,
) -> Graph:
    """The passages as nodes, an edge where two share `min_shared` entities or more.

    Node i is chunk i, its description the passage; an edge is named by all entities shared, in
    order of first appearance, and weighs their number. Entities are named entities by normalised
    name, numbers and dates aside, and with `title` the title of the passage. Those in more than
    `max_df` passages join nothing (None: no limit; an entity of m passages makes m (m - 1) / 2
    edges). Source: KGP (Wang et al. 2024); Zhou et al. 2025, section 4 and their report, B.8 ("at
    least"; the paper itself says "larger than").
    Deviation: linked by spaCy's entities and equal names, where the released code asks the WAT web
    service for Wikipedia titles of prior probability above 0.8.
    """
    from scipy.sparse import identity

    names, mentions = _mentions(chunk_table, nlp, progress, title)
    matrix = incidence(mentions, len(names)).astype(np.int64)
    if max_df is not None:
        frequency = np.asarray(matrix.sum(axis=0)).ravel()
        matrix = matrix.multiply(frequency <= max_df).tocsr()
        matrix.eliminate_zeros()
    source, target, shared = _pairs(matrix, min_shared)
    relations = list(_shared_names(matrix, source, target, list(names)))
    n = len(chunk_table)
    return Graph(
        names=Texts.of([f"chunk {row}" for row in range(n)]),
        descriptions=Texts.of(chunk_table.passages),
        source=source,
        target=target,
        weight=shared.astype(np.float64),
        synonym=np.zeros(len(source), bool),
        relations=Texts.of(relations),
        node_chunk=identity(n, dtype=bool, format="csr"),
        relationship_chunk=incidence(zip(source.tolist(), target.tolist(), strict=True), n),
    )


def _mentions(
    chunk_table: ChunkTable, nlp: Nlp, progress: Progress, title: bool
) -> tuple[dict[str, int], list[list[int]]]:
    """Entity names in order of first appearance, with their numbers, and those of each chunk."""
    names: dict[str, int] = {}
    rows: list[list[int]] = []
    texts = list(chunk_table.texts)
    with progress.task("linking entities", len(texts)) as advance:
        for row, sentences in enumerate(nlp.sentences(texts)):
            found = [chunk_table.titles[row]] if title else []
            for sentence in sentences:
                found += [name for name, label in sentence.entities if label not in NUMERIC]
            normal = dict.fromkeys(filter(None, map(normalise_name, found)))
            rows.append([names.setdefault(name, len(names)) for name in normal])
            advance(1)
    return names, rows


def _pairs(matrix: Any, min_shared: int) -> tuple[IntArray, IntArray, IntArray]:
    """Ends (lower first) and number of shared entities of every pair with enough, sorted."""
    from scipy.sparse import triu

    counts = triu(matrix @ matrix.T, k=1).tocsr()
    counts.data[counts.data < min_shared] = 0
    counts.eliminate_zeros()
    counts.sort_indices()
    found = counts.tocoo()
    return found.row.astype(np.int64), found.col.astype(np.int64), found.data.astype(np.int64)


def _shared_names(
    matrix: Any, source: IntArray, target: IntArray, names: list[str]
) -> Iterator[str]:
    """The names that the ends of each edge share, joined by ", "."""
    for start in range(0, len(source), _BLOCK):
        part = slice(start, start + _BLOCK)
        both = matrix[source[part]].multiply(matrix[target[part]]).tocsr()
        both.sort_indices()
        for row in range(both.shape[0]):
            yield ", ".join(names[column] for column in row_ids(both, row))
