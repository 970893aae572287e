"""`budget_context`: the same maximum of context tokens in every method's prompt, filled by default.

Methods are thus compared at equal cost: `auto` follows from the corpus and the reader
(`context_room`), `budget_context=N` sets N tokens for all. `budget_context=native` keeps the
`budget` of each method's own file or profile, within the reader's window. No operator has its own
budget: only the budget that a step is given here bounds a prompt.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from graphrag_bench.config.compose import raw_method
from graphrag_bench.config.profiles import BUDGETS, DEFAULT
from graphrag_bench.config.settings import RunSettings
from graphrag_bench.contract import Operator, operators
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.context_room import Room
from graphrag_bench.pipeline.build import STAGES
from graphrag_bench.pipeline.edit import Item, every_list, known_operator, stages

FEWEST_TOKENS = 50
"""The least mean tokens assumed per chunk: enough chunks are retrieved to fill the budget."""
_BUDGET, _SHARE, _TOP_K, _GROUP = "budget", "share", "top_k", "group_tokens"
OWN_BUDGET = f"method.{_BUDGET}"


def within_budget(
    settings: RunSettings, room: Callable[[], Room], *, swept: bool = False
) -> RunSettings:
    """The settings with the run's context budget in the steps of its method.

    The result has a number of tokens as `budget_context`, or `native`. Explicit settings override
    the default budget: a profile and `method.budget` make it native, and a number of items that
    filling would change (`method.top_k=8`) stays, so that the budget bounds the context without
    filling it. A native budget is the method's own `budget`, or what the reader's window leaves
    where that is known and less; a group of a map step follows the same rule. Where the method
    packs nothing within a budget, the budget stays as given, for this run's reference rows.
    Operators must be registered. Raises UserError when a single run (`swept` is for cells of a
    sweep) sets a budget for such a method, when `method.budget` is set as well, when a budget that
    was set does not fit the reader's window, and for `fill_context` without one.
    """
    settings = _groups_within_window(settings, room)
    asked, fill, given = settings.budget_context, settings.fill_context, settings.given
    said = asked != "auto" or OWN_BUDGET in given
    settings = settings.model_copy(update={"budget_asked": said})
    if asked == "native" or (asked == "auto" and _is_own(settings)):
        if fill != "auto":
            raise UserError(
                f"fill_context={fill} fills a common budget, but each method has its own "
                "here: leave fill_context out, or set budget_context=N."
            )
        return _native(settings, room)
    if asked != "auto":
        _refuse_two_budgets(settings)
    if fill == "auto":
        fill = "off" if given and _filled(settings.method).intersection(given) else "on"
    if not _bounded(stages(settings.method)):
        if swept or asked == "auto":
            return settings.model_copy(update={"given": []})
        raise UserError(
            f"budget_context={asked}: no step of '{settings.method.get('name')}' packs a context "
            "within a budget. Leave it out."
        )
    n_tokens = room().auto if asked == "auto" else int(asked)
    if settings.answering and asked != "auto":
        _refuse_too_long(n_tokens, room())
    made: dict[str, Any] = {
        "budget_context": n_tokens,
        "fill_context": fill,
        "given": [],
        "method": budgeted(settings.method, n_tokens, fill=fill == "on"),
    }
    if settings.profile != DEFAULT:
        made["method"] = _without_list_caps(made["method"])
    return settings.model_copy(update=made)


def _groups_within_window(settings: RunSettings, room: Callable[[], Room]) -> RunSettings:
    method = copy.deepcopy(settings.method)
    for step in mapping(method):
        most, known = mapped(step)[_GROUP], room().known
        if known is not None and isinstance(most, int) and most > known:
            step[_GROUP] = known
    return settings.model_copy(update={"method": method})


def _is_own(settings: RunSettings) -> bool:
    return settings.profile != DEFAULT or OWN_BUDGET in settings.given


def _native(settings: RunSettings, room: Callable[[], Room]) -> RunSettings:
    made = dict(settings.method)
    if _bounded(stages(made)):
        own = made[_BUDGET] = made.get(_BUDGET) or BUDGETS.get(settings.profile)
        held = [n for n in (own, room().known) if isinstance(n, int)]
        if held:
            made = budgeted(made, min(held), fill=False, own=True)
            made = made if settings.profile == DEFAULT else _without_list_caps(made)
    return settings.model_copy(update={"budget_context": "native", "given": [], "method": made})


def _refuse_too_long(n_tokens: int, room: Room) -> None:
    """Raise UserError when a context of so many tokens does not fit the reader's known window."""
    if room.known is not None and n_tokens > room.known:
        raise UserError(
            f"budget_context={n_tokens} does not fit the reader's window of {room.window:,} "
            f"tokens: {room.known:,} are left for the context (answer, instructions and question "
            f"take {room.reserved}). Take at most {room.known}, or a reader with a larger window "
            "(llm.context of the local model, llm.window of a server)."
        )


def context_budget(settings: RunSettings) -> int | None:
    """The tokens that the run's method has in common with others; None where it packs by its own.

    The settings are those that `within_budget` made.
    """
    n_tokens = settings.budget_context
    return n_tokens if isinstance(n_tokens, int) and _bounded(stages(settings.method)) else None


