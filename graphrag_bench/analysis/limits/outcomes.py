"""Limits that a run must keep: the least of a metric, the most, the most lost against another run.

Each limit gives one outcome, which says what was found and why it is not enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.evaluation.metrics import UNDIRECTED
from graphrag_bench.evaluation.statistics import paired_difference
from graphrag_bench.report.comparisons import usual_metrics
from graphrag_bench.report.rendering import shown_p
from graphrag_bench.runs.rescoring import scores_of
from graphrag_bench.runs.stored import StoredRun

Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Outcome:
    """A limit by name, whether it is kept, and the figures that say so."""

    limit: str
    kept: bool
    found: str


@dataclass(frozen=True)
class Loss:
    """The most that the mean of a metric may be worse than in another run.

    With `alpha` a larger loss counts only where the paired test finds p below it.
    """

    most: float
    metrics: tuple[str, ...] = ()
    alpha: float | None = None


def bounds(words: Iterable[str], option: str) -> dict[str, float]:
    """The value by metric of words METRIC=VALUE; raises UserError for another form."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name or found[name] != found[name]:
            raise UserError(f"{option} {word}: METRIC=NUMBER was expected, as accuracy=0.6.")
    return found


def within_bounds(
    run: StoredRun, least: Mapping[str, float], most: Mapping[str, float]
) -> list[Outcome]:
    """An outcome for each bound on the mean of a metric of a run, at six decimals.

    Raises UserError for a metric that the run does not have.
    """
    rows = [(name, ">=", bound) for name, bound in least.items()]
    rows += [(name, "<=", bound) for name, bound in most.items()]
    return [_bounded(run, *row) for row in rows]


def _bounded(run: StoredRun, name: str, sign: str, bound: float) -> Outcome:
    held = run.metrics["metrics"]
    if name not in held:
        raise UserError(f"The run has no metric '{name}'. {did_you_mean(name, sorted(held))}")
    found = held[name]
    mean = round(found["mean"], 6)
    kept = mean >= bound if sign == ">=" else mean <= bound
    interval = f"[{found['low']:.3f}, {found['high']:.3f}]"
    return Outcome(f"{name} {sign} {bound:g}", kept, f"{mean:.4f} {interval}, n {found['n']}")


def complete(told: Mapping[str, Any], most_failed: int) -> list[Outcome]:
    """Whether every question that was selected was scored, and no more than that many failed.

    `told` is what `metrics.json` of a run holds.
    """
    n, selected, failed = told["n"], told["selected"], told["failed"]
    return [
        Outcome("all questions are there", n == selected, f"{n} of {selected}"),
        Outcome(f"failed questions <= {most_failed}", failed <= most_failed, f"{failed} of {n}"),
    ]


def against(run: StoredRun, base: StoredRun, loss: Loss) -> list[Outcome]:
    """`differences` of a run from another; raises UserError where one cannot be scored again."""
    before, after = scores_of(base), scores_of(run)
    for one, held in ((run, after), (base, before)):
        if not held:
            raise UserError(
                f"{one.folder.path}: its questions cannot be scored again: the data set is not at "
                "hand, or all of them failed."
            )
    return differences(before, after, run.scopes, loss)


def differences(
    before: Scores, after: Scores, scopes: Mapping[str, str | None], loss: Loss
) -> list[Outcome]:
    """An outcome for each metric: how much worse it is than before, by a paired test.

    Over the questions that both have; of a metric of which less is better, more is a loss. Unless
    metrics are named they are those that tables compare. Raises UserError where the two have no
    question in common, or not the metric.
    """
    names = loss.metrics or usual_metrics(name for held in after.values() for name in held)
    return [_lost(name, before, after, scopes, loss) for name in names]


def _lost(
    name: str, before: Scores, after: Scores, scopes: Mapping[str, str | None], loss: Loss
) -> Outcome:
    shared = [q for q, held in after.items() if name in held and name in before.get(q, {})]
    if not shared:
        known = sorted({one for held in after.values() for one in held})
        raise UserError(
            f"No question of both runs has the metric '{name}'. {did_you_mean(name, known)}"
        )
    sign = -1.0 if name in UNDIRECTED else 1.0
    first, second = ([sign * held[q][name] for q in shared] for held in (before, after))
    found = paired_difference(first, second, scopes=[scopes.get(q) for q in shared])
    told = "" if loss.alpha is None else f" at p < {loss.alpha:g}"
    by_chance = loss.alpha is not None and found.p >= loss.alpha
    counted = _counted(name, found.n, before, after)
    said = (
        f"{found.mean:+.4f} [{found.low:+.3f}, {found.high:+.3f}], p {shown_p(found.p)}, "
        f"better/same/worse {found.wins}/{found.ties}/{found.losses}, {counted}"
    )
    kept = -found.mean <= loss.most or by_chance
    return Outcome(f"{name}: loss <= {loss.most:g}{told}", kept, said)


def _counted(name: str, n: int, *runs: Scores) -> str:
    """The questions that both have, of how many where one of them has more."""
    most = max(sum(name in held for held in run.values()) for run in runs)
    return f"n {n}" if n == most else f"n {n} of {most}"


def broken(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes of limits that are not kept."""
    return [one for one in outcomes if not one.kept]
