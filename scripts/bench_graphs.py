"""Benchmarks of graphs and indices: PageRank, opening a graph, vector search, `chunk.route`.

`ppr`: personalised PageRank against igraph's prpack. Graphs have power-law degrees (exponent 2.5);
questions have three seeds, every second one a hub among them. Graphs are set up and kernels
compiled before; igraph converts its graph within each call, and has no way around that. `overlap`
is the share of the exact best nodes that are found, mean over the questions.

`load`: opening a stored graph against a pickle of the same as dicts and lists, each opening in a
process of its own whose libraries are loaded and whose files are in the page cache. `hash_seconds`
is what the hashes of all files take. `resident_mb` is held after 100 questions, mapped pages
included, `private_mb` without them; `question_ms` is the median question.

`vdb`: vector search against `faiss.knn` over the same mapped float32 vectors. `recall` is the share
of its ids that are ours. `route`: `chunk.route` with stored vectors, against `chunk.vdb`.
"""

import multiprocessing
import pickle
import statistics
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import faiss
import igraph
import numpy as np
from bench import Numbers, in_turns, milliseconds, rates, seconds
from numpy.lib.format import open_memmap
from scipy.sparse import csr_matrix, diags, triu

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.name_dictionary import title_key
from graphrag_bench.algorithms.pagerank import Walk, walk_of_nodes, walk_with_chunks
from graphrag_bench.artifacts.store import loaded, write_recipe
from graphrag_bench.columns import Texts
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.embedding.cached_models import CachedEmbedder
from graphrag_bench.embedding.embedder import Hashing, Vectors
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.graphs.sentences import split_sentences
from graphrag_bench.llm.cache import Cache
from graphrag_bench.values import ChunkScores, FloatArray, IntArray, Node, Ranked
from operators.chunk.of_graph import fromrel, occurrence
from operators.chunk.ppr import ppr as chunk_ppr
from operators.chunk.route import route
from operators.node.ppr import ppr as node_ppr
from operators.relationship.of_graph import onehop

EXPONENT = 2.5
"""Of the distribution of degrees: P(degree = d) falls as d to the power of -2.5."""
N_NODES, N_RELATIONSHIPS, N_CHUNKS = 1_000_000, 5_000_000, 250_000
N_QUESTIONS, N_REPEATS = 8, 3
DIMENSION, TOP_K = 384, 20
LEAST_RECALL = 0.99
BLOCK = 50_000
T = TypeVar("T")


def drawn(n_nodes: int, n_draws: int) -> IntArray:
    """Nodes drawn by weights of a power law, the hubs spread over the ids."""
    weights = (1.0 + np.arange(n_nodes)) ** (-1.0 / (EXPONENT - 1.0))
    chance = np.random.default_rng(0).random(n_draws)
    places = np.searchsorted(np.cumsum(weights / weights.sum()), chance)
    order = np.random.default_rng(1).permutation(n_nodes)
    return np.asarray(order[np.minimum(places, n_nodes - 1)], np.int64)


def walk_over(n_nodes: int, n_relationships: int) -> tuple[Graph, Walk]:
    """A graph of so many nodes and relationships; parallel ones add up to a weight."""
    ends = drawn(n_nodes, 2 * n_relationships).reshape(2, -1)
    graph = Graph.from_arrays(ends[0], ends[1], n_nodes=n_nodes)
    return graph, walk_of_nodes(graph)


def seeds(strength: FloatArray, n_questions: int) -> list[IntArray]:
    """Three seeds for each question, no isolated ones; each second question begins at a hub."""
    chance = np.random.default_rng(2)
    joined = np.flatnonzero(strength > 0)
    hubs = np.argsort(-strength, kind="stable")[: 10 * n_questions]
    starts = [chance.choice(joined, 3, replace=False) for _ in range(n_questions)]
    for number in range(0, n_questions, 2):
        starts[number][0] = chance.choice(hubs)
    return [np.unique(one) for one in starts]


