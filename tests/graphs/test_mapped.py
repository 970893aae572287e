"""What a run opens is mapped from its files: questions make no second copy of it."""

import mmap
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from builds import QUIET

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.artifacts.store import loaded
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.graphs.communities import leiden
from graphrag_bench.graphs.reports import extractive
from graphrag_bench.values import Ranked
from operators.chunk.aggregator import aggregator as chunks_of
from operators.community.entity import entity
from operators.node.ppr import ppr
from operators.relationship.aggregator import aggregator as relationships_of
from operators.relationship.onehop import onehop

N_NODES, N_ROWS, N_CHUNKS, SEED = 400, 700, 60, 3


def scattered() -> Graph:
    """A seeded graph of several components with self-loops and parallel rows."""
    chance = np.random.default_rng(0)
    source, target = chance.integers(N_NODES, size=(2, N_ROWS))
    target = np.where(chance.random(N_ROWS) < 0.7, source // 20 * 20 + target % 20, target)
    result = Graph.from_arrays(
        source, target, chance.random((N_NODES, N_CHUNKS)) < 0.1,
        names=[f"{'a b'[n % 3]}name of {n}" for n in range(N_NODES)],
    )  # fmt: skip
    words = Texts.of([f"The {n % 9} lamp of {n} burns. It is old." for n in range(N_NODES)])
    return replace(result, descriptions=words, facts=Texts.of(["They met."] * N_ROWS))


OURS = {
    "graph.row_of.numbers": N_NODES,  # 0, 1, 2, ...
    "graph.degree": N_NODES,
    "graph.walks.strength": N_NODES,
    "graph.walks.isolated": N_NODES,
}
"""What is made of the files and kept, with its most rows: one number for each node at most."""


def arrays(value: object, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """Every array that an object holds, cached views included, by its name."""
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, dict):
        for part in value.values():
            yield from arrays(part, name)
    elif hasattr(value, "indptr"):
        for part in ("data", "indices", "indptr"):
            yield f"{name}.{part}", getattr(value, part)
    elif is_dataclass(value):
        names = {field.name for field in fields(value)} | set(vars(value))
        for part in sorted(names):
            yield from arrays(getattr(value, part), f"{name}.{part}")


def is_mapped(array: object) -> bool:
    """Whether its numbers lie in a mapped file."""
    while array is not None and not isinstance(array, mmap.mmap):
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    return array is not None


@pytest.fixture
def opened(tmp_path) -> dict[str, object]:
    """A graph, its communities, their reports and vectors of the nodes, each saved and opened."""
    graph = scattered()
    result = leiden(graph=graph, seed=SEED)
    vectors = np.random.default_rng(0).normal(size=(N_NODES, 8)).astype(np.float32)
    reports = extractive(communities=result, graph=graph, embedder=Hashing(64), progress=QUIET)
    parts = {"graph": graph, "communities": result, "reports": reports}
    parts["node_index"] = VectorIndex(vectors)
    for name, one in parts.items():
        (tmp_path / name).mkdir()
        one.save(tmp_path / name)
    return {name: loaded(type(one), tmp_path / name) for name, one in parts.items()}


def ask(opened: dict[str, object], seeds: list[int]) -> None:
    """One question through operators that read nodes, relationships, chunks and communities."""
    graph = opened["graph"]
    graph.dictionary.matches(f"Who met {graph.names[seeds[0]]}?")
    opened["node_index"].search(np.ones((1, 8), np.float32), 3)
    nodes = Ranked(np.array(seeds), np.ones(len(seeds)))
    ((best, scores),) = ppr([nodes], graph=graph)
    onehop(best, graph=graph)
    _, of_rows = relationships_of(scores, graph=graph)
    chunks_of(of_rows, scores, graph=graph)
    entity(best, communities=opened["communities"], reports=opened["reports"])


def test_what_is_opened_stays_mapped_after_questions(opened):
    for seeds in ([1, 2], [30, 7, 9]):
        ask(opened, seeds)
    assert ("nodes", True) in opened["graph"].walks
    result = [pair for name, one in opened.items() for pair in arrays(one, name)]
    assert len(result) > 40
    own = {name: array for name, array in result if array.size > 3 and not is_mapped(array)}
    assert {name for name, array in own.items() if array.size > OURS.get(name, 0)} == set()