def budgeted(
    method: Mapping[str, Any], n_tokens: int, *, fill: bool, own: bool = False
) -> dict[str, Any]:
    """The method with that budget in every step that has one; unchanged where none has.

    The blocks of a context keep their shares of it; tokens that a block has alone become as large a
    part of it as they are of the method's `budget`. What is read by a map step (communities and
    chunks that are put into many prompts, one group each) has no budget: it is not a prompt's
    context. With `fill` the chunks of a context are as many as fit, and so are its nodes where it
    holds nothing else, and the lists they are taken from are long enough for it. With `own` a step
    that has a smaller budget of its own keeps that.
    """
    made = copy.deepcopy(dict(method))
    lists, whole = stages(made), made.get(_BUDGET)
    for step in _bounded(lists):
        held = step.get(_BUDGET)
        step[_BUDGET] = min(held, n_tokens) if own and isinstance(held, int) else n_tokens
        alone = step.get(_SHARE)
        if isinstance(whole, int) and isinstance(alone, int) and alone > 1:
            step[_SHARE] = max(round(alone * n_tokens / whole), 2)
    if fill:
        _fill(lists, n_tokens)
    return made


def _without_list_caps(method: Mapping[str, Any]) -> dict[str, Any]:
    """The method with every list that a budget bounds as long as it is, where no file bounds it.

    The 40 nodes, 200 relationships and 4 chunks of a step that states no `top_k` are ours.
    """
    made = copy.deepcopy(dict(method))
    for step in _bounded(stages(made)):
        if _TOP_K in operators.get(str(step["op"])).settings:
            step.setdefault(_TOP_K, None)
    return made


def packing(method: Mapping[str, Any]) -> list[Item]:
    """The steps whose budget bounds a prompt, in order, as the method's file has them."""
    return _bounded(stages(method))


def mapping(method: Mapping[str, Any]) -> list[Item]:
    """The steps that read a context in groups, each group in a prompt of its own, in order."""
    every = (step for items in every_list(stages(method)) for step in items)
    found = ((step, known_operator(step)) for step in every)
    return [step for step, operator in found if operator and _GROUP in operator.settings]


def mapped(step: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a map step, defaults too."""
    settings = operators.get(str(step["op"])).settings
    return {name: step.get(name, one.default) for name, one in settings.items()}


def _bounded(lists: Sequence[list[Item]]) -> list[Item]:
    return [step for items in every_list(lists) for step in _bounded_in(items)]


def _bounded_in(items: Sequence[Item]) -> Iterator[Item]:
    waiting: list[Item] = []
    for step in items:
        operator = known_operator(step)
        if operator is None:
            continue
        if "points" in operator.returns:
            waiting = []
        if _BUDGET in operator.settings:
            waiting.append(step)
    yield from waiting


def _fill(lists: Sequence[list[Item]], n_tokens: int) -> None:
    packing, listing = _fillable(lists)
    for step in packing:
        step[_TOP_K] = n_tokens
    depth = math.ceil(n_tokens / FEWEST_TOKENS)
    for step in listing:
        step[_TOP_K] = max(depth, step.get(_TOP_K) or 0)


def _fillable(lists: Sequence[list[Item]]) -> tuple[list[Item], list[Item]]:
    bounded = _bounded(lists)
    packed = {step["op"].removeprefix("context.") for step in bounded}
    slot = "chunks" if "chunks" in packed else "nodes" if packed == {"nodes"} else None
    if slot is None:
        return [], []
    packing = [step for step in bounded if step["op"] == f"context.{slot}"]
    return packing, list(_free([step for items in lists for step in items], slot))


def _filled(method: Mapping[str, Any]) -> set[str]:
    """The paths of the settings that filling the context of a method would change.

    Parameters are known of a method that has a file, in which steps name them; a step inside a
    combinator is set by no path.
    """
    raw = raw_method(method) or method
    signs = {str(step.get(_TOP_K)) for steps in _fillable(stages(raw)) for step in steps}
    parameters = {f"method.{one}" for one in raw if f"${{method.{one}}}" in signs}
    changed = {id(step) for steps in _fillable(stages(method)) for step in steps}
    return parameters | {
        f"method.{stage}.{row}.{_TOP_K}"
        for stage, items in zip(STAGES, stages(method), strict=True)
        for row, step in enumerate(items)
        if id(step) in changed
    }


def _free(items: Sequence[Item], slot: str) -> Iterator[Item]:
    """The steps that list rows of a slot, on the outside, after the last model that reads them.

    The arms of a branch, the items of an `each` and the rounds of a `repeat` are left alone, whose
    depth decides what they find; a model that reranks or reads what was found would be paid for
    more of it.
    """
    found: list[Item] = []
    for step in items:
        inner = [step, *(deep for held in every_list([[step]]) for deep in held)]
        if any(_asks_about(one, slot) for one in inner):
            found = []
        for plain in (
            step,
            *(deep for case in (step.get("cases") or {}).values() for deep in case),
        ):
            operator = known_operator(plain)
            if operator is not None and operator.writes == (slot,) and _limited(operator, plain):
                found.append(plain)
    yield from found


def _limited(operator: Operator, step: Item) -> bool:
    setting = operator.settings.get(_TOP_K)
    return setting is not None and step.get(_TOP_K, setting.default) is not None


def _asks_about(step: Item, slot: str) -> bool:
    operator = known_operator(step)
    return (
        operator is not None
        and operator.calls != 0
        and any(read.slot == slot for read in operator.reads)
    )


def _refuse_two_budgets(settings: RunSettings) -> None:
    """Raise UserError when the run sets both `method.budget` and `budget_context`."""
    if OWN_BUDGET in settings.given and settings.method.get(_BUDGET) is not None:
        raise UserError(
            f"{OWN_BUDGET}={settings.method[_BUDGET]} and budget_context={settings.budget_context} "
            "both set the context budget: leave one of them out."
        )
