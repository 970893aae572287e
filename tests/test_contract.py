"""A signature is a contract: what it says, what breaks it, and which settings it takes."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from pydantic import Field, PositiveInt

from graphrag_bench import contract, fingerprint
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import REQUIRED, Operator, Setting, artifact, operator
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.prompts import Prompt
from graphrag_bench.registry import ContractError, Registry
from graphrag_bench.values import (
    Chunk,
    Context,
    Mentions,
    Node,
    NodeScores,
    Query,
    Question,
    Ranked,
)

Damping = Annotated[float, Field(ge=0, lt=1)]


@pytest.fixture(autouse=True)
def empty_registries(monkeypatch):
    """Registries without the built-in names, which are loaded before, or they would be lost."""
    load_plugins()
    monkeypatch.setattr(contract, "operators", Registry("operator"))
    monkeypatch.setattr(contract, "builders", Registry("builder"))


def registered(name: str) -> Operator:
    return contract.operators.get(name)


# ---- what a signature says


def walk(
    nodes: Ranked[Node],
    query: Query | None = None,
    *,
    graph: Graph,
    damping: Damping = 0.5,
    top_k: PositiveInt = 4,
) -> tuple[Ranked[Chunk], NodeScores]:
    """Chunks near the nodes."""
    raise NotImplementedError


def test_a_signature_says_what_is_read_needed_set_and_written():
    assert operator("chunk.walk")(walk) is walk
    op = registered("chunk.walk")
    assert [(read.slot, read.optional) for read in op.reads] == [("nodes", False), ("query", True)]
    assert op.needs == ("graph",)
    assert {n: one.default for n, one in op.settings.items()} == {"damping": 0.5, "top_k": 4}
    assert (op.writes, op.may_write) == (("chunks", "node_scores"), ())


def test_a_value_or_none_may_be_written_wherever_it_stands():
    operator("question.look")(look)
    op = registered("question.look")
    assert list(op.returns) == ["mentions", "query"]
    assert (op.writes, op.may_write) == (("query",), ("mentions",))


def test_a_prompt_is_a_setting_and_a_required_one_without_a_default():
    @operator("answer.short")
    def short(question: Question, *, prompt: Prompt) -> Context:
        raise NotImplementedError

    op = registered("answer.short")
    assert op.needs == () and op.settings["prompt"].default is REQUIRED


def test_a_bound_on_calls_is_a_number_or_follows_from_the_settings():
    operator("question.plan", calls=2)(echo)
    assert registered("question.plan").bound({}) == 2
    operator("question.plan", calls=lambda settings: 1 + settings["top_k"])(echo)
    assert registered("question.plan").bound({"top_k": 3}) == 4


def echo(question: Question, *, top_k: int = 3) -> Query:
    raise NotImplementedError


def look(question: Question) -> tuple[Mentions | None, Query]:
    raise NotImplementedError


# ---- what breaks the contract

SINGLE, BATCHED, BUILDER = operator("x"), operator("x", batched=True), artifact("index")


@pytest.mark.parametrize(
    ("register", "signature", "message"),
    [
        (SINGLE, "(question) -> Query", "'question'"),
        (SINGLE, "(top_k: int) -> Query", "'top_k.*value type"),
        (SINGLE, "(query: Query | None) -> Mentions", "'query'"),
        (SINGLE, "(query: Query = None) -> Mentions", "'query'"),
        (SINGLE, "(question: Question) -> list[str]", "value type"),
        (SINGLE, "(question: Question) -> tuple[Query, Query]", "twice"),
        (BATCHED, "(nodes: Ranked[Node]) -> list[Ranked[Chunk]]", "'nodes'"),
        (BATCHED, "(nodes: Sequence[Ranked[Node]]) -> Ranked[Chunk]", "list"),
        (BATCHED, "(query: Sequence[Query | None] = ()) -> list[Ranked[Chunk]]", "'query'"),
        (BATCHED, "(top_k: Sequence[int]) -> list[Query]", "value type"),
        (BUILDER, "(graph: Graph) -> VectorIndex", "keyword-only"),
        (BUILDER, "(*, graph: Graph) -> str", "save and load"),
    ],
)
def test_what_is_no_contract_is_refused(
    register: Callable[..., Any], signature: str, message: str
) -> None:
    made: dict[str, Any] = {}
    exec(f"def function{signature}: ...", globals(), made)
    with pytest.raises(ContractError, match=message):
        register(made["function"])


# ---- batched operators


def walks(
    nodes: Sequence[Ranked[Node]],
    query: Sequence[Query | None],
    *,
    graph: Graph,
    damping: Damping = 0.5,
) -> list[tuple[Ranked[Chunk], NodeScores]]:
    """Chunks near the nodes."""
    scores = [damping * (1 if one is None else len(one)) for one in query]
    return [
        (Ranked[Chunk](rows.ids, rows.scores), NodeScores(np.full(graph.n_nodes, score)))
        for rows, score in zip(nodes, scores, strict=True)
    ]


PAIR = Graph.from_arrays(source=[0], target=[1])
SEED = Ranked[Node](np.array([1]), np.array([1.0]))


def test_the_contract_of_a_batched_function_is_that_of_its_single_form():
    assert operator("chunk.walk", batched=True)(walks) is walks
    op = registered("chunk.walk")
    assert [(read.slot, read.optional) for read in op.reads] == [("nodes", False), ("query", True)]
    assert op.needs == ("graph",) and op.settings["damping"].default == 0.5
    assert op.writes == ("chunks", "node_scores") and op.batch is walks
    assert op.origin.endswith(":walks") and op.code == fingerprint.code(walks)
    chunks, scores = op.function(SEED, graph=PAIR)
    assert (chunks.ids.tolist(), scores.values.tolist()) == ([1], [0.5, 0.5])
    _, scores = op.function(SEED, query=Query(("a", "b")), graph=PAIR, damping=0.25)
    assert scores.values.tolist() == [0.5, 0.5]


# ---- builders


def test_a_builder_names_its_resource_and_variant_and_what_it_is_built_from():
    @artifact("node_index.name", provides={"node.name"})
    def index(*, graph: Graph, field: str = "name") -> VectorIndex:
        raise NotImplementedError

    artifact("bm25")(index)
    builder = contract.builders.get("node_index.name")
    assert (builder.resource, builder.variant) == ("node_index", "name")
    assert (builder.needs, list(builder.settings)) == (("graph",), ["field"])
    assert (builder.produces, builder.provides) == (VectorIndex, {"node.name"})
    assert contract.builders.get("bm25").variant == "bm25"


# ---- settings


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        *((PositiveInt, value) for value in ("4", True, 4.5, 0, None)),
        *((Damping, value) for value in (1, -0.1, "0.5", True)),
        (Literal["pair", "fact"], "pairs"),
        (Prompt, "methods:vanilla/prompts/anser.j2"),
    ],
)
def test_a_setting_of_the_wrong_type_or_range_is_refused(kind: Any, wrong: Any):
    with pytest.raises(UserError, match="setting 'mine' is|No prompt file"):
        Setting("mine", kind, None).check(wrong)


def test_a_setting_is_taken_as_the_function_takes_it():
    assert Setting("top_k", PositiveInt, 4).check(8) == 8
    assert Setting("damping", Damping, 0.5).check(0) == 0.0
    assert Setting("names", tuple[str, ...], ()).check(["a", "b"]) == ("a", "b")
    name = "methods:vanilla/prompts/answer.j2"
    assert Setting("prompt", Prompt, REQUIRED).check(name) == Prompt(name)
