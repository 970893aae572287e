"""Every method against one baseline: differences with interval, corrected p, wins, and power."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrag_bench.evaluation.detection import detectable_difference
from graphrag_bench.evaluation.significance import holm
from graphrag_bench.evaluation.statistics import Difference, paired_difference
from graphrag_bench.report.arrange import arranged
from graphrag_bench.report.baselines import baseline_of
from graphrag_bench.report.notes import said_clusters
from graphrag_bench.report.rendering import MISSING, Table, shown_p
from graphrag_bench.report.selection import REFERENCE_ROLES

_HEADS = ("method", "against", "metric", "n", "difference [95 %]", "p (Holm)", "win/tie/loss",
          "detectable")  # fmt: skip
_ABOUT = (
    ("detectable", "the smallest true difference that so many questions, spread as these, show at "
     "5 % in 4 runs of 5; no difference found says nothing of smaller ones"),
)  # fmt: skip
_ANSWERS = ("accuracy", "f1", "hit@1", "list_f1")
_EVIDENCE = "evidence_recall@"
_USUAL_CUT = 5


@dataclass(frozen=True)
class Compared:
    """A run as comparisons see it: what `metrics.json` holds, and the metrics of each question.

    `scopes` are the scopes by question, where questions have one.
    """

    metrics: Mapping[str, Any]
    scores: Mapping[str, Mapping[str, float]]
    scopes: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class _Comparison:
    method: str
    baseline: str
    metric: str
    found: Difference
    detectable: float | None


def comparison_table(
    runs: Sequence[Compared], baseline: str, metrics: Sequence[str] = ()
) -> Table | None:
    """A row for each method and metric, method minus baseline; None with nothing to compare.

    `baseline` is the name of a method; of several runs of it see `baseline_of`. Floor and ceiling
    are not competitors. Unless `metrics` names others they are accuracy, F1 (Hit@1 and list F1 of
    lists) and evidence recall at 5, or at the largest cut. Holm's correction is over all rows.
    """
    named = arranged([{**run.metrics, "row": row} for row, run in enumerate(runs)])
    rows = []
    for held in named:
        other = baseline_of(held, named, baseline)
        if other is not None and held["role"] not in REFERENCE_ROLES:
            pair = runs[other["row"]], runs[held["row"]]
            titles = str(held["title"]), str(other["title"])
            rows += [
                _Comparison(*titles, metric, found, least)
                for metric, found, least in _between(*pair, metrics)
            ]
    if not rows:
        return None
    corrected = holm([row.found.p for row in rows])
    cells = tuple(_cells(row, p) for row, p in zip(rows, corrected, strict=True))
    caption = f"differences from {', '.join(dict.fromkeys(row.baseline for row in rows))}"
    texts = ("method", "against", "metric")
    return Table(caption, _HEADS, cells, _notes(rows), texts, about=_ABOUT, folds=True)


def _between(
    first: Compared, second: Compared, metrics: Sequence[str]
) -> Iterator[tuple[str, Difference, float | None]]:
    """Each metric with its difference, and the difference that could have been detected."""
    for metric in metrics or _usual(second):
        shared = [
            question
            for question, held in first.scores.items()
            if metric in held and metric in second.scores.get(question, {})
        ]
        if shared:
            before, after = ([one.scores[q][metric] for q in shared] for one in (first, second))
            scopes = [second.scopes.get(question) for question in shared]
            spread = [b - a for a, b in zip(before, after, strict=True)]
            found = paired_difference(before, after, scopes=scopes)
            yield metric, found, detectable_difference(spread, scopes)


def _usual(run: Compared) -> list[str]:
    """The metrics that are compared unless others are named: evidence first."""
    held = dict.fromkeys(name for scores in run.scores.values() for name in scores)
    cuts = [name.removeprefix(_EVIDENCE) for name in held if name.startswith(_EVIDENCE)]
    numbers = sorted(int(cut) for cut in cuts if cut.isdigit())
    cut = _USUAL_CUT if _USUAL_CUT in numbers else (numbers or [0])[-1]
    return [name for name in (f"{_EVIDENCE}{cut}", *_ANSWERS) if name in held]


def _cells(row: _Comparison, p: float) -> tuple[str, ...]:
    found = row.found
    detectable = MISSING if row.detectable is None else f"{row.detectable:.3f}"
    return (
        row.method,
        row.baseline,
        row.metric,
        str(found.n),
        f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]",
        shown_p(p),
        f"{found.wins}/{found.ties}/{found.losses}",
        detectable,
    )


def _notes(rows: Sequence[_Comparison]) -> tuple[str, ...]:
    clusters = {row.found.clusters for row in rows} - {0}
    drawn = f"scopes ({said_clusters(clusters)})" if clusters else "questions"
    return (
        "difference: method minus baseline over the questions that both have, with its paired 95 % "
        f"bootstrap interval over {drawn}; win/tie/loss: questions",
        "p: two-sided paired permutation test (mid-p), Holm-corrected for the "
        f"{len(rows)} tests of this table; below 0.05 chance alone is a poor explanation",
    )
