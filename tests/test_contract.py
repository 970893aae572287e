"""A signature is a contract: what it says, what breaks it, and which settings it takes."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import Field, PositiveInt

from graphrag_bench import contract, fingerprint
from graphrag_bench.contract import REQUIRED, Operator, Setting, alone, artifact, operator
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.vector_index import VectorIndex
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


@pytest.fixture(autouse=True)
def empty_registries(monkeypatch):
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
    damping: Annotated[float, Field(ge=0, lt=1)] = 0.5,
    top_k: PositiveInt = 4,
) -> tuple[Ranked[Chunk], NodeScores]:
    """Chunks near the nodes."""
    raise NotImplementedError


def test_positional_parameters_are_read_and_an_optional_one_may_be_absent():
    operator("chunk.walk")(walk)
    reads = registered("chunk.walk").reads
    assert [(read.slot, read.optional) for read in reads] == [("nodes", False), ("query", True)]


def test_keyword_only_parameters_are_needs_without_a_default_and_settings_with_one():
    operator("chunk.walk")(walk)
    held = registered("chunk.walk")
    assert held.needs == ("graph",)
    assert {name: one.default for name, one in held.settings.items()} == {
        "damping": 0.5,
        "top_k": 4,
    }


def test_the_return_type_names_the_slots_that_are_written():
    operator("chunk.walk")(walk)
    assert registered("chunk.walk").writes == ("chunks", "node_scores")
    assert registered("chunk.walk").may_write == ()


def test_a_value_or_none_may_be_written_wherever_it_stands():
    @operator("question.look")
    def look(question: Question) -> tuple[Mentions | None, Query]:
        raise NotImplementedError

    held = registered("question.look")
    assert list(held.returns) == ["mentions", "query"]
    assert held.writes == ("query",)
    assert held.may_write == ("mentions",)


def test_a_prompt_is_a_setting_and_a_required_one_without_a_default():
    @operator("answer.short")
    def short(question: Question, *, prompt: Prompt) -> Context:
        raise NotImplementedError

    held = registered("answer.short")
    assert held.needs == ()
    assert held.settings["prompt"].default is REQUIRED


def test_the_decorator_gives_the_function_back_unchanged():
    assert operator("chunk.walk")(walk) is walk


def test_a_bound_on_calls_is_a_number_or_follows_from_the_settings():
    @operator("question.twice", calls=2)
    def twice(question: Question, *, top_k: int = 3) -> Query:
        raise NotImplementedError

    @operator("question.often", calls=lambda settings: 1 + settings["top_k"])
    def often(question: Question, *, top_k: int = 3) -> Query:
        raise NotImplementedError

    assert registered("question.twice").bound({"top_k": 3}) == 2
    assert registered("question.often").bound({"top_k": 3}) == 4


# ---- what breaks the contract


def test_a_parameter_without_a_type_is_refused():
    def untyped(question) -> Query:
        raise NotImplementedError

    with pytest.raises(ContractError, match="parameter 'question' has no type"):
        operator("x")(untyped)


def test_a_positional_parameter_must_be_a_value_type():
    def reads_a_number(top_k: int) -> Query:
        raise NotImplementedError

    with pytest.raises(ContractError, match="'top_k.*' is not a value type"):
        operator("x")(reads_a_number)


def test_an_optional_read_must_default_to_none():
    def forgot(query: Query | None) -> Mentions:
        raise NotImplementedError

    def unsaid(query: Query = None) -> Mentions:  # type: ignore[assignment]
        raise NotImplementedError

    for function in (forgot, unsaid):
        with pytest.raises(ContractError, match="optional 'query' must default to None"):
            operator("x")(function)


def test_a_return_type_that_is_no_value_is_refused():
    def gives_a_list(question: Question) -> list[str]:
        raise NotImplementedError

    with pytest.raises(ContractError, match="which is not a value type"):
        operator("x")(gives_a_list)


def test_no_slot_is_written_twice():
    def doubles(question: Question) -> tuple[Query, Query]:
        raise NotImplementedError

    with pytest.raises(ContractError, match="writes one slot twice"):
        operator("x")(doubles)


# ---- batched operators


def walks(
    nodes: Sequence[Ranked[Node]],
    query: Sequence[Query | None],
    *,
    graph: Graph,
    damping: Annotated[float, Field(ge=0, lt=1)] = 0.5,
) -> list[tuple[Ranked[Chunk], NodeScores]]:
    """Chunks near the nodes."""
    scores = [damping * (1 if one is None else len(one)) for one in query]
    return [
        (Ranked[Chunk](found.ids, found.scores), NodeScores(np.full(graph.n_nodes, score)))
        for found, score in zip(nodes, scores, strict=True)
    ]


PAIR = Graph.from_arrays(source=[0], target=[1])
SEED = Ranked[Node](np.array([1]), np.array([1.0]))


def test_the_contract_of_a_batched_function_is_that_of_its_single_form():
    assert operator("chunk.walk", batched=True)(walks) is walks
    held = registered("chunk.walk")
    assert [(read.slot, read.optional) for read in held.reads] == [
        ("nodes", False),
        ("query", True),
    ]
    assert held.needs == ("graph",)
    assert held.settings["damping"].default == 0.5
    with pytest.raises(UserError, match="setting 'damping' is 1"):
        held.settings["damping"].check(1)
    assert held.writes == ("chunks", "node_scores")
    assert held.batch is walks
    assert held.origin.endswith(":walks") and held.code == fingerprint.code(walks)


def test_the_single_form_takes_one_value_for_each_and_gives_the_one_result():
    operator("chunk.walk", batched=True)(walks)
    single = registered("chunk.walk").function
    chunks, scores = single(SEED, graph=PAIR)
    assert (chunks.ids.tolist(), scores.values.tolist()) == ([1], [0.5, 0.5])
    _, scores = single(SEED, query=Query(("a", "b")), graph=PAIR, damping=0.25)
    assert scores.values.tolist() == [0.5, 0.5]


def test_the_single_form_has_a_signature_of_its_own():
    single = alone(walks)
    signature = inspect.signature(single)
    assert list(signature.parameters) == ["nodes", "query", "graph", "damping"]
    assert signature.parameters["nodes"].annotation == Ranked[Node]
    assert signature.parameters["query"].default is None
    assert signature.return_annotation == tuple[Ranked[Chunk], NodeScores]
    assert single.__doc__ == walks.__doc__
    with pytest.raises(TypeError, match="missing a required argument: 'nodes'"):
        single(graph=PAIR)


def test_a_batched_function_that_reads_or_gives_no_sequence_is_refused():
    def reads_one(nodes: Ranked[Node]) -> list[Ranked[Chunk]]:
        raise NotImplementedError

    def gives_one(nodes: Sequence[Ranked[Node]]) -> Ranked[Chunk]:
        raise NotImplementedError

    def has_a_default(query: Sequence[Query | None] = ()) -> list[Ranked[Chunk]]:
        raise NotImplementedError

    def asks_late(
        query: Sequence[Query | None], nodes: Sequence[Ranked[Node]]
    ) -> list[Ranked[Chunk]]:
        raise NotImplementedError

    for function, said in (
        (reads_one, "'nodes' must be a Sequence of values"),
        (gives_one, "it must return a list, one result for each question"),
        (has_a_default, "'query' must have no default"),
        (asks_late, "values that may be None must come last"),
    ):
        with pytest.raises(ContractError, match=f"{function.__name__} is batched: {said}"):
            operator("x", batched=True)(function)


def test_a_batched_function_reads_values_like_any_other():
    def reads_numbers(top_k: Sequence[int]) -> list[Query]:
        raise NotImplementedError

    def gives_texts(question: Sequence[Question]) -> list[str]:
        raise NotImplementedError

    for function in (reads_numbers, gives_texts):
        with pytest.raises(ContractError, match="is not a value type"):
            operator("x", batched=True)(function)


# ---- builders


def test_a_builder_names_its_resource_and_variant_and_what_it_is_built_from():
    @artifact("node_index.name", provides={"node.name"})
    def index(*, graph: Graph, field: str = "name") -> VectorIndex:
        raise NotImplementedError

    held = contract.builders.get("node_index.name")
    assert (held.resource, held.variant) == ("node_index", "name")
    assert held.needs == ("graph",)
    assert list(held.settings) == ["field"]
    assert held.produces is VectorIndex
    assert held.provides == {"node.name"}


def test_a_builder_without_a_variant_is_its_own_variant():
    @artifact("bm25")
    def index(*, graph: Graph) -> VectorIndex:
        raise NotImplementedError

    assert contract.builders.get("bm25").variant == "bm25"


def test_a_builder_reads_no_state():
    def positional(graph: Graph) -> VectorIndex:
        raise NotImplementedError

    with pytest.raises(ContractError, match="'graph' must be keyword-only"):
        artifact("index")(positional)


def test_a_builder_returns_something_that_can_be_loaded_again():
    def gives_a_path(*, graph: Graph) -> Path:
        raise NotImplementedError

    with pytest.raises(ContractError, match="a type with save and load"):
        artifact("index")(gives_a_path)


# ---- settings


@pytest.mark.parametrize("wrong", ["4", True, 4.5, 0, -1, None])
def test_a_number_of_rows_must_be_a_whole_number_above_zero(wrong):
    with pytest.raises(UserError, match="setting 'top_k' is"):
        Setting("top_k", PositiveInt, 4).check(wrong)


def test_a_number_of_rows_is_taken_as_it_is():
    assert Setting("top_k", PositiveInt, 4).check(8) == 8


def test_a_share_may_be_written_as_a_whole_number_and_must_keep_its_range():
    damping = Setting("damping", Annotated[float, Field(ge=0, lt=1)], 0.5)
    assert damping.check(0) == 0.0
    for wrong in (1, -0.1, "0.5", True):
        with pytest.raises(UserError, match="setting 'damping'"):
            damping.check(wrong)


def test_a_choice_names_its_values_when_it_is_wrong():
    with pytest.raises(UserError, match="'pair' or 'fact'"):
        Setting("unit", Literal["pair", "fact"], "pair").check("pairs")


def test_a_list_of_yaml_becomes_a_tuple():
    setting = Setting("names", tuple[str, ...], ())
    assert setting.check(["a", "b"]) == ("a", "b")


def test_a_prompt_that_is_not_there_is_found_when_the_setting_is_checked():
    with pytest.raises(UserError, match="No prompt file 'methods:vanilla/prompts/anser.j2'"):
        Setting("prompt", Prompt, REQUIRED).check("methods:vanilla/prompts/anser.j2")


def test_a_prompt_by_name_becomes_a_prompt():
    name = "methods:vanilla/prompts/answer.j2"
    assert Setting("prompt", Prompt, REQUIRED).check(name) == Prompt(name)


def test_an_operator_is_still_a_plain_function():
    @operator("chunk.first")
    def first(nodes: Ranked[Node]) -> Ranked[Chunk]:
        return Ranked[Chunk](nodes.ids[:1], nodes.scores[:1])

    assert first(Ranked(np.array([3, 1]), np.array([1.0, 0.5]))).ids.tolist() == [3]