def prpack(walk: Walk) -> Callable[[IntArray, FloatArray, float], Callable[[], FloatArray]]:
    """Return what makes igraph's PageRank over the walk's graph: reset, its weights, damping."""
    half = triu(walk.transition @ diags(walk.strength), format="coo")
    graph = igraph.Graph(n=len(walk), edges=np.stack([half.row, half.col], axis=1))
    graph.es["weight"] = half.data

    def of_reset(rows: IntArray, weights: FloatArray, damping: float) -> Callable[[], FloatArray]:
        reset = np.zeros(len(walk))
        reset[rows] = weights
        settings = {"reset": reset.tolist(), "damping": damping, "weights": "weight"}
        return lambda: np.array(graph.personalized_pagerank(**settings, implementation="prpack"))

    return of_reset


Question = tuple[Callable[[], Ranked[Any]], Callable[[], FloatArray]]
"""Our ranking, and the exact scores of all candidates."""


def against_exact(questions: Iterable[Question], top: int, **more: float) -> Numbers:
    """Both times of every question, and the overlap of the best; six decimals, then id."""
    mine, other, overlap = [], [], []
    for ours, exact in questions:
        found, scores = ours(), exact()
        best = Ranked[Any].top(scores, top).ids
        overlap.append(len(np.intersect1d(best, found.ids)) / len(best))
        mine.append(statistics.median(seconds(ours) for _ in range(N_REPEATS)))
        other.append(seconds(exact))
    return milliseconds(1, mine, other, overlap=statistics.fmean(overlap), **more)


def top100(damping: float) -> Numbers:
    """The 100 best of a million nodes by `node.ppr`, one question at a time."""
    graph, walk = walk_over(N_NODES, N_RELATIONSHIPS)
    exact, settings = prpack(walk), {"damping": damping, "reset": "uniform"}

    def ours(rows: IntArray) -> Ranked[Node]:
        start = Ranked[Node](rows, np.ones(len(rows)))
        return node_ppr([start], graph=graph, top_k=100, **settings)[0][0]

    questions = (
        (partial(ours, rows), exact(rows, np.ones(len(rows)), damping))
        for rows in seeds(walk.strength, N_QUESTIONS)
    )
    return against_exact(questions, 100)


def chunk_ppr_100k() -> Numbers:
    """`chunk.ppr` over 300,000 entities and 100,000 passages, 200 passages in the reset."""
    n_nodes, n_chunks, per_chunk = 300_000, 100_000, 8
    where = drawn(n_nodes, n_chunks * per_chunk), np.arange(n_chunks * per_chunk) // per_chunk
    inside = csr_matrix((np.ones(len(where[0]), bool), where), shape=(n_nodes, n_chunks))
    inside.sum_duplicates()
    none = np.zeros(0, np.int64)
    names = Texts.of([f"node {row}" for row in range(n_nodes)])
    graph = Graph(names=names, source=none, target=none, weight=np.zeros(0), node_chunk=inside,
                  synonym=np.zeros(0, bool), relations=Texts.of([]),
                  relationship_chunk=csr_matrix((0, n_chunks), dtype=bool))  # fmt: skip
    walk = walk_with_chunks(graph, relationships=False, contains="one")
    exact, chance = prpack(walk), np.random.default_rng(3)

    def question(rows: IntArray) -> Question:
        near, weights = chance.choice(n_chunks, 200, replace=False), chance.random(200)
        weights /= weights.sum()
        start = Ranked[Node](rows, np.full(len(rows), 1 / len(rows)))
        scores = ChunkScores.sparse(near, weights, n_chunks)
        reset = np.concatenate([rows, n_nodes + near])
        of_all = exact(reset, np.concatenate([start.scores, 0.2 * weights]), 0.5)

        def theirs() -> FloatArray:
            mass = of_all()[n_nodes:]
            return mass / mass.max()

        ours = partial(chunk_ppr, [start], [scores], graph=graph, joined="chunks",
                       passage_weight=0.2, top_k=10)  # fmt: skip
        return lambda: ours()[0], theirs

    return against_exact(map(question, seeds(walk.strength[:n_nodes], N_QUESTIONS)), 10)


