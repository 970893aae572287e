"""The settings of the path methods' files reach their steps: goldens through the registry."""

from typing import Any

import numpy as np
import pytest
from small_worlds import World

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.pipeline.pipeline import build
from graphrag_bench.pipeline.steps import Execution as Running
from graphrag_bench.pipeline.steps import run_steps
from graphrag_bench.values import Context, Path, Question, RetrievalState

A, B, C, D, E, F = "Ada", "Bergen", "Cairo", "Dover", "Essen", "Faro"
SQUARES = World(
    "golden G1: A-B, A-C, B-D, C-D, D-E, C-F, F-E",
    facts=tuple(
        ((head, f"{head} to {tail}", tail),)
        for head, tail in ((A, B), (A, C), (B, D), (C, D), (D, E), (C, F), (F, E))
    ),
)


@pytest.fixture(autouse=True)
def _plugins() -> None:
    load_plugins()


def method(name: str, profile: str = "default", **given: Any) -> dict[str, Any]:
    """A method under a profile, with settings laid over that."""
    words = [f"method={name}", f"profile={profile}"]
    made: dict[str, Any] = composed(words, {"method": given})["method"]
    return made


def state(world: World, asked: str, made: dict[str, Any]) -> RetrievalState:
    """The state in which a method packs its context."""
    pipeline, problems = build(made)
    assert not problems
    start = RetrievalState(Question("q", asked))
    (found,) = run_steps(pipeline.steps(False), [start], Running(world.resources))
    assert isinstance(found, RetrievalState), found
    return found


def walks(found: RetrievalState) -> dict[str, float]:
    """The paths by the first letters of their nodes."""
    names = SQUARES.resources["graph"].names
    return {
        "".join(names[n][0] for n in path.nodes): path.score for path in found.get("paths").paths
    }


def pathrag(profile: str = "default", **given: Any) -> dict[str, float]:
    return walks(state(SQUARES, f"what joins {A} and {E}?", method("pathrag", profile, **given)))


def of_kind(context: Context, kind: str) -> list[str]:
    return [piece.text for piece in context.pieces if piece.kind == kind]


# ---- PathRAG


def test_as_many_relationships_as_are_asked_for_stand_in_the_prompt() -> None:
    """More than the 200 rows that a table of relationships has by its own default."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    names = [f"{one}{other.lower()}o" for one in letters[:10] for other in letters]
    star = World("one hub", facts=tuple(((A, "knows", name),) for name in names[:230]))
    found = state(star, f"whom knows {A}?", method("pathrag", n_edges=230))
    assert len(of_kind(found.get("context"), "relationship")) == 230


# ---- PathCoRAG


def packed(made: dict[str, Any], paths: RankedPaths, graph: Graph) -> Context:
    """The context that a method's own steps make of given paths, from the switch on."""
    at = [row for row, item in enumerate(made["retrieve"]) if "switch" in item]
    pipeline, problems = build({**made, "convert": [], "retrieve": made["retrieve"][at[0] :]})
    assert not problems
    start = RetrievalState(Question("q", "?"), {"paths": paths})
    resources = {**SQUARES.resources, "graph": graph}
    (found,) = run_steps(pipeline.steps(False), [start], Running(resources))
    assert isinstance(found, RetrievalState), found
    context = found.get("context")
    assert isinstance(context, Context)
    return context


def test_every_node_of_a_kept_path_stands_in_the_table_once() -> None:
    """15 paths of two hops that share their first node: 31 nodes and 30 relationships; of four
    hops 61 nodes, more than the 40 rows that a table of nodes has by its own default."""
    ends = [(0 if hop == 0 else 4 * path + hop, 4 * path + hop + 1) for path in range(15)
            for hop in range(4)]  # fmt: skip
    graph = Graph.from_arrays(*zip(*ends, strict=True), node_chunk=np.ones((61, 1)),
                              relationship_chunk=np.ones((60, 1)))  # fmt: skip
    paths = RankedPaths(
        tuple(
            Path((0, *range(4 * p + 1, 4 * p + 5)), tuple(range(4 * p, 4 * p + 4)), 1 - p / 20, 1)
            for p in range(15)
        )
    )
    context = packed(method("pathcorag"), paths, graph)
    assert len(of_kind(context, "path")) == 15
    assert len(of_kind(context, "node")) == 61 and len(of_kind(context, "relationship")) == 60
    capped = packed(method("pathcorag", n_table_nodes=40, n_table_relationships=7), paths, graph)
    assert len(of_kind(capped, "node")) == 40 and len(of_kind(capped, "relationship")) == 7
