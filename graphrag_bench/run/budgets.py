"""The context budget of a run: the same for all methods, or native to each method.

In the mode *equal*, every method fills a context of `budget_context=N` tokens. With `auto`, N
follows from the size of the chunks and the window of the reader, the model that answers. In the
mode *native*, each method keeps its own top-k or its own token budget, up to the reader's window.
This mode is set by `budget_context=native` and by `regime=published` (where `budget_context=N` is
an upper limit). It is the default if `method.budget` is set, and under any profile.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import Any, Literal

from graphrag_bench.config.settings import BUDGETS, RunSettings
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError
from graphrag_bench.pipeline.combinators import Switch
from graphrag_bench.pipeline.pipeline import Pipeline
from graphrag_bench.pipeline.steps import OperatorStep
from graphrag_bench.prompts import UNBOUNDED, ContextBudget, Filling
from graphrag_bench.run.folder import paths_of
from graphrag_bench.run.method import references
from graphrag_bench.run.windows import CHARACTERS_A_TOKEN, ROW, ContextWindow, round_up_to_hundred
from graphrag_bench.text import count_tokens

FEWEST_TOKENS = 50
"""Assumed minimum length of a chunk. For a budget of N tokens, N / 50 chunks are retrieved."""
_OWN = "method.budget"
_SLOTS: Mapping[Filling, str] = {"chunk": "chunks", "node": "nodes"}


def is_native(settings: RunSettings) -> bool:
    """Return whether each method keeps its own context budget (the mode *native*)."""
    if settings.regime == "published" or settings.budget_context == "native":
        return True
    by_default = settings.profile != "default" or _OWN in settings.given
    return settings.budget_context == "auto" and by_default


def context_budget(
    settings: RunSettings,
    pipeline: Pipeline,
    window: ContextWindow,
    file: Mapping[str, Any] | None = None,
    *,
    swept: bool = False,
) -> ContextBudget:
    """Return the context budget of a run, which is unbounded if the pipeline packs no context.

    An equal budget is filled with additional items unless the user set the number of items, as in
    `method.top_k=8`. `file` is the content of the method's file. Raises UserError for a number of
    tokens that exceeds the window, for a number beside `method.budget`, and (unless `swept`) for a
    number if no step packs a context.
    """
    wish, own = settings.budget_context, settings.method.get("budget")
    number = wish if isinstance(wish, int) else None
    if not packers(pipeline):
        if number is not None and not swept:
            name = settings.method["name"]
            raise UserError(f"budget_context={wish}: the method '{name}' never packs a context.")
        return UNBOUNDED
    if number is not None and settings.answering:
        window.require(number)
    if is_native(settings):
        bounds = [n for n in (own_budget(settings), number, window.tokens_left) if n is not None]
        return ContextBudget(min(bounds, default=None))
    if number is not None and _OWN in settings.given and own is not None:
        raise UserError(f"Both {_OWN}={own} and budget_context={wish} set the budget. Remove one.")
    filling = _filling(pipeline)
    if settings.given and _item_numbers(pipeline, file or {}).intersection(settings.given):
        filling = ""
    return ContextBudget(window.auto if number is None else number, "equal", filling)


def own_budget(settings: RunSettings) -> int | None:
    """Return the token budget that is set for the method, else the profile's budget, else None."""
    own: int | None = settings.method.get("budget")
    return own or BUDGETS.get(settings.profile)


def reported_budget(
    settings: RunSettings, pipeline: Pipeline, budget: ContextBudget
) -> int | Literal["auto", "native"]:
    """Return `budget_context`, with `auto` replaced by `native` or, if steps pack, by a number."""
    wish = settings.budget_context
    if is_native(settings):
        return "native" if wish == "auto" else wish
    return budget.tokens if packers(pipeline) and budget.tokens else wish


def packers(pipeline: Pipeline) -> list[OperatorStep]:
    """Return the steps, in order, whose context or prompt is limited by the context budget."""
    return [
        op
        for op in pipeline.operators()
        if "context_budget" in op.operator.needs and op.settings.get("bounded", True)
    ]


def _filling(pipeline: Pipeline) -> Filling:
    kinds = {op.operator.name.removeprefix("context.") for op in packers(pipeline)}
    return "chunk" if "chunks" in kinds else "node" if kinds == {"nodes"} else ""


def with_budget(
    pipeline: Pipeline, budget: ContextBudget, settings: RunSettings, window: ContextWindow
) -> Pipeline:
    """Return the pipeline with the step settings that follow from the context budget.

    If the budget is filled with chunks (or with nodes), the top-k of their block in the prompt is
    removed, and the steps that rank them return enough items to fill the block. Under a profile, a
    block with `top_k=auto` includes every item that fits. A `share` above 1 is a number of tokens,
    which is scaled from the method's own budget to this budget. If a step sends groups of items to
    the model, each group is limited to the model's window.
    """
    blocks, lists, least = {id(op) for op in packers(pipeline)}, set[int](), 0
    slot, whole = _SLOTS[budget.filling] if budget.filling else "", own_budget(settings)
    if slot and budget.tokens is not None:
        lists = {id(op) for op in _outer_lists(pipeline, slot)}
        least = math.ceil(budget.tokens / FEWEST_TOKENS)
    open_profile = settings.profile != "default" and budget.tokens is not None

    def changed(op: OperatorStep) -> OperatorStep:
        new, share = dict(op.settings), op.settings.get("share", 1.0)
        if id(op) in blocks:
            filled = slot and op.operator.name == f"context.{slot}"
            if filled or (open_profile and new.get("top_k") == "auto"):
                new["top_k"] = None
            if share > 1 and budget.tokens is not None and whole is not None:
                new["share"] = max(round(share * budget.tokens / whole), 2)
            if budget.mode == "equal" and "budget" in new:
                new["budget"] = None
        if id(op) in lists:
            new["top_k"] = max(least, op.settings["top_k"])
        if "group_tokens" in new and window.tokens_left is not None:
            new["group_tokens"] = min(new["group_tokens"], window.tokens_left)
        return replace(op, settings=new)

    return pipeline.mapped(changed)