def in_its_own_process(function: Callable[..., T], *arguments: object) -> T:
    """What the function returns in a fresh process."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        return pool.submit(function, *arguments).result()


def write_graphs(folder: Path) -> float:
    """A graph in `graph`, the same as dicts and lists in `plain.pickle`; megabytes of ours."""
    rows, ones = np.arange(N_RELATIONSHIPS), np.ones(2 * N_RELATIONSHIPS, bool)
    source, target = drawn(N_NODES, 2 * N_RELATIONSHIPS).reshape(2, -1)
    chance = np.random.default_rng(0)
    chunk = np.sort(chance.integers(N_CHUNKS, size=N_RELATIONSHIPS))
    ends = np.concatenate([source, target]), np.concatenate([chunk, chunk])
    shape = N_RELATIONSHIPS, N_CHUNKS
    graph = Graph(
        names=Texts.of([f"person {row % 997} of norvik{row}" for row in range(N_NODES)]),
        source=source,
        target=target,
        weight=chance.integers(1, 4, N_RELATIONSHIPS).astype(np.float64),
        synonym=np.zeros(N_RELATIONSHIPS, bool),
        relations=Texts.of(["works with"] * N_RELATIONSHIPS),
        node_chunk=csr_matrix((ones, ends), shape=(N_NODES, N_CHUNKS)),
        relationship_chunk=csr_matrix((ones[:N_RELATIONSHIPS], (rows, chunk)), shape=shape),
    )
    own = folder / "graph"
    own.mkdir()
    graph.save(own)
    near: list[dict[int, float]] = [{} for _ in range(graph.n_nodes)]
    pairs = (graph.pairs.source, graph.pairs.target, graph.pairs.weight)
    for head, tail, weight in zip(*(column.tolist() for column in pairs), strict=True):
        near[head][tail] = near[tail][head] = weight
    node_chunks, relationship_chunks = (
        [part.tolist() for part in np.split(matrix.indices, matrix.indptr[1:-1])]
        for matrix in (graph.node_chunk, graph.relationship_chunk)
    )
    plain = {
        "row_of": {name: row for row, name in enumerate(graph.names)},
        "near": near,
        "node_chunks": node_chunks,
        "relationships": list(zip(graph.source.tolist(), graph.target.tolist(), strict=True)),
        "relationship_chunks": relationship_chunks,
    }
    (folder / "plain.pickle").write_bytes(pickle.dumps(plain, protocol=5))
    return sum(path.stat().st_size for path in own.rglob("*") if path.is_file()) / 2**20


def open_ours(folder: Path) -> float:
    """Seconds of opening."""
    return seconds(lambda: loaded(Graph, folder / "graph"))


def open_plain(folder: Path) -> float:
    """Seconds of reading the pickle."""
    with (folder / "plain.pickle").open("rb") as file:
        return seconds(lambda: pickle.load(file))


def hash_files(folder: Path) -> float:
    """Seconds of the hashes of all files."""
    return seconds(lambda: write_recipe(folder / "graph", {}))


def questions_of_graph(folder: Path) -> dict[str, float]:
    """Megabytes held after 100 questions, and the milliseconds of one."""
    graph = loaded(Graph, folder / "graph")
    chance = np.random.default_rng(1)

    def ask(rows: IntArray, text: str) -> None:
        nodes = np.array([row for _, row in graph.dictionary.matches(text)])
        if not np.array_equal(nodes, rows):
            raise AssertionError(f"the names of nodes {rows} were not found: {nodes}")
        ((best, _),) = node_ppr([Ranked(nodes, np.ones(len(rows)))], graph=graph, top_k=10)
        joined = onehop(best, graph=graph, top_k=100)
        occurrence(joined, graph=graph)
        fromrel(joined, graph=graph)

    times = []
    for rows in chance.integers(graph.n_nodes, size=(100, 3)):
        text = f"What joins {' and '.join(graph.names.take(rows))}?"
        times.append(seconds(partial(ask, rows, text)))
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    rows = (line.split() for line in lines if line.endswith(" kB"))
    memory = {name: int(number) / 1024 for name, number, _ in rows}
    return {"resident_mb": memory["VmRSS:"], "private_mb": memory["RssAnon:"],
            "question_ms": 1000 * statistics.median(times)}  # fmt: skip


def opened() -> Numbers:
    """Openings a second of ours and of the pickle, in turns."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        stored = in_its_own_process(write_graphs, folder)
        turns = [
            (in_its_own_process(open_ours, folder), in_its_own_process(open_plain, folder))
            for _ in range(N_REPEATS)
        ]
        more = {"hash_seconds": in_its_own_process(hash_files, folder), "stored_mb": stored,
                **in_its_own_process(questions_of_graph, folder)}  # fmt: skip
    ours, plain = ([turn[at] for turn in turns] for at in (0, 1))
    return rates(1, ours, plain, "openings/s", seconds=statistics.median(ours), **more)


