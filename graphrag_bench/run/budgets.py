"""The context budget of a run: how many tokens fit, and which steps and lists they bound.

In the house regime `budget_context` is the same maximum of context tokens in every method's prompt,
filled by default, so that methods are compared at equal cost: `auto` follows from the corpus'
chunks and the reader's window, `budget_context=N` sets N tokens for all, and `native` keeps the
`budget` of each method's own file or profile, within the window. As published every budget is
native, and `budget_context=N` is one more bound of it, which nothing fills. Packers are given it as
a resource, `ContextBudget`.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from graphrag_bench.config.compose import raw_method
from graphrag_bench.config.settings import BUDGETS, WINDOWS, RunSettings
from graphrag_bench.contract import builders
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.windows import STAND_IN, sure_tokens
from graphrag_bench.pipeline.combinators import Switch
from graphrag_bench.pipeline.pipeline import Pipeline
from graphrag_bench.pipeline.steps import OperatorStep, Step
from graphrag_bench.prompts import ContextBudget, Filling
from graphrag_bench.run.method import Method
from graphrag_bench.run.models import Models
from graphrag_bench.text import count_tokens

LEAST = 2400
"""Tokens of `budget_context=auto` where the chunks are short: 4 passages of 200 tokens in a third
of the context."""
CHUNKS, SHARE = 4, 0.33
"""`auto` has room for so many whole chunks (k of Zhou et al. 2025, section 7.1) in the share of a
context that methods with tables leave to chunks."""
ASSUMED_WINDOW = 8192
"""Tokens of the window where no setting, server or price list tells it."""
RESERVED = 600
"""Tokens of the window that are kept for instructions and question."""
ROW = 1.05
"""What a row of a prompt adds to its chunk: its number, and the quotes of a table."""
FEWEST_TOKENS = 50
"""The least mean tokens assumed per chunk: enough chunks are retrieved to fill the budget."""
OWN_BUDGET = "method.budget"
_SAMPLE = 200
_CHARACTERS_A_TOKEN = 8
_SLOTS: Mapping[Filling, str] = {"chunk": "chunks", "node": "nodes"}


@dataclass(frozen=True)
class ChunkSize:
    """Tokens (cl100k) of the chunks of a corpus as rows of a prompt, with their titles.

    `typical` is the median, `long` what nine of ten do not pass; 0 for a corpus without a chunk.
    """

    typical: int
    long: int


@dataclass(frozen=True)
class Room:
    """What decides how many tokens of context a prompt may hold.

    `window` is the reader's, None where nothing tells it; `reserved` what the answer, the
    instructions and the question take of it; `margin` how many of its tokens a counted one is.
    """

    chunk: ChunkSize
    window: int | None
    reserved: int
    margin: float = 1.0

    def within(self, window: int) -> int:
        """Return the tokens of context that a window leaves, in whole hundreds; at least 1."""
        rest = (window - self.reserved) / self.margin
        return max(1, int(rest) // 100 * 100 if rest >= 100 else int(rest))

    @property
    def known(self) -> int | None:
        """Tokens of context that the reader's window leaves; None where the window is not known."""
        return None if self.window is None else self.within(self.window)

    @property
    def wanted(self) -> int:
        """Tokens in which every method finds room for its chunks, in whole hundreds."""
        return max(LEAST, in_hundreds(CHUNKS * self.chunk.long / SHARE))

    @property
    def auto(self) -> int:
        """Tokens of `budget_context=auto`: what is wanted, within the reader's window."""
        return min(self.wanted, self.within(self.window or ASSUMED_WINDOW))

    def require(self, n_tokens: int) -> None:
        """Raise UserError for more tokens of context than the reader's window leaves."""
        if self.known is not None and n_tokens > self.known:
            raise UserError(
                f"budget_context={n_tokens} does not fit the reader's window of {self.window:,} "
                f"tokens: {self.known:,} are left for the context. Take at most {self.known}, or a "
                "reader with a larger window (llm.context of the local model, llm.window)."
            )


def room_of(settings: RunSettings, dataset: Dataset, models: Models) -> Room:
    """Return the room of a run's prompts. No model is loaded; a server may be asked its window.

    As published no window is larger than that of the source.
    """
    margin = STAND_IN if "(stand-in)" in models.identity("tokenizer") else 1.0
    llm = models.bare("llm")
    window = llm.window if isinstance(llm, ChatModel) else None
    if settings.regime == "published" and (whole := WINDOWS.get(settings.profile)):
        window = min(window or whole, whole)
    most = max((question.answer_form.max_tokens for question in dataset.questions), default=0)
    reserved = RESERVED + sure_tokens(most, window or ASSUMED_WINDOW)
    return Room(chunk_size(settings, dataset), window, reserved, margin)


