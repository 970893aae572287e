"""What an experiment will do, in words, before any model is touched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from graphrag_bench.answer_forms import FormName, answer_form
from graphrag_bench.evaluation.statistics import detectable_share
from graphrag_bench.experiment.answer_asking import form_lines, forms_asked
from graphrag_bench.experiment.context_plan import context_lines
from graphrag_bench.experiment.estimate import Estimate, estimates
from graphrag_bench.experiment.execute import selection
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.long_texts import planned_lines
from graphrag_bench.offline.parts import MOST_TOKENS, reply_limits
from graphrag_bench.pipeline.combinators.switch import Switch
from graphrag_bench.pipeline.reader_prompts import READERS, common_forms, own_answers, unlicensed


def describe(experiment: Experiment) -> str:
    """The plan: artifacts to build or reuse, steps with their slots, questions left, LLM calls."""
    return "\n".join(_lines(experiment))


def _lines(experiment: Experiment) -> Iterator[str]:
    method, pipeline = experiment.method, experiment.method.pipeline
    settings = experiment.settings
    sources = f"profile {settings.profile}, fidelity {settings.fidelity}"
    yield f"method {method.name} on {experiment.dataset.name} ({sources})"
    for name, value in method.parameters.items():
        yield f"  method.{name} = {value}"
    for name, value in (settings.pooling or {}).items():
        yield f"  pooling.{name} = {value}"
    yield ""
    yield "artifacts"
    store = experiment.store()
    if settings.graph.per == "partition":
        yield f"  one set of artifacts for each of {len(experiment.dataset.scopes())} scopes:"
    for item in experiment.plan:
        state = "reuse" if store.holds(item) else "build"
        own = ", ".join(f"{k}={v}" for k, v in item.said.items())
        yield f"  {state}  {item.builder.name:<26} {item.key}  {own}"
        limits = [item.settings[name] for name in reply_limits(item.settings)]
        if item.builder.calls and None in limits:
            yield f"         replies: at most {MOST_TOKENS:,} tokens, or what the window leaves"
    yield from planned_lines(experiment)
    yield ""
    yield "steps"
    for op in pipeline.operators(settings.answering):
        reads = [r.slot for r in op.operator.reads if not r.optional or r.slot in op.use]
        writes = [*op.operator.writes, *op.operator.may_write]
        yield f"  {op.label:<58} {', '.join(reads)} -> {', '.join(writes)}"
    for step in pipeline.steps(settings.answering):
        if isinstance(step, Switch):
            yield from (f"  fallback: {reason}" for reason in step.fallback.values())
    yield ""
    yield from _extent(experiment)


def _extent(experiment: Experiment) -> Iterator[str]:
    pipeline = experiment.method.pipeline
    selected, to_answer = selection(experiment)
    answered = experiment.folder.done(True)
    done = experiment.folder.done(False)
    left = [q for q in selected if q.id not in (answered if q.id in to_answer else done)]
    calls = sum(pipeline.bound(question.id in to_answer) for question in left)
    yield f"questions: {len(selected)} selected, {len(selected) - len(left)} done, {len(left)} left"
    each = f" ({pipeline.bound()} for each answered question)" if to_answer else ""
    yield f"LLM calls: at most {calls}{each}"
    if to_answer:
        yield from form_lines(pipeline, [q for q in selected if q.id in to_answer])
        yield from _reader(experiment, forms_asked([q for q in selected if q.id in to_answer]))
    yield from _comparable(experiment, len(selected))
    n_answers = sum(question.id in to_answer for question in left)
    yield from estimate_lines(estimates(experiment, len(left), n_answers))
    yield f"run: {experiment.folder.path}"


def _reader(experiment: Experiment, forms: Iterable[FormName]) -> Iterator[str]:
    reader = experiment.settings.reader_prompt
    yield f"reader prompt: {READERS[reader]} (reader_prompt={reader})"
    if common := common_forms(reader, forms):
        if reader == "auto":
            yield f"  one for all methods: {', '.join(common)}"
        if kept := own_answers(experiment.method.pipeline):
            yield f"  the method's own for answers inside its search: {', '.join(kept)}"
    if reader == "own":
        return
    yield from dict.fromkeys(f'  "{answer_form(form).licence}"' for form in forms)
    for name in unlicensed(experiment.method.pipeline):
        yield f"  without that clause, as it has no variable 'licence': {name}"


def _comparable(experiment: Experiment, n_questions: int) -> Iterator[str]:
    yield from context_lines(experiment)
    if n_questions:
        of, when = "questions with all evidence found", "all evidence is found"
        if experiment.settings.answering:
            of, when = "right answers", "the answer is right"
        least = detectable_share(n_questions)
        yield f"detectable: a difference of {least:.3f} between two methods' shares of {of}"
        yield f"  (4 runs of 5 show it at 5 %, when {when} by just one of the two for half of the"
        yield "  questions; smaller with fewer of them)"


def estimate_lines(rows: Sequence[Estimate]) -> Iterator[str]:
    """What every step costs at most, as aligned text."""
    if not rows:
        return
    yield ""
    head = "at most; building: as expected"
    yield f"{head:<44} {'calls':>8} {'prompt':>10} {'completion':>10} {'USD':>9} {'time':>8}"
    for row in rows:
        seconds = "?" if row.seconds is None else f"{row.seconds:.0f} s"
        basis = " (measured)" if row.measured else ""
        yield (
            f"  {row.step + basis:<42} {row.calls:>8,} {row.prompt_tokens:>10,} "
            f"{row.completion_tokens:>10,} {row.usd:>9.4f} {seconds:>8}"
        )
    if any(row.seconds is None for row in rows):
        yield "  time is known once a step has made its first calls"
    yield ""
