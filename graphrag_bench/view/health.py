"""The health of a graph without a model: sizes, components, hubs, orphans, twins, gold in reach."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.name_dictionary import bare, key_of
from graphrag_bench.columns import Texts
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Gold, documents_of
from graphrag_bench.values import IntArray

Plain = dict[str, Any]
LISTED = 20
"""Rows of each list: types, hubs, orphans, twins, chunks."""
MOST_PAIRS = 2000
"""Pairs of gold documents whose distance is looked for, the first in the order of the questions."""
HOPS = (0, 1, 2, 3)


def health(graph: Graph, chunks: ChunkTable | None, gold: Mapping[str, Gold]) -> Plain:
    """Return the health of a graph, its chunks and the gold evidence, with no model.

    `sizes` count nodes, relationships, synonymy edges, pairs of joined nodes and chunks; `types`
    and `relations` are (name, count), most first, ties by name. `components` are connected ones, of
    isolated nodes too. `hubs` are (name, degree), `orphans` nodes without a relationship to another
    node, `twins` names that are the same without articles, brackets, accents and possessives.
    `bare_chunks` have no node. A graph without relationships (entities joined to passages) is
    looked at as if nodes of one chunk were joined, in `sizes` too; `through` says which. `reach`
    has, for each number of hops, the share of pairs of gold documents of one question that are
    joined within so many: a node of one and a node of the other are the same (0), neighbours (1),
    and so on. Lists have `LISTED` rows at most, with their `n`.
    """
    through, matrix = _joined_nodes(graph)
    degree = np.diff(matrix.indptr).astype(np.int64)
    hubs = np.lexsort((np.arange(len(degree)), -degree))[:LISTED]
    orphans = np.flatnonzero(degree == 0)
    n_synonymy = int(graph.synonym.sum())
    return {
        "sizes": {
            "nodes": graph.n_nodes,
            "relationships": graph.n_relationships - n_synonymy,
            "synonymy edges": n_synonymy,
            "joined pairs of nodes": matrix.nnz // 2,
            "chunks": graph.n_chunks,
        },
        "through": through,
        "types": _counted(graph.types) if graph.types else [],
        "relations": _counted(graph.relations),
        "components": _components(matrix),
        "degrees": _degrees(degree),
        "hubs": [(graph.names[int(row)], int(degree[row])) for row in hubs],
        "orphans": {"n": len(orphans), "first": graph.names.take(orphans[:LISTED])},
        "twins": _twins(graph.names),
        "bare_chunks": _bare_chunks(graph, chunks),
        "reach": _reach(graph, matrix, chunks, gold) if chunks is not None else None,
    }


def _joined_nodes(graph: Graph) -> tuple[str, Any]:
    if graph.adjacency.nnz or not graph.node_chunk.nnz:
        return "relationships", graph.adjacency
    shared = (graph.node_chunk @ graph.node_chunk.T).tocsr()
    shared.setdiag(0)
    shared.eliminate_zeros()
    return "chunks", shared


def _counted(texts: Iterable[str]) -> list[tuple[str, int]]:
    return sorted(Counter(texts).items(), key=lambda item: (-item[1], item[0]))[:LISTED]


def _components(matrix: Any) -> Plain:
    from scipy.sparse.csgraph import connected_components

    n, of = connected_components(matrix, directed=False)
    largest = np.sort(np.bincount(of, minlength=n))[::-1][:LISTED].tolist()
    share = round(largest[0] / matrix.shape[0], 4) if largest else 0.0
    return {"n": int(n), "largest": largest, "share": share}


def _degrees(degree: IntArray) -> list[tuple[str, int]]:
    """How many nodes have no neighbour, one, 2 to 3, 4 to 7, and so on by powers of two."""
    counts = np.bincount(np.frexp(degree)[1]).tolist() if len(degree) else []
    heads = ["0", "1", *(f"{2 ** (b - 1)}-{2**b - 1}" for b in range(2, len(counts)))]
    return list(zip(heads, counts, strict=False))


def _twins(names: Texts) -> Plain:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(key_of(bare(name)), []).append(name)
    twins = [group for key, group in groups.items() if key and len(group) > 1]
    first = sorted(twins, key=lambda group: (-len(group), group[0]))[:LISTED]
    n_nodes = sum(map(len, twins))
    return {"n": len(twins), "nodes": n_nodes, "first": [group[:LISTED] for group in first]}


def _bare_chunks(graph: Graph, chunks: ChunkTable | None) -> Plain:
    rows = np.flatnonzero(np.bincount(graph.node_chunk.indices, minlength=graph.n_chunks) == 0)
    first = [f"chunk {row}" for row in rows[:LISTED]]
    if chunks is not None and len(chunks) == graph.n_chunks:
        listed = rows[:LISTED].tolist()
        first = [chunks.titles[row] or ", ".join(chunks.documents_of(row)) for row in listed]
    return {"n": len(rows), "first": first}


def gold_pairs(gold: Mapping[str, Gold]) -> list[tuple[tuple[str, ...], ...]]:
    """Return the pairs of evidence of each question in order, each by its documents."""
    pairs: dict[tuple[tuple[str, ...], ...], None] = {}
    for one in gold.values():
        named = [documents_of(one, name) for name in dict.fromkeys(one.evidence)]
        pairs |= dict.fromkeys(combinations(named, 2))
    return list(pairs)


def _reach(graph: Graph, matrix: Any, chunks: ChunkTable, gold: Mapping[str, Gold]) -> Plain:
    every = gold_pairs(gold)
    pairs = every[:MOST_PAIRS]
    near: dict[tuple[str, ...], tuple[IntArray, IntArray]] = {}
    for side in dict.fromkeys(side for pair in pairs for side in pair):
        rows = [row for document in side for row in chunks.chunks_of(document)]
        nodes = _of_rows(graph.chunk_node, rows)
        near[side] = nodes, np.union1d(nodes, _of_rows(matrix, nodes))
    apart = np.array([_apart(matrix, near[first], near[second]) for first, second in pairs])
    shares = [(hops, round(float(np.mean(apart <= hops)), 4)) for hops in HOPS] if pairs else []
    return {"pairs": len(every), "looked_at": len(pairs), "within": shares}


def _apart(matrix: Any, first: Sequence[IntArray], second: Sequence[IntArray]) -> int:
    """How many hops two sides are apart, each its nodes and those within a hop of it; 4 if more."""
    for hops, (a, b) in enumerate([(0, 0), (0, 1), (1, 1)]):
        if len(np.intersect1d(first[a], second[b], assume_unique=True)):
            return hops
    further = _of_rows(matrix, first[1])
    return 3 if len(np.intersect1d(further, second[1], assume_unique=True)) else 4


def _of_rows(matrix: Any, rows: ArrayLike) -> IntArray:
    return np.unique(matrix[np.asarray(rows, np.int64)].indices).astype(np.int64)
