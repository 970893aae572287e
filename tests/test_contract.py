"""Contracts: signatures, settings, registration and reloads."""

import importlib
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Annotated, Literal

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
from graphrag_bench.values import Chunk, Mentions, Node, NodeScores, Query, Question, Ranked

Damping = Annotated[float, Field(ge=0, lt=1)]


@pytest.fixture(autouse=True)
def empty_registries(monkeypatch):
    """Empty registries; the built-in names are loaded first, because modules are imported once."""
    load_plugins()
    monkeypatch.setattr(contract, "operators", Registry("operator"))
    monkeypatch.setattr(contract, "builders", Registry("builder"))


def registered(name: str) -> Operator:
    return contract.operators.get(name)


def walk(
    nodes: "Ranked[Node]", query: "Query | None" = None, *, graph: Graph, damping: "Damping" = 0.5
) -> "tuple[Ranked[Chunk], NodeScores]": ...


def walks(
    nodes: Sequence[Ranked[Node]], query: Sequence["Query | None"], *, graph: Graph,
    damping: Damping = 0.5,
) -> list[tuple[Ranked[Chunk], NodeScores]]: ...  # fmt: skip


@pytest.mark.parametrize(
    ("function", "batched"), [(walk, False), (walks, True), (cache(walk), False)]
)
def test_a_signature_defines_reads_needs_settings_and_writes(function, batched):
    assert operator("chunk.walk", batched=batched)(function) is function
    op = registered("chunk.walk")
    assert [(read.slot, read.optional) for read in op.reads] == [("nodes", False), ("query", True)]
    assert op.needs == ("graph",)
    assert {n: one.default for n, one in op.settings.items()} == {"damping": 0.5}
    assert (op.writes, op.may_write) == (("chunks", "node_scores"), ())
    assert op.origin.endswith(f":{function.__name__}") and op.code == fingerprint.code(function)


def test_optional_returns_and_prompts():
    @operator("question.look", calls=lambda settings: 1 + settings["top_k"])
    def look(
        question: Question, *, prompt: Prompt, top_k: int = 3
    ) -> tuple[Mentions | None, Query]: ...

    op = registered("question.look")
    assert list(op.returns) == ["mentions", "query"]
    assert (op.writes, op.may_write) == (("query",), ("mentions",))
    assert op.needs == () and op.settings["prompt"].default is REQUIRED
    assert op.max_calls({"top_k": 3}) == 4


def test_a_builder_has_a_resource_a_variant_and_needs():
    @artifact("node_index.name", provides={"node.name"})
    def index(*, graph: Graph, field: str = "name") -> VectorIndex: ...

    artifact("bm25")(index)
    builder = contract.builders.get("node_index.name")
    assert (builder.resource, builder.variant) == ("node_index", "name")
    assert (builder.needs, list(builder.settings)) == (("graph",), ["field"])
    assert (builder.produces, builder.provides) == (VectorIndex, {"node.name"})
    assert contract.builders.get("bm25").variant == "bm25"


SINGLE, BATCHED, BUILDER = operator("x"), operator("x", batched=True), artifact("index")


@pytest.mark.parametrize(
    ("register", "signature", "message"),
    [
        (SINGLE, "(question) -> Query", "'question'"),
        (SINGLE, "(top_k: int) -> Query", "'top_k.*value type"),
        (SINGLE, "(query: Query | None) -> Mentions", "'query'"),
        (SINGLE, "(query: Query = None) -> Mentions", "'query'"),
        (SINGLE, "(question: Question) -> list[str]", "value type"),
        (SINGLE, "(question: Question) -> tuple[Query, Query]", "same slot"),
        (BATCHED, "(nodes: Ranked[Node]) -> list[Ranked[Chunk]]", "'nodes'"),
        (BATCHED, "(nodes: Sequence[Ranked[Node]]) -> Ranked[Chunk]", "list"),
        (BATCHED, "(query: Sequence[Query | None] = ()) -> list[Ranked[Chunk]]", "'query'"),
        (BATCHED, "(top_k: Sequence[int]) -> list[Query]", "value type"),
        (BUILDER, "(graph: Graph) -> VectorIndex", "keyword-only"),
        (BUILDER, "(*, graph: Graph) -> str", "save and load"),
    ],
)
def test_invalid_signatures_are_refused(register, signature, message):
    made = {}
    exec(f"def function{signature}: ...", globals(), made)
    with pytest.raises(ContractError, match=message):
        register(made["function"])


def test_settings_are_checked_and_converted():
    for kind, wrong in (
        (PositiveInt, "4"), (PositiveInt, True), (PositiveInt, 0),
        (Literal["pair", "fact"], "pairs"), (Prompt, "methods:vanilla/prompts/anser.j2"),
    ):  # fmt: skip
        with pytest.raises(UserError, match="'mine'|anser.j2"):
            Setting("mine", kind, None).check(wrong)
    name = "methods:vanilla/prompts/answer.j2"
    for kind, value, converted in (
        (Damping, 0, 0.0), (tuple[str, ...], ["a", "b"], ("a", "b")), (Prompt, name, Prompt(name))
    ):  # fmt: skip
        assert Setting("mine", kind, REQUIRED).check(value) == converted


LAB = """
from graphrag_bench.contract import operator
from graphrag_bench.values import Query, Question
from words import word


@operator("question.echo")
def echo(question: Question) -> Query:
    return Query((word(question.text),))
"""
WORDS = "def word(text):\n    return text.upper()\n"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "lab.py").write_text(LAB)
    (tmp_path / "words.py").write_text(WORDS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    importlib.import_module("lab")
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


def echoed() -> tuple[str, str]:
    op = registered("question.echo")
    return str(op.function(Question("q", "Ada")).texts[0]), op.code


def test_duplicate_and_unknown_names_are_refused(lab):
    with pytest.raises(ContractError, match=f"lab:.*{__name__}:"):
        operator("question.echo")(walk)
    with pytest.raises(UserError, match="question.ecko.*question.echo"):
        registered("question.ecko")


def reloaded(name: str) -> tuple[str, str]:
    importlib.reload(sys.modules[name])
    return echoed()


def test_a_reload_registers_the_new_code(lab):
    before = echoed()
    edit(lab / "lab.py", "word(question.text)", "word(question.text) + '!'")
    assert echoed() == before  # the old code still runs
    assert echoed() == before  # the old code still runs
    edited = reloaded("lab")
    edit(lab / "lab.py", " + '!'", "")
    assert reloaded("lab") == before
    edit(lab / "words.py", "upper", "lower")
    states = [before, edited, reloaded("words"), reloaded("lab")]
    assert [result for result, _ in states] == ["ADA", "ADA!", "ADA", "ada"]
    assert len({code for _, code in states}) == 4


def test_a_helper_edited_after_import_has_its_old_fingerprint(lab):
    edit(lab / "words.py", "upper", "lower")
    stale = registered("question.echo").code
    for name in ("lab", "words"):
        del sys.modules[name]
    contract.operators._items.clear()
    importlib.import_module("lab")
    assert echoed()[0] == "ada" and echoed()[1] != stale


def test_code_replaced_by_autoreload_changes_the_fingerprint(lab):
    before = echoed()
    edit(lab / "words.py", "upper", "lower")
    space: dict[str, FunctionType] = {}
    exec((lab / "words.py").read_text(), space)
    sys.modules["words"].word.__code__ = space["word"].__code__
    assert echoed()[0] == "ada" and echoed()[1] != before[1]
