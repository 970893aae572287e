"""What the runs of a sweep share: artifacts with the same key, and calls with the same prompts.

An artifact is built once for all runs whose key of it is the same. A call is made once where all
that goes before it is the same: corpus, steps, prompts, models, artifacts, seed and question; the
reply comes from the cache then. Calls that are the same by chance are not foreseen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphrag_bench.experiment.estimate import estimates
from graphrag_bench.experiment.execute import selection
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.models import Models
from graphrag_bench.fingerprint import digest

_CACHING = ("write", "read")


def left_to_do(experiments: Sequence[Experiment]) -> tuple[tuple[str, int, int], ...]:
    """What is left, from what is there now: its name, the sum over the runs, and that of sharing.

    Artifacts to build, expected calls of that, and most calls of questions. Shared is everything
    that has the same key.
    """
    builds = [dict(_builds(one)) for one in experiments]
    together = {key: calls for own in builds for key, calls in own.items()}
    asked = [list(_calls(one)) for one in experiments]
    once = {
        (key if one.settings.cache.mode in _CACHING else f"{row} {key}"): calls
        for row, one in enumerate(experiments)
        for key, calls in asked[row]
    }
    build_calls = sum(sum(own.values()) for own in builds)
    question_calls = sum(calls for own in asked for _, calls in own)
    return (
        ("artifacts to build", sum(map(len, builds)), len(together)),
        ("LLM calls to build them, expected", build_calls, sum(together.values())),
        ("LLM calls for questions, at most", question_calls, sum(once.values())),
    )


def _builds(experiment: Experiment) -> Iterator[tuple[tuple[str, str], int]]:
    store = experiment.store()
    calls = {row.step: row.calls for row in estimates(experiment, 0, 0) if row.stage == "build"}
    for plan in experiment.plans(selection(experiment)[0]):
        for item in plan:
            if not store.holds(item):
                yield (item.resource, item.key), calls.get(item.resource, 0)


def _calls(experiment: Experiment) -> Iterator[tuple[str, int]]:
    pipeline = experiment.method.pipeline
    selected, to_answer = selection(experiment)
    done = {answering: experiment.folder.done(answering) for answering in (True, False)}
    left = [one for one in selected if one.id not in done[one.id in to_answer]]
    early = len(pipeline.steps(answering=False))
    before = [experiment.dataset.corpus_digest, experiment.settings.seed]
    for row, step in enumerate(pipeline.steps()):
        inputs = sorted({need for op in step.operators() for need in op.operator.needs})
        before = [digest(before, step.describe(), [_identity(experiment, n) for n in inputs])]
        for question in left:
            if step.bound() and (row < early or question.id in to_answer):
                yield digest(before, question.id), step.bound()


def _identity(experiment: Experiment, name: str) -> str:
    if name in Models.NAMES:
        return experiment.models.identity(name)
    return next(item.key for item in experiment.plan if item.resource == name)
