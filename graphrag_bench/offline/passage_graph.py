"""Chunks to a passage graph: passages joined by the entities they share."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.columns import Texts, cells, incidence
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.nlp import Nlp
from graphrag_bench.offline.tagging import named_entities, read_chunks
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import IntArray

PASSAGE_ATTRIBUTES = frozenset({"node.description", "relationship.name", "relationship.weight"})
MAX_DF = 500
"""The most frequent name of 1,890 passages of MuSiQue is in 321: it bites in larger sets alone."""


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
    source, target, shared = _joined(matrix, min_shared)
    n = len(chunk_table)
    return Graph(
        names=Texts.of([f"chunk {row}" for row in range(n)]),
        descriptions=Texts.of(chunk_table.passages),
        source=source,
        target=target,
        weight=np.diff(shared.indptr).astype(np.float64),
        synonym=np.zeros(len(source), bool),
        relations=Texts.of(list(names)).joined(shared, ", "),
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
    names: dict[str, int] = {}
    rows: list[list[int]] = []
    for own, sentences in read_chunks(chunk_table, nlp, progress, "entity" if title else "off"):
        found = [own, *(name for one in sentences for name in named_entities(one))]
        normal = dict.fromkeys(filter(None, map(normalise_name, found)))
        rows.append([names.setdefault(name, len(names)) for name in normal])
    return names, rows


def _joined(matrix: Any, min_shared: int) -> tuple[IntArray, IntArray, Any]:
    """Ends (lower first) of every pair that shares enough entities, sorted, and what it shares.

    The last is a bool CSR (n_pairs, n_entities), its columns sorted. `matrix` is int64
    (n_passages, n_entities).
    """
    n, n_entities = matrix.shape
    by_entity = matrix.tocsc()
    codes, of = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for entity, (start, stop) in enumerate(pairwise(by_entity.indptr.tolist())):
        passages = np.sort(by_entity.indices[start:stop]).astype(np.int64)
        low, high = np.triu_indices(len(passages), 1)
        codes.append(passages[low] * n + passages[high])
        of.append(np.full(len(low), entity))
    every, entities = np.concatenate(codes), np.concatenate(of)
    pairs, place, counts = np.unique(every, return_inverse=True, return_counts=True)
    enough = counts >= min_shared
    rows = np.cumsum(enough) - 1
    kept = enough[place]
    pairs = pairs[enough]
    shared = cells(rows[place[kept]], entities[kept], (len(pairs), n_entities))
    return pairs // n, pairs % n, shared
