"""What each step of a method is worth: the method without it, or with a simpler one in its place.

A step that others need cannot be left out; each operator without a model that writes what they need
takes its place instead. A setting in 0..1, as the damping of a walk, is set to 0. Of a `switch`
each case is taken always, of a `branch` each arm is left out.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphrag_bench.analysis.replaying.changes import Change, Place, changed, places
from graphrag_bench.analysis.replaying.replay import Player, Replayed, failures
from graphrag_bench.contract import Operator, operators
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.evaluation.statistics import Difference, holm, paired_difference
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.report.rendering import MISSING, Table, p_head, shown_p

_STAGES = ("convert", "retrieve")


@dataclass(frozen=True)
class Variant:
    """The method without a part, or with another one: its part, what was done, its experiment."""

    part: str
    what: str
    experiment: Experiment


@dataclass(frozen=True)
class Worth:
    """What a change of one part does to a metric: the changed method minus the whole one.

    `failed` is what went wrong where questions failed; the difference is over the others.
    """

    part: str
    what: str
    found: Difference | None
    n_computed: int
    failed: str = ""


@dataclass(frozen=True)
class Ablation:
    """The parts of a method with what they are worth, and those that it needs, with why."""

    title: str
    metric: str
    whole: Replayed
    rows: tuple[Worth, ...]
    needed: tuple[tuple[str, str], ...]


def ablation(player: Player, metric: str) -> Ablation:
    """Every variant of a player's method, over its questions.

    Raises UserError for a metric that no question has.
    """
    whole = player.as_it_is()
    known = {name for held in whole.scores.values() for name in held}
    if metric not in known:
        raise UserError(f"No question has the metric '{metric}'. {did_you_mean(metric, known)}")
    needed: list[tuple[str, str]] = []
    rows = []
    seen = {player.experiment.key}
    for variant in _variants(player, needed):
        if variant.experiment.key not in seen:
            seen.add(variant.experiment.key)
            try:
                made = player.played(variant.experiment)
            except UserError as error:  # of an operator, at a graph that is not for it
                needed.append((f"{variant.part} {variant.what}", str(error)))
            else:
                rows.append(_worth(variant, made, whole, metric))
    title = player.experiment.method.title
    return Ablation(title, metric, whole, tuple(rows), tuple(needed))


def _variants(player: Player, needed: list[tuple[str, str]]) -> Iterator[Variant]:
    for place in places(player.method):
        if not place.path.startswith(_STAGES):
            continue
        label = f"{place.path} {place.name}"
        if place.name == "switch":
            yield from _always(player, place, label)
        elif place.name == "branch":
            yield from _without_arms(player, place, label)
        elif (made := _valid(player, changed(player.method, [Change("drop", place.path)]))) is None:
            found = [*_swaps(player, place, label), *_at_zero(player, place, label)]
            yield from found
            if not found:
                needed.append(
                    (label, "later steps need what it writes, and nothing else there writes it")
                )
        else:
            yield Variant(label, "left out", made)
            yield from _at_zero(player, place, label)


def _always(player: Player, place: Place, label: str) -> Iterator[Variant]:
    for name in place.step["cases"]:
        method, there = _copied(player.method, place)
        there.items[there.row : there.row + 1] = there.step["cases"][name]
        if (made := _valid(player, method)) is not None:
            yield Variant(label, f"always '{name}'", made)


def _without_arms(player: Player, place: Place, label: str) -> Iterator[Variant]:
    for name in place.step["branch"]:
        method, there = _copied(player.method, place)
        del there.step["branch"][name]
        if there.step["branch"] and (made := _valid(player, method)) is not None:
            yield Variant(label, f"without arm '{name}'", made)


def _swaps(player: Player, place: Place, label: str) -> Iterator[Variant]:
    """The method with each other operator that writes what the step does and calls no model.

    Over the artifacts that are there: nothing is built for it.
    """
    own = operators.get(place.name)
    for other in operators.all():
        if other.name != own.name and _like(own, other):
            method = changed(player.method, [Change("swap", place.path, value=other.name)])
            made = _valid(player, method)
            if made is not None and _built(made) <= _built(player.experiment):
                yield Variant(label, f"-> {other.name}", made)


def _at_zero(player: Player, place: Place, label: str) -> Iterator[Variant]:
    for name, setting in operators.get(place.name).settings.items():
        if is_share(setting.annotation) and place.step.get(name, setting.default):
            method = changed(player.method, [Change("set", place.path, name, 0.0)])
            if (made := _valid(player, method)) is not None:
                yield Variant(label, f"{name}=0", made)


def is_share(annotation: Any) -> bool:
    """Whether a setting is a number from 0 to 1."""
    from pydantic import TypeAdapter

    told = TypeAdapter(annotation).json_schema()
    most = told.get("maximum", told.get("exclusiveMaximum"))
    return (told.get("type"), told.get("minimum"), most) == ("number", 0, 1)


def _built(experiment: Experiment) -> set[str]:
    return {item.key for item in experiment.plan}


def _like(own: Operator, other: Operator) -> bool:
    reads = ({read.slot for read in one.reads if not read.optional} for one in (own, other))
    mine, theirs = reads
    callless = isinstance(other.calls, int) and not other.calls
    writes = set(other.writes)
    return callless and bool(writes) and writes <= set(own.writes) and theirs <= mine | {"question"}


def _copied(method: Mapping[str, Any], place: Place) -> tuple[dict[str, Any], Place]:
    made = copy.deepcopy(dict(method))
    return made, next(one for one in places(made) if one.path == place.path)


def _valid(player: Player, method: Mapping[str, Any]) -> Experiment | None:
    try:
        return player.make(method)
    except UserError:
        return None


def _worth(variant: Variant, made: Replayed, whole: Replayed, metric: str) -> Worth:
    shared = [
        name
        for name, held in whole.scores.items()
        if metric in held and metric in made.scores.get(name, {})
    ]
    failed = next(iter(failures(made.found)), "")
    if not shared:
        return Worth(variant.part, variant.what, None, made.n_computed, failed)
    scopes = {q.id: q.scope for q in variant.experiment.dataset.questions}
    before, after = ([side.scores[name][metric] for name in shared] for side in (whole, made))
    found = paired_difference(before, after, scopes=[scopes[name] for name in shared])
    return Worth(variant.part, variant.what, found, made.n_computed, failed)


def ablation_table(made: Ablation) -> Table:
    """A row for each variant: its mean, the difference from the whole method, Holm's p."""
    tested = [row.found for row in made.rows if row.found is not None]
    corrected = iter(holm([found.p for found in tested]))
    held = [scores[made.metric] for scores in made.whole.scores.values() if made.metric in scores]
    mean = f"{sum(held) / len(held):.3f}"
    rows = [("the whole method", "", str(len(held)), mean, MISSING, MISSING, MISSING)]
    for row in made.rows:
        if (found := row.found) is None:
            cells = ("0", MISSING, MISSING, MISSING, MISSING)
        else:
            change = f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
            counts = f"{found.wins}/{found.ties}/{found.losses}"
            cells = (str(found.n), f"{found.second:.3f}", change, shown_p(next(corrected)), counts)
        rows.append((row.part, row.what + (" !" if row.failed else ""), *cells))
    heads = ("step", "change", "n", made.metric, "difference [95 %]", p_head([len(tested)]),
             "win/tie/loss")  # fmt: skip
    return Table(
        f"what each step of {made.title} is worth", heads, tuple(rows), _notes(made),
        texts=("step", "change"),
    )  # fmt: skip


def _notes(made: Ablation) -> tuple[str, ...]:
    n_tests = sum(row.found is not None for row in made.rows)
    notes = [
        "difference: the changed method minus the whole one over the same questions, with its "
        "paired 95 % bootstrap interval; below 0: the step is worth something",
        f"p: two-sided paired permutation test (mid-p), Holm-corrected for {n_tests} tests; "
        "win: questions where the changed method is better",
    ]
    notes += [f"! {row.part} {row.what}: {row.failed}" for row in made.rows if row.failed]
    notes += [f"not tried: {label}: {why}" for label, why in made.needed]
    return tuple(notes)