def _outer_lists(pipeline: Pipeline, slot: str) -> list[OperatorStep]:
    """Return the ranking steps whose `top_k` may be raised to fill the budget with items of `slot`.

    Later steps read nothing but `slot` from them. Steps before the last step that shows such items
    to a model are excluded, because longer lists would cost model calls there. Steps inside a
    branch, `each` or `repeat` are excluded too.
    """
    steps = pipeline.steps()
    read = {read.slot for op in pipeline.operators() for read in op.operator.reads}
    with_model = [
        row
        for row, step in enumerate(steps)
        for op in step.operators()
        if op.operator.calls != 0 and slot in {read.slot for read in op.operator.reads}
    ]
    outer = steps[max(with_model, default=0) :]
    cases = [case for step in outer if isinstance(step, Switch) for case in step.cases.values()]
    return [
        one
        for one in chain(outer, *cases)
        if isinstance(one, OperatorStep)
        and not one.list_name
        and {slot} == set(one.operator.writes) & (read | {slot})
        and isinstance(one.settings.get("top_k"), int)
    ]


def _item_numbers(pipeline: Pipeline, file: Mapping[str, Any]) -> set[str]:
    """Return the paths of the method's parameters that set the number of items in the context."""
    if not (filling := _filling(pipeline)):
        return set()
    slot, values = _SLOTS[filling], paths_of(file, lists=True)
    blocks = [op for op in packers(pipeline) if op.operator.name == f"context.{slot}"]
    steps = [*blocks, *_outer_lists(pipeline, slot)]
    operators = {op.operator.name for op in steps}
    paths = [path.removesuffix("op") for path, name in values.items() if name in operators]
    read = references([str(values.get(f"{path}top_k")) for path in paths])
    own = {f"method.{op.label.partition(' ')[0]}.top_k" for op in steps}
    return own | {f"method.{name}" for name in read}


@dataclass(frozen=True)
class Block:
    """A block of a prompt, such as its chunks, with its share of the context budget.

    `n_tokens` is the size of the block, or None if it is unbounded. `own_tokens` is true if the
    size does not depend on the budget. `whole` is the number of chunks of typical size that fit
    into a bounded block of chunks, else None.
    """

    op: OperatorStep
    share: float
    n_tokens: int | None
    whole: int | None
    own_tokens: bool


def context_blocks(pipeline: Pipeline, budget: ContextBudget, typical: int) -> list[Block]:
    """Return the blocks of all prompts. `typical` is the median length of a chunk in tokens."""
    blocks = []
    for op in packers(pipeline):
        share = op.settings.get("share", 1.0)
        alone, tokens = share > 1, budget.at_most(op.settings.get("budget")).tokens
        n_tokens = int(share) if alone else None if tokens is None else round(tokens * share)
        is_counted = typical and op.operator.name == "context.chunks"
        whole = n_tokens // typical if is_counted and n_tokens is not None else None
        share = min(share / tokens, 1.0) if alone and tokens else share
        blocks.append(Block(op, share, n_tokens, whole, alone))
    return blocks


def holds_corpus(dataset: Dataset, pipeline: Pipeline, budget: ContextBudget) -> bool:
    """Return whether the whole corpus fits into a context budget that is filled with chunks."""
    if budget.filling != "chunk" or not dataset.documents:
        return False
    blocks = context_blocks(pipeline, budget, typical=1)
    most = max((block.whole for block in blocks if block.whole is not None), default=0) / ROW
    if sum(len(document.text) for document in dataset.documents) > CHARACTERS_A_TOKEN * most:
        return False  # without loading the tokenizer, which is slow
    totals = accumulate(count_tokens(document.passage) for document in dataset.documents)
    return all(total <= most for total in totals)


def empty_blocks(
    pipeline: Pipeline, budget: ContextBudget, window: ContextWindow, *, asked: bool = False
) -> str:
    """Return a message that suggests a larger budget if no chunk fits into any prompt, else "".

    It is also "" if the user set the budget (`asked`) and a prompt has items other than chunks.
    """
    every = context_blocks(pipeline, budget, window.median_chunk)
    chunks = [block for block in every if block.whole is not None]
    if not chunks or any(block.whole for block in chunks) or (asked and len(chunks) < len(every)):
        return ""
    best = max(chunks, key=lambda block: block.share)
    enough = round_up_to_hundred(window.median_chunk / best.share)
    larger = window.tokens_left is not None and window.tokens_left < enough
    return (
        f"no chunk fits: the prompt has room for {best.n_tokens:,} tokens of chunks (the context "
        f"budget is {budget.tokens:,} tokens), but a typical chunk has {window.median_chunk:,} "
        f"tokens. Set budget_context={enough}"
        f"{' and use a model with a larger context window' * larger}, or use smaller chunks: "
        "chunking=token chunking.size=N."
    )
