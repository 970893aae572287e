"""Matrices and lists that are computed from a graph and stored with the graph for retrieval."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrag_bench.algorithms.name_dictionary import NameDictionary
from graphrag_bench.arrays import FloatArray, IntArray
from graphrag_bench.columns import Columns, TextRows
from graphrag_bench.text import show_briefly

Int32Array = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Distinct neighbours of each node in ascending order, without self-loops.

    The neighbours of node v are `nodes[starts[v]:starts[v + 1]]`. The same slice of `rows` has the
    first relationship that leads from v to each neighbour.
    """

    starts: Int32Array
    nodes: Int32Array
    rows: Int32Array

    @classmethod
    def of_rows(cls, here: IntArray, there: IntArray, n_nodes: int) -> "Neighbours":
        """Return each node's neighbours. Relationship i leads from `here[i]` to `there[i]`."""
        rows, n = np.flatnonzero(here != there), max(n_nodes, 1)
        codes, first = np.unique(here[rows] * n + there[rows], return_index=True)
        starts = np.concatenate([[0], np.cumsum(np.bincount(codes // n, minlength=n_nodes))])
        return cls(*(part.astype(np.int32) for part in (starts, codes % n, rows[first])))

    def rows_along(self, walk: Sequence[int]) -> tuple[int, ...]:
        """Return the first relationship per step of a walk. Raises KeyError if there is none."""
        rows = []
        for here, there in pairwise(walk):
            begin, end = self.starts[here], self.starts[here + 1]
            place = begin + int(np.searchsorted(self.nodes[begin:end], there))
            if place == end or self.nodes[place] != there:
                raise KeyError(f"no relationship leads from node {here} to node {there}")
            rows.append(int(self.rows[place]))
        return tuple(rows)


@show_briefly
@dataclass(frozen=True, eq=False)
class Pairs(Columns):
    """Pairs of nodes that are joined by relationships in either direction, `source` <= `target`.

    `weight` is the summed weight of each pair, and `first` is its first relationship. `of` maps
    each relationship to its pair.
    """

    source: IntArray
    target: IntArray
    weight: FloatArray
    of: IntArray
    first: IntArray

    @classmethod
    def of_rows(cls, source: IntArray, target: IntArray, weight: FloatArray, n_nodes: int) -> Self:
        """Return the joined pairs, sorted by the lower node and then by the higher node."""
        low, high = np.minimum(source, target), np.maximum(source, target)
        pairs = low * max(n_nodes, 1) + high
        codes, first, of = np.unique(pairs, return_index=True, return_inverse=True)
        summed = np.bincount(of, weight, len(codes)).astype(np.float64)
        return cls(low[first], high[first], summed, of.astype(np.int64), first.astype(np.int64))


def transition_of(adjacency: Any) -> Any:
    """Return the transposed, row-normalised `adjacency`, with the same sparsity pattern."""
    from scipy.sparse import csr_matrix

    ids, starts = adjacency.indices, adjacency.indptr
    shares = inverse(adjacency.sum(axis=1))[ids]
    return csr_matrix((adjacency.data * shares, ids, starts), shape=adjacency.shape)


def inverse(sums: ArrayLike) -> FloatArray:
    """Return the reciprocal of each value, float64 (n,). Negative values and 0 give 0."""
    values = np.asarray(sums, np.float64).ravel()
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


@dataclass(frozen=True, eq=False)
class Views(Columns):
    """Properties of a graph that are stored on disk. `transition` has only the matrix's values."""

    pairs: Pairs
    adjacency: Any
    pair_chunk: Any
    chunk_relationship: Any
    node_relationship: Any
    chunks_per_node: IntArray
    transition: FloatArray
    row_of: TextRows
    dictionary: NameDictionary


def save_views(folder: Path, graph: Any) -> None:
    """Write the computed properties of a graph to a new folder."""
    folder.mkdir()
    views = {one.name: getattr(graph, one.name) for one in fields(Views)}
    Views(**{**views, "transition": graph.transition.data}).save(folder)


def load_views(folder: Path) -> dict[str, Any]:
    """Return the stored properties of a graph by name, or {} if an older version stored them."""
    if not (folder / "dictionary").is_dir():
        return {}
    from scipy.sparse import csr_matrix

    views = vars(Views.load(folder))
    near = views["adjacency"]
    parts = views["transition"], near.indices, near.indptr
    return {**views, "transition": csr_matrix(parts, shape=near.shape, copy=False)}
