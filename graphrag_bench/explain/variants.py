"""The retrieval of a run by its method and by variants of it, on the same artifacts and replies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.evaluation.answers import Reading
from graphrag_bench.explain.changes import Change, changed
from graphrag_bench.llm.calls import RunStopped
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import Retrieved, retrieved
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.record import record
from graphrag_bench.run.results import reopened
from graphrag_bench.run.scoring import Scoring, question_scores
from graphrag_bench.run.stored import StoredRun, scored_questions
from graphrag_bench.values import Context, Question, RetrievalState

Scores = dict[str, dict[str, float]]
_NO_CALLS: Mapping[str, Any] = {"budget": {"tokens": 1, "usd": None}}
"""A budget in which there is room for no call: only stored replies are taken."""


@dataclass(frozen=True)
class Variant:
    """The retrieval of questions by a variant of a method, with the metrics of each question."""

    experiment: Experiment
    retrieval: Retrieved
    scores: Scores

    @property
    def failures(self) -> list[str]:
        """What failed, each as its step and message, once."""
        failed = (one.failure for one in self.retrieval.finished if one.failure is not None)
        return list(dict.fromkeys(f"{failure.step}: {failure.message}" for failure in failed))


@dataclass
class MethodVariants:
    """Retrievals of the same questions by variants of a method; nothing is answered.

    `method` has its steps as a resolved file has them, `make` gives the experiment of others.
    Without `calls` no model is asked: a step that needs a reply that is not stored stops.
    """

    method: Mapping[str, Any]
    questions: Sequence[Question]
    make: Callable[[Mapping[str, Any]], Experiment]
    progress: Progress | None = None
    calls: bool = False

    def __post_init__(self) -> None:
        self.experiment = self.make(self.method)

    @classmethod
    def of_run(
        cls, run: StoredRun, home: Path, progress: Progress | None = None, *, calls: bool = False
    ) -> "MethodVariants":
        """Return that of the questions that a stored run was scored on.

        Raises UserError for a run whose data set is not at hand, or whose settings are not valid
        any more.
        """
        dataset = run.require_dataset()
        wanted = set(scored_questions(run)) & set(run.rows)
        questions = [question for question in dataset.questions if question.id in wanted]

        budget = {} if calls else _NO_CALLS

        def make(method: Mapping[str, Any]) -> Experiment:
            return reopened(run, home, changed={"method": dict(method), **budget})

        return cls(run.config["method"], questions, make, progress, calls)

    @classmethod
    def of_settings(
        cls, values: Mapping[str, Any], progress: Progress | None = None, *, calls: bool = False
    ) -> "MethodVariants":
        """Return that of the questions of a run that these resolved settings would make."""
        budget = {} if calls else _NO_CALLS

        def make(method: Mapping[str, Any]) -> Experiment:
            return Experiment.prepare({**values, **budget, "method": dict(method)}, swept=True)

        questions = make(values["method"]).selection()[0]
        return cls(values["method"], questions, make, progress, calls)

    def variant(self, changes: Sequence[Change] = ()) -> Variant:
        """Return the method with changed steps; raises UserError where that is not valid."""
        experiment = self.make(changed(self.method, changes)) if changes else self.experiment
        return self.retrieved(experiment)

    def retrieved(self, experiment: Experiment) -> Variant:
        """Return the questions by an experiment that `make` has made."""
        try:
            retrieval = retrieved(experiment, self.questions, self.progress)
        except RunStopped as stop:
            if self.calls:
                raise
            raise UserError(
                "A step asks a model for a reply that is not stored; --calls lets it ask."
            ) from stop
        return Variant(experiment, retrieval, _scores(experiment, retrieval))


def _scores(experiment: Experiment, retrieval: Retrieved) -> Scores:
    settings, gold = experiment.settings.evaluation, experiment.dataset.gold
    rows, texts = {}, {}
    for one in retrieval.finished:
        if isinstance(one.outcome, RetrievalState):
            rows[one.question.id] = record(one, retrieval.of(one)["chunk_table"])
            context = one.outcome.get("context")
            if isinstance(context, Context):
                texts[one.question.id] = [piece.text for piece in context.pieces]
    scoring = Scoring(
        reading=Reading(containment=settings.containment),
        cuts=settings.cuts, evidence_tokens=settings.evidence_tokens, texts=texts,
    )  # fmt: skip
    return {name: question_scores(row, gold[name], scoring) for name, row in rows.items()}


def check_metric(metric: str, variant: Variant) -> None:
    """Raise UserError for a metric that no question has, with the nearest that one has."""
    known = {name for scores in variant.scores.values() for name in scores}
    if metric not in known:
        raise UserError(f"No question has the metric '{metric}'. {did_you_mean(metric, known)}")
