"""What each step of a method is worth: the method without it.

A step that others need cannot be left out. A setting in 0..1, as the damping of a walk, is set to
0. Of a `switch` each case is taken always, of a `branch` each arm is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.contract import operators
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.statistics import Difference, holm, paired_difference
from graphrag_bench.explain.changes import Change, StepPlace, changed, places
from graphrag_bench.explain.replay import Player, Replayed, check_metric, failures
from graphrag_bench.report.comparisons import shown_difference
from graphrag_bench.report.rendering import MISSING, Table, p_head, shown_p
from graphrag_bench.run.experiment import Experiment

_STAGES = ("convert", "retrieve")


@dataclass(frozen=True)
class Worth:
    """What a change of one part does to a metric: the changed method minus the whole one.

    `failed` is what went wrong where questions failed; the difference is over the others.
    """

    part: str
    what: str
    difference: Difference | None
    failed: str = ""


def ablation(player: Player, metric: str) -> Table:
    """Return a row for each variant of a player's method: its mean, the difference, Holm's p.

    The notes name what cannot be tried, with why. Raises UserError for a metric that no question
    has.
    """
    whole = player.as_it_is()
    check_metric(metric, whole, "No question has the metric")
    notes = []
    rows = []
    seen = {player.experiment.key}
    for place in places(player.method):
        if not place.path.startswith(_STAGES):
            continue
        part = f"{place.path} {place.name}"
        variants = list(_variants(player, place))
        if not variants and place.combinator not in ("switch", "branch"):
            why = "later steps need what it writes, and nothing else there writes it"
            notes.append(f"not tried: {part}: {why}")
        for what, experiment in variants:
            if experiment.key in seen:
                continue
            seen.add(experiment.key)
            try:
                variant = player.played(experiment)
            except UserError as error:  # of an operator, at a graph that is not for it
                notes.append(f"not tried: {part} {what}: {error}")
            else:
                rows.append(_worth(part, what, variant, whole, metric))
    values = [scores[metric] for scores in whole.scores.values() if metric in scores]
    mean = f"{sum(values) / len(values):.3f}"
    first = ("the whole method", "", str(len(values)), mean, MISSING, MISSING, MISSING)
    return _table(player.experiment.method.title, metric, first, rows, notes)


def _variants(player: Player, place: StepPlace) -> Iterator[tuple[str, Experiment]]:
    """What can be done to a step, and the experiment that this makes; valid ones alone."""

    def tried(what: str, change: Change) -> list[tuple[str, Experiment]]:
        try:
            return [(what, player.make(changed(player.method, [change])))]
        except UserError:
            return []

    path = place.path
    if place.combinator == "switch":
        for name in place.step["cases"]:
            yield from tried(f"always '{name}'", Change("case", path, value=name))
    elif place.combinator == "branch":
        arms = place.step["branch"]
        for name in arms if len(arms) > 1 else ():
            yield from tried(f"without arm '{name}'", Change("arm", path, value=name))
    else:
        yield from tried("left out", Change("drop", path))
        if place.combinator is None:
            for name, setting in operators.get(place.name).settings.items():
                if is_share(setting.annotation) and place.step.get(name, setting.default):
                    yield from tried(f"{name}=0", Change("set", path, name, 0.0))


def is_share(annotation: Any) -> bool:
    """Return whether a setting is a number from 0 to 1."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(annotation).json_schema()
    most = schema.get("maximum", schema.get("exclusiveMaximum"))
    return (schema.get("type"), schema.get("minimum"), most) == ("number", 0, 1)


def _worth(part: str, what: str, variant: Replayed, whole: Replayed, metric: str) -> Worth:
    shared = [
        name
        for name, scores in whole.scores.items()
        if metric in scores and metric in variant.scores.get(name, {})
    ]
    failed = next(iter(failures(variant.retrieval)), "")
    if not shared:
        return Worth(part, what, None, failed)
    scopes = {q.id: q.scope for q in variant.experiment.dataset.questions}
    before, after = ([side.scores[name][metric] for name in shared] for side in (whole, variant))
    difference = paired_difference(before, after, scopes=[scopes[name] for name in shared])
    return Worth(part, what, difference, failed)


def _table(
    title: str, metric: str, first: tuple[str, ...], worths: Sequence[Worth], needed: Sequence[str]
) -> Table:
    tested = [one for row in worths if (one := row.difference) is not None]
    corrected = iter(holm([one.p for one in tested]))
    rows = [first]
    for row in worths:
        cells = ("0", MISSING, MISSING, MISSING, MISSING)
        if (one := row.difference) is not None:
            counts = f"{one.wins}/{one.ties}/{one.losses}"
            p = shown_p(next(corrected))
            cells = (str(one.n), f"{one.second:.3f}", shown_difference(one), p, counts)
        rows.append((row.part, row.what + (" !" if row.failed else ""), *cells))
    heads = ("step", "change", "n", metric, "difference [95 %]", p_head([len(tested)]),
             "win/tie/loss")  # fmt: skip
    notes = (
        "difference: the changed method minus the whole one over the same questions, with its "
        "paired 95 % bootstrap interval; below 0: the step is worth something",
        f"p: two-sided paired permutation test (mid-p), Holm-corrected for {len(tested)} tests; "
        "win: questions where the changed method is better",
        *(f"! {row.part} {row.what}: {row.failed}" for row in worths if row.failed),
        *needed,
    )
    return Table(f"what each step of {title} is worth", heads, tuple(rows), notes, texts=heads[:2])
