"""What a run will cost, before it is run: calls, tokens, money and time for every step."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from graphrag_bench.answer_forms import answer_form
from graphrag_bench.contract import Sizes
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.models.fan_out import FanOut
from graphrag_bench.models.ledger import Part, read_ledger, sums
from graphrag_bench.models.settings import Prices
from graphrag_bench.pipeline.steps import OperatorStep
from graphrag_bench.text import count_tokens

_SAMPLE = 200
_UNKNOWN = (500.0, 100.0)


@dataclass(frozen=True)
class Estimate:
    """The expected cost of one step; `seconds` is None until a call of it has been measured.

    `measured` says that the means of calls already made stand behind it, not a formula.
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
    generation. One call is expected where the bound is for a retry only. With `learn` the means
    of calls that this run has already made take the place of the formula.
    """
    pipeline = experiment.method.pipeline
    ledgers = experiment.folder.files("ledger") if learn else []
    known = {name: held.paid for (name,), held in sums(read_ledger(*ledgers), "step").items()}
    sizes = _sizes(experiment)
    rows = _building(experiment, sizes, left=learn)
    for step in pipeline.steps():
        for op in step.operators():
            if op.bound():
                n = n_answers if op.label.startswith("generate") else n_early
                rows.append(_estimate(experiment, op, n, sizes, known.get(op.label)))
    return rows


def _building(experiment: Experiment, sizes: Sizes, *, left: bool) -> list[Estimate]:
    """One row for each artifact whose building calls a model.

    With `left` only what is still to be paid: an artifact that is there costs nothing.
    """
    store = experiment.store()
    rows = []
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
    experiment: Experiment, op: OperatorStep, n_questions: int, sizes: Sizes, known: Part | None
) -> Estimate:
    calls = n_questions * _expected_calls(op)
    prompt, completion = op.operator.tokens(op.settings, sizes) if op.operator.tokens else _UNKNOWN
    seconds = None
    measured = known is not None and known.calls > 0
    if known is not None and known.calls:
        prompt = known.prompt_tokens / known.calls
        completion = known.completion_tokens / known.calls
        model = experiment.models.bare("llm")
        at_once = model.concurrency if isinstance(model, FanOut) else 1
        workers = min(experiment.settings.workers, at_once)
        seconds = calls * known.seconds / known.calls / max(workers, 1)
    n_prompt, n_completion = round(calls * prompt), round(calls * completion)
    usd = _prices(experiment).usd(n_prompt, n_completion)
    stage = op.label.partition(".")[0]
    return Estimate(stage, op.label, calls, n_prompt, n_completion, usd, seconds, measured)


def _expected_calls(op: OperatorStep) -> int:
    """The calls without corrective retries: half the bound where it counts a retry for each."""
    return max(1, op.bound() // 2) if op.bound() % 2 == 0 else op.bound()


def _prices(experiment: Experiment, group: str = "llm") -> Prices:
    same = group == "llm_build" and experiment.settings.llm_build is None
    model = experiment.models.bare("llm" if same else group)
    return model.prices if isinstance(model, FanOut) else Prices()


def _sizes(experiment: Experiment) -> Sizes:
    """Mean tokens of the first questions and documents, and the chunks that these will give."""
    questions = [count_tokens(row.text) for row in experiment.dataset.questions[:_SAMPLE]]
    documents = [count_tokens(row.passage) for row in experiment.dataset.documents[:_SAMPLE]]
    chunk = fmean(documents) if documents else 0.0
    n_chunks = len(experiment.dataset.documents)
    planned = next(item for item in experiment.plan if item.resource == "chunk_table")
    if (size := planned.settings.get("size")) is not None:
        stride = size - planned.settings.get("overlap", 0)
        n_chunks = round(n_chunks * fmean(max(1, -(-n // stride)) for n in documents))
        chunk = min(chunk, float(size))
    answers = [answer_form(row.form).max_tokens for row in experiment.dataset.questions]
    asked, answer = (fmean(held) if held else 0.0 for held in (questions, answers))
    return Sizes(asked, chunk, n_chunks, answer)
