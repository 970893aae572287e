"""The contribution of each step of a method: the method without it.

A step that others need cannot be left out. A setting in 0..1, as the damping of a walk, is set to
0. Of a `switch` each case is taken always, of a `branch` each arm is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from graphrag_bench.contract import operators
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.statistics import Difference, holm
from graphrag_bench.explain.changes import Change, StepPlace, changed, places
from graphrag_bench.explain.variants import MethodVariants, check_metric
from graphrag_bench.report.comparisons import paired_differences, shown_difference
from graphrag_bench.report.rendering import MISSING, Table, p_head, shown_p

_STAGES = ("convert", "retrieve")


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
