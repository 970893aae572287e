"""`budget_context=N`: every method's prompt holds at most N tokens of context, and fills them.

By default each method keeps the budgets of its own file, which a table calls native.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graphrag_bench.contract import Operator, operators
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.groups import compose, names
from graphrag_bench.experiment.profiles import SELECTORS
from graphrag_bench.experiment.settings import RunSettings
from graphrag_bench.pipeline.build import STAGES

FEWEST_TOKENS = 10
"""Chunks are taken to have this many tokens on average at least: so many are retrieved that they
fill the budget."""
_BUDGET, _TOP_K = "budget", "top_k"
Item = dict[str, Any]


def within_budget(settings: RunSettings, *, swept: bool = False) -> RunSettings:
    """The settings with the run's context budget in the steps of its method.

    A cell of a sweep (`swept`) whose method packs nothing within a budget goes without. Raises
    UserError for such a method alone, when `method.budget` is set too, and for `fill_context=off`
    without a budget. Operators must be registered.
    """
    n_tokens = settings.budget_context
    if n_tokens is None:
        if settings.fill_context == "off":
            raise UserError("fill_context=off says how to keep a budget: set budget_context=N too.")
        return settings
    _refuse_two_budgets(settings)
    method = budgeted(settings.method, n_tokens, fill=settings.fill_context == "on")
    if method is not None:
        return settings.model_copy(update={"method": method})
    if swept:
        return settings.model_copy(update={"budget_context": None})
    raise UserError(
        f"budget_context={n_tokens}: no step of '{settings.method.get('name')}' packs a context "
        "within a budget. Leave it out, or compare at native budgets."
    )


def budgeted(method: Mapping[str, Any], n_tokens: int, *, fill: bool) -> dict[str, Any] | None:
    """The method with that budget in every step that has one; None when none has.

    The blocks of a context keep their shares of it. What is read by a map step (communities and
    chunks that are put into many prompts, one group each) keeps its own budget: it is no prompt's
    context. With `fill` the chunks of a context are as many as fit, and so are its nodes where it
    holds nothing else, and the lists they are taken from are long enough for it.
    """
    made = copy.deepcopy(dict(method))
    stages = [made.get(stage) or [] for stage in STAGES]
    bounded = [step for items in _lists(stages) for step in _bounded(items)]
    if not bounded:
        return None
    for step in bounded:
        step[_BUDGET] = n_tokens
    if fill:
        _fill(bounded, stages, n_tokens)
    return made


def _bounded(items: Sequence[Item]) -> Iterator[Item]:
    """The steps of one list whose budget bounds a prompt, each as its place in the method."""
    waiting: list[Item] = []
    for step in items:
        operator = _operator(step)
        if operator is None:
            continue
        if "points" in operator.returns:
            waiting = []
        if _BUDGET in operator.settings:
            waiting.append(step)
    yield from waiting


def _fill(bounded: Sequence[Item], stages: Sequence[list[Item]], n_tokens: int) -> None:
    """As many rows as fit where a context packs chunks, or nothing but nodes."""
    packed = {step["op"].removeprefix("context."): step for step in bounded}
    slot = "chunks" if "chunks" in packed else "nodes" if list(packed) == ["nodes"] else None
    if slot is None:
        return
    for step in bounded:
        if step["op"] == f"context.{slot}":
            step[_TOP_K] = n_tokens
    depth = math.ceil(n_tokens / FEWEST_TOKENS)
    for step in _free([step for items in stages for step in items], slot):
        step[_TOP_K] = max(depth, step.get(_TOP_K) or 0)


def _free(items: Sequence[Item], slot: str) -> Iterator[Item]:
    """The steps that list rows of a slot, on the outside, after the last model that reads them.

    The arms of a branch, the items of an `each` and the rounds of a `repeat` are left alone, whose
    depth decides what they find; a model that reranks or reads what was found would be paid for
    more of it.
    """
    found: list[Item] = []
    for step in items:
        inner = [step, *(deep for held in _lists([[step]]) for deep in held)]
        if any(_asks_about(one, slot) for one in inner):
            found = []
        for plain in (step, *(deep for case in _cases(step) for deep in case)):
            operator = _operator(plain)
            if operator is not None and operator.writes == (slot,) and _limited(operator, plain):
                found.append(plain)
    yield from found


def _limited(operator: Operator, step: Item) -> bool:
    setting = operator.settings.get(_TOP_K)
    return setting is not None and step.get(_TOP_K, setting.default) is not None


def _asks_about(step: Item, slot: str) -> bool:
    """Whether a step asks a model about the rows of a slot, to find others or to order them."""
    operator = _operator(step)
    return (
        operator is not None
        and operator.calls != 0
        and any(read.slot == slot for read in operator.reads)
    )


def _operator(step: Item) -> Operator | None:
    return operators.get(str(step["op"])) if step.get("op") in set(operators.names()) else None


def _cases(step: Item) -> Iterator[list[Item]]:
    yield from (step.get("cases") or {}).values()


def _lists(lists: Sequence[list[Item]]) -> Iterator[list[Item]]:
    """Every list of steps, those inside combinators too."""
    for items in lists:
        yield items
        for step in items:
            inner = [*(step.get("branch") or {}).values(), *_cases(step)]
            inner += [step[key] for key in ("steps", "answer") if step.get(key)]
            yield from _lists(inner)


def _refuse_two_budgets(settings: RunSettings) -> None:
    """Raise UserError when the run sets `method.budget` beside its budget for all."""
    name, given = settings.method.get("name"), settings.method.get(_BUDGET)
    if name not in names("method") or given is None:
        return
    sources = {source: getattr(settings, source) for source in SELECTORS}
    own = compose({"method": name}, sources)["method"].get(_BUDGET)
    if given != own:
        raise UserError(
            f"method.budget={given} and budget_context={settings.budget_context} both set the "
            "context budget: leave one of them out."
        )
