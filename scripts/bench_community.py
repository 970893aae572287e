"""Communities and their reports against plain Python: time, and the memory that they take.

Seeded graphs with five relationships for each node, 98 of 100 within one group of 100 nodes. Ours
and the reference take turns, each run in a process of its own that opens the stored graph; what
they make must be the same. `ours` and `reference` are runs a second of processor time, the median;
p50 and p95 are ours in seconds. `ours_mb` and `reference_mb` are the most memory of a run beyond
the opened graph, the pages that it reads of the graph's files included.

`plain_leiden` makes one level (`max_cluster_size` above all sizes), `hierarchy` splits communities
of more than 100 nodes again; the reference is a loop of raw leidenalg over subgraphs that igraph
makes. In `parts_1m` all relationships are within groups, so that the graph of 1,000,000 nodes is
10,000 parts. `reports` extracts one report for each group and for each ten of its nodes, with
vectors that cost nothing; the reference holds the sentences of all communities in lists and dicts.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import igraph
import leidenalg
import numpy as np
from bench_load import in_its_own_process
from bench_scale import peak_from_here, peak_mb
from plain_communities import plain_reports
from scipy.sparse import csr_matrix

from graphrag_bench.columns import Texts, cells
from graphrag_bench.graph.communities import Communities, Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Hashing, Kind, Vectors
from graphrag_bench.offline.communities import leiden
from graphrag_bench.offline.reports import extractive
from graphrag_bench.offline.store import loaded
from graphrag_bench.progress import Progress
from graphrag_bench.values import IntArray

N_REPEATS, INSIDE, GROUP, DEGREE, SEED = 3, 0.98, 100, 5, 7
LARGE, SMALL, N_CHUNKS_OF = 100, 10, 10
Measured = tuple[float, float, str, float]
"""Seconds, megabytes, a digest of what was made, and how many communities there are."""
Numbers = tuple[float, float, str, dict[str, float]]


def grouped(n_nodes: int, inside: float) -> Graph:
    """A seeded graph in which this share of the relationships join nodes of one group."""
    chance = np.random.default_rng(0)
    n_rows, n_groups = DEGREE * n_nodes, n_nodes // GROUP
    group = chance.integers(n_groups, size=n_nodes)
    of_group = np.argsort(group, kind="stable")
    sizes = np.bincount(group, minlength=n_groups)
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    source = chance.integers(n_nodes, size=n_rows)
    near = of_group[starts[group[source]] + chance.integers(sizes[group[source]])]
    target = np.where(chance.random(n_rows) < inside, near, chance.integers(n_nodes, size=n_rows))
    n_chunks = n_nodes // N_CHUNKS_OF
    chunk = chance.integers(n_chunks, size=n_rows)
    ones = np.ones(2 * n_rows, bool)
    ends = np.concatenate([source, target]), np.concatenate([chunk, chunk])
    return Graph(
        names=Texts.of([f"person {n % 997} of norvik{n}" for n in range(n_nodes)]),
        source=source,
        target=target,
        weight=np.ones(n_rows),
        synonym=np.zeros(n_rows, bool),
        relations=Texts.of([f"works with in year {row % 90}" for row in range(n_rows)]),
        node_chunk=csr_matrix((ones, ends), shape=(n_nodes, n_chunks)),
        relationship_chunk=csr_matrix(
            (ones[:n_rows], (np.arange(n_rows), chunk)), shape=(n_rows, n_chunks)
        ),
        descriptions=Texts.of(
            [f"Person {n} keeps lamp {n % 89}. In year {n % 90} it burned." for n in range(n_nodes)]
        ),
    )


def write(folder: Path, n_nodes: int, inside: float) -> None:
    """The graph, and communities of two levels: its groups, and tens of the nodes of a group."""
    graph = grouped(n_nodes, inside)
    group = np.random.default_rng(0).integers(n_nodes // GROUP, size=n_nodes)
    nodes = np.argsort(group, kind="stable")
    found = _communities(group[nodes], nodes, graph)
    for name, made in (("graph", graph), ("communities", found)):
        (folder / name).mkdir()
        made.save(folder / name)


def _communities(group: IntArray, nodes: IntArray, graph: Graph) -> Communities:
    """Level 0 by the group of each of the sorted nodes, level 1 ten of them at a time."""
    starts = np.searchsorted(group, np.unique(group))
    place = np.arange(len(nodes)) - np.repeat(starts, np.diff(starts, append=len(nodes)))
    _, of_group = np.unique(group, return_inverse=True)
    first, ten = np.unique(of_group * len(nodes) + place // SMALL, return_inverse=True)
    n_groups = len(starts)
    rows = np.concatenate([of_group, n_groups + ten])
    members = cells(rows, np.tile(nodes, 2), (n_groups + len(first), graph.n_nodes))
    level = np.repeat([0, 1], [n_groups, len(first)])
    parent = np.concatenate([np.full(n_groups, -1), first // len(nodes)])
    chunks = (members @ graph.node_chunk).tocsr()
    chunks.sort_indices()
    return Communities(level, parent, members, chunks)


def opened(kind: Any, folder: Path) -> Any:
    """What is stored there."""
    return loaded(kind, folder / kind.__name__.lower())


def timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a call makes, its seconds, and the megabytes that it took at most."""
    peak_from_here()
    before, began = peak_mb(), time.process_time()
    made = call()
    return made, time.process_time() - began, peak_mb() - before


def _digest(*parts: Any) -> str:
    return hashlib.sha256(
        b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
    ).hexdigest()


