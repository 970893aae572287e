"""What every registered operator keeps to, whoever wrote it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np
import pytest
from small_worlds import WORLDS, Babbling, Obliging, World

from graphrag_bench.algorithms.path_values import Exploration, RankedPaths, StepNodes
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import REQUIRED, Operator, operators
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.fingerprint import digest
from graphrag_bench.prompts import Prompt
from graphrag_bench.run.record import summary
from graphrag_bench.values import (
    DECIMALS,
    ChunkScores,
    Context,
    Keywords,
    Mentions,
    NodeScores,
    Query,
    Ranked,
    RelationshipScores,
    Subgraph,
)

pytestmark = pytest.mark.slow

load_plugins()
OPERATORS = [op for op in operators.all() if op.origin.startswith(("operators.", "methods."))]
assert len(OPERATORS) > 100
SOMETHING_FROM_NOTHING = {
    "node.ppr": "without seeds the walk starts at every node alike",
    "chunk.ppr": "without seeds the walk starts at the chunks alone",
    "relationship.hybrid": "without mentions the vectors alone decide",
    "node.match": "without mentions the question itself is read",
    "node.link": "without mentions the question itself is read",
    "chunk.pick.similar_and_dense": "chunks similar to the question are found in any case",
    "node.by_keyword": "without keywords the question itself is looked for",
    "query.low": "without keywords the question itself is looked for",
    "query.high": "without keywords the question itself is looked for",
    "drift.primer.nlp": "without communities the question itself is the follow-up",
    "thoughts.next": "without passages the model thinks about the question alone",
}
"""Operators whose empty input has a meaning of its own."""

PROMPTS = [Prompt("methods:vanilla/prompts/answer.j2")]
"""For prompt settings without a default: the first whose variables the operator supplies."""

MODELS = {"llm", "llm_build", "llm_judge"}
LISTS = (
    "nodes", "relationships", "chunks", "communities", "mentions", "query", "keywords",
    "subgraph", "exploration", "paths", "reasoning_steps", "step_nodes",
)  # fmt: skip
COUNTED = Ranked | Mentions | Query | Keywords | Subgraph | Exploration | RankedPaths | StepNodes
VECTORS = NodeScores | RelationshipScores | ChunkScores

READERS_OF_LISTS = [op for op in OPERATORS if any(read.slot in LISTS for read in op.reads)]
each_operator = pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)


@dataclass(frozen=True)
class Way:
    """A way to call an operator: some settings, with or without its optional reads."""

    settings: Mapping[str, Any]
    optional: bool


def ways(op: Operator) -> Iterator[Way]:
    """The defaults with and without optional reads, then every other choice of a setting."""
    defaults = {name: default_of(op, name) for name in op.settings}
    yield Way(defaults, optional=False)
    yield Way(defaults, optional=True)
    for name, setting in op.settings.items():
        for choice in choices(setting.annotation):
            yield Way({**defaults, name: choice}, optional=True)


def default_of(op: Operator, name: str) -> Any:
    setting = op.settings[name]
    if setting.default is not REQUIRED:
        return setting.default
    assert setting.annotation is Prompt, f"{op.name}: tell the contract test a value for '{name}'"
    return next(prompt for prompt in PROMPTS if prompt.variables <= op.supplies)


def choices(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Annotated:
        return choices(get_args(annotation)[0])
    if annotation is bool:
        return (True, False)
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def call(op: Operator, world: World, values: Mapping[str, Any], way: Way) -> dict[str, Any]:
    """What an operator writes, by slot."""
    config = reads(op, world, values, way)
    return by_slot(op, op.function(*config, **needs(op, world), **way.settings))


def reads(op: Operator, world: World, values: Mapping[str, Any], way: Way) -> list[Any]:
    """The values of the slots it reads; one that no world has is written by another operator."""
    config = []
    for read in op.reads:
        if read.optional and not way.optional:
            config.append(None)
        elif read.slot in values:
            config.append(values[read.slot])
        else:
            writer = next(other for other in OPERATORS if makes(other, read.slot))
            config.append(call(writer, world, values, next(ways(writer)))[read.slot])
    return config


@cache
def several(name: str, of: str) -> list[tuple[Way, dict[str, Any]]]:
    """What each way of calling an operator writes for several items, which it leaves as is."""
    op, world = operators.get(name), next(world for world in WORLDS if world.name == of)
    values, graph = world.values("several"), world.resources["graph"]

    def inputs() -> tuple[object, ...]:
        return plainly(values), graph.weight.tolist(), graph.node_chunk.toarray().tolist()

    before = inputs()
    result = [(way, call(op, world, values, way)) for way in ways(op)]
    assert inputs() == before
    return result


def makes(op: Operator, slot: str) -> bool:
    return slot in op.writes and all(read.slot != slot for read in op.reads)


def needs(op: Operator, world: World) -> dict[str, Any]:
    missing = set(op.needs) - set(world.resources)
    assert not missing, f"tests/small_worlds.py has no {', '.join(sorted(missing))} yet"
    return {name: world.resources[name] for name in op.needs}


def by_slot(op: Operator, result: Any) -> dict[str, Any]:
    values = result if isinstance(result, tuple) else (result,)
    return dict(zip(op.returns, values, strict=True))


def plain(value: Any) -> Any:
    """A value as JSON, every number rounded as rankings are."""
    if isinstance(value, VECTORS):
        return value.values.round(DECIMALS).tolist()
    return summary(value)


def plainly(values: Mapping[str, Any]) -> dict[str, Any]:
    return {slot: plain(value) for slot, value in values.items()}


# ---- what it says


@each_operator
def test_it_names_its_source_announces_its_calls_and_supplies_its_prompts(op):
    first, _, rest = (op.function.__doc__ or "").strip().partition("\n")
    assert first.endswith(".") and "Source:" in rest
    defaults = {name: default_of(op, name) for name in op.settings}
    assert bool(MODELS & set(op.needs)) == (op.bound(defaults) > 0)
    assert all(one.variables <= op.supplies for one in defaults.values() if isinstance(one, Prompt))


# ---- what it gives


@each_world
@each_operator
def test_a_ranking_is_sorted_finite_short_and_of_rows_that_exist(op, world):
    graph = world.resources["graph"]
    n_rows = {
        "nodes": graph.n_nodes,
        "relationships": graph.n_relationships,
        "chunks": graph.n_chunks,
        "communities": len(world.resources["communities"]),
    }
    for way, first in several(op.name, world.name):
        others = (call(op, world, world.values(amount), way) for amount in ("one", "none"))
        for written in (first, *others):
            for slot, result in written.items():
                if isinstance(result, Ranked):
                    assert np.isfinite(result.scores).all()
                    assert ((result.ids >= 0) & (result.ids < n_rows[slot])).all()
                    most = way.settings.get("top_k")
                    assert len(result) <= (most if isinstance(most, int) else len(result))
                    assert op.unordered or is_sorted(result)
                elif isinstance(result, VECTORS):
                    assert np.isfinite(result.values).all()


def is_sorted(result: Ranked[Any]) -> bool:
    keys = list(zip(-result.scores.round(DECIMALS), result.ids, strict=True))
    return keys == sorted(set(keys))


@each_world
@pytest.mark.parametrize("op", READERS_OF_LISTS, ids=lambda op: op.name)
def test_nothing_in_gives_nothing_out(op, world):
    result = call(op, world, world.values("none"), Way(next(ways(op)).settings, optional=True))
    sizes = [
        len(value.pieces) if isinstance(value, Context) else len(value)
        for value in result.values()
        if isinstance(value, COUNTED | Context)
    ]
    # without facts there are no relationships, and no chunk that is as near as the threshold asks
    needs_facts = op.writes == ("relationships",) or op.name == "chunk.pick.similar_and_dense"
    there_are_some = any(world.facts) or not needs_facts
    assert any(sizes) == (op.name in SOMETHING_FROM_NOTHING and there_are_some)


@each_world
@each_operator
def test_the_same_input_in_any_order_gives_the_same_output(op, world):
    turned = {slot: reverse(value) for slot, value in world.values("several").items()}
    for way, first in several(op.name, world.name):
        assert plainly(first) == plainly(call(op, world, world.values("several"), way))
        second = {} if op.unordered else call(op, world, turned, way)
        for slot, result in second.items():
            if isinstance(result, Ranked | VECTORS):
                assert plain(result) == plain(first[slot])


def reverse(value: Any) -> Any:
    """The same items the other way round."""
    if isinstance(value, Ranked):
        return Ranked(value.ids[::-1], value.scores[::-1])
    if isinstance(value, Mentions):
        return Mentions(value.names[::-1])
    if isinstance(value, Query):
        return Query(value.texts[::-1])
    if isinstance(value, Keywords):
        return Keywords(value.low[::-1], value.high[::-1])
    return value


@each_world
@pytest.mark.parametrize("op", [op for op in OPERATORS if op.batch], ids=lambda op: op.name)
def test_a_batch_gives_what_the_single_form_gives_for_each(op, world):
    amounts = ("several", "none", "one", "several")
    for way in ways(op):
        block = [world.values(amount) for amount in amounts]
        rows = [reads(op, world, values, way) for values in block]
        columns = [list(column) for column in zip(*rows, strict=True)]
        together = op.batch(*columns, **needs(op, world), **way.settings)
        for values, result in zip(block, together, strict=True):
            assert plainly(by_slot(op, result)) == plainly(call(op, world, values, way))


@pytest.mark.parametrize("model", [Obliging, Babbling])
@pytest.mark.parametrize("op", [op for op in OPERATORS if op.calls], ids=lambda op: op.name)
def test_a_question_costs_at_most_the_calls_that_were_announced(op, model):
    world = WORLDS[0]
    most = 0
    for way in ways(op):
        config = reads(op, world, world.values("several"), way)
        counting = model()
        resources = needs(op, world)
        resources |= dict.fromkeys(MODELS & set(resources), counting)
        try:
            op.function(*config, **resources, **way.settings)
        except UnreadableReply:
            assert model is Babbling
        assert counting.n_calls <= op.bound(way.settings)
        most = max(most, counting.n_calls)
    assert most > 0


def digest_of_all() -> str:
    """A digest of what every operator gives in the first world, with and without optional reads."""
    return digest(
        [
            plainly(call(op, WORLDS[0], WORLDS[0].values("several"), way))
            for op in OPERATORS
            for way in islice(ways(op), 2)
        ]
    )
