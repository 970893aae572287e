"""Every method against one baseline: differences with interval, corrected p, wins, and power."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrag_bench.evaluation.detection import detectable_difference
from graphrag_bench.evaluation.significance import holm
from graphrag_bench.evaluation.statistics import Difference, paired_difference
from graphrag_bench.report.arrange import arranged
from graphrag_bench.report.notes import FRAMES, said_clusters
from graphrag_bench.report.rendering import MISSING, Table

_HEADS = ("method", "against", "metric", "n", "difference [95 %]", "p (Holm)", "win/tie/loss",
          "detectable")  # fmt: skip
_ANSWERS = ("accuracy", "f1", "hit@1", "list_f1")
_EVIDENCE = "evidence_recall@"
_USUAL_CUT = 5
_ALIKE = ("llm", "embedder", "tokenizer", "budget_context", "profile", "fidelity", "llm_build",
          "limit")  # fmt: skip
"""What a run and its baseline should share, as far as there is such a run of the baseline."""


@dataclass(frozen=True)
class Compared:
    """A run as comparisons see it: what `metrics.json` holds, and the metrics of each question.

    `scopes` are the scopes by question, where questions have one.
    """

    metrics: Mapping[str, Any]
    scores: Mapping[str, Mapping[str, float]]
    scopes: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class _Row:
    method: str
    baseline: str
    metric: str
    found: Difference
    detectable: float | None


def comparison_table(
    runs: Sequence[Compared], baseline: str, metrics: Sequence[str] = ()
) -> Table | None:
    """A row for each method and metric, method minus baseline; None with nothing to compare.

    `baseline` is the name of a method. Of several runs of it that is taken which shares most of
    models, budget and sources with the method's run, the first of equals. Floor and ceiling
    are no competitors. Unless `metrics` names others they are accuracy, F1 (Hit@1 and list F1 of
    lists) and evidence recall at 5, or at the largest cut. Holm's correction is over all rows.
    """
    named = _with_titles(runs)
    rows = [
        row
        for title, run in named
        if run.metrics["role"] not in FRAMES
        for row in _against(title, run, _baseline_of(run, named, baseline), metrics)
    ]
    if not rows:
        return None
    corrected = holm([row.found.p for row in rows])
    cells = tuple(_cells(row, p) for row, p in zip(rows, corrected, strict=True))
    caption = f"differences from {', '.join(dict.fromkeys(row.baseline for row in rows))}"
    return Table(caption, _HEADS, cells, _notes(rows), texts=("method", "against", "metric"))


def _with_titles(runs: Sequence[Compared]) -> list[tuple[str, Compared]]:
    """The runs in the order of the main table, by its titles."""
    marked = [{**run.metrics, "row": row} for row, run in enumerate(runs)]
    return [(str(held["title"]), runs[held["row"]]) for held in arranged(marked)]


def _baseline_of(
    run: Compared, named: Sequence[tuple[str, Compared]], baseline: str
) -> tuple[str, Compared] | None:
    """The run of the baseline that this one is compared with; None when it is that run itself."""
    mine = run.metrics

    def shared(one: tuple[str, Compared]) -> int:
        return sum(mine.get(name) == one[1].metrics.get(name) for name in _ALIKE)

    able = [one for one in named if one[1].metrics["method"] == baseline]
    able = [one for one in able if one[1].metrics["dataset"] == mine["dataset"]]
    found = max(able, key=shared, default=None)
    return None if found is None or found[1] is run else found


def _against(
    title: str, run: Compared, baseline: tuple[str, Compared] | None, metrics: Sequence[str]
) -> Iterator[_Row]:
    if baseline is None:
        return
    name, other = baseline
    for metric in metrics or _usual(run):
        shared = [
            question
            for question, held in other.scores.items()
            if metric in held and metric in run.scores.get(question, {})
        ]
        if shared:
            first, second = ([one.scores[q][metric] for q in shared] for one in (other, run))
            scopes = [run.scopes.get(question) for question in shared]
            found = paired_difference(first, second, scopes=scopes)
            spread = [b - a for a, b in zip(first, second, strict=True)]
            yield _Row(title, name, metric, found, detectable_difference(spread, scopes))


def _usual(run: Compared) -> list[str]:
    """The metrics that are compared unless others are named: evidence first."""
    held = dict.fromkeys(name for scores in run.scores.values() for name in scores)
    cuts = [name.removeprefix(_EVIDENCE) for name in held if name.startswith(_EVIDENCE)]
    numbers = sorted(int(cut) for cut in cuts if cut.isdigit())
    cut = _USUAL_CUT if _USUAL_CUT in numbers else (numbers or [0])[-1]
    return [name for name in (f"{_EVIDENCE}{cut}", *_ANSWERS) if name in held]


def _cells(row: _Row, p: float) -> tuple[str, ...]:
    found = row.found
    detectable = MISSING if row.detectable is None else f"{row.detectable:.3f}"
    return (
        row.method,
        row.baseline,
        row.metric,
        str(found.n),
        f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]",
        f"{p:.4f}" if p >= 0.0001 else "<0.0001",
        f"{found.wins}/{found.ties}/{found.losses}",
        detectable,
    )


def _notes(rows: Sequence[_Row]) -> tuple[str, ...]:
    clusters = {row.found.clusters for row in rows} - {0}
    drawn = f"scopes ({said_clusters(clusters)})" if clusters else "questions"
    return (
        "difference: method minus baseline over the questions that both have, with its paired 95 % "
        f"bootstrap interval over {drawn}; win/tie/loss: questions",
        "p: two-sided paired permutation test (mid-p), Holm-corrected for the "
        f"{len(rows)} tests of this table; below 0.05 chance alone is a poor explanation",
        "detectable: the smallest true difference that so many questions, spread as these, show at "
        "5 % in 4 runs of 5; no difference found says nothing of smaller ones",
    )
