"""What questions read of a graph besides its own columns: made of them, and stored beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrag_bench.algorithms.name_dictionary import NameDictionary
from graphrag_bench.columns import (
    Columns,
    TextRows,
    Texts,
    in_order,
    load_array,
    load_sparse,
    save_array,
    save_sparse,
)
from graphrag_bench.text import show_briefly
from graphrag_bench.values import FloatArray, IntArray

Int32Array = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Neighbours of each node, each once and ascending; no node is its own.

    Those of node v are `nodes[starts[v]:starts[v + 1]]`, int32 (n_places,); `rows`, int32
    (n_places,), is the first relationship row that leads to each; `starts` is int32 (n_nodes + 1,).
    """

    starts: Int32Array
    nodes: Int32Array
    rows: Int32Array

    @classmethod
    def along(cls, here: IntArray, there: IntArray, n_nodes: int) -> "Neighbours":
        """The neighbours `there` of `here` by rows (n_relationships,), in their direction."""
        rows, n = np.flatnonzero(here != there), max(n_nodes, 1)
        codes, first = np.unique(here[rows] * n + there[rows], return_index=True)
        starts = np.concatenate([[0], np.cumsum(np.bincount(codes // n, minlength=n_nodes))])
        return cls(*(part.astype(np.int32) for part in (starts, codes % n, rows[first])))

    @classmethod
    def joined(
        cls, source: IntArray, target: IntArray, rows: IntArray, n_nodes: int
    ) -> "Neighbours":
        """The neighbours by distinct pairs of nodes and the first row of each, int64 (n_pairs,)."""
        from scipy.sparse import csr_matrix

        apart = source != target
        marks = (rows[apart] + 1).astype(np.int32)  # 0 is no entry
        half = csr_matrix((marks, (source[apart], target[apart])), shape=(n_nodes, n_nodes))
        both = in_order(half + half.T)
        starts, nodes = both.indptr.astype(np.int32), both.indices.astype(np.int32)
        return cls(starts, nodes, both.data - np.int32(1))

    def rows_along(self, walk: Sequence[int]) -> tuple[int, ...]:
        """The row of every hop of a walk; raises KeyError for a hop that is none."""
        rows = []
        for here, there in pairwise(walk):
            begin, end = self.starts[here], self.starts[here + 1]
            place = begin + int(np.searchsorted(self.nodes[begin:end], there))
            if place == end or self.nodes[place] != there:
                raise KeyError(f"no relationship leads from node {here} to node {there}")
            rows.append(int(self.rows[place]))
        return tuple(rows)


FOLDER = "views"
SPARSE = ("adjacency", "pair_chunk", "chunk_relationship", "node_relationship")
"""The views that are stored as CSR."""


@dataclass(frozen=True, eq=False)
class Pairs(Columns):
    """Relationships grouped by their unordered ends.

    `source` < `target` are int64 (n_pairs,), `weight` float64 (n_pairs,) sums the rows' weights,
    `of` int64 (n_relationships,) is the pair of each row, `first` the first row of each pair.
    """

    source: IntArray
    target: IntArray
    weight: FloatArray
    of: IntArray
    first: IntArray

    @classmethod
    def joining(
        cls, source: IntArray, target: IntArray, weight: FloatArray, n_nodes: int
    ) -> "Pairs":
        """The pairs of rows (n_relationships,), sorted by (smaller end, larger end)."""
        low, high = np.minimum(source, target), np.maximum(source, target)
        codes, first, of = np.unique(
            low * max(n_nodes, 1) + high, return_index=True, return_inverse=True
        )
        summed = np.bincount(of, weight, len(codes)).astype(np.float64)
        return cls(low[first], high[first], summed, of.astype(np.int64), first.astype(np.int64))


def transition_of(adjacency: Any) -> Any:
    """The transposed row-normalised adjacency: float64 CSR, over the ids and starts of that."""
    from scipy.sparse import csr_matrix

    ids, starts = adjacency.indices, adjacency.indptr
    shares = inverse(adjacency.sum(axis=1))[ids]
    return csr_matrix((adjacency.data * shares, ids, starts), shape=adjacency.shape)


def inverse(sums: ArrayLike) -> FloatArray:
    """One over each number, float64 (n,); 0 for what is not above 0."""
    values = np.asarray(sums, np.float64).ravel()
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def save_views(folder: Path, graph: Any) -> None:
    """Write the views of a graph into the folder `views` of its folder."""
    inside = folder / FOLDER
    (inside / "pairs").mkdir(parents=True)
    graph.pairs.save(inside / "pairs")
    for name in SPARSE:
        save_sparse(inside, name, getattr(graph, name))
    save_array(inside, "transition", graph.transition.data)
    save_array(inside, "chunks_per_node", graph.chunks_per_node)
    save_array(inside, "names.sums", graph.row_of.sums)
    save_array(inside, "names.order", graph.row_of.order)
    names = graph.dictionary
    for name, rows in (("keys", names.row_of), ("first_words", names.longest)):
        (inside / name).mkdir()
        TextRows.of(rows).save(inside / name)


def load_views(folder: Path, names: Texts) -> dict[str, Any]:
    """The views by name, by memory map; none where the folder has none, then they are made."""
    inside = folder / FOLDER
    if not inside.is_dir():
        return {}
    from scipy.sparse import csr_matrix

    views: dict[str, Any] = {name: load_sparse(inside, name) for name in SPARSE}
    near = views["adjacency"]
    parts = load_array(inside, "transition"), near.indices, near.indptr
    by_name = (load_array(inside, f"names.{part}") for part in ("sums", "order"))
    keys, first_words = (TextRows.load(inside / name) for name in ("keys", "first_words"))
    return {
        **views,
        "pairs": Pairs.load(inside / "pairs"),
        "transition": csr_matrix(parts, shape=near.shape, copy=False),
        "chunks_per_node": load_array(inside, "chunks_per_node"),
        "row_of": TextRows(names, np.arange(len(names)), *by_name),
        "dictionary": NameDictionary(keys, first_words),
    }


show_briefly(Pairs)
