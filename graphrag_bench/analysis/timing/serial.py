"""Serial timing: questions of a stored run again, one at a time, uncached."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench.analysis.timing.hardware import BUSY, cores, hardware, load
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.estimate import Estimate, estimates
from graphrag_bench.experiment.execute import build_resources, start_state
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.reopen import reopened
from graphrag_bench.models.fan_out import FanOut
from graphrag_bench.models.ledger import read_ledger, spent
from graphrag_bench.models.replay import Replay
from graphrag_bench.models.trial import OnTrial
from graphrag_bench.pipeline.run import Finished
from graphrag_bench.pipeline.run import run as run_pipeline
from graphrag_bench.pipeline.steps import Execution
from graphrag_bench.progress import Progress
from graphrag_bench.runs.folder import SERIAL, RunFolder
from graphrag_bench.runs.provenance import environment
from graphrag_bench.runs.stored import StoredRun
from graphrag_bench.values import DECIMALS, Question

LEDGER = "timing_serial.ledger.jsonl"
"""The calls of the timing; none of them counts as a cost of the run."""
METHOD = (
    "p50 and p95 by linear interpolation between the sorted values: the q-th lies at place "
    "(n - 1) q / 100 counted from 0 (NumPy's 'linear', Hyndman and Fan's type 7)"
)


class OneAtATime(OnTrial):
    """The model inside, whose calls wait for each other even where a step asks for several."""

    def __init__(self, inner: FanOut) -> None:
        """The model as it is, one call after the other."""
        super().__init__(inner, 0)
        self.concurrency = 1


@dataclass(frozen=True)
class Timing:
    """A timing that can begin: the experiment, uncached, and its questions; none is asked yet."""

    experiment: Experiment
    folder: RunFolder
    questions: tuple[Question, ...]
    warm_up: tuple[Question, ...]
    answering: bool

    def expected(self) -> list[Estimate]:
        """The calls and their cost by estimate, warm-up included; measured means where known."""
        n = len(self.questions) + len(self.warm_up)
        rows = estimates(self.experiment, n, n if self.answering else 0)
        return [row for row in rows if row.calls and row.stage != "build"]


def prepare_timing(
    run: StoredRun,
    n: int,
    warm_up: int,
    budget: Mapping[str, Any],
    home: Path,
    *,
    shared: str | None = None,
) -> Timing:
    """The timing of the first `n` stored questions that did not fail, in the order of the run.

    Of a run that answers they are answered ones. Warm-up takes questions behind them, or the last
    ones when there are no more. `home` and `shared` as of `run_funnel`. Raises
    UserError when what would run today is not what the run was made with, when an artifact is gone
    (nothing is built here), and for replayed replies.
    """
    if run.dataset is None:
        raise UserError(f"The data set of {run.folder.path} is not at hand.")
    limits = {name: value for name, value in budget.items() if value is not None}
    changed = {
        "cache": {**run.config.get("cache", {}), "mode": "off"},
        "budget": {**run.config.get("budget", {}), **limits},
        "workers": 1,
        "trace": "off",
    }
    experiment = reopened(run, home, shared, changed)
    key = run.folder.path.resolve().name
    if experiment.key != key:
        raise UserError(
            f"The code or the data have changed since run {key}: it would be {experiment.key} "
            "today. Run it again, and time that."
        )
    answering = any(row["status"] == "answered" for row in run.rows.values())
    wanted = {"answered"} if answering else {"retrieved"}
    stored = [
        question
        for question in run.dataset.interleaved()
        if question.id in run.rows and run.rows[question.id]["status"] in wanted
    ]
    if not stored:
        raise UserError(f"No question of {run.folder.path} has been finished: nothing to time.")
    timed, rest = stored[:n], stored[n:]
    warming = (rest or timed[::-1])[:warm_up]
    _check(experiment, [*timed, *warming], answering)
    return Timing(experiment, run.folder, tuple(timed), tuple(warming), answering)


def _check(experiment: Experiment, questions: Sequence[Question], answering: bool) -> None:
    """Raise UserError for an artifact that is gone, and for a model that is none."""
    store, needs = experiment.store(), experiment.method.pipeline.needs(answering)
    for plan in experiment.plans(questions):
        for item in plan:
            if item.resource in needs | {"chunk_table"} and not store.holds(item):
                raise UserError(
                    f"The {item.resource} of this run is gone ({store.folder(item)}): run it "
                    "again, which builds it, and time it then."
                )
    if "llm" in needs and isinstance(experiment.models.bare("llm"), Replay):
        raise UserError("llm=replay reads replies from a file: there is no model to be timed.")


def is_busy(load_average: float | None) -> bool:
    """Whether others keep the machine so busy that seconds would say little."""
    return load_average is not None and load_average / cores() > BUSY


def spread(values: Sequence[float]) -> dict[str, float]:
    """`p50`, `p95`, `mean`, `least` and `most`, rounded to 6 decimals, and `n`.

    With few values p95 is little more than the largest: of 20 it lies between the two largest.
    Raises ValueError for none. Source: Hyndman & Fan 1996, type 7.
    """
    sample = np.asarray(values, np.float64)
    if not len(sample):
        raise ValueError("no values have no spread")
    p50, p95 = np.percentile(sample, [50, 95])
    figures = {"p50": p50, "p95": p95, "mean": sample.mean(),
               "least": sample.min(), "most": sample.max()}  # fmt: skip
    return {name: round(float(one), DECIMALS) for name, one in figures.items()} | {"n": len(sample)}


def measure(timing: Timing) -> dict[str, Any]:
    """Ask the questions one after the other; what `timing_serial.json` holds, which is written.

    A question's seconds are those of all its steps by the wall clock; loading chunks, graph and
    models is not in them. Failed questions are counted and left out. Raises UserError when all
    failed, RunStopped when the budget ends; nothing is written then.
    """
    shown = Progress()
    experiment, folder = timing.experiment, timing.folder
    ledger = folder.path / LEDGER
    before = load()
    seconds: dict[str, float] = {}
    steps: dict[str, dict[str, float]] = {}
    failures: list[str] = []
    with folder.alone():
        ledger.unlink(missing_ok=True)
        experiment.models.charge(ledger, tuple)
        ask = _asker(timing, shown)
        for question in timing.warm_up:
            ask(question)
        with shown.task("timing", len(timing.questions)) as advance:
            for question in timing.questions:
                took, finished = ask(question)
                advance(1)
                if finished.failure is not None:
                    failures.append(f"{finished.failure.step}: {finished.failure.message}")
                    continue
                seconds[question.id] = round(took, DECIMALS)
                for step in finished.trace:
                    held = steps.setdefault(step.step, {})
                    held[question.id] = held.get(question.id, 0.0) + step.seconds
        if not seconds:
            raise UserError(f"All questions failed: {failures[0]}")
        busy = is_busy(before)
        found = _found(timing, seconds, steps, failures)
        found |= {"load_before": before, "load_after": load(), "busy": busy}
        folder.write_json(SERIAL, found)
    return found


def _asker(timing: Timing, progress: Progress) -> Callable[[Question], tuple[float, Finished]]:
    """What asks one question and tells how long it took; resources are loaded before."""
    experiment = timing.experiment
    worlds: dict[str | None, Execution] = {}

    def world_of(question: Question) -> Execution:
        scope = None if experiment.settings.graph.per == "all" else question.scope
        if scope not in worlds:
            models = experiment.models
            if experiment.settings.graph.per != "all":
                models = models.over(experiment.dataset.within(scope))
            resources = build_resources(experiment, models, progress, timing.answering)
            if isinstance(resources.get("llm"), FanOut):
                resources["llm"] = OneAtATime(resources["llm"])
            worlds[scope] = Execution(resources, 1, experiment.models.ledger)
        return worlds[scope]

    def ask(question: Question) -> tuple[float, Finished]:
        world = world_of(question)
        start = start_state(experiment, question, world.resources["chunk_table"])
        pipeline = experiment.method.pipeline
        began = time.perf_counter()
        (finished,) = run_pipeline(
            [question], pipeline, world, answering=timing.answering, start=lambda _: start
        )
        return time.perf_counter() - began, finished

    return ask


def _found(
    timing: Timing,
    seconds: Mapping[str, float],
    steps: Mapping[str, Mapping[str, float]],
    failures: Sequence[str],
) -> dict[str, Any]:
    spending = spent(read_ledger(timing.folder.path / LEDGER))
    return {
        "key": timing.experiment.key,
        "n": len(seconds),
        "failed": len(failures),
        "warm_up": len(timing.warm_up),
        "answered": timing.answering,
        "seconds": spread(list(seconds.values())),
        "steps": {name: spread(list(held.values())) for name, held in steps.items()},
        "questions": dict(seconds),
        "percentiles": METHOD,
        "how": "one question at a time, one call at a time, no cache of replies, after a warm-up; "
        "a server's own cache of prompts is not ours to empty",
        "spent": {"tokens": spending.tokens, "usd": round(spending.usd, 6)},
        "hardware": hardware(),
        "environment": environment(timing.experiment.settings.seed),
    }
