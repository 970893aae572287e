"""PathRAG, PathCoRAG and PankRAG from end to end: prompts, settings, what holds for any graph."""

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_worlds import World
from toy_runs import ada_marsh

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.embedding.tokenizer import BytePairs
from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.pipeline.pipeline import Pipeline, build
from graphrag_bench.pipeline.steps import Execution as Running
from graphrag_bench.pipeline.steps import Outcome, run_steps
from graphrag_bench.prompts import ContextBudget
from graphrag_bench.values import Context, Node, Path, Question, Ranked, RetrievalState
from methods.pathrag.paths import flow_prune
from operators.context.paths import paths_context

pytestmark = pytest.mark.slow


def of_kind(context: Context, kind: str) -> list[str]:
    return [piece.text for piece in context.pieces if piece.kind == kind]


@cache
def method(name: str, **given: Any) -> Pipeline:
    """The pipeline of a method with these parameters."""
    pipeline, problems = build(
        composed([f"method={name}"], {f"method.{key}": value for key, value in given.items()})[
            "method"
        ]
    )
    assert not problems
    return pipeline


def outcome(
    name: str, resources: dict[str, Any], question: str, answering: bool = False, **given: Any
) -> Outcome:
    """Where a method ends for a question over these resources."""
    start = RetrievalState(Question("q", question))
    (found,) = run_steps(method(name, **given).steps(answering), [start], Running(resources))
    return found


def state(
    name: str, resources: dict[str, Any], question: str, answering: bool = False, **given: Any
) -> RetrievalState:
    """The state in which a method ends, which must not have failed."""
    found = outcome(name, resources, question, answering, **given)
    assert isinstance(found, RetrievalState), found
    return found


IDS = [f"{sequence}-{hop}" for sequence in range(3) for hop in (1, 2)]
WANTED = st.lists(st.sampled_from([*IDS, "7-7"]), max_size=3)
HOPS = st.fixed_dictionaries(
    {
        "hop_id": st.sampled_from(IDS),
        "sub_query": st.sampled_from(["Who?", "What of <A1-1>?", "Where is [A2.1] from <A9-9>?"]),
        "if_abstract": st.booleans(),
        "dependencies": WANTED,
    }
)
PLANS = st.fixed_dictionaries(
    {
        "sequences": st.lists(
            st.fixed_dictionaries(
                {"sequence_id": st.sampled_from(["0", "1", "2"]), "hop": st.lists(HOPS, max_size=3)}
            ),
            max_size=3,
        ),
        "final_query": st.lists(
            st.fixed_dictionaries(
                {"final_query": st.just("All?"), "if_abstract": st.booleans(),
                 "dependencies": WANTED}
            ),
            max_size=1,
        ),
    }
)  # fmt: skip
NORVIK = World(
    "Norvik",
    facts=(
        (("Ada Marsh", "founded", "Norvik"), ("Norvik", "stands on", "Mount Tarn")),
        (("Otto Brandt", "taught", "Mira Holt"),),
    ),
)


@settings(deadline=None, max_examples=20)
@given(PLANS)
def test_pankrag_answers_whatever_the_plan(path: dict[str, Any]) -> None:
    """Circles, dangling ids, ids given twice, empty sequences: it ends, with an answer."""
    asked: list[str] = []

    def reply(chat: Chat) -> Any:
        asked.append(chat[0].content)
        if '"final_query"' in chat[0].content:
            return json.dumps({"query": "All?", "path": path})
        return ada_marsh(chat)

    resources = {**NORVIK.resources, "llm": Scripted(answer=reply)}
    found = state("pankrag", resources, "Who taught whom?", answering=True)
    assert found.get("answer").text == "Ada Marsh"
    assert found.get("context").pieces
    assert found.question.text == "Who taught whom?"
    assert len(asked) <= method("pankrag").bound()


PAIRS = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1])


@settings(deadline=None, max_examples=30)
@given(
    st.lists(PAIRS, min_size=1, max_size=12, unique=True),
    st.sampled_from([0.0, 0.01, 0.1]),
    st.integers(1, 15),
    st.integers(1, 300),
)
def test_the_last_path_of_the_prompt_has_the_highest_score(
    pairs: list[tuple[int, int]], theta: float, top_k: int, budget: int
) -> None:
    graph = Graph.from_arrays(*zip(*pairs, strict=True), names=list("abcdef"))
    asked = Ranked[Node](np.arange(graph.n_nodes), np.ones(graph.n_nodes))
    paths = flow_prune(asked, graph=graph, theta=theta, top_k=top_k)
    scores = [path.score for path in paths.paths]
    told = paths_context(
        paths, graph=graph, tokenizer=BytePairs(), context_budget=ContextBudget(budget)
    )
    shown = [piece.score for piece in told.pieces]
    assert shown == sorted(shown)
    if shown:
        assert shown[-1] == max(scores)
        assert len(shown) + len(told.cut) == len(scores) <= top_k


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


def made(name: str, profile: str = "default", **given: Any) -> dict[str, Any]:
    """A method under a profile, with settings laid over that."""
    words = [f"method={name}", f"profile={profile}"]
    settings: dict[str, Any] = composed(
        words, {f"method.{key}": value for key, value in given.items()}
    )["method"]
    return settings


def state_of(world: World, asked: str, made: dict[str, Any]) -> RetrievalState:
    """The state in which a method packs its context."""
    pipeline, problems = build(made)
    assert not problems
    start = RetrievalState(Question("q", asked))
    (found,) = run_steps(pipeline.steps(False), [start], Running(world.resources))
    assert isinstance(found, RetrievalState), found
    return found


def test_as_many_relationships_as_are_asked_for_stand_in_the_prompt() -> None:
    """More than the 200 rows that a table of relationships has by its own default."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    names = [f"{one}{other.lower()}o" for one in letters[:10] for other in letters]
    star = World("one hub", facts=tuple(((A, "knows", name),) for name in names[:230]))
    found = state_of(star, f"whom knows {A}?", made("pathrag", n_edges=230))
    assert len(of_kind(found.get("context"), "relationship")) == 230


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
    context = packed(made("pathcorag"), paths, graph)
    assert len(of_kind(context, "path")) == 15
    assert len(of_kind(context, "node")) == 61 and len(of_kind(context, "relationship")) == 60
    capped = packed(made("pathcorag", n_table_nodes=40, n_table_relationships=7), paths, graph)
    assert len(of_kind(capped, "node")) == 40 and len(of_kind(capped, "relationship")) == 7