def unit_rows(n_rows: int, seed: int) -> Vectors:
    """Rows of length 1 in all directions alike."""
    rows = np.random.default_rng(seed).standard_normal((n_rows, DIMENSION), np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@contextmanager
def mapped(n_rows: int) -> Iterator[VectorIndex]:
    """The index of so many vectors, mapped from a file that is written in blocks."""
    with TemporaryDirectory() as folder:
        shape = (n_rows, DIMENSION)
        vectors = open_memmap(Path(folder) / "vectors.npy", "w+", np.dtype(np.float32), shape)
        for start in range(0, n_rows, BLOCK):
            vectors[start : start + BLOCK] = unit_rows(BLOCK, seed=start + 1)
        del vectors
        yield VectorIndex.load(Path(folder))


def searched(n_rows: int, n_questions: int, n_repeats: int) -> Numbers:
    """Questions a second of both; raises AssertionError where too many ids differ."""
    questions = unit_rows(n_questions, seed=0)
    with mapped(n_rows) as ours:

        def raw() -> IntArray:
            hits = faiss.knn(questions, ours.vectors, TOP_K, metric=faiss.METRIC_INNER_PRODUCT)
            return np.asarray(hits[1])

        found = [ranked.ids for ranked in ours.search(questions, TOP_K)]
        both = [len(np.intersect1d(*pair)) for pair in zip(found, raw(), strict=True)]
        if (recall := sum(both) / (TOP_K * n_questions)) < LEAST_RECALL:
            raise AssertionError(f"recall against faiss is only {recall:.4f}")
        mine, other = in_turns(lambda: ours.search(questions, TOP_K), raw, n_repeats)
    return milliseconds(n_questions, mine, other, recall=recall)


def routes(n_chunks: int = 100_000, n_questions: int = 60, n_candidates: int = 50) -> Numbers:
    """Questions a second of the step and of the search, over the passages of a world.

    Candidates are a question's evidence, then chunks that their sentences name, then others by
    chance. The step has run once before, so that all its vectors are stored.
    """
    size = int(n_chunks * 0.9)
    data = read_dataset("world", settings={"size": size, "n_questions": n_questions})
    table = ChunkTable.of([(doc.id, doc.title, doc.text) for doc in data.documents])
    row_of = {title_key(title): row for row, title in enumerate(table.titles)}
    others = np.random.default_rng(0).permutation(len(table))[:n_candidates].tolist()
    index = VectorIndex(unit_rows(len(table), seed=1))
    mine, other = [], []
    with TemporaryDirectory() as folder:
        embedder = CachedEmbedder(Hashing(DIMENSION), Cache(Path(folder) / "cache.sqlite"))
        for number, question in enumerate(data.questions):
            rows = [table.chunks_of(one)[0] for one in data.gold[question.id].evidence]
            sentences = [one.split() for row in rows for one in split_sentences(table.texts[row])]
            keys = [title_key(" ".join(words[at : at + 2]))
                    for words in sentences for at in range(len(words))]  # fmt: skip
            named = [row_of[key] for key in keys if key in row_of]
            candidates = list(dict.fromkeys([*rows, *named, *others]))[:n_candidates]
            ranked: Ranked = Ranked(np.array(candidates), np.linspace(1.0, 0.1, n_candidates))
            step = partial(route, [question], [ranked], chunk_table=table, embedder=embedder)
            step()
            mine.append(seconds(step))
            other.append(seconds(partial(index.search, unit_rows(1, seed=number), TOP_K)))
    return milliseconds(1, mine, other)


SUITES = {
    "ppr": {
        "top100_1m": partial(top100, 0.5),
        "top100_1m_085": partial(top100, 0.85),
        "chunk_ppr_100k": chunk_ppr_100k,
    },
    "load": {"1m": opened},
    "vdb": {
        "batch_1m": partial(searched, 1_000_000, 1000, 3),
        "one_1m": partial(searched, 1_000_000, 1, 15),
        "batch_100k": partial(searched, 100_000, 1000, 6),
    },
    "route": {"routes_100000": routes},
}