def chunk_size(settings: RunSettings, dataset: Dataset) -> ChunkSize:
    """Return the tokens of a corpus' chunks as the run will cut them, from at most 200 documents.

    These are spread evenly over the corpus; of a long one the beginning shows that its windows are
    full.
    """
    documents, size = dataset.documents, _window_size(settings, dataset)
    if not documents:
        return ChunkSize(0, 0)
    most = None if size is None else size * _CHARACTERS_A_TOKEN
    counts = []
    if size is not None and settings.chunking.get("join") == "corpus":
        counts.append(0)
        for document in documents:
            counts[0] = min(counts[0] + count_tokens(document.passage[:most]), size)
            if counts[0] == size:
                break
    else:
        places = np.linspace(0, len(documents) - 1, _SAMPLE).tolist()
        for document in (documents[row] for row in sorted({round(place) for place in places})):
            n_text = count_tokens(document.text[:most])
            counts.append(min(n_text, size or n_text) + count_tokens(document.title))
    typical, long = np.percentile(counts, (50, 90), method="higher")
    return ChunkSize(math.ceil(typical * ROW), math.ceil(long * ROW))


def _window_size(settings: RunSettings, dataset: Dataset) -> int | None:
    variant = settings.chunking.get("variant", "auto")
    name = f"chunk_table.{dataset.card.chunking if variant == 'auto' else variant}"
    setting = builders.get(name).settings.get("size") if name in builders else None
    size: Any = settings.chunking.get("size", setting.default) if setting else None
    return size if isinstance(size, int) and size > 0 else None


def in_hundreds(n_tokens: float) -> int:
    """Return the next whole hundred."""
    return math.ceil(n_tokens / 100) * 100


def with_budget(
    settings: RunSettings, method: Method, room: Callable[[], Room], *, swept: bool = False
) -> tuple[RunSettings, ContextBudget]:
    """Return the run's context budget, and the settings that say what it came to.

    These have a number of tokens as `budget_context`, or `native`. The published regime, a profile
    and `method.budget` make the default native: the method's own `budget`, or what the reader's
    window leaves where that is less. A number of items that is set (`method.top_k=8`) stays: the
    budget then bounds the context without filling it. Where the method packs nothing within a
    budget, the budget stays as set, for this run's reference rows.
    Raises UserError for a budget that a single run (`swept`: a cell of a sweep) cannot use, that
    does not fit the window, or, in the house regime, that `method.budget` sets as well.
    """
    wish, fill, explicit = settings.budget_context, settings.fill_context, settings.given
    published = settings.regime == "published"
    settings = settings.model_copy(
        update={"budget_asked": wish != "auto" or OWN_BUDGET in explicit, "given": []}
    )
    own, profiled = settings.method.get("budget"), settings.profile != "default"
    budget = ContextBudget(whole=own, group_tokens=_group_tokens(method.pipeline, room))
    if wish == "auto" and (published or profiled or OWN_BUDGET in explicit):
        wish = "native"
        settings = settings.model_copy(update={"budget_context": wish})
    if not packers(method.pipeline):
        if swept or isinstance(wish, str):
            return settings, budget
        raise UserError(
            f"budget_context={wish}: no step of '{method.name}' packs a context. Leave it out."
        )
    if published or wish == "native":
        if wish != "native" and settings.answering:
            room().require(int(wish))
        own = own or BUDGETS.get(settings.profile)
        bounds = [n for n in (own, wish, room().known) if isinstance(n, int)]
        tokens = min(bounds, default=None)
        all_rows = profiled and tokens is not None
        return settings, replace(budget, tokens=tokens, own=True, whole=own, all_rows=all_rows)
    if wish != "auto" and OWN_BUDGET in explicit and own is not None:
        both = f"{OWN_BUDGET}={own} and budget_context={wish}"
        raise UserError(f"{both} both set the context budget: leave one of them out.")
    if fill is None:
        filled = item_numbers(settings.method, method.pipeline) if explicit else set()
        fill = "off" if filled.intersection(explicit) else "on"
    tokens = room().auto if wish == "auto" else int(wish)
    if settings.answering and wish != "auto":
        room().require(tokens)
    filling = _filling(method.pipeline) if fill == "on" else ""
    settings = settings.model_copy(update={"budget_context": tokens, "fill_context": fill})
    return settings, replace(budget, tokens=tokens, filling=filling, all_rows=profiled)


