"""The context window of the reader (the model that answers), and the context budget of a run.

In the mode *equal*, every method fills a context of the same size. In the mode *native*, each
method keeps its own top-k or its own token budget, up to the window.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from graphrag_bench.config.settings import BUDGETS, WINDOWS, RunSettings
from graphrag_bench.contract import builders
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError
from graphrag_bench.files import read_cache, user_cache, write_cache
from graphrag_bench.fingerprint import code, digest, file_digest
from graphrag_bench.llm.chat import TOKENIZER_RATIO, ChatModel, reserved_tokens
from graphrag_bench.pipeline.combinators import Switch
from graphrag_bench.pipeline.pipeline import Pipeline
from graphrag_bench.pipeline.steps import OperatorStep
from graphrag_bench.prompts import UNBOUNDED, ContextBudget, Filling
from graphrag_bench.run.folder import paths_of
from graphrag_bench.run.method import references
from graphrag_bench.run.models import Models
from graphrag_bench.text import count_tokens

LEAST = 2400
"""Minimum of `budget_context=auto`: 4 passages of 200 tokens fit into a third of it."""
CHUNKS, SHARE = 4, 0.33
"""With `budget_context=auto`, 4 chunks fit into a third of the budget, as some methods fill the
rest with nodes and relationships. Source: Zhou et al. (2025), Section 7.1 (4 chunks)."""
ASSUMED_WINDOW = 8192
"""Default context window in tokens, if no setting, server or price list states a window."""
RESERVED = 600
"""Tokens of the window that are reserved for the instructions and the question."""
ROW = 1.05
"""Factor by which row numbers and quotes in a prompt increase the number of tokens of a chunk."""
_SAMPLE, _CHARACTERS_A_TOKEN = 200, 8
FEWEST_TOKENS = 50
"""Assumed minimum length of a chunk. For a budget of N tokens, N / 50 chunks are retrieved."""
_OWN = "method.budget"
_SLOTS: Mapping[Filling, str] = {"chunk": "chunks", "node": "nodes"}


@dataclass(frozen=True)
class ContextWindow:
    """Context window of the reader in tokens (None if unknown), and the tokens of a chunk.

    `reserved` tokens are left for instructions, question and answer. If tokens are counted with the
    tokenizer of another model, the reader needs at most `margin` tokens for each counted token.
    """

    median_chunk: int
    long_chunk: int  # 90th percentile
    tokens: int | None
    reserved: int
    margin: float = 1.0

    def _within(self, window: int) -> int:
        rest = (window - self.reserved) / self.margin
        return max(1, int(rest) // 100 * 100 if rest >= 100 else int(rest))

    @property
    def tokens_left(self) -> int | None:
        """Tokens left for the context, rounded down to hundreds, or None for an unknown window."""
        return None if self.tokens is None else self._within(self.tokens)

    @property
    def wanted(self) -> int:
        """Context tokens that give every method room for `CHUNKS` chunks, but at least `LEAST`."""
        return max(LEAST, math.ceil(CHUNKS * self.long_chunk / SHARE / 100) * 100)

    @property
    def auto(self) -> int:
        """Context tokens of `budget_context=auto`: `wanted`, or fewer in a small window."""
        return min(self.wanted, self._within(self.tokens or ASSUMED_WINDOW))


def context_window(settings: RunSettings, dataset: Dataset, models: Models) -> ContextWindow:
    """Return the context window of a run's reader, without loading the model."""
    margin = TOKENIZER_RATIO if "(stand-in)" in models.identity("tokenizer") else 1.0
    llm, chunking = models.unwrapped("llm"), settings.chunking
    window = llm.window if isinstance(llm, ChatModel) else None
    if settings.regime == "published" and (whole := WINDOWS.get(settings.profile)):
        window = min(window or whole, whole)
    most = max((question.answer_form.max_tokens for question in dataset.questions), default=0)
    reserved = RESERVED + reserved_tokens(most, window or ASSUMED_WINDOW)
    variant, join = chunking.get("variant", "auto"), chunking.get("join")
    builder = f"chunk_table.{dataset.card.chunking if variant == 'auto' else variant}"
    setting = builders.get(builder).settings.get("size") if builder in builders else None
    size: Any = chunking.get("size", setting.default) if setting else None
    size = size if isinstance(size, int) and size > 0 else None
    file, counting = user_cache("token_counts.json"), file_digest(Path(__file__))
    key = digest(dataset.corpus_digest, size, str(join), counting, code(count_tokens))
    if (sizes := read_cache(file).get(key)) is None:  # cached, as the tokenizer loads slowly
        write_cache(file, key, sizes := _chunk_sizes(dataset, size, whole=join == "corpus"))
    median, long = sizes
    return ContextWindow(median, long, window, reserved, margin)


