"""Communities and their reports against plain Python: time, and the memory that they take.

Seeded graphs with five relationships for each node: most join nodes of one group of 100. Ours and
the reference take turns, each run in a process of its own that opens the stored graph; what they
make must be the same. `ours` and `reference` are runs a second, the median; p50 and p95 are ours in
seconds. `ours_mb` and `reference_mb` are the most memory of a run beyond the opened graph, pages of
its files included that the run reads.

`plain_leiden` makes one level (`max_cluster_size` above all sizes), `hierarchy` splits communities
of more than 100 nodes again; the reference is a loop of raw leidenalg over subgraphs that igraph
makes. `reports` extracts one report for each community of at most 10 nodes, with vectors that cost
nothing; the reference holds the sentences of all communities in lists and dicts. `reports_1m` has
no reference that fits into memory: its `reference` is ours with a fifth of the nodes, in
communities a second of both, so that the ratio is 1 where time grows with the size.
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

from graphrag_bench.columns import Texts
from graphrag_bench.graph.communities import Communities, Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Hashing, Kind, Vectors
from graphrag_bench.offline.communities import leiden
from graphrag_bench.offline.reports import extractive
from graphrag_bench.offline.store import loaded
from graphrag_bench.progress import Progress

N_REPEATS, INSIDE, GROUP, DEGREE, SEED = 3, 0.9, 100, 5, 7
LARGE, SMALL, N_CHUNKS_OF = 100, 10, 10
Measured = tuple[float, float, str, float]
"""Seconds, megabytes, a digest of what was made, and how many communities there are."""
Numbers = tuple[float, float, str, dict[str, float]]


def grouped(n_nodes: int) -> Graph:
    """A seeded graph in which `INSIDE` of the relationships join nodes of one group."""
    chance = np.random.default_rng(0)
    n_rows, n_groups = DEGREE * n_nodes, n_nodes // GROUP
    group = chance.integers(n_groups, size=n_nodes)
    of_group = np.argsort(group, kind="stable")
    sizes = np.bincount(group, minlength=n_groups)
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    source = chance.integers(n_nodes, size=n_rows)
    near = of_group[starts[group[source]] + chance.integers(sizes[group[source]])]
    target = np.where(chance.random(n_rows) < INSIDE, near, chance.integers(n_nodes, size=n_rows))
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


def write(folder: Path, n_nodes: int, largest: int = 0) -> None:
    """The graph, and its communities of at most `largest` nodes unless that is 0."""
    graph = grouped(n_nodes)
    (folder / "graph").mkdir()
    graph.save(folder / "graph")
    if largest:
        (folder / "communities").mkdir()
        leiden(graph=graph, max_cluster_size=largest, seed=SEED).save(folder / "communities")


def opened(kind: Any, folder: Path) -> Any:
    """What is stored there."""
    return loaded(kind, folder / kind.__name__.lower())


def timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a call makes, its seconds, and the megabytes that it took at most."""
    peak_from_here()
    before, began = peak_mb(), time.perf_counter()
    made = call()
    return made, time.perf_counter() - began, peak_mb() - before


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


def in_turns(n_nodes: int, largest: int, mine: Side, other: Side, n_repeats: int) -> Numbers:
    """Runs a second of both, and the memory that they took."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        in_its_own_process(write, folder, n_nodes, largest * (mine is our_reports))
        rows: list[tuple[Measured, Measured]] = [
            (in_its_own_process(mine, folder, largest), in_its_own_process(other, folder, largest))
            for _ in range(n_repeats)
        ]
    if len({run[2] for row in rows for run in row}) > 1:
        raise AssertionError("what was made differs from the reference")
    seconds = [row[0][0] for row in rows]
    p50, p95 = (float(np.percentile(seconds, part)) for part in (50, 95))
    more = {
        "p50": p50, "p95": p95, "communities": rows[0][0][3],
        "ours_mb": max(row[0][1] for row in rows), "reference_mb": max(row[1][1] for row in rows),
    }  # fmt: skip
    return 1 / p50, 1 / statistics.median(row[1][0] for row in rows), "runs/s", more


def growth(n_nodes: int) -> Numbers:
    """Communities a second that are reported on, of this size and of a fifth of it."""
    found = []
    for size in (n_nodes, n_nodes // 5):
        with TemporaryDirectory() as place:
            in_its_own_process(write, Path(place), size, SMALL)
            found.append(in_its_own_process(our_reports, Path(place), SMALL))
    (seconds, mb, _, n), (other, other_mb, _, n_other) = found
    more = {"p50": seconds, "p95": seconds, "communities": n,
            "ours_mb": mb, "reference_mb": other_mb}  # fmt: skip
    return n / seconds, n_other / other, "communities/s", more


CASES = {
    "plain_leiden": lambda: in_turns(20_000, 20_000, ours, raw, N_REPEATS),
    "hierarchy": lambda: in_turns(20_000, LARGE, ours, raw, N_REPEATS),
    "hierarchy_200k": lambda: in_turns(200_000, LARGE, ours, raw, 1),
    "hierarchy_1m": lambda: in_turns(1_000_000, LARGE, ours, raw, 1),
    "reports_20k": lambda: in_turns(20_000, SMALL, our_reports, held_reports, N_REPEATS),
    "reports_200k": lambda: in_turns(200_000, SMALL, our_reports, held_reports, 1),
    "reports_1m": lambda: growth(1_000_000),
}
