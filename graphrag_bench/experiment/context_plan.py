"""A context budget applied to a corpus: its blocks, and how many whole chunks fit into them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphrag_bench.contract import operators
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.budgets import context_budget, mapped, mapping, packing
from graphrag_bench.experiment.context_room import ASSUMED_WINDOW, CHUNKS, LEAST, in_hundreds
from graphrag_bench.experiment.estimate import lists_packed
from graphrag_bench.experiment.experiment import Experiment

CHUNK_BLOCKS = ("context.chunks",)
"""The steps that put whole chunks into a prompt."""
_SAID = ("top_k", "form")


@dataclass(frozen=True)
class Block:
    """A block of a prompt: its step, its share, and the tokens that are its own at least.

    `n_tokens` is None without a budget; with `alone` the block takes no more than these either.
    `whole` is how many typical chunks fit into it, None for blocks of something else and without a
    bound.
    """

    op: str
    settings: Mapping[str, Any]
    budget: int | None
    share: float
    n_tokens: int | None
    whole: int | None
    alone: bool = False

    @property
    def line(self) -> str:
        """The block in one line of a plan."""
        said = [f"{name}={value}" for name, value in self.settings.items()]
        if self.alone:
            said.append(f"{self.n_tokens:,} tokens of its own")
        elif self.n_tokens is not None:
            said.append(f"{self.share:g} of {self.budget:,} = {self.n_tokens:,} tokens")
        if self.whole is not None:
            said.append(f"{self.whole} whole chunks")
        return f"  {self.op:<24} {', '.join(said)}"


def context_blocks(experiment: Experiment) -> list[Block]:
    """The blocks of every prompt of a method, in order."""
    return [_block(step, experiment) for step in packing(experiment.settings.method)]


def _block(step: Mapping[str, Any], experiment: Experiment) -> Block:
    settings = operators.get(step["op"]).settings
    held = {name: step.get(name, one.default) for name, one in settings.items()}
    budget, share = held["budget"], held.get("share", 1.0)
    alone = share > 1
    n_tokens = share if alone else None if budget is None else round(budget * share)
    typical, whole = experiment.room.chunk.typical, None
    if n_tokens is not None and typical > 0 and step["op"] in CHUNK_BLOCKS:
        whole = n_tokens // typical
    said = {name: held[name] for name in _SAID if held.get(name) is not None}
    share = min(share / budget, 1.0) if alone and budget else share
    return Block(step["op"], said, budget, share, n_tokens, whole, alone)


def context_lines(experiment: Experiment) -> Iterator[str]:
    """The context budget with its reason, and what each block of the prompt has of it."""
    blocks = context_blocks(experiment)
    if not blocks:
        return
    held = experiment.settings.method
    yield f"context: {_budget(experiment, blocks)}"
    chunk = experiment.room.chunk
    if chunk.typical:
        yield f"  a chunk takes {chunk.typical:,} tokens (median; 90 %: {chunk.long:,}), as a row"
    for block, step in zip(blocks, packing(held), strict=True):
        yield block.line + _cuts(experiment, step)
    yield from (_read_in_groups(mapped(step), step["op"]) for step in mapping(held))
    if reason := empty_blocks(experiment):
        yield f"  ! {reason}"


def _cuts(experiment: Experiment, step: Mapping[str, Any]) -> str:
    setting = operators.get(step["op"]).settings.get("top_k")
    most = setting.default if setting and "top_k" not in step else None
    longest = lists_packed(experiment).get(step["op"], math.inf)
    return f"; ! beyond {most} rows the last are cut" if most and longest > most else ""


def _read_in_groups(held: Mapping[str, Any], op: str) -> str:
    each = "one report or chunk each"
    if held["group"] == "packed":
        each = f"{held['group_tokens']:,} tokens each, in the order {held['order']}"
    return (
        f"  {op:<24} reads at most {held['max_groups']:,} groups, {each}; reports beyond "
        "them are left unread, counted in the record and in the table"
    )


def _budget(experiment: Experiment, blocks: list[Block]) -> str:
    room, n_tokens = experiment.room, context_budget(experiment.settings)
    window = (
        f"the reader's window of {room.window:,}"
        if room.window
        else f"a window that is taken to be {ASSUMED_WINDOW:,} (llm.window tells the reader's)"
    )
    if n_tokens is not None:
        said = f"at most {n_tokens:,} tokens (budget_context)"
        if n_tokens != room.auto:
            return said
        why = f"{LEAST:,} at least"
        if room.wanted > LEAST:
            why = f"{room.wanted:,} have room for {CHUNKS} whole chunks in every method"
        return f"{said}; auto: {why}" + (f"; within {window}" if n_tokens < room.wanted else "")
    held = [block.budget for block in blocks if block.budget is not None]
    own = experiment.settings.method.get("budget")
    if not held:
        return "each method's own; this one has no bound"
    most = max(held)
    if most == room.known and own != most:
        asked = f"the method's own {own:,} tokens" if isinstance(own, int) else "no budget"
        return f"at most {most:,} tokens: {asked}, within {window}"
    return f"at most {most:,} tokens (the method's own)"


def empty_blocks(experiment: Experiment) -> str:
    """Why a method's prompt can hold none of its chunks, with the budget that would do; or ""."""
    chunks = [block for block in context_blocks(experiment) if block.whole is not None]
    if not chunks or any(block.whole for block in chunks):
        return ""
    best = max(chunks, key=lambda block: block.share)
    typical, known = experiment.room.chunk.typical, experiment.room.known
    enough = in_hundreds(typical / best.share)
    said = (
        f"the chunks of '{experiment.method.name}' have {best.n_tokens:,} tokens of its context of "
        f"{best.budget:,}, and a typical chunk of this corpus takes {typical:,}: none fits. "
        f"budget_context={enough} would do"
    )
    if known is not None and known < enough:
        said += " with a reader of a larger window (llm.context of the local model, llm.window)"
    return f"{said}; so would smaller chunks (chunking=token chunking.size=N)."


def refuse_empty(experiment: Experiment) -> None:
    """Raise UserError when no prompt can hold a chunk and the run did not set so small a budget."""
    if not experiment.settings.budget_asked and (reason := empty_blocks(experiment)):
        raise UserError(f"{reason[0].upper()}{reason[1:]} Any budget_context=N goes on with N.")
