"""One question of your own through a method: looked up where it is stored, else run and stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphrag_bench.analysis.explaining.names import Names, explained_steps
from graphrag_bench.data.dataset import Gold
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.execute import build_resources, start_state
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.reopen import read_references
from graphrag_bench.pipeline.failure import Failure
from graphrag_bench.pipeline.run import Finished
from graphrag_bench.pipeline.run import run as run_pipeline
from graphrag_bench.pipeline.steps import Execution
from graphrag_bench.progress import Progress
from graphrag_bench.runs.contexts import context_texts
from graphrag_bench.runs.folder import CONFIG
from graphrag_bench.runs.own_questions import (
    OwnQuestion,
    question_file,
    read_question,
    write_question,
)
from graphrag_bench.runs.record import Row, record, timing_rows
from graphrag_bench.runs.stored import StoredRun
from graphrag_bench.values import Context, Question

_USAGE = ("calls", "prompt_tokens", "completion_tokens")
_REUSES = ("write", "read")
"""The modes of the cache in which what is stored is taken."""


def asked(experiment: Experiment, text: str) -> OwnQuestion:
    """The record of one question: from the finished run or an earlier call, where nothing changed.

    A stored record needs no model. Otherwise the question is run and stored. Raises UserError when
    a step fails, and for one graph per partition.
    """
    question = question_of(experiment, text)
    path = question_file(experiment.home, experiment.key, text, question.form)
    if experiment.settings.cache.mode in _REUSES:
        found = _of_run(experiment, question) or read_question(path)
        if found is not None:
            return found
    finished, resources = answered(experiment, question)
    made = asked_of(experiment, finished, resources)
    write_question(path, made)
    return made


def question_of(experiment: Experiment, text: str) -> Question:
    """The question in the form of answer that the settings ask for, else the set's own.

    Raises UserError where every scope has a graph of its own.
    """
    if experiment.settings.graph.per != "all":
        raise UserError("A question of your own has no scope; ask with graph.per=all.")
    given = experiment.settings.answers
    return Question(
        "asked", text, form=experiment.dataset.card.form_of("") if given == "auto" else given
    )


class AnsweringFailed(UserError):
    """A step failed on a question that was well asked."""

    exit_code = 1


def answered(experiment: Experiment, question: Question) -> tuple[Finished, Mapping[str, Any]]:
    """A question that was run, and the artifacts and models it was run with.

    What is missing is built. Raises AnsweringFailed when a step fails.
    """
    resources = build_resources(experiment, experiment.models, Progress())
    return answered_with(resources, experiment, question), resources


def answered_with(
    resources: Mapping[str, Any], experiment: Experiment, question: Question
) -> Finished:
    """A question run with artifacts and models at hand; raises AnsweringFailed."""
    gold = {**experiment.dataset.gold, question.id: Gold()}
    experiment = replace(experiment, dataset=replace(experiment.dataset, gold=gold))
    start = start_state(experiment, question, resources["chunk_table"])
    world = Execution(resources)
    (finished,) = run_pipeline([question], experiment.method.pipeline, world, start=lambda _: start)
    if isinstance(finished.outcome, Failure):
        failure = finished.outcome
        raise AnsweringFailed("\n".join([f"{failure.step}: {failure.message}", *failure.where]))
    return finished


def _of_run(experiment: Experiment, question: Question) -> OwnQuestion | None:
    folder = experiment.folder
    same = [
        one.id
        for one in experiment.dataset.questions
        if (one.text, one.form, one.scope) == (question.text, question.form, question.scope)
    ]
    if not same or not (folder.path / CONFIG).is_file():
        return None
    run = StoredRun(folder, experiment.dataset)
    row = run.rows.get(same[0])
    if row is None or row["status"] != "answered" or "trace" not in row:
        return None
    return of_run(run, row, experiment)


def of_run(run: StoredRun, row: Row, experiment: Experiment | None = None) -> OwnQuestion:
    """A stored question of a run, its context texts as far as they are known."""
    (found,) = all_of_run(run, {row["question"]: row})
    return replace(found, corpus=experiment.artifacts.name) if experiment else found


def all_of_run(run: StoredRun, rows: Mapping[str, Row]) -> Iterator[OwnQuestion]:
    """Stored questions of a run in the order given; its files are read once for all of them."""
    texts: Mapping[str, Sequence[str | None]] = {}
    if run.dataset is not None:
        texts = context_texts(run.folder, rows, run.dataset)
    references = read_references(run.folder)
    seconds: dict[str, dict[str, float]] = {}
    for one in run.folder.timing():
        seconds.setdefault(one["question"], {})[one["step"]] = one["seconds"]
    asked = {one.id: one.text for one in run.dataset.questions} if run.dataset else {}
    path = run.folder.path
    for name, row in rows.items():
        yield OwnQuestion(
            asked.get(name, name),
            str(run.metrics.get("dataset") or path.parent.parent.name),
            str(run.metrics.get("method") or path.parent.name),
            str(run.metrics.get("title") or path.parent.name),
            path.name,
            row,
            tuple(texts.get(name, ())),
            seconds.get(name, {}),
            references.dataset if references else "",
            dict(references.within(row.get("scope")) if references else {}),
        )


def asked_of(
    experiment: Experiment, finished: Finished, resources: Mapping[str, Any]
) -> OwnQuestion:
    """The record of a question that was just run, which has not failed."""
    context = None if isinstance(finished.outcome, Failure) else finished.outcome.get("context")
    pieces = context.pieces if isinstance(context, Context) else ()
    return OwnQuestion(
        finished.question.text,
        experiment.dataset.name,
        experiment.method.name,
        experiment.method.title,
        experiment.key,
        record(finished, resources["chunk_table"], "ids"),
        tuple(piece.text for piece in pieces),
        {row["step"]: row["seconds"] for row in timing_rows(finished)},
        experiment.artifacts.name,
        {item.resource: item.key for item in experiment.plan},
    )


def told(asked: OwnQuestion, names: Names) -> dict[str, Any]:
    """A question with its answer, fallbacks, context and steps, names in place of ids.

    `cut` are the kind and id of what the budget left out of the context, `usage` the LLM calls and
    tokens of the question.
    """
    pieces = (asked.row.get("context") or {}).get("pieces", [])
    texts = asked.texts if len(asked.texts) == len(pieces) else [None] * len(pieces)
    return {
        "question": asked.question,
        "dataset": asked.dataset,
        "method": asked.method,
        "title": asked.title,
        "key": asked.key,
        "status": asked.row["status"],
        "answer": asked.row.get("answer"),
        "fallbacks": list(asked.row.get("fallbacks", ())),
        "context": [{**p, "text": text} for p, text in zip(pieces, texts, strict=True)],
        "cut": [list(item) for item in (asked.row.get("context") or {}).get("cut", [])],
        "usage": {name: asked.row[name] for name in _USAGE if name in asked.row},
        "steps": explained_steps(asked.row, asked.seconds, names),
        "without_names": list(names.missing),
    }
