"""The answers of a stored run judged one by one; what was judged before is not asked again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.evaluation.listed_answers import KGQA
from graphrag_bench.experiment.judging.contexts import context_texts
from graphrag_bench.experiment.judging.measures import (
    MEASURES,
    Bench,
    Case,
    Judgement,
    Measure,
)
from graphrag_bench.experiment.models import Models
from graphrag_bench.experiment.stored import StoredRun
from graphrag_bench.fingerprint import digest
from graphrag_bench.models.failure_gate import FailureGate
from graphrag_bench.models.ledger import Ledger
from graphrag_bench.models.llm import Metered
from graphrag_bench.progress import Progress
from graphrag_bench.runs.folder import append_lines, write_rows
from graphrag_bench.runs.judged import JUDGED, in_order, judged_rows
from graphrag_bench.runs.record import Row

LEDGER = "judge_ledger.jsonl"
BLOCK = 32
"""How many answers are judged before their rows are written; replies are kept as they arrive."""


@dataclass(frozen=True)
class Asked:
    """What to judge: metrics by name (all for none), the first `limit` answers, missing anew."""

    metrics: tuple[str, ...] = ()
    limit: int | None = None
    retry: bool = False

    def measures(self) -> dict[str, Measure]:
        """The metrics asked for; raises UserError for an unknown one."""
        for name in self.metrics:
            if name not in MEASURES:
                raise unknown("judged metric", name, MEASURES)
        return {name: MEASURES[name] for name in MEASURES if name in (self.metrics or MEASURES)}


def dataset_of(stored: StoredRun) -> Dataset:
    """The data set of a stored run; raises UserError when it is no longer at hand."""
    if stored.dataset is None:
        raise UserError(
            f"The data set of {stored.folder.path} is not at hand; its questions are needed."
        )
    return stored.dataset


def judge_answers(
    stored: StoredRun, home: Path, models: Models, asked: Asked, progress: Progress
) -> list[Row]:
    """The rows of `judged.jsonl` after the answers that lack a value were judged.

    A metric is left out for questions that it cannot be about: without gold answers, or without a
    context. A reply that cannot be read is kept as missing; a call that failed is made again, an
    unreadable one with `retry` alone. Raises UserError when nothing is answered, or another
    process judges the same run; RunStopped when nothing further can succeed.
    """
    dataset, measures = dataset_of(stored), asked.measures()
    answers = {n: row["answer"] for n, row in stored.rows.items() if row["status"] == "answered"}
    order = [q.id for q in dataset.interleaved() if q.id in answers][: asked.limit]
    if not order:
        raise UserError(f"{stored.folder.path} holds no answer to judge; it was run without any.")
    with alone(stored.folder.path / "judge.lock"):
        texts = _contexts(stored, home, order, measures, progress)
        cases = _cases(dataset, order, answers, texts)
        for metric, measure in measures.items():
            gone = [case.id for case in cases if measure.lacks_context(case)]
            if lost := sum(bool(stored.rows[name].get("context")) for name in gone):
                progress.say(
                    f"{metric}: the context of {lost} answers cannot be had again; run it again"
                )
            _judge(stored.folder.path, metric, measure, cases, models, asked.retry, progress)
        rows = in_order(
            judged_rows(stored.folder.path), [q.id for q in dataset.questions], list(MEASURES)
        )
        write_rows(stored.folder.path / JUDGED, rows)
    return rows


def _contexts(
    stored: StoredRun, home: Path, order: Sequence[str], measures: Any, progress: Progress
) -> dict[str, tuple[str, ...]]:
    if not any(measure.context for measure in measures.values()):
        return {}
    return context_texts(stored, home, order, progress)


def _cases(
    dataset: Dataset, order: Sequence[str], answers: Any, texts: dict[str, tuple[str, ...]]
) -> list[Case]:
    questions = {question.id: question.text for question in dataset.questions}
    listed = KGQA in dataset.card.metrics
    return [
        Case(name, questions[name], answers[name], dataset.gold[name].answers, texts.get(name),
             listed)
        for name in order
    ]  # fmt: skip


def _judge(
    folder: Path,
    name: str,
    measure: Measure,
    cases: Sequence[Case],
    models: Models,
    retry: bool,
    progress: Progress,
) -> None:
    """Append a row for each case that the metric fits and that has none yet."""
    same = {
        "metric": name,
        "judge": models.identity("llm_judge"),
        "how": _how(measure, models),
    }
    keep = ("", "nothing") if retry else ("", "nothing", "unreadable")
    held = {
        row["question"]: row["of"]
        for row in judged_rows(folder)
        if all(row[key] == said for key, said in same.items()) and row["missing"] in keep
    }
    todo = [(case, of) for case in cases if measure.fits(case)
            if held.get(case.id) != (of := _of(measure, case))]  # fmt: skip
    if not todo:
        return
    limits = models.settings.failures
    gate = FailureGate(f"judge {name}", limits.limit, limits.after)
    log = Ledger(folder / LEDGER).at("judge", name)
    with progress.task(f"judging {name}", len(todo)) as advance:
        for first in range(0, len(todo), BLOCK):
            part = todo[first : first + BLOCK]
            bench = Bench(Metered(models.llm_judge, log=log, gate=gate), partial(_embedder, models))
            found = measure.judge(bench, [case for case, _ in part])
            rows = [_row(case, of, one) | same for (case, of), one in zip(part, found, strict=True)]
            append_lines(folder / JUDGED, rows)
            advance(len(part))


def _embedder(models: Models) -> Any:
    return models.embedder


def _how(measure: Measure, models: Models) -> str:
    """A fingerprint of how the metric is judged: its prompts, and what compares questions."""
    embedder = models.identity("embedder") if measure.embeds else ""
    return digest([prompt.digest for prompt in measure.prompts], embedder)


def _of(measure: Measure, case: Case) -> str:
    """A fingerprint of what is judged: an answer that was made anew is judged anew."""
    golds = [*case.golds, case.listed] if measure.gold else []
    passages = list(case.passages or ()) if measure.context else []
    return digest(case.question, case.answer, golds, passages)


def _row(case: Case, of: str, found: Judgement) -> Row:
    return {
        "question": case.id,
        "value": found.value,
        "missing": found.missing,
        "reason": found.reason[:300],
        "of": of,
    }


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a lock file; raises UserError when another process holds it."""
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path, timeout=0):
            yield
    except Timeout:
        raise UserError(f"Another process is judging {path.parent}. Wait for its end.") from None
