"""What the overview of a run page says: scores, costs, estimates, funnels, paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.analysis.funnel.stored import RunFunnel, run_funnel
from graphrag_bench.analysis.funnel.table import SAID
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import metrics
from graphrag_bench.evaluation.statistics import paired_difference
from graphrag_bench.report.arrange import arranged
from graphrag_bench.report.comparisons import settings_that_differ, usual_metrics
from graphrag_bench.report.corpora import differ
from graphrag_bench.report.costs import spent
from graphrag_bench.report.notes import run_notes
from graphrag_bench.runs.rescoring import scores_of
from graphrag_bench.runs.stored import StoredRun

Plain = dict[str, Any]
_BESIDE = ("llm", "llm_build", "embedder", "extraction", "tokenizer", "profile", "fidelity",
           "corpus")  # fmt: skip
_TOLD = ("dataset", "method", "key", "role", "n", "selected", "failed", "answered", "fell_back",
         "fallbacks", "errors", "flags", "commit", "corpus", "limit", "imported")  # fmt: skip


def titles_of(runs: Sequence[StoredRun]) -> list[str]:
    """A title for each run that tells it from the others, as the tables have it."""
    places = arranged([{**run.metrics, "place": place} for place, run in enumerate(runs)])
    found = {one["place"]: str(one["title"]) for one in places}
    return [found[place] for place in range(len(runs))]


def run_row(run: StoredRun, title: str, found: RunFunnel | str) -> Plain:
    """One run: what the table of the overview and its plots show.

    `metrics` have mean, low, high and n; `cost` the calls of each step, paid and cached; `estimate`
    what `plan` expects; `seconds` the mean of each step over the questions that took it; `spent`
    all tokens and US dollars, cached replies at their price when
    paid, None of an imported run. `funnel` is None where `funnel_note` says why.
    """
    held = run.metrics
    n_tokens, usd = (None, None) if run.imported else spent(held)
    return {
        **{name: held.get(name) for name in _TOLD},
        "title": title,
        "metrics": held["metrics"],
        "usage": held["usage"],
        "spent": {"tokens": n_tokens, "usd": usd},
        "cost": {"steps": held["cost"]["steps"], "stages": held["cost"]["stages"]},
        "estimate": held["estimate"],
        "seconds": _seconds(run),
        "settings": settings_of(run),
        "notes": run_notes([held]),
        "funnel": None if isinstance(found, str) else funnel_row(found),
        "funnel_note": found if isinstance(found, str) else "; ".join(found.unknown),
    }


def _seconds(run: StoredRun) -> dict[str, float]:
    held: dict[str, list[float]] = {}
    for one in run.folder.timing():
        held.setdefault(one["step"], []).append(one["seconds"])
    return {step: round(sum(found) / len(found), 6) for step, found in sorted(held.items())}


def settings_of(run: StoredRun) -> Plain:
    """What can change the run's answers, by path: its settings, and its models."""
    return {**run.metrics["settings"], **{name: run.metrics.get(name) for name in _BESIDE}}


def funnel_of(run: StoredRun, home: Path, shared: str | None) -> RunFunnel | str:
    """The evidence funnel of a run, or why there is none."""
    try:
        return run_funnel(run, home, shared)
    except UserError as error:
        return str(error)


def funnel_row(found: RunFunnel) -> Plain:
    """The stages of a funnel in order, with what each lost and what is left behind it."""
    made = found.funnel
    stages = [{**vars(count), "said": SAID[count.stage]} for count in made.counts()]
    return {"documents": made.n_documents, "questions": made.n_questions, "stages": stages}


def metric_rows() -> list[Plain]:
    """Every metric: name, meaning, and whether more is better."""
    return [
        {"name": one.name, "meaning": one.meaning, "more": one.more_is_better} for one in metrics()
    ]


def pair_rows(runs: Sequence[StoredRun]) -> list[Plain]:
    """Each two runs over the same questions of one corpus: B minus A, and settings that differ.

    Differences are paired, over the questions that both have, with a 95 % bootstrap interval and
    the p of a permutation test that is not corrected for looking at several. `a` and `b` are
    places among the runs.
    """
    scores = [scores_of(run) for run in runs]
    rows = []
    for b, second in enumerate(runs):
        for a, first in enumerate(runs[:b]):
            same = first.metrics["dataset"] == second.metrics["dataset"]
            if not same or differ(first.metrics, second.metrics):
                continue
            differences = list(_differences(first, scores[a], scores[b]))
            settings = settings_that_differ(settings_of(first), settings_of(second))
            rows.append({"a": a, "b": b, "differences": differences, "settings": settings})
    return rows


Scores = Mapping[str, Mapping[str, float]]


def _differences(run: StoredRun, first: Scores, second: Scores) -> list[Plain]:
    held = dict.fromkeys(name for scores in first.values() for name in scores)
    rows = []
    for metric in usual_metrics(held):
        shared = [q for q in first if metric in first[q] and metric in second.get(q, {})]
        if shared:
            before, after = ([one[q][metric] for q in shared] for one in (first, second))
            scopes = [run.scopes.get(q) for q in shared]
            rows.append({"metric": metric, **vars(paired_difference(before, after, scopes=scopes))})
    return rows