def _chunk_sizes(dataset: Dataset, size: int | None, whole: bool) -> list[int]:
    """Return the median and 90th percentile of a chunk's tokens, from at most 200 documents."""
    if not (documents := dataset.documents):
        return [0, 0]
    most, counts = None if size is None else size * _CHARACTERS_A_TOKEN, []
    for row in np.unique(np.linspace(0, len(documents) - 1, _SAMPLE).round().astype(int)):
        n_text = count_tokens(documents[row].text[:most])
        counts.append(min(n_text, size or n_text) + count_tokens(documents[row].title))
    if size is not None and whole:  # chunks span documents
        counts = [min(sum(counts), size)]
    return [math.ceil(n * ROW) for n in np.percentile(counts, (50, 90), method="higher")]


def is_native(settings: RunSettings) -> bool:
    """Return whether each method keeps its own context budget (the mode *native*)."""
    if settings.regime == "published" or settings.budget_context == "native":
        return True
    by_default = settings.profile != "default" or _OWN in settings.given
    return settings.budget_context == "auto" and by_default


def context_budget(
    settings: RunSettings, pipeline: Pipeline, window: ContextWindow,
    file: Mapping[str, Any] | None, *, swept: bool,
) -> ContextBudget:  # fmt: skip
    """Return the context budget of a run, which is unbounded if no step packs a context.

    An equal budget is filled with more items, unless the user set a number of items, e.g. with
    `method.top_k=8`. If `swept` is true, a budget that no step can use is ignored.
    """
    wish, own = settings.budget_context, settings.method.get("budget")
    number = wish if isinstance(wish, int) else None
    if not packers(pipeline):
        if number is None or swept:
            return UNBOUNDED
        name = settings.method["name"]
        raise UserError(f"budget_context={wish}: the method '{name}' never packs a context.")
    if settings.answering and number and window.tokens_left and number > window.tokens_left:
        raise UserError(
            f"budget_context={number} is too large. The model's window of {window.tokens:,} tokens "
            f"has room for {window.tokens_left} tokens of context. Set llm.window (or llm.context "
            "with llm=local)."
        )
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
    """Return `budget_context`. `auto` becomes `native`, or a number if a step packs a context."""
    wish = settings.budget_context
    if is_native(settings):
        return "native" if wish == "auto" else wish
    return budget.tokens if packers(pipeline) and budget.tokens else wish


def packers(pipeline: Pipeline) -> list[OperatorStep]:
    """Return the steps, in order, whose context or prompt is limited by the context budget."""
    ops = (op for op in pipeline.operators() if "context_budget" in op.operator.needs)
    return [op for op in ops if op.settings.get("bounded", True)]


def _filling(pipeline: Pipeline) -> Filling:
    kinds = {op.operator.name.removeprefix("context.") for op in packers(pipeline)}
    return "chunk" if "chunks" in kinds else "node" if kinds == {"nodes"} else ""


