"""Variants of a method, and the contribution of each step: the method without it.

A step is named by its operator (every step with it is changed) or by its place, as `plan` and
`show` print it: `retrieve.1.cases.otherwise.0`. Variants retrieve on the artifacts and replies of
the method itself.

A step that others need cannot be left out. A setting in 0..1, as the damping of a walk, is set to
0. Of a `switch` each case is taken always, of a `branch` each arm is left out.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from graphrag_bench.config.compose import value_of
from graphrag_bench.contract import operators
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.evaluation.answers import Reading
from graphrag_bench.evaluation.statistics import Difference, holm
from graphrag_bench.llm.calls import RunStopped
from graphrag_bench.pipeline.combinator import Item, form_of, steps_inside
from graphrag_bench.pipeline.pipeline import STAGES
from graphrag_bench.progress import Progress
from graphrag_bench.report.comparisons import paired_differences, shown_difference
from graphrag_bench.report.rendering import MISSING, Table, p_head, shown_p
from graphrag_bench.run.execute import Retrieved, retrieved
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.record import record
from graphrag_bench.run.results import reopened
from graphrag_bench.run.scoring import Scoring, question_scores
from graphrag_bench.run.stored import StoredRun, scored_questions
from graphrag_bench.values import Context, Question, RetrievalState

Kind = Literal["set", "drop", "case", "arm"]
Scores = dict[str, dict[str, float]]
_NO_CALLS: Mapping[str, Any] = {"budget": {"tokens": 1, "usd": None}}
"""A budget in which there is room for no call: only stored replies are taken."""
_STAGES = ("convert", "retrieve")


@dataclass(frozen=True)
class Change:
    """One change of a step: a setting's value, or the whole step left out (`drop`).

    Of a `switch` the value is the case that is always taken (`case`), of a `branch` the arm that is
    left out (`arm`).
    """

    kind: Kind
    step: str
    setting: str = ""
    value: Any = None

    def __str__(self) -> str:
        if self.kind == "set":
            return f"{self.step}.{self.setting}={self.value}"
        return f"without {self.step}"


def setting_of(word: str) -> Change:
    """Return a change from `STEP.SETTING=VALUE`; raises UserError."""
    name, equals, value = word.partition("=")
    step, _, setting = name.rpartition(".")
    if not (equals and step):
        raise UserError(f"--set {word}: STEP.SETTING=VALUE was expected, as node.ppr.damping=0.85.")
    return Change("set", step, setting, value_of(value, name))


def changed(method: Mapping[str, Any], changes: Sequence[Change]) -> dict[str, Any]:
    """Return the method with its steps changed, one change after the other.

    Raises UserError for a step that the method does not have, with the nearest one.
    """
    new: dict[str, Any] = copy.deepcopy(dict(method))
    for change in changes:
        every = places(new)
        wanted = [place for place in every if change.step in place.names]
        if not wanted:
            known = list(dict.fromkeys(name for place in every for name in place.names))
            hint = did_you_mean(change.step, known)
            raise UserError(f"The method has no step '{change.step}'. {hint}")
        for place in reversed(wanted):
            if change.kind == "drop":
                del place.items[place.row]
            elif change.kind == "set":
                place.step[change.setting] = change.value
            elif change.kind == "case":
                place.items[place.row : place.row + 1] = place.step["cases"][change.value]
            else:
                del place.step["branch"][change.value]
    return new


@dataclass(frozen=True)
class StepPlace:
    """Where a step is: its list and row, and its path."""

    items: list[Item]
    row: int
    path: str

    @property
    def step(self) -> Item:
        """The step."""
        return self.items[self.row]

    @property
    def combinator(self) -> str | None:
        """The key of the step's combinator; None for an operator."""
        return form_of(self.step)

    @property
    def name(self) -> str:
        """Its operator, or the key of its combinator."""
        return str(self.step.get("op") or self.combinator or "?")

    @property
    def names(self) -> tuple[str, str, str]:
        """What it may be called: its operator, its place, and both as labels have them."""
        return self.name, self.path, f"{self.path} {self.name}"


def places(method: Mapping[str, Any]) -> list[StepPlace]:
    """Return every step of a method, combinators before the steps inside them, in order."""
    return [place for stage in STAGES for place in _within(method.get(stage) or [], stage)]


def _within(items: list[Item], path: str) -> Iterator[StepPlace]:
    for row, step in enumerate(items):
        place = StepPlace(items, row, f"{path}.{row}")
        yield place
        if place.combinator:
            for steps, inside in steps_inside(step, place.path):
                yield from _within(steps, inside)


@dataclass(frozen=True)
class Variant:
    """The metrics of each question by a variant of a method.

    `failures` are what failed, each as its step and message, once.
    """

    scores: Scores
    failures: list[str]


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
        failed = (one.failure for one in retrieval.finished if one.failure is not None)
        failures = dict.fromkeys(f"{failure.step}: {failure.message}" for failure in failed)
        return Variant(_scores(experiment, retrieval), [*failures])


