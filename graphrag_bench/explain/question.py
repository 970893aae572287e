"""One question and all that a method made of it: stored in a run, or asked now.

Its answer, context, steps by names, evidence, and the calls of a language model behind it.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graphrag_bench.data.dataset import Gold, name_of
from graphrag_bench.errors import UserError
from graphrag_bench.explain.names import Names, explained_steps
from graphrag_bench.explain.text import explained_lines
from graphrag_bench.llm.cache import Cache
from graphrag_bench.llm.ledger import Line, read_ledger
from graphrag_bench.pipeline.pipeline import run as run_pipeline
from graphrag_bench.pipeline.steps import Execution, Failure, StepTrace
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import build_resources, start_state
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.folder import Row
from graphrag_bench.run.record import context_texts, documents_in, is_imported, record, timing_rows
from graphrag_bench.run.results import References, read_references
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.terminal import clean
from graphrag_bench.text import short
from graphrag_bench.values import Context, Question

IN_CONTEXT, OUTSIDE, MISSED = "in the context", "retrieved, not in the context", "missed"
RETRIEVED = "retrieved"
_USAGE = ("calls", "prompt_tokens", "completion_tokens")


@dataclass(frozen=True)
class QuestionRecord:
    """A question with the row that a method made of it.

    `texts` are those of its context, None for one that is not known; `seconds` those of each step.
    """

    question: str
    dataset: str
    method: str
    title: str
    key: str
    row: Row
    texts: tuple[str | None, ...]
    seconds: Mapping[str, float]
    references: References = References("", {})  # noqa: RUF009 (frozen)

    @property
    def artifacts(self) -> Mapping[str, str]:
        """The keys of the artifacts that it was retrieved with, by resource."""
        return self.references.within(self.row.get("scope"))


class AnsweringFailed(UserError):
    """A step failed on a question that was well asked."""

    exit_code = 1


def _question(experiment: Experiment, text: str) -> Question:
    if experiment.settings.graph.per != "all":
        raise UserError("A question of your own has no scope; ask with graph.per=all.")
    form, card = experiment.settings.answers, experiment.dataset.card
    form = card.form_of("") if form == "auto" else form
    return Question("asked", text, form=form, abstract=card.abstract_type(""))


def stored_questions(run: StoredRun, rows: Mapping[str, Row]) -> Iterator[QuestionRecord]:
    """Yield stored questions of a run in the order of `rows`; its files are read once.

    Their context texts are there as far as they are known.
    """
    dataset, path = run.dataset, run.folder.path
    texts = context_texts(run.folder, rows, dataset) if dataset else {}
    questions = {one.id: one.text for one in dataset.questions} if dataset else {}
    references = read_references(run.folder) or References("", {})
    seconds: dict[str, dict[str, float]] = {}
    for one in run.folder.timing():
        seconds.setdefault(one["question"], {})[one["step"]] = one["seconds"]
    for name, row in rows.items():
        yield QuestionRecord(
            questions.get(name, name),
            str(run.metrics.get("dataset") or path.parent.parent.name),
            str(run.metrics.get("method") or path.parent.name),
            str(run.metrics.get("title") or path.parent.name),
            path.name,
            row,
            tuple(texts.get(name, ())),
            seconds.get(name, {}),
            references,
        )


def explanation(own: QuestionRecord, names: Names) -> dict[str, Any]:
    """Return a question with its answer, fallbacks, context and steps, names in place of ids.

    `cut` are the kind and id of what the budget left out of the context, `usage` the LLM calls and
    tokens of the question.
    """
    context = own.row.get("context") or {}
    pieces = context.get("pieces", [])
    texts = own.texts if len(own.texts) == len(pieces) else [None] * len(pieces)
    return {
        **{name: getattr(own, name) for name in ("question", "dataset", "method", "title", "key")},
        "status": own.row["status"],
        "answer": own.row.get("answer"),
        "fallbacks": list(own.row.get("fallbacks", ())),
        "context": [{**p, "text": text} for p, text in zip(pieces, texts, strict=True)],
        "cut": [list(item) for item in context.get("cut", [])],
        "usage": {name: own.row[name] for name in _USAGE if name in own.row},
        "steps": explained_steps(own.row, own.seconds, names),
        "without_names": list(names.missing),
    }


def with_gold(own: QuestionRecord, names: Names, run: StoredRun) -> dict[str, Any]:
    """Return the `explanation` of a question of a run, its gold, and what was found of that."""
    gold = run.gold.get(own.row["question"])
    return explanation(own, names) | {
        "gold": {"answers": list(gold.answers), "evidence": list(gold.evidence)} if gold else {},
        "found": evidence_of(own.row, gold) if gold else {},
        "error": own.row.get("error"),
    }


@dataclass(frozen=True, repr=False)
class Answered:
    """An answer with the context it was given and what every step did, as Python shows it.

    `fallbacks` says where the method went another way than its own; `plain` is all of it as plain
    values, names in place of ids.
    """

    answer: str
    context: Context
    trace: tuple[StepTrace, ...]
    fallbacks: tuple[str, ...] = ()
    plain: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, experiment: Experiment, text: str) -> "Answered":
        """Ask a question of your own; artifacts and models are built where they are missing.

        It is in the form of answer that the settings ask for, else the set's own. Raises UserError
        where every scope has a graph of its own, AnsweringFailed when a step fails.
        """
        question = _question(experiment, text)
        resources = build_resources(experiment, experiment.models, Progress())
        gold = {**experiment.dataset.gold, question.id: Gold()}
        alone = replace(experiment, dataset=replace(experiment.dataset, gold=gold))
        start = start_state(alone, question, resources["chunk_table"])
        world, pipeline = Execution(resources), alone.method.pipeline
        (finished,) = run_pipeline([question], pipeline, world, start=lambda _: start)
        state = finished.outcome
        if isinstance(state, Failure):
            raise AnsweringFailed("\n".join([f"{state.step}: {state.message}", *state.where]))
        context = state.get("context") or Context(())
        method, table = experiment.method, resources["chunk_table"]
        own = QuestionRecord(
            text, experiment.dataset.name, method.name, method.title, experiment.key,
            record(finished, table), tuple(piece.text for piece in context.pieces),
            {row["step"]: row["seconds"] for row in timing_rows(finished)},
        )  # fmt: skip
        plain = explanation(own, Names.of(resources))
        return cls(state.get("answer").text, context, finished.trace, finished.fallbacks, plain)

    def __repr__(self) -> str:
        size = f"{len(self.context.pieces)} pieces of context, {len(self.trace)} steps"
        return f"<Answered {short(self.answer)!r}: {size}; print(answered.report()) shows them>"

    def report(self) -> str:
        """Return the answer, the fallbacks taken, its context, and its steps by name, as text."""
        return clean("\n".join(explained_lines(self.plain)))


def evidence_of(row: Row, gold: Gold) -> dict[str, list[str]]:
    """Return the gold documents of a question by what became of them, in the order of the gold.

    In the context is a document of which a text stands in it, as its pieces say. Of a piece that
    does not say it, none is. Of an imported run, whose contexts are not known, what was found
    counts as retrieved.
    """
    outside = RETRIEVED if is_imported(row) else OUTSIDE
    pieces = (row.get("context") or {}).get("pieces", [])
    inside = {name_of(gold, str(name)) for piece in pieces for name in documents_in(piece) or ()}
    retrieved = {name_of(gold, str(name)) for name in row.get("documents", ())}
    fates: dict[str, list[str]] = {IN_CONTEXT: [], outside: [], MISSED: []}
    for name in gold.evidence:
        fate = IN_CONTEXT if name in inside else outside if name in retrieved else MISSED
        fates[fate].append(name)
    return fates


class Calls:
    """The calls that a run's questions made, by question, in the order of the ledger."""

    def __init__(self, run: StoredRun, home: Path) -> None:
        """Read the ledger of `run`; prompts and replies are looked up question by question.

        They are in the file that `cache.path` of the run names, else in the store of replies below
        `home`. Where that is gone, calls have none.
        """
        self._lines: dict[str, list[Line]] = {}
        for line in read_ledger(*run.folder.files("ledger")):
            if line.stage != "build":
                self._lines.setdefault(line.item, []).append(line)
        path = run.config.get("cache", {}).get("path")
        store = Path(path) if path else home / "cache" / "replies.sqlite"
        self._store = Cache(store, reading=True) if store.is_file() else None

    def of(self, question: str) -> list[dict[str, Any]]:
        """Return the calls of a question: the ledger's fields that are not empty, prompt and reply.

        `prompt` are the messages as they were sent, each with `role` and `content`.
        """
        return [self._call(line) for line in self._lines.get(question, ())]

    def _call(self, line: Line) -> dict[str, Any]:
        call = {name: value for name, value in vars(line).items() if value}
        stored = self._store.get(line.key) if self._store and line.key else None
        if stored is None:
            return call
        messages = json.loads(zlib.decompress(stored.prompt))["messages"]
        prompt = [{"role": role, "content": content} for role, content in messages]
        return {**call, "prompt": prompt, "reply": stored.text}
