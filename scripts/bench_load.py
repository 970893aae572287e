"""Opening a stored graph against reading a pickle of the same as plain Python; then 100 questions.

The graph has 1,000,000 nodes and 5,000,000 relationships whose degrees follow a power law, each
relationship in one of 250,000 chunks. Every opening is one of a process of its own, whose libraries
are loaded and whose files are in the page cache. `ours` and `reference` are openings a second, the
median of `N_REPEATS`; p50 and p95 are ours in seconds. `hash_seconds` is what the hashes of all
files take, as an import checks them.
`resident_mb` is what the process holds after 100 questions, the pages that it has mapped included;
`private_mb` leaves those out. A question matches names, ranks nodes by PageRank, takes the
relationships of the best 10 and their chunks (relationship.onehop, chunk.occurrence,
chunk.fromrel); `question_ms` is the median. Writing the graph is not timed for either side.
"""

import multiprocessing
import pickle
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_matrix
from timing import Numbers

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.artifacts.store import loaded, write_recipe
from graphrag_bench.columns import Texts
from graphrag_bench.values import Ranked
from operators.chunk.fromrel import fromrel
from operators.chunk.occurrence import occurrence
from operators.node.ppr import ppr
from operators.relationship.onehop import onehop

N_NODES, N_RELATIONSHIPS, N_CHUNKS = 1_000_000, 5_000_000, 250_000
N_REPEATS, N_QUESTIONS, N_SEEDS = 3, 100, 3
EXPONENT = 2.5
"""Of the distribution of degrees: P(degree = d) falls as d to the power of -2.5."""
DAMPING = 0.5
T = TypeVar("T")


def power_law(n_nodes: int, n_relationships: int, n_chunks: int) -> Graph:
    """A seeded graph; nodes are in the chunks of their relationships, names have three words."""
    chance = np.random.default_rng(0)
    odds = np.arange(1, n_nodes + 1) ** (-1 / (EXPONENT - 1))
    size = (2, n_relationships)
    source, target = chance.permutation(n_nodes)[chance.choice(n_nodes, size, p=odds / odds.sum())]
    rows = np.arange(n_relationships)
    chunk = np.sort(chance.integers(n_chunks, size=n_relationships))
    ones = np.ones(2 * n_relationships, bool)
    ends = np.concatenate([source, target]), np.concatenate([chunk, chunk])
    return Graph(
        names=Texts.of([f"person {row % 997} of norvik{row}" for row in range(n_nodes)]),
        source=source,
        target=target,
        weight=chance.integers(1, 4, n_relationships).astype(np.float64),
        synonym=np.zeros(n_relationships, bool),
        relations=Texts.of(["works with"] * n_relationships),
        node_chunk=csr_matrix((ones, ends), shape=(n_nodes, n_chunks)),
        relationship_chunk=csr_matrix(
            (ones[:n_relationships], (rows, chunk)), shape=(n_relationships, n_chunks)
        ),
    )


def in_its_own_process(function: Callable[..., T], *arguments: object) -> T:
    """What the function gives in a fresh process."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        return pool.submit(function, *arguments).result()


def write(folder: Path, n_nodes: int, n_relationships: int, n_chunks: int) -> float:
    """The graph in `graph`, the same as dicts and lists in `plain.pickle`; megabytes of ours."""
    graph = power_law(n_nodes, n_relationships, n_chunks)
    own = folder / "graph"
    own.mkdir()
    graph.save(own)
    near: list[dict[int, float]] = [{} for _ in range(graph.n_nodes)]
    for head, tail, weight in zip(
        graph.pairs.source.tolist(),
        graph.pairs.target.tolist(),
        graph.pairs.weight.tolist(),
        strict=True,
    ):
        near[head][tail] = near[tail][head] = weight
    plain = {
        "row_of": {name: row for row, name in enumerate(graph.names)},
        "near": near,
        "node_chunks": _lists(graph.node_chunk),
        "relationships": list(zip(graph.source.tolist(), graph.target.tolist(), strict=True)),
        "relationship_chunks": _lists(graph.relationship_chunk),
    }
    with (folder / "plain.pickle").open("wb") as file:
        pickle.dump(plain, file, protocol=5)
    return sum(path.stat().st_size for path in own.rglob("*") if path.is_file()) / 2**20


def _lists(matrix: csr_matrix) -> list[list[int]]:
    return [part.tolist() for part in np.split(matrix.indices, matrix.indptr[1:-1])]


def open_ours(folder: Path) -> float:
    """Seconds of opening."""
    began = time.perf_counter()
    loaded(Graph, folder / "graph")
    return time.perf_counter() - began


def open_plain(folder: Path) -> float:
    """Seconds of reading the pickle."""
    began = time.perf_counter()
    with (folder / "plain.pickle").open("rb") as file:
        pickle.load(file)
    return time.perf_counter() - began


def hash_files(folder: Path) -> float:
    """Seconds of the hashes of all files."""
    began = time.perf_counter()
    write_recipe(folder / "graph", {})
    return time.perf_counter() - began


def questions(folder: Path) -> dict[str, float]:
    """Megabytes held after the questions, and the milliseconds of one."""
    graph = loaded(Graph, folder / "graph")
    chance = np.random.default_rng(1)
    seconds = []
    for _ in range(N_QUESTIONS):
        rows = chance.integers(graph.n_nodes, size=N_SEEDS)
        text = f"What joins {' and '.join(graph.names.take(rows))}?"
        began = time.perf_counter()
        nodes = np.array([row for _, row in graph.dictionary.matches(text)])
        if not np.array_equal(nodes, rows):
            raise AssertionError(f"the names of nodes {rows} were not found: {nodes}")
        ((best, _),) = ppr([Ranked(nodes, np.ones(N_SEEDS))], graph=graph, top_k=10)
        joined = onehop(best, graph=graph, top_k=100)
        occurrence(joined, graph=graph)
        fromrel(joined, graph=graph)
        seconds.append(time.perf_counter() - began)
    memory = _memory()
    return {
        "resident_mb": memory["VmRSS"],
        "private_mb": memory["RssAnon"],
        "question_ms": 1000 * statistics.median(seconds),
    }


def _memory() -> dict[str, float]:
    """The memory of this process by kind, in megabytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    cells = (line.split() for line in lines if line.endswith(" kB"))
    return {name.rstrip(":"): int(number) / 1024 for name, number, _ in cells}


def opened(n_nodes: int, n_relationships: int, n_chunks: int) -> Numbers:
    """Openings a second of ours and of the pickle, in turns."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        stored = in_its_own_process(write, folder, n_nodes, n_relationships, n_chunks)
        ours, plain = [], []
        for _ in range(N_REPEATS):
            ours.append(in_its_own_process(open_ours, folder))
            plain.append(in_its_own_process(open_plain, folder))
        more = {
            "p50": float(np.percentile(ours, 50)),
            "p95": float(np.percentile(ours, 95)),
            "hash_seconds": in_its_own_process(hash_files, folder),
            "stored_mb": stored,
            **in_its_own_process(questions, folder),
        }
    return 1 / statistics.median(ours), 1 / statistics.median(plain), "openings/s", more


CASES = {
    "100k": lambda: opened(N_NODES // 10, N_RELATIONSHIPS // 10, N_CHUNKS // 10),
    "1m": lambda: opened(N_NODES, N_RELATIONSHIPS, N_CHUNKS),
}