def context_budget(settings: RunSettings, method: Method) -> int | None:
    """Return the tokens that the run's method shares with others; None where it packs by its own.

    The settings are those of `with_budget`.
    """
    n_tokens = settings.budget_context
    return n_tokens if isinstance(n_tokens, int) and packers(method.pipeline) else None


def packers(pipeline: Pipeline) -> list[OperatorStep]:
    """Return the steps whose context or prompt the budget bounds, in order."""
    return [
        op
        for op in pipeline.operators()
        if "context_budget" in op.operator.needs
        and op.settings.get("bounded", True)
        and "group_tokens" not in op.settings
    ]


def map_steps(pipeline: Pipeline) -> list[OperatorStep]:
    """Return the steps that read a context in groups, each in a prompt of its own, in order."""
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

    These are the outer lists after the last model that reads such rows: more would be paid there.
    What branches, `each` and `repeat` retrieve follows from the length of their lists, which stays.
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
    """Steps with a `top_k` that write such rows, and beside them nothing that a step reads."""
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
        and not one.named
        and {slot} == set(one.operator.writes) & (read | {slot})
        and isinstance(one.settings.get("top_k"), int)
    ]


def item_numbers(config: Mapping[str, object], pipeline: Pipeline) -> set[str]:
    """Return the paths of the numbers of items that filling would change."""
    if not (filling := _filling(pipeline)):
        return set()
    slot = _SLOTS[filling]
    blocks = [op for op in packers(pipeline) if op.operator.name == f"context.{slot}"]
    steps = [*blocks, *_outer_lists(pipeline, slot)]
    values = _top_k_in(raw_method(config) or {}, {op.operator.name for op in steps})
    parameters = {value.strip("${}") for value in values if value.startswith("${")}
    return parameters | {f"method.{op.label.partition(' ')[0]}.top_k" for op in steps}


def _top_k_in(value: object, operators: set[str]) -> Iterator[str]:
    if isinstance(value, Mapping):
        if value.get("op") in operators:
            yield str(value.get("top_k"))
        value = list(value.values())
    for one in value if isinstance(value, list | tuple) else ():
        yield from _top_k_in(one, operators)


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


def context_blocks(pipeline: Pipeline, budget: ContextBudget, room: Room) -> list[Block]:
    """Return the blocks of every prompt of a method, in order."""
    typical, blocks = room.chunk.typical, []
    for op in packers(pipeline):
        share = budget.share(op.settings.get("share", 1.0))
        alone, tokens = share > 1, budget.at_most(op.settings.get("budget")).tokens
        n_tokens = int(share) if alone else None if tokens is None else round(tokens * share)
        is_counted = typical and op.operator.name == "context.chunks"
        whole = n_tokens // typical if is_counted and n_tokens is not None else None
        share = min(share / tokens, 1.0) if alone and tokens else share
        blocks.append(Block(op, share, n_tokens, whole, alone))
    return blocks


def holds_corpus(dataset: Dataset, method: Method, budget: ContextBudget) -> bool:
    """Return whether the chunks of every document fit into a context that they fill."""
    if budget.filling != "chunk" or budget.tokens is None or len(dataset.documents) > budget.tokens:
        return False
    shares = (
        budget.share(op.settings.get("share", 1.0))
        for op in packers(method.pipeline)
        if op.operator.name == "context.chunks"
    )
    share = min(max(shares, default=0.0), 1.0)
    left = share * budget.tokens
    for document in dataset.documents:
        left -= count_tokens(document.passage) * ROW
        if left < 0:
            return False
    return share > 0


def empty_blocks(method: Method, budget: ContextBudget, room: Room, *, asked: bool = False) -> str:
    """Say why a method's prompt can hold none of its chunks, and what budget would do; or "".

    A budget that was `asked` for may leave chunks out of a prompt that has other rows.
    """
    every = context_blocks(method.pipeline, budget, room)
    chunks = [block for block in every if block.whole is not None]
    if not chunks or any(block.whole for block in chunks) or (asked and len(chunks) < len(every)):
        return ""
    best = max(chunks, key=lambda block: block.share)
    enough = in_hundreds(room.chunk.typical / best.share)
    reason = (
        f"the chunks of '{method.name}' have {best.n_tokens:,} tokens of its context of "
        f"{budget.tokens:,}, and a typical chunk of this corpus takes "
        f"{room.chunk.typical:,}: none fits. budget_context={enough} would do"
    )
    if room.known is not None and room.known < enough:
        reason += " with a reader of a larger window (llm.context of the local model, llm.window)"
    return f"{reason}; so would smaller chunks (chunking=token chunking.size=N)."
