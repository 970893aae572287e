"""Chunks to a passage graph: passages joined by the entities they share."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.columns import Texts, cells, incidence
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.nlp import NUMERIC, Nlp
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import IntArray

PASSAGE_ATTRIBUTES = frozenset({"node.description", "relationship.name", "relationship.weight"})
MAX_DF = 500
"""The most frequent name of 1,890 passages of MuSiQue is in 321: it bites in larger sets alone."""
_BLOCK = 16384


@artifact("graph.passage", provides=PASSAGE_ATTRIBUTES)
def passage(
    *,
    chunk_table: ChunkTable,
    nlp: Nlp,
    progress: Progress,
    min_shared: PositiveInt = 1,
    max_df: PositiveInt | None = MAX_DF,
    title: bool = True,
) -> Graph:
    """The passages as nodes, an edge where two share `min_shared` entities or more.

    Node i is chunk i, its description the passage; an edge is named by all entities shared, in
    order of first appearance, and weighs their number. Entities are named entities by normalised
    name, numbers and dates aside, and with `title` the title of the passage. Those in more than
    `max_df` passages join nothing, as an entity of m passages makes m (m - 1) / 2 edges: so a
    mention makes at most (`max_df` - 1) / 2 (None: no limit). How many entities there are, and how
    many of them were left out so, is in the artifact's statistics.
    Source: KGP (Wang et al. 2024); Zhou et al. 2025, section 4 and their report, B.8 ("at least";
    the paper itself says "larger than").
    Deviation: linked by spaCy's entities and equal names, where the released code asks the WAT web
    service for Wikipedia titles of prior probability above 0.8.
    """
    from scipy.sparse import identity

    names, mentions = _mentions(chunk_table, nlp, progress, title)
    matrix = incidence(mentions, len(names)).astype(np.int64)
    frequency = np.asarray(matrix.sum(axis=0)).ravel()
    frequent = frequency > (len(mentions) if max_df is None else max_df)
    if frequent.any():
        matrix = matrix.multiply(~frequent).tocsr()
        matrix.eliminate_zeros()
    source, target, shared = _pairs(matrix, min_shared)
    n = len(chunk_table)
    return Graph(
        names=Texts.of([f"chunk {row}" for row in range(n)]),
        descriptions=Texts.of(chunk_table.passages),
        source=source,
        target=target,
        weight=shared.astype(np.float64),
        synonym=np.zeros(len(source), bool),
        relations=Texts.of(list(names)).joined(_shared(matrix, source, target), ", "),
        node_chunk=identity(n, dtype=bool, format="csr"),
        relationship_chunk=cells(
            np.repeat(np.arange(len(source)), 2),
            np.stack([source, target], axis=1).ravel(),
            (len(source), n),
        ),
        statistics={"entities": len(names), "too_frequent": int(frequent.sum())},
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
    turned = matrix.T.tocsr()
    found: list[tuple[IntArray, IntArray, IntArray]] = []
    for start in range(0, matrix.shape[0], _BLOCK):
        counts = (matrix[start : start + _BLOCK] @ turned).tocsr()
        counts.sort_indices()
        part = counts.tocoo()
        rows = part.row.astype(np.int64) + start
        kept = (part.data >= min_shared) & (rows < part.col)
        found.append((rows[kept], part.col[kept].astype(np.int64), part.data[kept]))
    columns = zip(*found, strict=True) if found else [[np.zeros(0, np.int64)]] * 3
    source, target, shared = (np.concatenate(column) for column in columns)
    return source, target, shared


def _shared(matrix: Any, source: IntArray, target: IntArray) -> Any:
    """The names that the ends of each edge share: a CSR with a row for each, columns sorted."""
    from scipy.sparse import csr_matrix, vstack

    blocks = [csr_matrix((0, matrix.shape[1]), dtype=np.int64)]
    for start in range(0, len(source), _BLOCK):
        part = slice(start, start + _BLOCK)
        blocks.append(matrix[source[part]].multiply(matrix[target[part]]).tocsr().astype(bool))
    both = vstack(blocks).tocsr()
    both.sort_indices()
    return both