def with_budget(
    pipeline: Pipeline, budget: ContextBudget, settings: RunSettings, window: ContextWindow
) -> Pipeline:
    """Return the pipeline with the step settings that follow from the context budget.

    If chunks or nodes fill the budget, their block in the prompt has no top-k, and the steps that
    rank these items return enough items to fill it. Under a profile, a block with `top_k=auto`
    includes every item that fits. A `share` above 1 is in tokens and scales with the budget.
    """
    slot, whole, tokens = _SLOTS.get(budget.filling, ""), own_budget(settings), budget.tokens
    blocks = {id(op) for op in packers(pipeline)}
    lists = {id(op) for op in _outer_lists(pipeline, slot)} if slot and tokens is not None else ()
    open_profile = settings.profile != "default" and tokens is not None

    def changed(op: OperatorStep) -> OperatorStep:
        new, share = dict(op.settings), op.settings.get("share", 1.0)
        if id(op) in blocks:
            filled = slot and op.operator.name == f"context.{slot}"
            if filled or (open_profile and new.get("top_k") == "auto"):
                new["top_k"] = None
            if share > 1 and tokens is not None and whole is not None:
                new["share"] = max(round(share * tokens / whole), 2)
            if budget.mode == "equal" and "budget" in new:
                new["budget"] = None
        if tokens is not None and id(op) in lists:
            new["top_k"] = max(math.ceil(tokens / FEWEST_TOKENS), op.settings["top_k"])
        if "group_tokens" in new and window.tokens_left is not None:
            new["group_tokens"] = min(new["group_tokens"], window.tokens_left)
        return replace(op, settings=new)

    return pipeline.mapped(changed)


def _outer_lists(pipeline: Pipeline, slot: str) -> list[OperatorStep]:
    """Return the ranking steps whose `top_k` may be raised to fill the budget with items of `slot`.

    Three kinds are left out: steps whose other outputs are read, steps in combinators other than a
    switch, and steps before the last model call that reads `slot` (longer lists cost more calls).
    """
    steps = pipeline.steps()
    read = {read.slot for op in pipeline.operators() for read in op.operator.reads} | {slot}
    with_model = [
        row
        for row, step in enumerate(steps)
        for op in step.operators()
        if op.operator.calls != 0 and slot in {read.slot for read in op.operator.reads}
    ]
    outer = steps[max(with_model, default=0) :]
    cases = [case for step in outer if isinstance(step, Switch) for case in step.cases.values()]
    ops = [one for one in chain(outer, *cases) if isinstance(one, OperatorStep)]
    ops = [op for op in ops if not op.list_name and isinstance(op.settings.get("top_k"), int)]
    return [op for op in ops if set(op.operator.writes) & read == {slot}]


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
    """A block of a prompt, e.g. the block of its chunks, with its share of the context budget.

    `n_tokens` is the size of the block, or None if the block is unbounded. `whole` is the number of
    typical chunks that fit into a bounded block of chunks, and None for other blocks.
    """

    op: OperatorStep
    share: float
    n_tokens: int | None
    whole: int | None
    own_tokens: bool  # independent of the budget


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
    if sum(len(document.text) for document in dataset.documents) > _CHARACTERS_A_TOKEN * most:
        return False  # without loading the tokenizer, which is slow
    return sum(count_tokens(document.passage) for document in dataset.documents) <= most


def empty_blocks(
    pipeline: Pipeline, budget: ContextBudget, window: ContextWindow, *, asked: bool = False
) -> str:
    """Return a message that suggests a larger budget if no chunk fits into any block, else "".

    If the user set the budget (`asked`), a method with blocks of other items needs no chunk.
    """
    every = context_blocks(pipeline, budget, window.median_chunk)
    chunks = [block for block in every if block.whole is not None]
    if not chunks or any(block.whole for block in chunks) or (asked and len(chunks) < len(every)):
        return ""
    best = max(chunks, key=lambda block: block.share)
    enough = math.ceil(window.median_chunk / best.share / 100) * 100
    larger = window.tokens_left is not None and window.tokens_left < enough
    return (
        f"no chunk fits: the prompt has room for {best.n_tokens:,} tokens of chunks (the context "
        f"budget is {budget.tokens:,} tokens), but a typical chunk has {window.median_chunk:,} "
        f"tokens. Set budget_context={enough}"
        f"{' and use a model with a larger context window' * larger}, or use smaller chunks: "
        "chunking=token chunking.size=N."
    )
