"""Explain a question by its answer, context, steps and model calls."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from graphrag_bench.data.dataset import Gold, evidence_name
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.explain.names import ArtifactNames, LocatedDocument, RunArtifacts, named_steps
from graphrag_bench.explain.text import answer_lines
from graphrag_bench.llm.cache import Cache
from graphrag_bench.llm.ledger import LedgerLine, lines_by, read_ledger
from graphrag_bench.pipeline.pipeline import run as run_pipeline
from graphrag_bench.pipeline.steps import Execution, Failure, StepTrace
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import build_resources, start_state
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.folder import Row
from graphrag_bench.run.record import context_texts, documents_in, record, timing_rows
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.terminal import clean
from graphrag_bench.text import counted, short
from graphrag_bench.values import Context, Question

IN_CONTEXT, OUTSIDE, MISSED = "in the context", "retrieved, not in the context", "missed"
RETRIEVED = "retrieved"
Plain = dict[str, Any]
_USAGE = ("calls", "prompt_tokens", "completion_tokens")


class RunQuestions:
    """The questions of a run. If the run is in no runs/ folder, its artifacts are in `home`."""

    def __init__(self, run: StoredRun, home: Path) -> None:
        self.run, self.home = run, run.home or home
        self._artifacts = RunArtifacts(run, home)
        self._seconds: dict[str, dict[str, float]] = {}
        for one in run.folder.timing():
            self._seconds.setdefault(one["question"], {})[one["step"]] = one["seconds"]

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The text of each question; empty if the data set is missing."""
        dataset = self.run.dataset
        return {one.id: one.text for one in dataset.questions} if dataset else {}

    def text(self, question: str) -> str:
        """Return the text of a question, or words that say why it is unknown."""
        gone = "(no longer in the data set)" if self.run.dataset else "(the data set is missing)"
        return self.texts.get(question, gone)

    @cached_property
    def _context_texts(self) -> Mapping[str, Sequence[str | None]]:
        run = self.run
        return context_texts(run.folder, run.rows, run.dataset) if run.dataset else {}

    def names(self, question: str) -> ArtifactNames:
        """Return the names of nodes, chunks and communities in the artifacts of a question."""
        return self._artifacts.of_scope(self.run.rows[question].get("scope"))

    def document(self, document: str, question: str) -> LocatedDocument:
        """Return a document in the scope of a question. Raises UserError if it has no chunk."""
        names = self.names(question)
        if (table := names.chunk_table) is None:
            raise UserError(f"The chunks of {self.run.folder.path} were deleted. Repeat the run.")
        if not table.chunks_of(document):
            raise unknown("chunk of the document", document, table.documents)
        return LocatedDocument(document, table, names.graph)

    def explain(self, question: str) -> Plain:
        """Return the `explanation` of a question, with gold answers, gold evidence and error."""
        run, row = self.run, self.run.rows[question]
        gold = run.gold.get(question, Gold())
        texts, seconds = self._context_texts.get(question, ()), self._seconds.get(question, {})
        return {
            "question": self.texts.get(question, question),
            **{name: str(run.metrics[name]) for name in ("dataset", "method", "title")},
            "key": run.folder.path.name,
            **explanation(row, texts, seconds, self.names(question)),
            "gold": {"answers": list(gold.answers), "evidence": list(gold.evidence)},
            "found": evidence_places(row, gold),
            "error": row.get("error"),
        }

    @cached_property
    def _lines(self) -> Mapping[str, list[LedgerLine]]:
        lines = read_ledger(*self.run.folder.files("ledger"))
        return lines_by((line for line in lines if line.stage != "build"), "item")

    @cached_property
    def _cache(self) -> Cache | None:
        path = self.run.config.get("cache", {}).get("path") or self.home / "cache/replies.sqlite"
        return Cache(Path(path), reading=True) if Path(path).is_file() else None

    def calls(self, question: str) -> list[Plain]:
        """Return the ledger lines of a question, with `prompt` and `reply` if these are cached."""
        calls = []
        for line in self._lines.get(question, ()):
            call: Plain = {name: value for name, value in vars(line).items() if value}
            stored = self._cache.get(line.key) if self._cache and line.key else None
            if stored is not None:
                messages = json.loads(zlib.decompress(stored.prompt))["messages"]
                prompt = [{"role": role, "content": content} for role, content in messages]
                call |= {"prompt": prompt, "reply": stored.text}
            calls.append(call)
        return calls


