"""Runs an experiment: what is missing is built and answered, what is stored is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.file_evidence import documents_of
from graphrag_bench.data.splits import within_split
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.context_plan import refuse_empty
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.failing import Failed, tell
from graphrag_bench.experiment.incomplete import (
    as_far_as_it_goes,
    building_store,
    write_incomplete,
)
from graphrag_bench.experiment.models import Models
from graphrag_bench.experiment.reopen import write_references
from graphrag_bench.experiment.repeats import repeated, trials
from graphrag_bench.experiment.results import results, write_provenance
from graphrag_bench.llm.calls import RunStopped
from graphrag_bench.pipeline.run import run
from graphrag_bench.pipeline.steps import Execution
from graphrag_bench.progress import Advance, Progress
from graphrag_bench.runs.contexts import context_rows
from graphrag_bench.runs.folder import RunFolder
from graphrag_bench.runs.record import record, timing_rows
from graphrag_bench.text import short
from graphrag_bench.values import Chunk, Question, Ranked, RetrievalState


@dataclass(frozen=True)
class RunResult:
    """A finished run: its folder, what `metrics.json` holds, and what was run."""

    folder: RunFolder
    metrics: Mapping[str, Any]
    experiment: Experiment

    def __repr__(self) -> str:
        return f"<RunResult {self.experiment!r}: {short(str(self.folder.path), 120)}>"


def execute(experiment: Experiment, progress: Progress | None = None) -> RunResult:
    """Build, retrieve, answer and score what the run folder does not hold yet.

    Failed questions are tried again. With a shard only its part of the questions is run;
    the metrics are of all that the folder holds. With `repeats` the questions that are answered are
    run once more for each repeat, and the metrics tell what that changes. `metrics.json` keeps
    those of more questions, where the folder holds them. Raises UserError when
    another process runs the same run or shard, RunStopped when nothing further can
    succeed; what is done is kept.
    """
    shown = progress or Progress()
    selected, to_answer = selection(experiment)
    if not selected:
        part = {"all": "questions"}.get(experiment.settings.split, "questions in this split")
        raise UserError(f"Data set '{experiment.dataset.name}' has no {part} to run.")
    refuse_empty(experiment)
    if experiment.settings.failures.allow_incomplete:
        _charge(experiment, experiment.folder, selected)
        experiment = as_far_as_it_goes(experiment, selected, shown)
    folder = experiment.folder
    repeats = trials(experiment)
    with folder.alone():
        answered = [question for question in selected if question.id in to_answer]
        try:
            _finish(experiment, selected, to_answer, shown)
            for repeat in repeats:
                _finish(repeat, answered, to_answer, shown)
        finally:
            for one in (experiment, *repeats):
                one.models.release()
        metrics = results(experiment, selected)
        if repeats:
            metrics["repeats"] = repeated(experiment, [question.id for question in answered])
        return RunResult(folder, folder.keep_metrics(metrics), experiment)


def _finish(
    experiment: Experiment,
    selected: Sequence[Question],
    to_answer: frozenset[str],
    progress: Progress,
) -> None:
    folder = experiment.folder
    which, total = experiment.settings.part
    mine = [q for row, q in enumerate(selected) if row % total == which - 1]
    write_provenance(experiment, folder)
    write_references(experiment, selected)
    write_incomplete(experiment)
    _charge(experiment, folder, selected)
    failed: list[Failed] = []
    late = [question for question in mine if question.id in to_answer]
    early = [question for question in mine if question.id not in to_answer]
    for questions, answering in ((late, True), (early, False)):
        done = folder.done(answering)
        todo = [question for question in questions if question.id not in done]
        if todo:
            failed += _work(experiment, todo, answering, progress)
    folder.finish([question.id for question in experiment.dataset.questions])
    tell(folder, experiment.method.name, failed, progress)


def _charge(experiment: Experiment, folder: RunFolder, selected: Sequence[Question]) -> None:
    own = folder.file("ledger")

    def before() -> list[Path]:
        every = sorted(experiment.run_path.rglob("ledger*.jsonl"))
        return [*experiment.ledgers(selected), *(path for path in every if path != own)]

    def others() -> list[Path]:
        return [path for path in folder.files("ledger") if path != own]

    experiment.models.charge(own, before, others)


def selection(experiment: Experiment) -> tuple[list[Question], frozenset[str]]:
    """The questions of this call, stratified by type, and the ids of those to be answered."""
    settings = experiment.settings
    found = within_split(experiment.dataset.interleaved(), settings.split, settings.dev_share)
    selected = found[: settings.limit]
    n_answers = {"on": len(selected), "off": 0}.get(str(settings.answer), settings.answer)
    return selected, frozenset(question.id for question in selected[: int(n_answers)])


def _work(
    experiment: Experiment, questions: Sequence[Question], answering: bool, progress: Progress
) -> list[Failed]:
    failed: list[Failed] = []
    label = f"{experiment.method.name}: {'answering' if answering else 'retrieving'}"
    label += f" (repeat {experiment.trial + 1})" if experiment.trial else ""
    groups: dict[str | None, list[Question]] = {}
    models: dict[str | None, Models] = {}
    if experiment.settings.graph.per == "all":
        groups, models = {None: list(questions)}, {None: experiment.models}
    else:
        for question in questions:
            groups.setdefault(question.scope, []).append(question)
        for scope in groups:
            models[scope] = experiment.models.over(experiment.dataset.within(scope))
    for scope, part in groups.items():
        try:
            resources = build_resources(experiment, models[scope], progress, answering)
        except UserError as error:
            where = f"scope '{scope}': " if len(groups) > 1 else ""
            kind = type(error) if isinstance(error, RunStopped) else UserError
            told = kind(f"{where}{error}")
            told.exit_code = error.exit_code
            raise told from error
        with progress.task(label, len(part)) as advance:
            failed += _run_block(experiment, part, resources, answering, advance)
    return failed


def build_resources(
    experiment: Experiment, models: Models, progress: Progress, answering: bool = True
) -> dict[str, Any]:
    """The artifacts and models that the steps need, built where they are missing."""
    store = building_store(experiment, progress)
    needs = experiment.method.pipeline.needs(answering)
    wanted = {name for name in experiment.wanted if name in needs} | {"chunk_table"}
    resources = store.resources(experiment.plan_for(models), wanted, models)
    return resources | {name: models[name] for name in Models.NAMES if name in needs}


def _run_block(
    experiment: Experiment,
    questions: Sequence[Question],
    resources: Mapping[str, Any],
    answering: bool,
    advance: Advance,
) -> list[Failed]:
    failed: list[Failed] = []
    settings = experiment.settings
    world = Execution(
        resources,
        settings.workers,
        experiment.models.ledger,
        settings.failures.limit,
        settings.failures.after,
        settings.failures.in_a_row,
        gates=experiment.models.gates,
    )
    table: ChunkTable = resources["chunk_table"]
    finished = run(
        questions,
        experiment.method.pipeline,
        world,
        answering=answering,
        start=lambda question: start_state(experiment, question, table),
    )
    for one in finished:
        row = record(one, table, settings.trace)
        contexts = [] if settings.trace == "off" else context_rows(one, table)
        experiment.folder.append(row, timing_rows(one, settings.workers), contexts)
        if one.failure is not None:
            failed.append((one.question.id, one.failure))
        advance(1)
    return failed


def start_state(experiment: Experiment, question: Question, table: ChunkTable) -> RetrievalState:
    """The state before the first step: with the gold passages where the method is given them."""
    state = RetrievalState(question)
    if experiment.method.given != "gold_chunks":
        return state
    gold = experiment.dataset.gold[question.id]
    documents = [one for name in gold.evidence for one in documents_of(gold, name)]
    ids = [chunk for document in documents for chunk in table.chunks_of(document)]
    chunks = np.array(list(dict.fromkeys(ids)), np.int64)
    return state.write({"chunks": Ranked[Chunk](chunks, np.ones(len(chunks)))})
