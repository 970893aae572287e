"""`budget_context`: the same maximum of context tokens in every method's prompt, filled by default.

Methods are thus compared at equal cost: `auto` follows from the corpus and the reader
(`context_room`), `budget_context=N` sets N tokens for all. `budget_context=native` keeps the
`budget` of each method's own file or profile, within the reader's window. Packers are given the
budget as a resource, `ContextBudget`, and take as many rows as it has room for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from graphrag_bench.config.compose import raw_method
from graphrag_bench.config.profiles import BUDGETS, DEFAULT
from graphrag_bench.config.settings import RunSettings
from graphrag_bench.context_budget import ContextBudget, Filling
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.context_room import Room
from graphrag_bench.experiment.method import Method
from graphrag_bench.pipeline.build import Pipeline
from graphrag_bench.pipeline.combinators.switch import Switch
from graphrag_bench.pipeline.steps import OperatorStep, Step

FEWEST_TOKENS = 50
"""The least mean tokens assumed per chunk: enough chunks are retrieved to fill the budget."""
OWN_BUDGET = "method.budget"
_SLOTS: Mapping[Filling, str] = {"chunk": "chunks", "node": "nodes"}


def with_budget(
    settings: RunSettings, method: Method, room: Callable[[], Room], *, swept: bool = False
) -> tuple[RunSettings, ContextBudget]:
    """Return the run's context budget, and the settings that say what it came to.

    These have a number of tokens as `budget_context`, or `native`. Explicit settings override
    the default budget: a profile and `method.budget` make it native, and a number of items that
    filling would change (`method.top_k=8`) stays, so that the budget bounds the context without
    filling it. A native budget is the method's own `budget`, or what the reader's window leaves
    where that is known and less; a group of a map step follows the same rule. Where the method
    packs nothing within a budget, the budget stays as given, for this run's reference rows.
    Raises UserError when a single run (`swept` is for cells of a sweep) sets a budget for such a
    method, when `method.budget` is set as well, when a budget that was set does not fit the
    reader's window, and for `fill_context` without one.
    """
    asked, fill, given = settings.budget_context, settings.fill_context, settings.given
    explicit = asked != "auto" or OWN_BUDGET in given
    settings = settings.model_copy(update={"budget_asked": explicit, "given": []})
    own, profiled = settings.method.get("budget"), settings.profile != DEFAULT
    budget = ContextBudget(whole=own, group_tokens=_group_tokens(method.pipeline, room))
    if asked == "native" or (asked == "auto" and (profiled or OWN_BUDGET in given)):
        if fill != "auto":
            raise UserError(
                f"fill_context={fill} fills a common budget, but each method has its own "
                "here: leave fill_context out, or set budget_context=N."
            )
        settings = settings.model_copy(update={"budget_context": "native"})
        if not packers(method.pipeline):
            return settings, budget
        own = own or BUDGETS.get(settings.profile)
        bounds = [n for n in (own, room().known) if isinstance(n, int)]
        tokens = min(bounds, default=None)
        all_rows = profiled and tokens is not None
        return settings, replace(budget, tokens=tokens, own=True, whole=own, all_rows=all_rows)
    if asked != "auto" and OWN_BUDGET in given and own is not None:
        raise UserError(
            f"{OWN_BUDGET}={own} and budget_context={asked} both set the context budget: leave one "
            "of them out."
        )
    if fill == "auto":
        filled = _filled(settings.method, method.pipeline) if given else set()
        fill = "off" if filled.intersection(given) else "on"
    if not packers(method.pipeline):
        if swept or asked == "auto":
            return settings, budget
        raise UserError(
            f"budget_context={asked}: no step of '{method.name}' packs a context "
            "within a budget. Leave it out."
        )
    tokens = room().auto if asked == "auto" else int(asked)
    if settings.answering and asked != "auto":
        _refuse_too_long(tokens, room())
    filling = _filling(method.pipeline) if fill == "on" else ""
    settings = settings.model_copy(update={"budget_context": tokens, "fill_context": fill})
    return settings, replace(budget, tokens=tokens, filling=filling, all_rows=profiled)


def _refuse_too_long(n_tokens: int, room: Room) -> None:
    """Raise UserError when a context of so many tokens does not fit the reader's known window."""
    if room.known is not None and n_tokens > room.known:
        raise UserError(
            f"budget_context={n_tokens} does not fit the reader's window of {room.window:,} "
            f"tokens: {room.known:,} are left for the context (answer, instructions and question "
            f"take {room.reserved}). Take at most {room.known}, or a reader with a larger window "
            "(llm.context of the local model, llm.window of a server)."
        )


