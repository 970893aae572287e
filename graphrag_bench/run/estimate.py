"""What a run costs at most, before it is run: calls, tokens and money for every step.

The store knows what is built, and the ledger what calls of this run have taken; elsewhere a step
makes as many calls as it may, whose prompts hold what the context budget or the reader's window
leaves, and whose replies end at their limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from statistics import fmean

from graphrag_bench.expected import Sizes, template_tokens
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.ledger import CallSums, read_ledger, sums
from graphrag_bench.llm.settings import Prices
from graphrag_bench.pipeline.combinators import Each, Repeat
from graphrag_bench.pipeline.resolve import Resolve
from graphrag_bench.pipeline.steps import OperatorStep, Step
from graphrag_bench.prompts import Prompt, answer_form
from graphrag_bench.run.budgets import ASSUMED_WINDOW
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.text import count_tokens
from graphrag_bench.values import Question

_SAMPLE = 200
_UNKNOWN = (500.0, 100.0)
_LISTS = frozenset({"chunks", "nodes", "relationships", "subgraph", "exploration"})
"""What a prompt may hold without a budget: as much as the reader's window leaves."""
_TOKENS_OF_COMMUNITY = 100
"""The fewest tokens of a corpus that one community was of: 105 on `sample`, 185 on UltraDomain."""


@dataclass(frozen=True)
class Estimate:
    """The most that one step costs; `seconds` is None until a call of it has been measured.

    `measured` says that it follows from the means of calls already made; what building takes is
    the mean that its builder expects.
    """

    stage: str
    step: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float
    seconds: float | None
    measured: bool


def estimates(
    experiment: Experiment, n_early: int, n_answers: int, *, learn: bool = True
) -> list[Estimate]:
    """Return one row for each step that calls a model, for so many questions.

    `n_early` questions go through conversion and retrieval, `n_answers` of them through
    generation. With `learn` the means of calls that this run has already paid for take the place of
    the bounds, and an artifact that is there costs nothing. With `answer=off` generation has no
    row.
    """
    folder = experiment.folder
    ledgers = folder.files("ledger") if learn else []
    paid = {name: each.paid for (name,), each in sums(read_ledger(*ledgers), "step").items()}
    rows = list(_building(experiment, unpaid=learn))
    longest = cache(partial(_longest, experiment.dataset.questions))
    for op, times in _weighted(experiment.method.pipeline.steps(n_answers > 0)):
        if op.bound():
            late = op.label.startswith("generate")
            n_done = len(folder.done(late)) if op.label in paid else 0
            n = n_answers if late else n_early
            if (known := paid.get(op.label)) and known.calls and n_done:
                rows.append(_measured(experiment, op, n / n_done, known))
            else:
                calls = n * times * min(op.bound(), _most_calls(experiment, op))
                rows.append(_row(experiment, op, calls, *_most_tokens(experiment, op, *longest())))
    return rows


def _weighted(steps: Sequence[Step], times: int = 1) -> Iterator[tuple[OperatorStep, int]]:
    for step in steps:
        if isinstance(step, Repeat):
            yield from _weighted(step.steps, times * step.times)
        elif isinstance(step, Each):
            yield from _weighted(step.steps, times * step.at_most)
        elif isinstance(step, Resolve):
            yield from _weighted(step.steps, times * (step.at_most + 1))
            yield from _weighted(step.answer, times * step.at_most)
        else:
            yield from ((op, times) for op in step.operators())


def _measured(experiment: Experiment, op: OperatorStep, share: float, paid: CallSums) -> Estimate:
    calls = math.ceil(share * paid.calls)
    prompt, completion = paid.prompt_tokens / paid.calls, paid.completion_tokens / paid.calls
    workers = min(experiment.settings.workers, experiment.models.calls_at_once())
    seconds = calls * paid.seconds / paid.calls / max(workers, 1)
    row = _row(experiment, op, calls, prompt, completion)
    return replace(row, seconds=seconds, measured=True)


