"""What a run opens is mapped from its files: questions make no second copy of it."""

import mmap
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from small_worlds import WORLDS

from graphrag_bench.artifacts.store import loaded
from graphrag_bench.values import Ranked
from operators.chunk.of_graph import aggregator as chunks_of
from operators.community.of_graph import entity
from operators.node.ppr import ppr
from operators.relationship.of_graph import aggregator as relationships_of
from operators.relationship.of_graph import onehop

NAMES = ("graph", "communities", "reports", "node_index")
OURS = {"graph.row_of.numbers", "graph.degree", "graph.walks.strength", "graph.walks.isolated"}
"""What is made of the files and kept: one number for each node at most."""


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
    parts = {name: WORLDS[0].resources[name] for name in NAMES}
    for name, one in parts.items():
        (tmp_path / name).mkdir()
        one.save(tmp_path / name)
    return {name: loaded(type(one), tmp_path / name) for name, one in parts.items()}


def test_what_is_opened_stays_mapped_after_questions(opened):
    graph = opened["graph"]
    for seeds in ([1, 2], [3, 0, 4]):
        graph.dictionary.matches(f"Who met {graph.names[seeds[0]]}?")
        opened["node_index"].search(opened["node_index"].vectors[:1], 3)
        ((best, scores),) = ppr([Ranked(np.array(seeds), np.ones(len(seeds)))], graph=graph)
        onehop(best, graph=graph)
        _, of_rows = relationships_of(scores, graph=graph)
        chunks_of(of_rows, scores, graph=graph)
        entity(best, communities=opened["communities"], reports=opened["reports"])
    assert ("nodes", True) in graph.walks
    result = [pair for name, one in opened.items() for pair in arrays(one, name)]
    assert len(result) > 40
    own = {name: array for name, array in result if array.size > 3 and not is_mapped(array)}
    assert own.keys() <= OURS
    assert all(array.size <= graph.n_nodes for array in own.values())