def explanation(
    row: Row, texts: Sequence[str | None], seconds: Mapping[str, float], names: ArtifactNames
) -> Plain:
    """Return the answer, fallbacks, context, usage and steps of a question, with names, not ids.

    `texts` has the known texts of the context items. `cut` lists the items over the budget.
    """
    context = row.get("context") or {}
    pieces = context.get("pieces", [])
    known = texts if len(texts) == len(pieces) else [None] * len(pieces)
    return {
        "status": row["status"],
        "answer": row.get("answer"),
        "fallbacks": list(row.get("fallbacks", ())),
        "context": [{**p, "text": text} for p, text in zip(pieces, known, strict=True)],
        "cut": [list(item) for item in context.get("cut", [])],
        "usage": {name: row[name] for name in _USAGE if name in row},
        "steps": named_steps(row, seconds, names),
        "without_names": list(names.missing),
    }


def evidence_places(row: Row, gold: Gold) -> dict[str, list[str]]:
    """Group the gold documents: in the context (unless the run is imported), retrieved, missed."""
    pieces = (row.get("context") or {}).get("pieces", [])
    packed = [name for piece in pieces for name in documents_in(piece) or ()]
    inside, retrieved = ({evidence_name(gold, str(name)) for name in names}
                         for names in (packed, row.get("documents", ())))  # fmt: skip
    parts = {IN_CONTEXT: inside, RETRIEVED if "imported" in row else OUTSIDE: retrieved - inside,
             MISSED: {*gold.evidence} - inside - retrieved}  # fmt: skip
    return {at: [name for name in gold.evidence if name in part] for at, part in parts.items()}


def new_question(experiment: Experiment, name: str, text: str) -> Question:
    """Return a question that is not in the data set; raises UserError unless graph.per=all."""
    if experiment.settings.graph.per != "all":
        raise UserError("A new question needs a graph of the whole corpus. Set graph.per=all.")
    form, card = experiment.settings.answers, experiment.dataset.card
    form = card.form_of("") if form == "auto" else form
    return Question(name, text, form=form, abstract=card.abstract_type(""))


class AnsweringFailed(UserError):
    """A step failed while answering a valid question."""

    exit_code = 1


@dataclass(frozen=True, repr=False)
class TracedAnswer:
    """An answer with its context, trace and fallbacks. `plain` is a result of `explanation`."""

    answer: str
    context: Context
    trace: tuple[StepTrace, ...]
    fallbacks: tuple[str, ...]
    plain: Mapping[str, Any]

    @classmethod
    def of(cls, experiment: Experiment, text: str) -> "TracedAnswer":
        """Answer a question after building artifacts. Raises AnsweringFailed if a step fails."""
        question, method = new_question(experiment, "asked", text), experiment.method
        resources = build_resources(experiment, experiment.models, Progress())
        table = resources["chunk_table"]
        start = start_state(experiment, question, table)
        world, pipeline = Execution(resources), method.pipeline
        (finished,) = run_pipeline([question], pipeline, world, start=lambda _: start)
        state = finished.outcome
        if isinstance(state, Failure):
            raise AnsweringFailed("\n".join([f"{state.step}: {state.message}", *state.where]))
        context = state.get("context") or Context(())
        head = {"question": text, "dataset": experiment.dataset.name, "method": method.name,
                "title": method.title, "key": experiment.key}  # fmt: skip
        texts = [piece.text for piece in context.pieces]
        seconds = {row["step"]: row["seconds"] for row in timing_rows(finished)}
        row, names = record(finished, table), ArtifactNames.of(resources)
        plain = head | explanation(row, texts, seconds, names)
        return cls(state.get("answer").text, context, finished.trace, finished.fallbacks, plain)

    def __repr__(self) -> str:
        n_pieces, n_steps = len(self.context.pieces), len(self.trace)
        size = f"{counted(n_pieces, 'piece')} of context, {counted(n_steps, 'step')}"
        return f"<TracedAnswer {short(self.answer)!r}: {size}; print(answered.report()) shows them>"

    def report(self) -> str:
        """Return the answer, fallbacks, context and steps as text."""
        return clean("\n".join(answer_lines(self.plain)))