def _row(
    experiment: Experiment, op: OperatorStep, calls: int, prompt: float, completion: float
) -> Estimate:
    n_prompt, n_completion = round(calls * prompt), round(calls * completion)
    usd = _prices(experiment).usd(n_prompt, n_completion)
    stage = op.label.partition(".")[0]
    return Estimate(stage, op.label, calls, n_prompt, n_completion, usd, None, False)


def _longest(questions: Sequence[Question]) -> tuple[int, int]:
    forms = [answer_form(*one) for one in {(one.form, one.open_tokens) for one in questions}]
    words = [count_tokens(f"{form.manner} {form.licence} {form.cue}") for form in forms]
    texts = [count_tokens(one.text) for one in questions]
    answer = max((form.max_tokens for form in forms), default=0)
    return max(texts, default=0) + max(words, default=0), answer


def _most_tokens(
    experiment: Experiment, op: OperatorStep, question: int, answer: int
) -> tuple[float, float]:
    reply = op.settings.get("max_tokens") or answer
    prompts = [value for value in op.settings.values() if isinstance(value, Prompt)]
    files = [file for prompt in prompts for file in prompt.files]
    own = max(map(template_tokens, files), default=0) + question + reply
    window = experiment.room.window or ASSUMED_WINDOW
    budget, slots = experiment.models.context_budget, {read.slot for read in op.operator.reads}
    context: int | None = 0
    if slots & {"context", "points"} or "context_budget" in op.operator.needs:
        context = op.settings.get("group_tokens") or budget.tokens
    elif slots & _LISTS or "graph" in op.operator.needs:
        context = None
    return min(window, window if context is None else own + context), reply


def _most_calls(experiment: Experiment, op: OperatorStep) -> int:
    if "group_tokens" not in op.settings:
        return op.bound()
    store = experiment.store()
    for item in experiment.plan:
        if item.resource == "reports" and store.holds(item):
            stored = store.recipe(item).get("statistics", {}).get("communities")
            return 2 * int(stored) if stored else op.bound()
    sizes = _sizes(experiment)
    return 2 * math.ceil(sizes.n_chunks * (1 + sizes.chunk / _TOKENS_OF_COMMUNITY))


def _building(experiment: Experiment, *, unpaid: bool) -> Iterator[Estimate]:
    """One row for each artifact that calls a model; with `unpaid` only for what is missing."""
    store = experiment.store()
    items = [item for item in experiment.plan if item.builder.calls]
    sizes = _sizes(experiment) if items else Sizes(0.0)
    for item in items:
        there = unpaid and store.holds(item)
        n_calls = 0 if there else item.builder.expected_calls(item.settings, sizes)
        tokens = item.builder.tokens
        prompt, completion = tokens(item.settings, sizes) if tokens else _UNKNOWN
        n_prompt, n_completion = round(n_calls * prompt), round(n_calls * completion)
        usd = _prices(experiment, "llm_build").usd(n_prompt, n_completion)
        yield Estimate("build", item.resource, n_calls, n_prompt, n_completion, usd, None, False)


def _prices(experiment: Experiment, group: str = "llm") -> Prices:
    same = group == "llm_build" and experiment.settings.llm_build is None
    model = experiment.models.bare("llm" if same else group)
    return model.prices if isinstance(model, ChatModel) else Prices()


def _sizes(experiment: Experiment) -> Sizes:
    documents = experiment.dataset.documents
    n_tokens = [count_tokens(row.passage) for row in documents[:_SAMPLE]]
    planned = next(item for item in experiment.plan if item.resource == "chunk_table")
    chunks = n_tokens
    if (size := planned.settings.get("size")) is not None:
        stride = size - planned.settings.get("overlap", 0)
        chunks = [min(size, n - at) for n in n_tokens for at in range(0, max(n, 1), stride)]
    n_chunks = round(len(documents) * len(chunks) / max(len(n_tokens), 1))
    return Sizes(fmean(chunks) if chunks else 0.0, n_chunks)
