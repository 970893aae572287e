"""The health of a graph without a model: sizes, components, hubs, orphans, twins, gold in reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

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
    looked at as if nodes of one chunk were joined; `through` says which. `reach` has, for each
    number of hops, the share of pairs of gold documents of one question that are joined within so
    many: a node of one and a node of the other are the same (0), neighbours (1), and so on. Lists
    have `LISTED` rows at most, with their `n`.
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
            "joined pairs of nodes": graph.adjacency.nnz // 2,
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

    n_nodes = matrix.shape[0]
    if not n_nodes:
        return {"n": 0, "largest": [], "share": 0.0}
    n, of = connected_components(matrix, directed=False)
    sizes = np.sort(np.bincount(of, minlength=n))[::-1]
    largest = [int(size) for size in sizes[:LISTED]]
    return {"n": int(n), "largest": largest, "share": round(largest[0] / n_nodes, 4)}


def _degrees(degree: IntArray) -> list[tuple[str, int]]:
    if not len(degree):
        return []
    bins = np.where(degree > 0, np.floor(np.log2(np.maximum(degree, 1))).astype(np.int64) + 1, 0)
    counts = np.bincount(bins)
    heads = ["0", "1", *(f"{2 ** (b - 1)}-{2**b - 1}" for b in range(2, len(counts)))]
    return [(head, int(count)) for head, count in zip(heads, counts, strict=False)]


def _twins(names: Texts) -> Plain:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(key_of(bare(name)), []).append(name)
    twins = [group for key, group in groups.items() if key and len(group) > 1]
    ordered = sorted(twins, key=lambda group: (-len(group), group[0]))
    return {
        "n": len(twins),
        "nodes": sum(map(len, twins)),
        "first": [group[:LISTED] for group in ordered[:LISTED]],
    }


def _bare_chunks(graph: Graph, chunks: ChunkTable | None) -> Plain:
    counts = np.bincount(graph.node_chunk.indices, minlength=graph.n_chunks)
    rows = np.flatnonzero(counts == 0)
    first = [f"chunk {row}" for row in rows[:LISTED]]
    if chunks is not None and len(chunks) == graph.n_chunks:
        titles = [(chunks.titles[int(row)], chunks.documents_of(int(row))) for row in rows[:LISTED]]
        first = [title or ", ".join(documents) for title, documents in titles]
    return {"n": len(rows), "first": first}


def gold_pairs(gold: Mapping[str, Gold]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the pairs of evidence of each question in order, each by its documents."""
    pairs = []
    for one in gold.values():
        named = list(dict.fromkeys(one.evidence))
        for row, first in enumerate(named):
            pairs += [(documents_of(one, first), documents_of(one, b)) for b in named[row + 1 :]]
    return list(dict.fromkeys(pairs))


def _reach(graph: Graph, matrix: Any, chunks: ChunkTable, gold: Mapping[str, Gold]) -> Plain:
    every = gold_pairs(gold)
    pairs = every[:MOST_PAIRS]
    near: dict[tuple[str, ...], list[IntArray]] = {}
    joined: Counter[int] = Counter()
    for first, second in pairs:
        balls = []
        for side in (first, second):
            if side not in near:
                rows = [row for document in side for row in chunks.chunks_of(document)]
                near[side] = _balls(matrix, _of_rows(graph.chunk_node, rows))
            balls.append(near[side])
        hops = _apart(matrix, *balls)
        joined.update(k for k in HOPS if hops is not None and hops <= k)
    shares = [(k, round(joined[k] / len(pairs), 4)) for k in HOPS] if pairs else []
    return {"pairs": len(every), "looked_at": len(pairs), "within": shares}


def _balls(matrix: Any, nodes: IntArray) -> list[IntArray]:
    return [nodes, np.union1d(nodes, _of_rows(matrix, nodes.tolist()))]


def _apart(matrix: Any, first: Sequence[IntArray], second: Sequence[IntArray]) -> int | None:
    for hops, (a, b) in enumerate([(0, 0), (0, 1), (1, 1)]):
        if len(np.intersect1d(first[a], second[b], assume_unique=True)):
            return hops
    further = _of_rows(matrix, first[1].tolist())
    return 3 if len(np.intersect1d(further, second[1], assume_unique=True)) else None


def _of_rows(matrix: Any, rows: Sequence[int]) -> IntArray:
    return np.unique(matrix[rows].indices).astype(np.int64)


def graph_differences(first: Graph, second: Graph) -> Plain:
    """Return what two graphs of one corpus share: names of nodes, and pairs of joined names.

    For each the counts of both, of A alone and of B alone, and the first of these by name.
    """
    nodes = _split(set(first.names), set(second.names))
    return {"nodes": nodes, "pairs": _split(_joined(first), _joined(second))}


def _joined(graph: Graph) -> set[tuple[str, str]]:
    names = list(graph.names)
    ends = zip(graph.pairs.source.tolist(), graph.pairs.target.tolist(), strict=True)
    return {(min(pair), max(pair)) for s, t in ends if (pair := (names[s], names[t])) and s != t}


def _split(first: set[Any], second: set[Any]) -> Plain:
    only_first, only_second = first - second, second - first
    return {
        "both": len(first & second),
        "a": len(only_first),
        "b": len(only_second),
        "first_a": sorted(only_first)[:LISTED],
        "first_b": sorted(only_second)[:LISTED],
    }
