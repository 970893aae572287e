"""Judge single answers of a stored run. Stored judgements are reused."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from graphrag_bench.errors import UserError, unknown
from graphrag_bench.evaluation.listed_answers import KGQA
from graphrag_bench.fingerprint import code, digest
from graphrag_bench.judging import measures
from graphrag_bench.judging.measures import AnswerToJudge, JudgedMetric, judge
from graphrag_bench.llm.calls import FailureGate, RequestsWritten
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.ledger import Ledger
from graphrag_bench.progress import Progress
from graphrag_bench.run.folder import Row, append_lines, file_lock, write_rows
from graphrag_bench.run.judged import JUDGED, judged_rows, sort_rows
from graphrag_bench.run.models import Models
from graphrag_bench.run.record import context_texts
from graphrag_bench.run.stored import StoredRun

T = TypeVar("T")
RowsOf = Callable[[Sequence[T]], list[Row]]
Cases = Sequence[AnswerToJudge]
LEDGER = "judge_ledger.jsonl"
LOST_CONTEXTS = (
    "are not stored (trace=off), or the data set has changed. Delete the run and repeat it without "
    "trace=off; cached replies cost nothing"
)
BLOCK = 32
"""Number of judgements that are written to disk together."""


@dataclass(frozen=True)
class Measure:
    """Judged metric with the prompt of each call. A `named` metric is used only on request."""

    metric: JudgedMetric
    prompts: tuple[str, ...]
    needs: tuple[Literal["golds", "context", "statements"], ...] = ()
    embeds: bool = False
    named: bool = False

    def fingerprint(self, case: AnswerToJudge) -> str:
        """Return a digest of the judged texts; if it changes, the answer is judged again."""
        context = case.context if "context" in self.needs else ""
        if "statements" in self.needs:
            return digest(case.question, case.statements, context)
        golds = [*case.golds, case.listed] if "golds" in self.needs else []
        return digest(case.question, case.answer, golds, context)

    def key(self, name: str, models: Models) -> Row:
        """Return the fields of a stored judgement that identify metric, judge, prompts and code."""
        embedder = models.identity("embedder") if self.embeds else ""
        prompts = [measures.ASKED[name][0].digest for name in self.prompts]
        how = digest(prompts, code(self.metric), embedder)
        return {"metric": name, "judge": models.identity("llm_judge"), "how": how}


MEASURES: Mapping[str, Measure] = {
    "judged_correctness": Measure(measures.correctness, ("offered", "agrees"), ("golds",)),
    "faithfulness": Measure(measures.faithfulness, ("statements", "supported"), ("context",)),
    "answer_relevance": Measure(measures.relevance, ("asked_back",), embeds=True),
    "context_recall": Measure(measures.recall, ("context_recall",), ("golds", "context")),
    "context_precision": Measure(measures.precision, ("context_precision",), ("golds", "context")),
    "answer_correctness": Measure(
        measures.answer_correctness, ("statements", "statements", "classed"), ("golds",),
        embeds=True, named=True,
    ),
    "coverage": Measure(measures.coverage, ("statements", "covered"), ("golds",), named=True),
    "context_relevance": Measure(measures.context_relevance, ("context_rated",), ("context",),
                                 named=True),
    "evidence_statements": Measure(measures.evidence_statements, ("statements_held",),
                                   ("context", "statements"), named=True),
}  # fmt: skip
"""Judged metrics by name. All values are in 0..1, and higher is better."""


def select_measures(names: Sequence[str] = (), run: StoredRun | None = None) -> dict[str, Measure]:
    """Return the metrics with these names, or by default all metrics that are not `named`."""
    for name in names:
        if name not in MEASURES:
            raise unknown("judged metric", name, MEASURES)
        if run is not None and "context" in MEASURES[name].needs:
            run.require_steps()
    wanted = names or [name for name, one in MEASURES.items() if not one.named]
    return {name: MEASURES[name] for name in MEASURES if name in wanted}


def judge_answers(
    stored: StoredRun, models: Models, metrics: Sequence[str], limit: int | None, progress: Progress
) -> list[Row]:
    """Judge the first `limit` answers of a run, and return all judgements of the run.

    Failed calls are repeated. Raises UserError if the run has no answers, if all metrics need
    contexts but none are stored, or if another process is judging the run. Raises RunStopped if no
    further call can succeed.
    """
    dataset, folder = stored.require_dataset(), stored.folder.path
    wanted, cases = select_measures(metrics, stored), _cases(stored, limit)
    with judging_lock(folder, "judge.lock"):
        todo = {name: _todo(folder, name, cases, models) for name in wanted}
        texts = {
            name: tuple(text for text in of if text is not None)
            for name, of in context_texts(stored.folder, stored.rows, dataset).items()
            if None not in of
        }
        of_contexts = all("context" in one.needs for one in wanted.values())
        if any(todo.values()) and not texts and of_contexts:
            raise UserError(f"The contexts of {folder} {LOST_CONTEXTS}.")
        for name, measure in wanted.items():
            part = todo[name]
            if "context" in measure.needs:
                part = [replace(case, passages=texts[case.id]) for case in part if case.id in texts]
                if lost := len(todo[name]) - len(part):
                    progress.say(f"{name}: the contexts of {lost} answers {LOST_CONTEXTS}")
            if part:
                llm = attached_judge(models, Ledger(folder / LEDGER), name)
                rows_of = partial(_rows_of, name, models, llm)
                in_blocks(folder / JUDGED, part, rows_of, f"judging {name}", progress)
        rows = sort_rows(judged_rows(folder), [q.id for q in dataset.questions], list(MEASURES))
        write_rows(folder / JUDGED, rows)
    return rows


def max_calls(
    stored: StoredRun, models: Models, metrics: Sequence[str], limit: int | None
) -> dict[str, int]:
    """Return the maximum number of calls for each metric, without retries of unreadable replies."""
    cases = _cases(stored, limit)
    return {
        name: len(measure.prompts) * len(_todo(stored.folder.path, name, cases, models))
        for name, measure in select_measures(metrics, stored).items()
    }


def _cases(stored: StoredRun, limit: int | None) -> Cases:
    dataset = stored.require_dataset()
    rows = {name: row for name, row in stored.rows.items() if row["status"] == "answered"}
    cases = [
        AnswerToJudge(
            one.id, one.text, rows[one.id]["answer"], dataset.gold[one.id].answers,
            listed=KGQA in dataset.card.metrics,
            context=digest(recorded) if (recorded := rows[one.id].get("context")) else "",
            statements=dataset.gold[one.id].statements,
        )
        for one in dataset.interleaved() if one.id in rows
    ][:limit]  # fmt: skip
    if not cases:
        raise UserError(f"{stored.folder.path} has no answers to judge (answer=off).")
    return cases


def _todo(folder: Path, name: str, cases: Cases, models: Models) -> Cases:
    measure, key = MEASURES[name], MEASURES[name].key(name, models)
    judged = {
        row["question"]: row["of"]
        for row in judged_rows(folder)
        if key.items() <= row.items() and row["missing"] != "failed"
    }
    known = (case for case in cases if all(getattr(case, name) for name in measure.needs))
    return [case for case in known if judged.get(case.id) != measure.fingerprint(case)]


def _rows_of(name: str, models: Models, llm: ChatModel, cases: Cases) -> list[Row]:
    measure, key = MEASURES[name], MEASURES[name].key(name, models)
    judged = judge(measure.metric, llm, lambda: models.embedder, cases)
    return [
        {"question": case.id, **vars(one), "reason": one.reason[:300],
         "of": measure.fingerprint(case), **key}
        for case, one in zip(cases, judged, strict=True)
    ]  # fmt: skip


def judging_lock(folder: Path, lock: str) -> AbstractContextManager[None]:
    """Return a context manager that locks a folder while this process judges its answers."""
    return file_lock(folder / lock, f"Another process is judging {folder}. Wait until it ends.")


def attached_judge(models: Models, ledger: Ledger, name: str) -> ChatModel:
    """Return the judge model with a ledger of its calls and a limit on failures."""
    limits = models.settings.failures
    gate = FailureGate(f"judge {name}", limits.limit, limits.after)
    return models.llm_judge.attached(log=ledger.logger("judge", name), gate=gate)


def in_blocks(
    file: Path, todo: Sequence[T], rows_of: RowsOf[T], message: str, progress: Progress
) -> None:
    """Judge items in blocks, and append the judgements of each block to a file."""
    with progress.task(message, len(todo)) as advance:
        for start in range(0, len(todo), BLOCK):
            part = todo[start : start + BLOCK]
            with suppress(RequestsWritten):  # the next blocks also have requests to write
                append_lines(file, rows_of(part))
            advance(len(part))
