"""What the runs of a sweep share: artifacts with the same key, and calls with the same prompts.

An artifact is built once for all runs whose key of it is the same. A call is made once where all
that goes before it is the same: corpus, steps, prompts, models, artifacts, seed and question; the
reply comes from the cache then. Calls that are the same by chance are not foreseen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphrag_bench.experiment.estimate import estimates
from graphrag_bench.experiment.execute import selection
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.models import Models
from graphrag_bench.fingerprint import digest

_CACHING = ("write", "read")


@dataclass(frozen=True)
class Left:
    """What is left to do: artifacts to build, expected calls of that, most calls of questions."""

    builds: int
    build_calls: int
    question_calls: int


def left_alone(experiments: Sequence[Experiment]) -> Left:
    """The sums over the runs, as if each were done without the others, from what is there now."""
    builds = [calls for one in experiments for calls in dict(_builds(one)).values()]
    asked = [calls for one in experiments for _, calls in _calls(one)]
    return Left(len(builds), sum(builds), sum(asked))


def left_together(experiments: Sequence[Experiment]) -> Left:
    """The same with everything shared that has the same key."""
    builds = {key: calls for one in experiments for key, calls in _builds(one)}
    asked: dict[str, int] = {}
    for row, one in enumerate(experiments):
        caching = one.settings.cache.mode in _CACHING
        for key, calls in _calls(one):
            asked[key if caching else f"{row} {key}"] = calls
    return Left(len(builds), sum(builds.values()), sum(asked.values()))


def _builds(experiment: Experiment) -> Iterator[tuple[tuple[str, str], int]]:
    """The key of every artifact that is missing, with the calls expected for building it."""
    store = experiment.store()
    calls = {row.step: row.calls for row in estimates(experiment, 0, 0) if row.stage == "build"}
    for plan in experiment.plans(selection(experiment)[0]):
        for item in plan:
            if not store.holds(item):
                yield (item.resource, item.key), calls.get(item.resource, 0)


def _calls(experiment: Experiment) -> Iterator[tuple[str, int]]:
    """The key of every step with every question that it is left for, with its most calls."""
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
