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
from graphrag_bench.models.nlp import NUMERIC, Nlp
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import IntArray

PASSAGE_ATTRIBUTES = frozenset({"node.description", "relationship.name", "relationship.weight"})
MAX_DF = 500
"""The most frequent name of 1,890 passages of MuSiQue is in 321: it bites in larger sets alone."""
_BLOCK = 1 << 21


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


def _joined(matrix: Any, min_shared: int) -> tuple[IntArray, IntArray, Any]:
    """Ends (lower first) of every pair that shares enough entities, sorted, and what it shares.

    The last is a bool CSR (n_pairs, n_entities), its columns sorted. Each mention of an entity is
    joined with the later passages of the entity, some rows of the matrix at a time.
    """
    from scipy.sparse import csr_matrix

    n, n_entities = matrix.shape
    order = np.argsort(matrix.indices, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))  # of each mention among those of all entities, in turn
    row = np.repeat(np.arange(n), np.diff(matrix.indptr))
    ends = np.cumsum(np.bincount(matrix.indices, minlength=n_entities))
    n_later = ends[matrix.indices] - place - 1
    later = row[order]
    found: list[tuple[IntArray, IntArray, IntArray]] = []
    for first, last in _blocks(np.concatenate([[0], np.cumsum(n_later)])[matrix.indptr]):
        part = slice(matrix.indptr[first], matrix.indptr[last])
        shifts = place[part] + 1 - (np.cumsum(n_later[part]) - n_later[part])
        there = later[np.repeat(shifts, n_later[part]) + np.arange(n_later[part].sum())]
        codes = np.repeat(row[part], n_later[part]) * n + there
        by_pair = np.argsort(codes, kind="stable")  # in a pair by entity, as they come
        codes = codes[by_pair]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        pairs, sizes = codes[starts], np.diff(starts, append=len(codes))
        kept = np.repeat(sizes >= min_shared, sizes)
        entities = np.repeat(matrix.indices[part], n_later[part])[by_pair][kept]
        found.append((pairs[sizes >= min_shared], sizes[sizes >= min_shared], entities))
    pairs, sizes, entities = map(np.concatenate, zip(*found, strict=True))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    ones = np.ones(len(entities), bool)
    shared = csr_matrix((ones, entities, starts), shape=(len(pairs), n_entities))
    return pairs // n, pairs % n, shared


def _blocks(before: IntArray) -> list[tuple[int, int]]:
    """Rows from and to, so that a block has about `_BLOCK` pairs, one row at least.

    `before` (n + 1,) are the pairs before each row.
    """
    marks = np.arange(0, int(before[-1]) + 1, _BLOCK)
    firsts = np.unique(np.append(np.searchsorted(before, marks), [0, len(before) - 1]))
    return list(pairwise(firsts.tolist())) or [(0, 0)]
