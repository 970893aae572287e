"""Run an experiment: build missing artifacts, answer missing questions, and compute the metrics."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Gold, item_documents
from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import RequestsWritten
from graphrag_bench.pipeline.pipeline import QuestionResult, run
from graphrag_bench.pipeline.steps import Execution, Failure
from graphrag_bench.progress import Progress
from graphrag_bench.report.rows import group_by
from graphrag_bench.run.budgets import empty_blocks
from graphrag_bench.run.experiment import BUDGET, Experiment
from graphrag_bench.run.folder import ENVIRONMENT, Row, RunFolder, write_whole
from graphrag_bench.run.models import Models
from graphrag_bench.run.record import context_rows, record, timing_rows
from graphrag_bench.run.results import results, write_references
from graphrag_bench.run.stored import StoredRun, repeats_of
from graphrag_bench.terminal import clean_line
from graphrag_bench.text import counted
from graphrag_bench.values import Chunk, Question, Ranked, RetrievalState
from graphrag_bench.version import environment

Failed = tuple[str, Failure]  # the id of a question, and its failure
_KINDS_SHOWN, _IDS_SHOWN = 3, 5


def execute(experiment: Experiment, progress: Progress | None = None) -> Row:
    """Complete a run and return its metrics. Failed questions are run again.

    The metrics cover the stored questions of all shards and repeats. Raises RunLocked if another
    process is working on the run or shard, and RunStopped if no further call can succeed.
    """
    progress = progress or Progress()
    settings, dataset, method = experiment.settings, experiment.dataset, experiment.method
    if dataset.gold_error:
        raise UserError(dataset.gold_error)
    selected, to_answer = experiment.selection()
    if not selected:
        part = {"all": ""}.get(settings.split, f" in the split '{settings.split}'")
        raise UserError(f"Data set '{dataset.name}' has no questions{part}.")
    budget, asked = experiment.context_budget, experiment.budget_set
    if reason := empty_blocks(method.pipeline, budget, experiment.window, asked=asked):
        raise UserError(f"'{method.name}': {reason}")
    folder, repeats, batch = experiment.folder, experiment.trials(), experiment.models.batch
    n_requests = batch.n if batch else 0
    with folder.exclusive():
        answered = [question for question in selected if question.id in to_answer]
        try:
            _finish(experiment, selected, progress)
            for repeat in repeats:
                _finish(repeat, answered, progress)
        finally:
            for one in (experiment, *repeats):
                one.models.drop()
        if batch:
            batch.stop(n_requests)
        metrics, names = results(experiment, selected), [question.id for question in answered]
        if repeated := repeats_of(StoredRun(folder, dataset), names, settings.evaluation):
            metrics["repeats"] = repeated
        return folder.write_metrics(metrics, keep_wider=True)


def _finish(experiment: Experiment, selected: Sequence[Question], progress: Progress) -> None:
    folder, settings, to_answer = experiment.folder, experiment.settings, experiment.selection()[1]
    folder.write_config(settings.absolute.model_dump(exclude={"paths", "shard", "row"}))
    if not (folder.path / ENVIRONMENT).is_file():
        folder.write_json(ENVIRONMENT, environment(settings.seed))
    write_references(experiment, selected)
    _charge(experiment, folder, selected)
    (which, total), failed = settings.part, list[Failed]()
    for answering in (True, False):
        done = folder.finished_questions(answering)
        mine = (question for question in selected[which - 1 :: total] if question.id not in done)
        part = [question for question in mine if (question.id in to_answer) == answering]
        results = _results(experiment, part, progress, answering=answering, stored=True)
        for one, table in results if part else ():
            contexts = [] if settings.trace == "off" else context_rows(one, table)
            row, timing = record(one, table, settings.trace), timing_rows(one, settings.workers)
            folder.append(row, timing, contexts)
            if one.failure is not None:
                failed.append((one.question.id, one.failure))
    folder.finish([question.id for question in experiment.dataset.questions])
    _report_failures(experiment, failed, progress)


def _charge(experiment: Experiment, folder: RunFolder, selected: Sequence[Question]) -> None:
    own, path = folder.file("ledger"), experiment.run_path
    experiment.models.charge(
        own,
        lambda: [*experiment.ledgers(selected), *sorted(path.rglob("ledger*.jsonl"))],
        lambda: [other for other in folder.files("ledger") if other != own],
    )


def _results(
    experiment: Experiment, questions: Sequence[Question], progress: Progress,
    *, answering: bool, stored: bool,
) -> Iterator[tuple[QuestionResult, ChunkTable]]:  # fmt: skip
    """Yield each result with its chunk table. Calls are recorded only if `stored` is true."""
    settings = experiment.settings
    label = f"{experiment.method.name}: {'answering' if answering else 'retrieving'}"
    label += f" (repeat {experiment.trial + 1})" if experiment.trial else ""
    graphs = experiment.by_scope(questions)
    for scope, models, part in graphs:
        try:
            resources = build_resources(experiment, models, progress, answering)
        except RequestsWritten:
            if not stored:
                raise
            continue  # write the requests of the next scope too
        except UserError as error:
            if len(graphs) > 1:
                error.args = (f"scope '{scope}': {error}",)
            raise
        execution, table = Execution(resources, settings.workers), resources["chunk_table"]
        if stored:
            execution.ledger, execution.gates = experiment.models.ledger, experiment.models.gates
            execution.failure_limit = settings.failures.limit
            execution.failure_after = settings.failures.after
        steps, start = experiment.method.pipeline, partial(start_state, experiment, table=table)
        with progress.task(label, len(part)) as advance:
            for one in run(part, steps, execution, answering=answering, start=start):
                if stored and one.failure and one.failure.kind == RequestsWritten.__name__:
                    continue
                yield one, table
                advance(1)


def build_resources(
    experiment: Experiment, models: Models, progress: Progress, answering: bool = True
) -> dict[str, Any]:
    """Return the artifacts and models that the steps need, by name. Missing artifacts are built."""
    needs = experiment.method.pipeline.needs(answering)
    wanted = {name for name in experiment.needed_artifacts if name in needs} | {"chunk_table"}
    resources = experiment.store(progress).resources(experiment.plan_for(models), wanted, models)
    resources |= {name: models[name] for name in Models.NAMES if name in needs}
    return resources | {BUDGET: experiment.context_budget}


def start_state(experiment: Experiment, question: Question, table: ChunkTable) -> RetrievalState:
    """Return the state before the first step. An oracle method starts with gold passages."""
    state = RetrievalState(question)
    if experiment.method.keys.given != "gold_chunks":
        return state
    gold = experiment.dataset.gold.get(question.id, Gold())
    documents = [one for name in gold.evidence for one in item_documents(gold, name)]
    ids = [chunk for document in documents for chunk in table.chunks_of(document)]
    chunks = np.array(list(dict.fromkeys(ids)), np.int64)
    return state.write({"chunks": Ranked[Chunk](chunks, np.ones(len(chunks)))})


def _report_failures(experiment: Experiment, failed: Sequence[Failed], progress: Progress) -> None:
    path = experiment.folder.file("failures", "txt")
    if not failed:
        path.unlink(missing_ok=True)
        return
    alike = group_by(failed, lambda one: (one[1].step, one[1].kind, one[1].where))
    texts = []
    for (step, kind, where), rows in alike.items():
        ids = ", ".join(name for name, _ in rows[:_IDS_SHOWN])
        more = f" and {len(rows) - _IDS_SHOWN} more" if len(rows) > _IDS_SHOWN else ""
        lines = (f"{step}: {kind}: {rows[0][1].message}", f"  questions: {ids}{more}", *where)
        texts.append("\n".join(map(clean_line, lines)))
    write_whole(path, "\n\n".join(texts) + "\n")
    n_failed = counted(len(failed), "question")
    summary = f"{experiment.method.name}: {n_failed} failed; see {path}"
    for text in (summary, *texts[:_KINDS_SHOWN]):
        progress.say(text)


def retrieve(
    experiment: Experiment, questions: Sequence[Question], progress: Progress | None = None
) -> list[tuple[QuestionResult, ChunkTable]]:
    """Retrieve and pack contexts without storing results. Missing artifacts are built."""
    progress = progress or Progress(quiet=True)
    results = _results(experiment, questions, progress, answering=False, stored=False)
    by_id = {one.question.id: (one, table) for one, table in results}
    return [by_id[question.id] for question in questions]