def ours(folder: Path, largest: int) -> Measured:
    """Our communities."""
    import scipy.sparse.csgraph  # noqa: F401, its loading is not timed

    graph = opened(Graph, folder)
    made, seconds, mb = timed(lambda: leiden(graph=graph, max_cluster_size=largest, seed=SEED))
    starts, ids = made.nodes.indptr.tolist(), made.nodes.indices.tolist()
    held = [tuple(ids[a:b]) for a, b in zip(starts[:-1], starts[1:], strict=True)]
    return seconds, mb, _of_nodes(held), len(made)


def raw(folder: Path, largest: int) -> Measured:
    """Communities by raw leidenalg."""
    graph = opened(Graph, folder)
    made, seconds, mb = timed(lambda: raw_hierarchy(graph, largest))
    return seconds, mb, _of_nodes(made), len(made)


def _of_nodes(communities: Sequence[tuple[int, ...]]) -> str:
    held = sorted(communities)
    return _digest([len(part) for part in held], [node for part in held for node in part])


def raw_view(graph: Graph) -> igraph.Graph:
    """The pairs as igraph has them, without self-loops."""
    pairs = graph.pairs
    keep = pairs.source != pairs.target
    ends = np.stack([pairs.source[keep], pairs.target[keep]], axis=1)
    view = igraph.Graph(n=graph.n_nodes, edges=ends)
    view.es["weight"] = pairs.weight[keep].tolist()
    return view


def raw_partition(view: igraph.Graph) -> Any:
    """One partition by leidenalg until nothing improves."""
    kind = leidenalg.RBConfigurationVertexPartition
    return leidenalg.find_partition(
        view, kind, weights="weight", n_iterations=-1, seed=SEED, resolution_parameter=1.0
    )


def raw_hierarchy(graph: Graph, largest: int) -> list[tuple[int, ...]]:
    """Nodes of the communities of all levels, those of more than `largest` nodes split again."""
    view = raw_view(graph)
    waiting = [sorted(part) for part in view.connected_components() if len(part) > 1]
    found: list[tuple[int, ...]] = []
    first = True
    while waiting:
        split = []
        for members in waiting:
            parts = raw_partition(view.induced_subgraph(members))
            if first or len(parts) > 1:
                split += [tuple(members[place] for place in sorted(part)) for part in parts]
        found += split
        waiting = [list(part) for part in split if len(part) > largest]
        first = False
    return found


class Drawn(Hashing):
    """Vectors drawn by the check sum of the text: they cost nothing."""

    def __init__(self) -> None:
        """4,096 unit vectors of the length of MiniLM's."""
        super().__init__(384)
        rows = np.random.default_rng(1).normal(size=(4096, 384))
        self.rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def encode(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """A row for each text."""
        return self.rows[[crc32(text.encode()) % len(self.rows) for text in texts]]


def our_reports(folder: Path, _: int) -> Measured:
    """Our reports, made anew."""
    graph, found, embedder = opened(Graph, folder), opened(Communities, folder), Drawn()
    embedder.encode(["a"], kind="passage")
    with TemporaryDirectory() as scratch:
        made, seconds, mb = timed(
            lambda: extractive(
                communities=found, graph=graph, embedder=embedder, scratch=Path(scratch),
                progress=Progress(quiet=True),
            )
        )  # fmt: skip
    return seconds, mb, _of_reports(made), len(made)


def held_reports(folder: Path, _: int) -> Measured:
    """The same from lists and dicts."""
    graph, found, embedder = opened(Graph, folder), opened(Communities, folder), Drawn()
    embedder.encode(["a"], kind="passage")

    def columns() -> Reports:
        made = plain_reports(graph, found, embedder)
        titles, texts = (Texts.of([row[which] for row in made]) for which in (0, 1))
        return Reports(titles, texts, np.zeros(len(made)))

    made, seconds, mb = timed(columns)
    return seconds, mb, _of_reports(made), len(made)


def _of_reports(made: Reports) -> str:
    columns = (made.titles, made.texts)
    return _digest(*(part for texts in columns for part in (texts.blob, texts.offsets)))


Side = Callable[[Path, int], Measured]


def in_turns(
    n_nodes: int, largest: int, sides: tuple[Side, Side], n_repeats: int = 1, inside: float = INSIDE
) -> Numbers:
    """Runs a second of both, and the memory that they took."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        in_its_own_process(write, folder, n_nodes, inside)
        rows: list[list[Measured]] = [
            [in_its_own_process(side, folder, largest) for side in sides] for _ in range(n_repeats)
        ]
    if len({run[2] for row in rows for run in row}) > 1:
        raise AssertionError("what was made differs from the reference")
    seconds = [mine[0] for mine, _ in rows]
    p50, p95 = (float(np.percentile(seconds, part)) for part in (50, 95))
    more = {
        "p50": p50, "p95": p95, "communities": rows[0][0][3],
        "ours_mb": max(mine[1] for mine, _ in rows),
        "reference_mb": max(other[1] for _, other in rows),
    }  # fmt: skip
    return 1 / p50, 1 / statistics.median(other[0] for _, other in rows), "runs/s", more


LEIDEN, REPORTS = (ours, raw), (our_reports, held_reports)
CASES = {
    "plain_leiden": lambda: in_turns(20_000, 20_000, LEIDEN, N_REPEATS),
    "hierarchy": lambda: in_turns(20_000, LARGE, LEIDEN, N_REPEATS),
    "hierarchy_200k": lambda: in_turns(200_000, LARGE, LEIDEN),
    "parts_1m": lambda: in_turns(1_000_000, LARGE, LEIDEN, inside=1.0),
    "reports_20k": lambda: in_turns(20_000, 0, REPORTS, N_REPEATS),
    "reports_200k": lambda: in_turns(200_000, 0, REPORTS),
}
