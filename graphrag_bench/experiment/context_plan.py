"""A context budget applied to a corpus: its blocks, and how many whole chunks fit into them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graphrag_bench.errors import UserError
from graphrag_bench.experiment.budgets import context_budget, map_steps, packers
from graphrag_bench.experiment.context_room import ASSUMED_WINDOW, CHUNKS, LEAST, in_hundreds
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.pipeline.steps import OperatorStep


@dataclass(frozen=True)
class Block:
    """A block of a prompt: its share of the budget, and how many chunks fit into it.

    `n_tokens` is None without a bound; with `alone` the block takes no more. `whole` is how many
    typical chunks fit, None for blocks of something else and without a bound.
    """

    op: OperatorStep
    share: float
    n_tokens: int | None
    whole: int | None
    alone: bool


def context_blocks(experiment: Experiment) -> list[Block]:
    """The blocks of every prompt of a method, in order."""
    budget, typical = experiment.models.context_budget, experiment.room.chunk.typical
    blocks = []
    for op in packers(experiment.method.pipeline):
        share = budget.share(op.settings.get("share", 1.0))
        alone, tokens = share > 1, budget.at_most(op.settings.get("budget")).tokens
        n_tokens = int(share) if alone else None if tokens is None else round(tokens * share)
        whole = None
        if n_tokens is not None and typical and op.operator.name == "context.chunks":
            whole = n_tokens // typical
        share = min(share / tokens, 1.0) if alone and tokens else share
        blocks.append(Block(op, share, n_tokens, whole, alone))
    return blocks


def context_lines(experiment: Experiment) -> Iterator[str]:
    """The context budget with its reason, and what each block of the prompt has of it."""
    blocks = context_blocks(experiment)
    if not blocks:
        return
    yield f"context: {_budget(experiment)}"
    chunk = experiment.room.chunk
    if chunk.typical:
        yield f"  a chunk takes {chunk.typical:,} tokens (median; 90 %: {chunk.long:,}), as a row"
    for block in blocks:
        yield f"  {block.op.operator.name:<24} {', '.join(_words(experiment, block))}"
    for op in map_steps(experiment.method.pipeline):
        most = experiment.models.context_budget.group_tokens or op.settings["group_tokens"]
        each = "one report or chunk each"
        if op.settings["group"] == "packed":
            each = f"{most:,} tokens each, in the order {op.settings['order']}"
        yield (
            f"  {op.operator.name:<24} reads at most {op.settings['max_groups']:,} groups, {each}; "
            "reports beyond them are left unread, counted in the record and in the table"
        )
    if reason := empty_blocks(experiment):
        yield f"  ! {reason}"


def _words(experiment: Experiment, block: Block) -> Iterator[str]:
    budget, settings = experiment.models.context_budget, block.op.settings
    kind = block.op.operator.name.removeprefix("context.").removesuffix("s")
    top_k = budget.most_rows(kind, settings.get("top_k"), 0)
    if top_k is not None:
        yield f"top_k={top_k or 'auto'}"
    if settings.get("form") is not None:
        yield f"form={settings['form']}"
    if block.alone:
        yield f"{block.n_tokens:,} tokens of its own"
    elif block.n_tokens is not None:
        yield f"{block.share:g} of {budget.tokens:,} = {block.n_tokens:,} tokens"
    if block.whole is not None:
        yield f"{block.whole} whole chunks"


def _budget(experiment: Experiment) -> str:
    room, n_tokens = experiment.room, context_budget(experiment.settings, experiment.method)
    window = (
        f"the reader's window of {room.window:,}"
        if room.window
        else f"a window that is taken to be {ASSUMED_WINDOW:,} (llm.window tells the reader's)"
    )
    if n_tokens is not None:
        bound = f"at most {n_tokens:,} tokens (budget_context)"
        if n_tokens != room.auto:
            return bound
        why = f"{LEAST:,} at least"
        if room.wanted > LEAST:
            why = f"{room.wanted:,} have room for {CHUNKS} whole chunks in every method"
        return f"{bound}; auto: {why}" + (f"; within {window}" if n_tokens < room.wanted else "")
    budget = experiment.models.context_budget
    if budget.tokens is None:
        return "each method's own; this one has no bound"
    if budget.tokens == budget.whole:
        return f"at most {budget.tokens:,} tokens (the method's own)"
    own = f"the method's own {budget.whole:,} tokens" if budget.whole else "no budget"
    return f"at most {budget.tokens:,} tokens: {own}, within {window}"


def empty_blocks(experiment: Experiment) -> str:
    """Why a method's prompt can hold none of its chunks, with the budget that would do; or ""."""
    chunks = [block for block in context_blocks(experiment) if block.whole is not None]
    if not chunks or any(block.whole for block in chunks):
        return ""
    best = max(chunks, key=lambda block: block.share)
    typical, known = experiment.room.chunk.typical, experiment.room.known
    enough = in_hundreds(typical / best.share)
    reason = (
        f"the chunks of '{experiment.method.name}' have {best.n_tokens:,} tokens of its context of "
        f"{experiment.models.context_budget.tokens:,}, and a typical chunk of this corpus takes "
        f"{typical:,}: none fits. budget_context={enough} would do"
    )
    if known is not None and known < enough:
        reason += " with a reader of a larger window (llm.context of the local model, llm.window)"
    return f"{reason}; so would smaller chunks (chunking=token chunking.size=N)."


def refuse_empty(experiment: Experiment) -> None:
    """Raise UserError when no prompt can hold a chunk and the run did not set so small a budget."""
    if not experiment.settings.budget_asked and (reason := empty_blocks(experiment)):
        raise UserError(f"{reason[0].upper()}{reason[1:]} Any budget_context=N goes on with N.")
