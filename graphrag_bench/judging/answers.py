"""The answers of a stored run judged one by one; what was judged before is not asked again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.evaluation.listed_answers import KGQA
from graphrag_bench.fingerprint import digest
from graphrag_bench.judging.graphragbench import (
    CLASSED,
    COVERED,
    HELD,
    RATED,
    answer_correctness,
    context_relevance,
    coverage,
    evidence_statements,
)
from graphrag_bench.judging.measures import (
    AGREES,
    ASKED_BACK,
    OFFERED,
    PRECISION,
    RECALL,
    STATEMENTS,
    SUPPORTED,
    Bench,
    Case,
    Judgement,
    correctness,
    faithfulness,
    precision,
    recall,
    relevance,
)
from graphrag_bench.llm.ledger import Ledger
from graphrag_bench.llm.meter import FailureGate, Metered
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.run.folder import Row, append_lines, locked, write_rows
from graphrag_bench.run.judged import JUDGED, in_order, judged_rows
from graphrag_bench.run.models import Models
from graphrag_bench.run.record import context_texts
from graphrag_bench.run.stored import StoredRun

LEDGER, LOCK = "judge_ledger.jsonl", "judge.lock"
NOT_KEPT = (
    "were not kept (trace=off), or the data set has changed since: remove the run and run it again "
    "without trace=off; replies in the cache are not paid for twice"
)
BLOCK = 32
"""How many answers are judged before their rows are written; replies are kept as they arrive."""


@dataclass(frozen=True)
class Measure:
    """A judged metric: its prompts, what a case must have for it, and how it is judged.

    One that is `named` is judged only where it is asked for by name.
    """

    judge: Callable[[Bench, Sequence[Case]], list[Judgement]]
    prompts: tuple[Prompt, ...]
    gold: bool = False
    context: bool = False
    embeds: bool = False
    statements: bool = False
    named: bool = False

    def fits(self, case: Case) -> bool:
        """Return whether the case has what the metric is about."""
        lacks_gold = self.gold and not case.golds
        lacks_context = self.context and not case.context
        return not (lacks_gold or lacks_context or (self.statements and not case.statements))

    def of(self, case: Case) -> str:
        """Return the fingerprint of what is judged: of another answer it is judged again."""
        golds = [*case.golds, case.listed] if self.gold else []
        context = case.context if self.context else ""
        if self.statements:
            return digest(case.question, case.statements, context)
        return digest(case.question, case.answer, golds, context)


MEASURES: Mapping[str, Measure] = {
    "judged_correctness": Measure(correctness, (OFFERED, AGREES), gold=True),
    "faithfulness": Measure(faithfulness, (STATEMENTS, SUPPORTED), context=True),
    "answer_relevance": Measure(relevance, (ASKED_BACK,), embeds=True),
    "context_recall": Measure(recall, (RECALL,), gold=True, context=True),
    "context_precision": Measure(precision, (PRECISION,), gold=True, context=True),
    "answer_correctness": Measure(
        answer_correctness, (STATEMENTS, STATEMENTS, CLASSED), gold=True, embeds=True, named=True
    ),
    "coverage": Measure(coverage, (STATEMENTS, COVERED), gold=True, named=True),
    "context_relevance": Measure(context_relevance, (RATED,), context=True, named=True),
    "evidence_statements": Measure(
        evidence_statements, (HELD,), context=True, statements=True, named=True
    ),
}
"""The judged metrics by name; every one is the better the higher, in 0..1."""


@dataclass(frozen=True)
class JudgeTask:
    """What to judge: metrics by name (none: those that need no name), the first `limit` answers.

    With `retry` also those again whose reply could not be read.
    """

    metrics: tuple[str, ...] = ()
    limit: int | None = None
    retry: bool = False

    def measures_of(self, stored: StoredRun) -> dict[str, Measure]:
        """The metrics asked for; raises UserError where one needs contexts of an imported run."""
        measures = self.measures()
        if any(measures[name].context for name in self.metrics):
            stored.require_steps()
        return measures

    def measures(self) -> dict[str, Measure]:
        """The metrics asked for; raises UserError for an unknown one."""
        for name in self.metrics:
            if name not in MEASURES:
                raise unknown("judged metric", name, MEASURES)
        wanted = self.metrics or [name for name, one in MEASURES.items() if not one.named]
        return {name: MEASURES[name] for name in MEASURES if name in wanted}


def dataset_of(stored: StoredRun) -> Dataset:
    """The data set of a stored run; raises UserError when it is no longer at hand."""
    if stored.dataset is None:
        raise UserError(
            f"The data set of {stored.folder.path} is not at hand; its questions are needed."
        )
    return stored.dataset


def judging(folder: Path) -> str:
    """The message for a second process in a folder."""
    return f"Another process is judging {folder}. Wait for its end."


def judge_answers(
    stored: StoredRun, models: Models, asked: JudgeTask, progress: Progress
) -> list[Row]:
    """The rows of `judged.jsonl` after the answers that lack a value were judged.

    A metric is left out for questions that it cannot be about: without gold answers, or without a
    context whose texts the run has kept. A reply that cannot be read is kept as missing; a call
    that failed is made again, an unreadable one with `retry` alone. Raises UserError when nothing
    is answered, when every metric needs a context and none was kept, or another process judges the
    same run; RunStopped when nothing further can succeed.
    """
    dataset, measures = dataset_of(stored), asked.measures_of(stored)
    cases = _cases(stored, asked.limit)
    folder = stored.folder.path
    with locked(folder / LOCK, judging(folder)):
        todo = {n: _todo(folder, n, m, cases, models, asked.retry) for n, m in measures.items()}
        texts = _texts(stored)
        of_contexts = all(measure.context for measure in measures.values())
        if any(todo.values()) and not texts and of_contexts:
            raise UserError(f"The contexts of {folder} {NOT_KEPT}.")
        for name, measure in measures.items():
            part = todo[name]
            if measure.context:
                part = [(replace(case, passages=texts[case.id]), of) for case, of in part
                        if case.id in texts]  # fmt: skip
                if lost := len(todo[name]) - len(part):
                    progress.say(f"{name}: the contexts of {lost} answers {NOT_KEPT}")
            if part:
                _judge(folder, name, measure, part, models, progress)
        rows = in_order(judged_rows(folder), [q.id for q in dataset.questions], list(MEASURES))
        write_rows(folder / JUDGED, rows)
    return rows


def calls_ahead(stored: StoredRun, models: Models, asked: JudgeTask) -> dict[str, int]:
    """How many calls each metric would cost at most, corrections of unreadable replies aside."""
    cases = _cases(stored, asked.limit)
    return {
        name: len(measure.prompts)
        * len(_todo(stored.folder.path, name, measure, cases, models, asked.retry))
        for name, measure in asked.measures_of(stored).items()
    }


def _cases(stored: StoredRun, limit: int | None) -> list[Case]:
    dataset, rows = dataset_of(stored), stored.rows
    answered = {name for name, row in rows.items() if row["status"] == "answered"}
    chosen = [q for q in dataset.interleaved() if q.id in answered][:limit]
    if not chosen:
        raise UserError(f"{stored.folder.path} holds no answer to judge; it was run without any.")
    listed = KGQA in dataset.card.metrics
    return [
        Case(
            question.id,
            question.text,
            rows[question.id]["answer"],
            dataset.gold[question.id].answers,
            listed=listed,
            context=digest(recorded) if (recorded := rows[question.id].get("context")) else "",
            statements=dataset.gold[question.id].statements,
        )
        for question in chosen
    ]


def _texts(stored: StoredRun) -> dict[str, tuple[str, ...]]:
    whole: dict[str, tuple[str, ...]] = {}
    for name, texts in context_texts(stored.folder, stored.rows, dataset_of(stored)).items():
        known = tuple(text for text in texts if text is not None)
        if len(known) == len(texts):
            whole[name] = known
    return whole


def _same(name: str, measure: Measure, models: Models) -> Row:
    embedder = models.identity("embedder") if measure.embeds else ""
    how = digest([prompt.digest for prompt in measure.prompts], embedder)
    return {"metric": name, "judge": models.identity("llm_judge"), "how": how}


def _todo(
    folder: Path, name: str, measure: Measure, cases: Sequence[Case], models: Models, retry: bool
) -> list[tuple[Case, str]]:
    same = _same(name, measure, models)
    settled = ("", "nothing") if retry else ("", "nothing", "unreadable")
    judged = {
        row["question"]: row["of"]
        for row in judged_rows(folder)
        if all(row[key] == value for key, value in same.items()) and row["missing"] in settled
    }
    fitting = [(case, measure.of(case)) for case in cases if measure.fits(case)]
    return [(case, of) for case, of in fitting if judged.get(case.id) != of]


def _judge(
    folder: Path,
    name: str,
    measure: Measure,
    todo: Sequence[tuple[Case, str]],
    models: Models,
    progress: Progress,
) -> None:
    same = _same(name, measure, models)
    limits = models.settings.failures
    gate = FailureGate(f"judge {name}", limits.limit, limits.after, limits.in_a_row)
    log = Ledger(folder / LEDGER).at("judge", name)
    with progress.task(f"judging {name}", len(todo)) as advance:
        for first in range(0, len(todo), BLOCK):
            part = todo[first : first + BLOCK]
            bench = Bench(Metered(models.llm_judge, log=log, gate=gate), lambda: models.embedder)
            judgements = measure.judge(bench, [case for case, _ in part])
            rows = [
                _row(case, of, one) | same for (case, of), one in zip(part, judgements, strict=True)
            ]
            append_lines(folder / JUDGED, rows)
            advance(len(part))


def _row(case: Case, of: str, judgement: Judgement) -> Row:
    return {
        "question": case.id,
        "value": judgement.value,
        "missing": judgement.missing,
        "reason": judgement.reason[:300],
        "of": of,
    }
