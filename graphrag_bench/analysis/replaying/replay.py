"""A stored run with a step changed: only what comes after it is computed, and who won and lost."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphrag_bench.analysis.replaying.changes import Change, changed
from graphrag_bench.analysis.replaying.standing import (
    Pair,
    Passage,
    Standing,
    first_move,
    last_of,
    standings,
)
from graphrag_bench.data.dataset import Gold
from graphrag_bench.data.file_evidence import documents_of
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.execute import selection
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.reopen import reopened
from graphrag_bench.experiment.stored_steps import Retrieved, retrieved
from graphrag_bench.llm.calls import RunStopped
from graphrag_bench.lookup import by_beginning
from graphrag_bench.pipeline.kept_steps import Results
from graphrag_bench.pipeline.run import Finished
from graphrag_bench.progress import Progress
from graphrag_bench.runs.record import record
from graphrag_bench.runs.rescoring import scored_questions
from graphrag_bench.runs.scoring import Scored, question_scores
from graphrag_bench.runs.stored import StoredRun
from graphrag_bench.values import Context, Question, RetrievalState

Scores = dict[str, dict[str, float]]
_NO_CALLS: Mapping[str, Any] = {"tokens": 1, "usd": None}
"""A budget in which there is room for no call: only stored replies are taken."""


@dataclass(frozen=True)
class Moved:
    """A gold passage of a question: the first step that moved it, and where it stands in the end.

    Each before and after the change; None where nothing was ranked.
    """

    question: str
    document: str
    step: Pair
    end: Pair


@dataclass(frozen=True)
class Replayed:
    """A retrieval of the questions of a run, with the metrics of each question."""

    experiment: Experiment
    found: Retrieved
    scores: Scores

    @property
    def n_computed(self) -> int:
        """The results of steps that were computed."""
        return sum(self.found.computed.values())

    @property
    def n_taken(self) -> int:
        """The results of steps that were kept from before."""
        return sum(self.found.taken.values())


@dataclass
class Player:
    """Retrievals of the same questions by a method and by changes of it; nothing is answered.

    `method` holds its steps as a resolved file has them, `make` gives the experiment of others.
    What steps wrote is shared by all retrievals of a player.
    """

    method: Mapping[str, Any]
    questions: Sequence[Question]
    make: Callable[[Mapping[str, Any]], Experiment]
    progress: Progress | None = None

    def __post_init__(self) -> None:
        self.experiment = self.make(self.method)
        self.results: Results = OrderedDict()

    @classmethod
    def of_run(
        cls, run: StoredRun, home: Path, progress: Progress | None = None, *, calls: bool = False
    ) -> Player:
        """That of the questions that a stored run was scored on.

        Without `calls` no model is asked: a step that needs a reply that is not stored stops it.
        Raises UserError for a run whose data set is not at hand, or whose settings are not valid
        any more.
        """
        if run.dataset is None:
            raise UserError(
                f"The data set of {run.folder.path} is not at hand; its gold is needed."
            )
        wanted = set(scored_questions(run)) & set(run.rows)
        questions = [question for question in run.dataset.questions if question.id in wanted]

        def make(method: Mapping[str, Any]) -> Experiment:
            none: dict[str, Any] = {} if calls else {"budget": _NO_CALLS}
            return reopened(run, home, changed={"method": dict(method), **none})

        return cls(run.config["method"], questions, make, progress)

    @classmethod
    def of_settings(
        cls, values: Mapping[str, Any], progress: Progress | None = None, *, calls: bool = False
    ) -> Player:
        """That of the questions of a run that these resolved settings would make."""
        none: dict[str, Any] = {} if calls else {"budget": _NO_CALLS}

        def make(method: Mapping[str, Any]) -> Experiment:
            return Experiment.prepare({**values, **none, "method": dict(method)}, swept=True)

        return cls(values["method"], selection(make(values["method"]))[0], make, progress)

    def as_it_is(self) -> Replayed:
        """The method's own steps, as the code of today takes them."""
        return self.played(self.experiment)

    def with_changes(self, changes: Sequence[Change]) -> Replayed:
        """The method with its steps changed; raises UserError where that is not valid."""
        return self.played(self.make(changed(self.method, changes)))

    def played(self, experiment: Experiment) -> Replayed:
        """The questions by an experiment of this player."""
        try:
            found = retrieved(experiment, self.questions, self.results, self.progress)
        except RunStopped as stop:
            if experiment.settings.budget.tokens != _NO_CALLS["tokens"]:
                raise
            raise UserError(
                "A step asks a model for a reply that is not stored; --calls lets it ask."
            ) from stop
        return Replayed(experiment, found, scores_of(experiment, found))


def scores_of(experiment: Experiment, found: Retrieved) -> Scores:
    """The metrics of evidence and context of each question that did not fail."""
    asked, gold = experiment.settings.evaluation, experiment.dataset.gold
    rows, texts = {}, {}
    for one in found.finished:
        row = record(one, found.of(one)["chunk_table"])
        if not isinstance(one.outcome, RetrievalState):
            continue
        rows[one.question.id] = row
        context = one.outcome.get("context")
        if isinstance(context, Context):
            texts[one.question.id] = [piece.text for piece in context.pieces]
    scored = Scored(evidence_tokens=tuple(asked.evidence_tokens), texts=texts)
    return {
        name: question_scores(row, gold[name], asked.cuts, asked.containment, scored)
        for name, row in rows.items()
    }


def failures(found: Retrieved) -> list[str]:
    """What failed, each as its step and message, once."""
    told = (one.failure for one in found.finished if one.failure is not None)
    return list(dict.fromkeys(f"{failure.step}: {failure.message}" for failure in told))


def moved(before: Replayed, after: Replayed, metric: str) -> list[Moved]:
    """Each gold passage that rose or fell, of the questions whose metric differs, in order."""
    gold = before.experiment.dataset.gold
    later = {one.question.id: one for one in after.found.finished}
    found = []
    for one in before.found.finished:
        name = one.question.id
        first, second = (side.scores.get(name, {}).get(metric) for side in (before, after))
        if first is None or second is None or first == second:
            continue
        for document in _documents(gold[name]):
            pair = _standings(document, before, one), _standings(document, after, later[name])
            if (step := first_move(*pair)) is not None:
                found.append(Moved(name, document, step, last_of(*pair)))
    return found


def _documents(gold: Gold) -> list[str]:
    named = (one for name in gold.evidence for one in documents_of(gold, name))
    return list(dict.fromkeys(named))


def _standings(document: str, side: Replayed, one: Finished) -> list[Standing]:
    return standings(one, Passage.of(document, side.found.of(one)))


def question_of(questions: Sequence[Question], name: str) -> Question:
    """The question with that id, or whose id or text alone begins so; raises UserError."""
    held = {question.id: question for question in questions}
    if name not in held:
        texts = {question.text: question for question in questions}
        begins = [text for text in texts if text.lower().startswith(name.lower())]
        if len(begins) == 1:
            return texts[begins[0]]
    return by_beginning(name, held, "question", "the run", lambda one: one.text)
