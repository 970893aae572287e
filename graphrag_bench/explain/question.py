"""One question and all that a method made of it: stored in a run, or asked now.

Its answer, context, steps by names, evidence, and the calls of a language model behind it.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from graphrag_bench.data.dataset import Gold, name_of
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.explain.names import (
    ArtifactNames,
    LocatedDocument,
    RunArtifacts,
    explained_steps,
)
from graphrag_bench.explain.text import explained_lines
from graphrag_bench.llm.cache import Cache
from graphrag_bench.llm.ledger import LedgerLine, grouped, read_ledger
from graphrag_bench.pipeline.pipeline import run as run_pipeline
from graphrag_bench.pipeline.steps import Execution, Failure, StepTrace
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import build_resources, start_state
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.folder import Row
from graphrag_bench.run.record import context_texts, documents_in, is_imported, record, timing_rows
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.terminal import clean
from graphrag_bench.text import short
from graphrag_bench.values import Context, Question

IN_CONTEXT, OUTSIDE, MISSED = "in the context", "retrieved, not in the context", "missed"
RETRIEVED = "retrieved"
Plain = dict[str, Any]
_USAGE = ("calls", "prompt_tokens", "completion_tokens")


class RunQuestions:
    """The questions of a stored run, explained by what its folder and its artifacts have of them.

    `home` holds artifacts/ and cache/ of a run that lies in no home.
    """

    def __init__(self, run: StoredRun, home: Path) -> None:
        self.run, self.home = run, run.home or home
        self._artifacts = RunArtifacts(run, home)
        self._seconds: dict[str, dict[str, float]] = {}
        for one in run.folder.timing():
            self._seconds.setdefault(one["question"], {})[one["step"]] = one["seconds"]

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The texts of the questions, as far as the data set is at hand."""
        dataset = self.run.dataset
        return {one.id: one.text for one in dataset.questions} if dataset else {}

    @cached_property
    def _context_texts(self) -> Mapping[str, Sequence[str | None]]:
        run = self.run
        return context_texts(run.folder, run.rows, run.dataset) if run.dataset else {}

    def names(self, question: str) -> ArtifactNames:
        """Return the names of the artifacts of a question; those of one scope are held."""
        return self._artifacts.of_scope(self.run.rows[question].get("scope"))

    def document(self, document: str, question: str) -> LocatedDocument:
        """Return a document in the artifacts of a question.

        Raises UserError where these are gone, and for one without a chunk, with the nearest.
        """
        names = self.names(question)
        if (table := names.chunk_table) is None:
            raise UserError(f"The chunks of {self.run.folder.path} are gone; run it again.")
        if not table.chunks_of(document):
            hint = did_you_mean(document, table.documents)
            raise UserError(f"No chunk is of a document '{document}'. {hint}")
        return LocatedDocument(document, table, names.graph)

    def explained(self, question: str) -> Plain:
        """Return the `explanation` of a question, its gold, and what was found of that."""
        run, row = self.run, self.run.rows[question]
        head = {
            "question": self.texts.get(question, question),
            **{name: str(run.metrics[name]) for name in ("dataset", "method", "title")},
            "key": run.folder.path.name,
        }
        texts, seconds = self._context_texts.get(question, ()), self._seconds.get(question, {})
        gold = run.gold.get(question, Gold())
        return explanation(head, row, texts, seconds, self.names(question)) | {
            "gold": {"answers": list(gold.answers), "evidence": list(gold.evidence)},
            "found": evidence_of(row, gold),
            "error": row.get("error"),
        }

    @cached_property
    def _lines(self) -> Mapping[str, list[LedgerLine]]:
        lines = read_ledger(*self.run.folder.files("ledger"))
        return grouped((line for line in lines if line.stage != "build"), "item")

    @cached_property
    def _cache(self) -> Cache | None:
        path = self.run.config.get("cache", {}).get("path")
        store = Path(path) if path else self.home / "cache" / "replies.sqlite"
        return Cache(store, reading=True) if store.is_file() else None

    def calls(self, question: str) -> list[Plain]:
        """Return the calls of a question, in order: the fields of the ledger that are not empty.

        `prompt` are the messages as they were sent, each with `role` and `content`, and `reply` is
        the text, as far as the store of replies (`cache.path` of the run) has them.
        """
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
    head: Mapping[str, str],
    row: Row,
    texts: Sequence[str | None],
    seconds: Mapping[str, float],
    names: ArtifactNames,
) -> Plain:
    """Return a question with its answer, fallbacks, context and steps, names in place of ids.

    `head` has its text, data set, method, title and key; `texts` are those of its context, None
    for one that is not known; `seconds` those of each step. `cut` are the kind and id of what the
    budget left out of the context, `usage` the LLM calls and tokens of the question.
    """
    context = row.get("context") or {}
    pieces = context.get("pieces", [])
    known = texts if len(texts) == len(pieces) else [None] * len(pieces)
    return {
        **head,
        "status": row["status"],
        "answer": row.get("answer"),
        "fallbacks": list(row.get("fallbacks", ())),
        "context": [{**p, "text": text} for p, text in zip(pieces, known, strict=True)],
        "cut": [list(item) for item in context.get("cut", [])],
        "usage": {name: row[name] for name in _USAGE if name in row},
        "steps": explained_steps(row, seconds, names),
        "without_names": list(names.missing),
    }


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
    places: dict[str, list[str]] = {IN_CONTEXT: [], outside: [], MISSED: []}
    for name in gold.evidence:
        place = IN_CONTEXT if name in inside else outside if name in retrieved else MISSED
        places[place].append(name)
    return places


class AnsweringFailed(UserError):
    """A step failed on a question that was well asked."""

    exit_code = 1


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
        if experiment.settings.graph.per != "all":
            raise UserError("A question of your own has no scope; ask with graph.per=all.")
        form, card = experiment.settings.answers, experiment.dataset.card
        form = card.form_of("") if form == "auto" else form
        question = Question("asked", text, form=form, abstract=card.abstract_type(""))
        resources = build_resources(experiment, experiment.models, Progress())
        gold = {**experiment.dataset.gold, question.id: Gold()}
        alone = replace(experiment, dataset=replace(experiment.dataset, gold=gold))
        start = start_state(alone, question, resources["chunk_table"])
        world, pipeline = Execution(resources), alone.method.pipeline
        (finished,) = run_pipeline([question], pipeline, world, start=lambda _: start)
        state = finished.outcome
        if isinstance(state, Failure):
            raise AnsweringFailed("\n".join([f"{state.step}: {state.message}", *state.where]))
        context, method = state.get("context") or Context(()), experiment.method
        head = {"question": text, "dataset": experiment.dataset.name, "method": method.name,
                "title": method.title, "key": experiment.key}  # fmt: skip
        plain = explanation(
            head, record(finished, resources["chunk_table"]),
            [piece.text for piece in context.pieces],
            {row["step"]: row["seconds"] for row in timing_rows(finished)},
            ArtifactNames.of(resources),
        )  # fmt: skip
        return cls(state.get("answer").text, context, finished.trace, finished.fallbacks, plain)

    def __repr__(self) -> str:
        size = f"{len(self.context.pieces)} pieces of context, {len(self.trace)} steps"
        return f"<Answered {short(self.answer)!r}: {size}; print(answered.report()) shows them>"

    def report(self) -> str:
        """Return the answer, the fallbacks taken, its context, and its steps by name, as text."""
        return clean("\n".join(explained_lines(self.plain)))