def _scores(experiment: Experiment, retrieval: Retrieved) -> Scores:
    settings, gold = experiment.settings.evaluation, experiment.dataset.gold
    rows, texts = {}, {}
    for one in retrieval.finished:
        if isinstance(one.outcome, RetrievalState):
            rows[one.question.id] = record(one, retrieval.of(one)["chunk_table"])
            context = one.outcome.get("context") or Context(())
            texts[one.question.id] = [piece.text for piece in context.pieces]
    reading = Reading(containment=settings.containment)
    tokens = settings.evidence_tokens
    scoring = Scoring(reading=reading, cuts=settings.cuts, evidence_tokens=tokens, texts=texts)
    return {name: question_scores(row, gold[name], scoring) for name, row in rows.items()}


def check_metric(metric: str, variant: Variant) -> None:
    """Raise UserError for a metric that no question has, with the nearest that one has."""
    known = {name for scores in variant.scores.values() for name in scores}
    if metric not in known:
        raise UserError(f"No question has the metric '{metric}'. {did_you_mean(metric, known)}")


@dataclass(frozen=True)
class StepContribution:
    """The changed method minus the whole one, over the questions that did not fail."""

    step: str
    change: str
    difference: Difference | None
    failed: str


def ablation(variants: MethodVariants, metric: str) -> Table:
    """Return a row for each variant of a method: its mean, the difference, Holm's p.

    The notes name what cannot be tried, with why. Raises UserError for a metric that no question
    has.
    """
    whole = variants.variant()
    check_metric(metric, whole)
    scopes = {question.id: question.scope for question in variants.questions}
    notes: list[str] = []
    rows: list[StepContribution] = []
    seen = {variants.experiment.key}
    for place in places(variants.method):
        if not place.path.startswith(_STAGES):
            continue
        step, tried = f"{place.path} {place.name}", False
        for what, change in _changes(place):
            try:
                experiment = variants.make(changed(variants.method, [change]))
            except UserError:  # later steps need what it writes
                continue
            tried = True
            if experiment.key in seen:
                continue
            seen.add(experiment.key)
            try:
                variant = variants.retrieved(experiment)
            except UserError as error:  # of an operator, at a graph that is not for it
                notes.append(f"not tried: {step} {what}: {error}")
                continue
            paired = dict(paired_differences(whole.scores, variant.scores, scopes, [metric]))
            failed = next(iter(variant.failures), "")
            rows.append(StepContribution(step, what, paired.get(metric), failed))
        if not tried and place.combinator not in ("switch", "branch"):
            notes.append(f"not tried: {step}: later steps need what it alone writes")
    values = [scores[metric] for scores in whole.scores.values() if metric in scores]
    first = ("the whole method", "", str(len(values)), f"{fmean(values):.3f}", *[MISSING] * 3)
    return _table(variants.experiment.method.title, metric, first, rows, notes)


def _changes(place: StepPlace) -> Iterator[tuple[str, Change]]:
    """What can be done to a step, valid or not, and the change that does it."""
    path = place.path
    if place.combinator == "switch":
        for name in place.step["cases"]:
            yield f"always '{name}'", Change("case", path, value=name)
    elif place.combinator == "branch":
        arms = place.step["branch"]
        for name in arms if len(arms) > 1 else ():
            yield f"without arm '{name}'", Change("arm", path, value=name)
    else:
        yield "left out", Change("drop", path)
        if place.combinator is None:
            for name, setting in operators.get(place.name).settings.items():
                if is_share(setting.annotation) and place.step.get(name, setting.default):
                    yield f"{name}=0", Change("set", path, name, 0.0)


def is_share(annotation: Any) -> bool:
    """Return whether a setting is a number from 0 to 1."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(annotation).json_schema()
    most = schema.get("maximum", schema.get("exclusiveMaximum"))
    return (schema.get("type"), schema.get("minimum"), most) == ("number", 0, 1)


def _table(
    title: str,
    metric: str,
    first: tuple[str, ...],
    contributions: Sequence[StepContribution],
    not_tried: Sequence[str],
) -> Table:
    tested = [one for row in contributions if (one := row.difference) is not None]
    corrected = iter(holm([one.p for one in tested]))
    rows = [first]
    for row in contributions:
        cells = ("0", MISSING, MISSING, MISSING, MISSING)
        if (one := row.difference) is not None:
            counts = f"{one.wins}/{one.ties}/{one.losses}"
            p = shown_p(next(corrected))
            cells = (str(one.n), f"{one.second:.3f}", shown_difference(one), p, counts)
        rows.append((row.step, row.change + (" !" if row.failed else ""), *cells))
    heads = ("step", "change", "n", metric, "difference [95 %]", p_head([len(tested)]),
             "win/tie/loss")  # fmt: skip
    notes = (
        "difference: the changed method minus the whole one over the same questions, with its "
        "paired 95 % bootstrap interval; below 0 the step contributes",
        f"p: two-sided paired permutation test (mid-p), Holm-corrected for {len(tested)} tests; "
        "win: questions where the changed method is better",
        *(f"! {row.step} {row.change}: {row.failed}" for row in contributions if row.failed),
        *not_tried,
    )
    return Table(
        f"contribution of each step of {title}", heads, tuple(rows), notes, texts=heads[:2]
    )
