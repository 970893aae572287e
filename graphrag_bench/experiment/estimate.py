"""What a run will cost, before it is run: calls, tokens, money and time for every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from graphrag_bench.answer_forms import answer_form
from graphrag_bench.data.dataset import Document
from graphrag_bench.expected import Sizes
from graphrag_bench.experiment.derived_settings import REPLACED
from graphrag_bench.experiment.expected_steps import (
    PLAIN_ROW_TOKENS,
    ROW_TOKENS,
    Kinds,
    Rows,
    longest_lists,
    visited,
)
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.models.fan_out import FanOut
from graphrag_bench.models.ledger import Part, read_ledger, sums
from graphrag_bench.models.settings import Prices
from graphrag_bench.pipeline.steps import OperatorStep
from graphrag_bench.text import count_tokens

_SAMPLE = 200
_UNKNOWN = (500.0, 100.0)
_TOKENS_OF_COMMUNITY = 130
"""Tokens of the corpus that one community is of: 105 on `sample`, 185 on UltraDomain Mix."""


@dataclass(frozen=True)
class Estimate:
    """The expected cost of one step; `seconds` is None until a call of it has been measured.

    `measured` says that it is from the means of calls already made, not from a formula.
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
    """One row for each step that calls a model, for so many questions.

    `n_early` questions go through conversion and retrieval, `n_answers` of them through
    generation. What a prompt holds follows from the context budget, its blocks and the mean chunk;
    all rounds of a `repeat` are expected. With `learn` the means of calls that this run has already
    made take the place of the formula. With `answer=off` generation has no row.
    """
    steps = experiment.method.pipeline.steps(experiment.settings.answering or n_answers > 0)
    ledgers = experiment.folder.files("ledger") if learn else []
    known = {name: held.paid for (name,), held in sums(read_ledger(*ledgers), "step").items()}
    sizes = _sizes(experiment)
    rows = _building(experiment, sizes, left=learn)
    for op, given, times in visited(steps, _kinds(experiment), sizes, _given(experiment)):
        if op.bound():
            n = times * (n_answers if op.label.startswith("generate") else n_early)
            rows.append(_estimate(experiment, op, n, given, known.get(op.label)))
    return rows


def lists_packed(experiment: Experiment) -> dict[str, float]:
    """The most rows that each packing operator of a method is given, infinite where unknown."""
    steps = experiment.method.pipeline.steps()
    return longest_lists(steps, _kinds(experiment), _sizes(experiment), _given(experiment))


def _building(experiment: Experiment, sizes: Sizes, *, left: bool) -> list[Estimate]:
    """One row for each artifact whose building calls a model.

    With `left` only what is still to be paid: an artifact that is there costs nothing.
    """
    store = experiment.store()
    rows: list[Estimate] = []
    for item in experiment.plan:
        if not item.builder.calls:
            continue
        there = left and store.holds(item)
        n_calls = 0 if there else item.builder.expected_calls(item.settings, sizes)
        prompt, completion = _UNKNOWN
        if item.builder.tokens:
            prompt, completion = item.builder.tokens(item.settings, sizes)
        n_prompt, n_completion = round(n_calls * prompt), round(n_calls * completion)
        usd = _prices(experiment, "llm_build").usd(n_prompt, n_completion)
        rows.append(
            Estimate("build", item.resource, n_calls, n_prompt, n_completion, usd, None, False)
        )
    return rows


def _estimate(
    experiment: Experiment, op: OperatorStep, n_questions: float, sizes: Sizes, known: Part | None
) -> Estimate:
    calls = round(n_questions * op.operator.expected_calls(op.settings, sizes))
    prompt, completion = op.operator.tokens(op.settings, sizes) if op.operator.tokens else _UNKNOWN
    seconds = None
    measured = known is not None and known.calls > 0
    if known is not None and known.calls:
        prompt = known.prompt_tokens / known.calls
        completion = known.completion_tokens / known.calls
        workers = min(experiment.settings.workers, experiment.models.calls_at_once())
        seconds = calls * known.seconds / known.calls / max(workers, 1)
    n_prompt, n_completion = round(calls * prompt), round(calls * completion)
    usd = _prices(experiment).usd(n_prompt, n_completion)
    stage = op.label.partition(".")[0]
    return Estimate(stage, op.label, calls, n_prompt, n_completion, usd, seconds, measured)


def _kinds(experiment: Experiment) -> Kinds:
    graph = next((item for item in experiment.plan if item.resource == "graph"), None)
    described = graph is not None and "node.description" in graph.builder.provides
    of_chunks = graph is not None and not REPLACED & set(graph.inputs)
    tokens = ROW_TOKENS if described else {**ROW_TOKENS, **PLAIN_ROW_TOKENS}
    return Kinds(tokens, {"communities": _communities(experiment)}, of_chunks and described)


def _communities(experiment: Experiment) -> float:
    store = experiment.store()
    for item in experiment.plan:
        if item.resource == "reports" and store.holds(item):
            return float(store.recipe(item).get("statistics", {}).get("communities", 0))
    sizes = _sizes(experiment)
    return sizes.n_chunks * sizes.chunk / _TOKENS_OF_COMMUNITY


def _given(experiment: Experiment) -> dict[str, Rows]:
    if not experiment.method.given:
        return {}
    gold = [len(held.evidence) for held in experiment.dataset.gold.values()]
    return {"chunks": Rows(fmean(gold) if gold else 0.0)}


def _prices(experiment: Experiment, group: str = "llm") -> Prices:
    same = group == "llm_build" and experiment.settings.llm_build is None
    model = experiment.models.bare("llm" if same else group)
    return model.prices if isinstance(model, FanOut) else Prices()


def _sizes(experiment: Experiment) -> Sizes:
    first = experiment.dataset.questions[:_SAMPLE]
    questions = [count_tokens(row.text) for row in first]
    chunks, n_chunks = _chunks(experiment, experiment.dataset.documents)
    forms = [answer_form(row.form, row.open_tokens) for row in first]
    answers = [form.max_tokens for form in forms]
    asked = [count_tokens(f"{form.manner} {form.licence} {form.cue}") for form in forms]
    clauses = [count_tokens(form.licence) for form in forms]
    question, chunk, answer, form, licence = (
        fmean(held) if held else 0.0 for held in (questions, chunks, answers, asked, clauses)
    )
    return Sizes(question, chunk, n_chunks, answer=answer, form=form, licence=licence)


def _chunks(experiment: Experiment, documents: Sequence[Document]) -> tuple[list[int], int]:
    n_tokens = [count_tokens(row.passage) for row in documents[:_SAMPLE]]
    planned = next(item for item in experiment.plan if item.resource == "chunk_table")
    chunks = n_tokens
    if (size := planned.settings.get("size")) is not None:
        stride = size - planned.settings.get("overlap", 0)
        chunks = [min(size, n - at) for n in n_tokens for at in range(0, max(n, 1), stride)]
    return chunks, round(len(documents) * len(chunks) / max(len(n_tokens), 1))
