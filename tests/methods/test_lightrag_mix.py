"""LightRAG mix through its method file, worked out by hand: three searches, taken in turn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from small_worlds import World

from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.models.embedder import Kind, Vectors
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.pipeline.build import build
from graphrag_bench.pipeline.steps import Execution, run_steps
from graphrag_bench.values import Question, RetrievalState

HARBOURS = World(
    "Ada-Bergen, Cairo-Dover, Bergen-Cairo, and a chunk without a fact",
    facts=(
        (("Ada", "sailed from", "Bergen"),),
        (("Cairo", "trades with", "Dover"),),
        (("Bergen", "ships to", "Cairo"),),
        (),
    ),
)
ASKED = "Who sailed, and what is traded?"
PLACES = {ASKED: [1.0, 0.0], "Ada": [0.0, 1.0], "trade": [0.6, 0.8]}


class Table:
    """The vectors of the three texts that this question is searched by, and of no others."""

    identity, dimension = "table", 2

    def encode(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        return np.array([PLACES[text] for text in texts], np.float32).reshape(-1, 2)


def rows(*places: tuple[float, float]) -> VectorIndex:
    return VectorIndex(np.array(places, np.float32))


def found(**given: Any) -> RetrievalState:
    """The state after retrieval: nodes Ada 0, Bergen 1, Cairo 2, Dover 3; row i is of chunk i."""
    load_plugins()
    said = {"high_level_keywords": ["trade"], "low_level_keywords": ["Ada"]}
    resources = {
        **HARBOURS.resources,
        "embedder": Table(),
        "llm": Scripted(answer=lambda chat: json.dumps(said)),
        "chunk_index": rows((0.8, 0.6), (0.0, 1.0), (0.6, 0.8), (1.0, 0.0)),
        "node_index": rows((0.0, 1.0), (0.6, 0.8), (1.0, 0.0), (0.8, 0.6)),
        "relationship_index": rows((1.0, 0.0), (0.6, 0.8), (0.0, 1.0)),
    }
    settings = {"conversion": "llm", "linking": [], "top_k": 1, **given}
    method = composed(["method=lightrag_mix"], {"method": settings})["method"]
    pipeline, problems = build(method)
    assert not problems
    start = RetrievalState(Question("q", ASKED))
    (state,) = run_steps(pipeline.steps(False), [start], Execution(resources))
    assert isinstance(state, RetrievalState), state
    return state


def test_the_world_numbers_its_rows_as_the_examples_say() -> None:
    graph = HARBOURS.resources["graph"]
    assert list(graph.names) == ["ada", "bergen", "cairo", "dover"]
    ends = list(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    assert ends == [(0, 1), (2, 3), (1, 2)]


def test_chunks_by_vectors_by_nodes_and_by_relationships_come_in_turn() -> None:
    """By vectors 3, 0, 2, 1 (1, .8, .6, 0); local: Ada's one relationship is read in chunk 0;
    global: `trade` is most similar to row 1 (1, against .6 and .8), read in chunk 1. Rank 1 of
    each: 3, 0, 1; then by vectors 0 again, and 2, which is new."""
    state = found()
    assert state.get("chunks").ids.tolist() == [3, 0, 1, 2]
    assert state.get("chunks").scores.round(4).tolist() == [1.0, 1.0, 1.0, 0.6]


def test_nodes_and_relationships_come_in_turn_from_the_local_and_the_global_search() -> None:
    """Local: node 0 and row 0; global: row 1 and its ends, nodes 2 and 3."""
    state = found()
    assert state.get("nodes").ids.tolist() == [0, 2, 3]
    assert state.get("relationships").ids.tolist() == [0, 1]


def test_a_wider_search_finds_more_relationships_and_leaves_the_first_chunks() -> None:
    """top_k 2: nodes 0, 1 (1, .8) end rows 0 and 2: row 2 joins degrees 2 and 2, row 0 1 and 2;
    rows 1, 2 by `trade`. In turn 2 and 1, then 0 and the known 2. Local chunks by occurrence:
    0 and 2 hold one row each, so 0 before 2; global 1, 2."""
    state = found(top_k=2)
    assert state.get("relationships").ids.tolist() == [2, 1, 0]
    assert state.get("chunks").ids.tolist() == [3, 0, 1, 2]


@pytest.mark.parametrize(("most", "shown"), [(1, ["d3"]), (3, ["d3", "d0", "d1"])])
def test_the_prompt_has_as_many_chunks_as_the_setting_says(most: int, shown: list[str]) -> None:
    context = found(chunk_top_k=most).get("context")
    assert [piece.id for piece in context.pieces if piece.kind == "chunk"] == shown