def context_budget(settings: RunSettings, method: Method) -> int | None:
    """The tokens that the run's method has in common with others; None where it packs by its own.

    The settings are those of `with_budget`.
    """
    n_tokens = settings.budget_context
    return n_tokens if isinstance(n_tokens, int) and packers(method.pipeline) else None


def packers(pipeline: Pipeline) -> list[OperatorStep]:
    """The steps whose context or prompt the budget bounds, in order."""
    return [
        op
        for op in pipeline.operators()
        if "context_budget" in op.operator.needs
        and op.settings.get("bounded", True)
        and "group_tokens" not in op.settings
    ]


def map_steps(pipeline: Pipeline) -> list[OperatorStep]:
    """The steps that read a context in groups, each group in a prompt of its own, in order."""
    return [op for op in pipeline.operators() if "group_tokens" in op.settings]


def _group_tokens(pipeline: Pipeline, room: Callable[[], Room]) -> int | None:
    groups = [int(op.settings["group_tokens"]) for op in map_steps(pipeline)]
    known = room().known if groups else None
    return known if known is not None and max(groups) > known else None


def _filling(pipeline: Pipeline) -> Filling:
    """The kind of rows that fill a context: its chunks, or its nodes where it has nothing else."""
    kinds = {op.operator.name.removeprefix("context.") for op in packers(pipeline)}
    return "chunk" if "chunks" in kinds else "node" if kinds == {"nodes"} else ""


def lengthened(pipeline: Pipeline, budget: ContextBudget) -> Pipeline:
    """Return the pipeline with lists that are long enough for the rows that fill the budget.

    These are the lists on the outside, after the last model that reads such rows. The arms of a
    branch, the items of an `each` and the rounds of a `repeat` are left alone, whose depth decides
    what they find; a model that reranks or reads what was found would be paid for more of it.
    """
    if not budget.filling or budget.tokens is None:
        return pipeline
    least = math.ceil(budget.tokens / FEWEST_TOKENS)
    lists = {id(op) for op in _outer_lists(pipeline, _SLOTS[budget.filling])}

    def longer(step: Step) -> Step:
        if isinstance(step, Switch):
            cases = {name: tuple(map(longer, steps)) for name, steps in step.cases.items()}
            return replace(step, cases=cases)
        if isinstance(step, OperatorStep) and id(step) in lists:
            top_k = max(least, step.settings["top_k"])
            return replace(step, settings={**step.settings, "top_k": top_k})
        return step

    stages = (pipeline.convert, pipeline.retrieve, pipeline.generate)
    return Pipeline(*(tuple(map(longer, steps)) for steps in stages))


def _outer_lists(pipeline: Pipeline, slot: str) -> list[OperatorStep]:
    steps = pipeline.steps()
    asking = [
        row
        for row, step in enumerate(steps)
        for op in step.operators()
        if op.operator.calls != 0 and slot in {read.slot for read in op.operator.reads}
    ]
    outer = steps[max(asking, default=0) :]
    switches = [step for step in outer if isinstance(step, Switch)]
    inside = [one for step in switches for case in step.cases.values() for one in case]
    return [
        one
        for one in (*outer, *inside)
        if isinstance(one, OperatorStep)
        and one.operator.writes == (slot,)
        and isinstance(one.settings.get("top_k"), int)
    ]


def _filled(config: Mapping[str, object], pipeline: Pipeline) -> set[str]:
    """The paths of the settings that filling the context of a method would change.

    Parameters are known of a method that has a file, in which steps name them.
    """
    filling = _filling(pipeline)
    if not filling:
        return set()
    slot = _SLOTS[filling]
    blocks = [op for op in packers(pipeline) if op.operator.name == f"context.{slot}"]
    steps = [*blocks, *_outer_lists(pipeline, slot)]
    values = _written(raw_method(config) or {}, {op.operator.name for op in steps})
    parameters = {value.strip("${}") for value in values if value.startswith("${")}
    return parameters | {f"method.{op.label.partition(' ')[0]}.top_k" for op in steps}


def _written(value: object, names: set[str]) -> Iterator[str]:
    """What a file has as `top_k` of the steps of these operators."""
    if isinstance(value, Mapping):
        if value.get("op") in names:
            yield str(value.get("top_k"))
        value = list(value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        for one in value:
            yield from _written(one, names)
