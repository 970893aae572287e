"""Ablation: repeat the retrieval of a run with changed or removed steps."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from pydantic import TypeAdapter

from graphrag_bench.config.compose import value_of
from graphrag_bench.contract import operators
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.evaluation.statistics import Difference, holm
from graphrag_bench.llm.calls import RunStopped
from graphrag_bench.pipeline.combinators import Item, combinator_key, inner_lists
from graphrag_bench.pipeline.pipeline import STAGES
from graphrag_bench.pipeline.steps import Failure
from graphrag_bench.progress import Progress
from graphrag_bench.report.comparisons import Scores, format_difference, paired_differences
from graphrag_bench.report.rendering import MISSING, Table, format_p, p_column
from graphrag_bench.run.execute import retrieve
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.record import record
from graphrag_bench.run.results import reopen
from graphrag_bench.run.scoring import Scoring, question_scores
from graphrag_bench.run.stored import StoredRun, scored_questions
from graphrag_bench.text import counted
from graphrag_bench.values import Context, Question

_NO_CALLS: Mapping[str, Any] = {"budget": {"tokens": 1, "usd": None}}
"""A budget that is too small for any model call, so that only stored replies are used."""


@dataclass(frozen=True)
class Change:
    """One change of a method's steps.

    A change of kind `set` gives a setting a new value, `drop` removes a step, `case` replaces a
    switch by one of its cases, and `arm` removes a list of steps from a branch. `step` is the path
    of a step, such as `retrieve.1.cases.otherwise.0`, or the name of an operator, which stands for
    all steps with this operator.
    """

    kind: Literal["set", "drop", "case", "arm"]
    step: str
    setting: str = ""
    value: Any = None

    def __str__(self) -> str:
        of_set = f"{self.step}.{self.setting}={self.value}"
        return of_set if self.kind == "set" else f"without {self.step}"


def parse_change(word: str) -> Change:
    """Parse a change written as `STEP.SETTING=VALUE`; raises UserError for any other form."""
    name, equals, value = word.partition("=")
    step, _, setting = name.rpartition(".")
    if not (equals and step):
        raise UserError(f"--set {word}: write STEP.SETTING=VALUE, e.g. node.ppr.damping=0.85.")
    return Change("set", step, setting, value_of(value, name))


def apply_changes(method: Item, changes: Sequence[Change]) -> tuple[Item, list[str]]:
    """Return a changed copy of a method file, and the paths of the settings that were set."""
    new, chosen = copy.deepcopy(method), list[tuple[Item, str]]()
    for change in changes:
        every = step_places(new)
        wanted = [place for place in every if change.step in place.names]
        if not wanted:
            raise unknown("step", change.step, (name for place in every for name in place.names))
        for place in reversed(wanted):
            if change.kind == "drop":
                del place.items[place.row]
            elif change.kind == "set":
                place.step[change.setting] = change.value
                chosen.append((place.step, change.setting))
            elif change.kind == "case":
                place.items[place.row : place.row + 1] = place.step["cases"][change.value]
            else:
                del place.step["branch"][change.value]
    paths = {id(place.step): place.path for place in step_places(new)}
    return new, [f"method.{paths[id(step)]}.{name}" for step, name in chosen if id(step) in paths]


@dataclass(frozen=True)
class StepPlace:
    """The step `items[row]` of a method file. Users select the step by any of its `names`."""

    items: list[Item]
    row: int
    path: str
    step: Item
    combinator: str | None
    names: tuple[str, str, str]


def step_places(method: Mapping[str, Any]) -> list[StepPlace]:
    """Return all steps of a method file in order; a combinator comes before the steps inside it."""

    def within(items: list[Item], above: str) -> Iterator[StepPlace]:
        for row, step in enumerate(items):
            path, combinator = f"{above}.{row}", combinator_key(step)
            name = str(step.get("op") or combinator or "?")
            yield StepPlace(items, row, path, step, combinator, (name, path, f"{path} {name}"))
            for steps, inside in inner_lists(step, path) if combinator else ():
                yield from within(steps, inside)

    return [place for stage in STAGES for place in within(method.get(stage) or [], stage)]


@dataclass
class MethodVariants:
    """Variants of a method on the same questions. Without `calls`, only stored replies are used."""

    method: Item
    prepare: Callable[[Mapping[str, Any]], Experiment]
    calls: bool
    asked: InitVar[Sequence[Question] | None] = None

    def __post_init__(self, asked: Sequence[Question] | None) -> None:
        self.experiment = self.make()
        self.questions = self.experiment.selection()[0] if asked is None else asked
        self.scopes = {question.id: question.scope for question in self.questions}

    @classmethod
    def of_run(cls, run: StoredRun, home: Path, *, calls: bool = False) -> "MethodVariants":
        """Return variants of a stored run, with its scored questions."""
        wanted = set(scored_questions(run)) & set(run.rows)
        questions = [one for one in run.require_dataset().questions if one.id in wanted]
        return cls(run.config["method"], partial(reopen, run, home), calls, questions)

    @classmethod
    def of_settings(cls, values: Mapping[str, Any], *, calls: bool) -> "MethodVariants":
        """Return variants of the run that these settings describe, on the questions of this run."""
        prepare = partial(Experiment.prepare, swept=True)
        return cls(values["method"], lambda changed: prepare({**values, **changed}), calls)

    def make(self, *changes: Change) -> Experiment:
        """Prepare a changed method; raises UserError if it is invalid."""
        method, given = apply_changes(self.method, changes)
        own = {"given": [*self.experiment.settings.given, *given]} if given else {}
        return self.prepare({**({} if self.calls else _NO_CALLS), **own, "method": method})

    def whole(self, metric: str) -> Scores:
        """Return the scores of the whole method; raises UserError if no question has the metric."""
        scores, _ = self.retrieve(self.experiment)
        if not any(metric in of_question for of_question in scores.values()):
            raise unknown("metric", metric, chain.from_iterable(scores.values()))
        return scores

    def retrieve(self, experiment: Experiment) -> tuple[Scores, list[str]]:
        """Return the scores of an experiment from `make`, and the distinct errors of its steps."""
        try:
            results = retrieve(experiment, self.questions, Progress())
        except RunStopped as stop:
            if self.calls:
                raise
            what = "A step needs a model reply that is not stored"
            raise UserError(f"{what}. Add --calls to call the model.") from stop
        rows, texts, failures = {}, {}, dict[str, None]()
        for one, table in results:
            if isinstance(one.outcome, Failure):
                failures[f"{one.outcome.step}: {one.outcome.message}"] = None
                continue
            rows[one.question.id] = record(one, table)
            context = one.outcome.get("context") or Context(())
            texts[one.question.id] = [piece.text for piece in context.pieces]
        gold = experiment.dataset.gold
        scoring = Scoring(evaluation=experiment.settings.evaluation, texts=texts)
        scores = {name: question_scores(row, gold[name], scoring) for name, row in rows.items()}
        return scores, [*failures]


def ablation(variants: MethodVariants, metric: str) -> Table:
    """Return a table that compares a method with variants in which one step is changed."""
    whole = variants.whole(metric)
    rows: list[tuple[str, str, Difference | None]] = []
    failures, not_tried, seen = list[str](), list[str](), {variants.experiment.key}
    for place in step_places(variants.method):
        if not place.path.startswith(("convert", "retrieve")):
            continue
        step, tried = place.names[-1], False
        for what, change in _changes(place):
            try:
                experiment = variants.make(change)
            except UserError:  # later steps need the result of this step
                continue
            tried = True
            if experiment.key in seen:
                continue
            seen.add(experiment.key)
            try:
                scores, errors = variants.retrieve(experiment)
            except UserError as error:  # an operator does not support this graph
                not_tried.append(f"not tried: {step} {what}: {error}")
                continue
            paired = dict(paired_differences(whole, scores, variants.scopes, [metric]))
            rows.append((step, what + " !" * bool(errors), paired.get(metric)))
            failures += [f"! {step} {what}: {failure}" for failure in errors[:1]]
        if not tried and place.combinator not in ("switch", "branch"):
            why = "later steps need its result, which no other step provides"
            not_tried.append(f"not tried: {step}: {why}")
    values = [scores[metric] for scores in whole.values() if metric in scores]
    first = ("the whole method", "", str(len(values)), f"{fmean(values):.3f}", *[MISSING] * 3)
    tests = [one.p for _, _, one in rows if one is not None]
    corrected = iter(holm(tests))
    cells = [
        (step, what, "0", *[MISSING] * 4) if one is None else
        (step, what, str(one.n), f"{one.second:.3f}", format_difference(one),
         format_p(next(corrected)), f"{one.wins}/{one.ties}/{one.losses}")
        for step, what, one in rows
    ]  # fmt: skip
    heads = ("step", "change", "n", metric, "difference [95 %]", p_column([len(tests)]),
             "win/tie/loss")  # fmt: skip
    notes = (
        "difference: the changed method minus the whole method over the same questions, with a "
        "paired 95 % bootstrap interval; if it is below 0, the step contributes",
        "p: two-sided paired permutation test (mid-p), Holm-corrected for "
        f"{counted(len(tests), 'test')}; win: questions where the changed method is better",
        *failures,
        *not_tried,
    )
    caption = f"contribution of each step of {variants.experiment.method.title}"
    return Table(caption, heads, (first, *cells), notes, texts=heads[:2])


def _changes(place: StepPlace) -> Iterator[tuple[str, Change]]:
    path, step = place.path, place.step
    if place.combinator == "switch":
        for name in step["cases"]:
            yield f"always '{name}'", Change("case", path, value=name)
    elif place.combinator == "branch":
        for name in step["branch"] if len(step["branch"]) > 1 else ():
            yield f"without arm '{name}'", Change("arm", path, value=name)
    else:
        yield "left out", Change("drop", path)
        settings = {} if place.combinator else operators.get(place.names[0]).settings
        for name, setting in settings.items():
            schema = TypeAdapter(setting.annotation).json_schema()
            most = schema.get("maximum", schema.get("exclusiveMaximum"))
            from_0_to_1 = (schema.get("type"), schema.get("minimum"), most) == ("number", 0, 1)
            if from_0_to_1 and step.get(name, setting.default):
                yield f"{name}=0", Change("set", path, name, 0.0)
