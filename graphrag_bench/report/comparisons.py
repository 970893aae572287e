"""Paired differences between methods and a baseline, and between two runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from graphrag_bench.evaluation.metrics import UNDIRECTED
from graphrag_bench.evaluation.statistics import Difference, holm, paired_difference
from graphrag_bench.report import rows
from graphrag_bench.report.notes import resampling_units
from graphrag_bench.report.rendering import MISSING, Table, format_interval, format_p, p_column
from graphrag_bench.report.rows import RunMetrics, group_by, in_table_order, rule_of, usual_metrics

_MOST_SHOWN = 20
_MATCHED_FIELDS = ("llm", "embedder", "tokenizer", "budget_context", "profile", "fidelity",
                   "llm_build", "limit", "regime")  # fmt: skip
"""Fields by which a run is matched with one of several runs of the baseline."""
Scores = dict[str, dict[str, float]]
"""The metrics of each question, by question id."""
Scopes = Mapping[str, str | None]
"""Scope of each question, for example the document that the question is about."""


@dataclass(frozen=True)
class ScoredRun:
    """A run with its `metrics.json`, and with the metrics and the scope of each question."""

    metrics: RunMetrics
    scores: Scores
    scopes: Scopes = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """Difference between the run of a method and the run of the baseline on one metric.

    `place` is the position of the method's run among the compared runs. `baseline` is the unique
    title of the baseline's run in the table, and `baseline_title` is the stored title of this run.
    The baseline has `n_baselines` runs on the data set. `n` is the number of questions with the
    metric, in the run that has more of them. `p` is corrected by Holm's method for `n_tests` tests.
    """

    place: int
    method: str
    baseline: str
    baseline_title: str
    metric: str
    difference: Difference
    n: int
    p: float = 1.0
    n_tests: int = 1
    n_baselines: int = 1


def comparisons(
    runs: Sequence[ScoredRun], baseline: str, metrics: Sequence[str] = ()
) -> list[Comparison]:
    """Return the difference between each run and the baseline on each metric, in table order.

    `baseline` is the name of a method. `baseline_of` selects its run. The default `metrics` are
    those of `usual_metrics`. Floor and ceiling methods are left out, and so are runs that were
    scored by a different rule than the baseline. The p-values are corrected within each metric.
    """
    named = in_table_order([{**run.metrics, "row": row} for row, run in enumerate(runs)])
    found: list[Comparison] = []
    for run in named:
        other = baseline_of(run, named, baseline)
        if other is None or run["role"] in rows.REFERENCE_ROLES or rule_of(run) != rule_of(other):
            continue
        first, second = runs[other["row"]], runs[run["row"]]
        compared = metrics or usual_metrics(chain.from_iterable(second.scores.values()))
        titles = str(run["title"]), str(other["title"]), str(first.metrics["title"])
        of_set = (baseline, run["dataset"])
        n_baselines = sum((one["method"], one["dataset"]) == of_set for one in named)
        pairs = paired_differences(first.scores, second.scores, second.scopes, compared)
        for metric, gap in pairs:
            n = max(sum(metric in of for of in one.scores.values()) for one in (first, second))
            found.append(Comparison(run["row"], *titles, metric, gap, n, n_baselines=n_baselines))
    families = group_by(found, lambda row: row.metric)
    ps = {name: iter(holm([row.difference.p for row in of])) for name, of in families.items()}
    sizes = {name: len(of) for name, of in families.items()}
    return [replace(one, p=next(ps[one.metric]), n_tests=sizes[one.metric]) for one in found]


def comparison_table(compared: Sequence[Comparison]) -> Table | None:
    """Return a table with a row for each difference, or None if there are no differences."""
    if not compared:
        return None
    heads = ("method", "against", "metric", "n", "difference [95 %]",
             p_column(row.n_tests for row in compared), "win/tie/loss", "detectable")  # fmt: skip
    units = resampling_units(row.difference.clusters for row in compared)
    sizes = {row.metric: row.n_tests for row in compared}
    families = ", ".join(f"{metric}: {n}" for metric, n in sizes.items())
    correction = f", Holm-Bonferroni within each metric (tests: {families})"
    notes = (
        "difference: method minus baseline over the questions that both have, with a paired 95 % "
        f"bootstrap interval over {units}; win/tie/loss: numbers of questions",
        "p: two-sided paired permutation test (mid-p)" + correction * ({*sizes.values()} != {1}),
        "detectable: minimum detectable difference at 80 % power (two-sided, alpha 0.05)",
        *selection_notes(compared),
    )
    cells = tuple(
        (row.method, row.baseline, row.metric, f"{one.n}" + f" of {row.n}" * (one.n != row.n),
         format_difference(one), format_p(row.p), f"{one.wins}/{one.ties}/{one.losses}",
         MISSING if one.detectable is None else f"{one.detectable:.3f}")
        for row, one in ((row, row.difference) for row in compared)
    )  # fmt: skip
    caption = f"differences from {', '.join(dict.fromkeys(row.baseline for row in compared))}"
    return Table(caption, heads, cells, notes, texts=heads[:3])


def baseline_of(run: RunMetrics, runs: Sequence[RunMetrics], baseline: str) -> RunMetrics | None:
    """Return the baseline's most similar run on the same corpus, or None if it is `run` itself."""
    names = [*_MATCHED_FIELDS, *["varied"] * (run["method"] != baseline)]

    def alike(other: RunMetrics) -> int:
        return sum(bool(run.get(name) == other.get(name)) for name in names)

    there = (one for one in runs if (one["method"], one["dataset"]) == (baseline, run["dataset"]))
    same_corpus = (one for one in there if not rows.different_corpora(one, run))
    nearest = max(same_corpus, key=alike, default=None)
    return None if nearest is run else nearest


def selection_notes(compared: Sequence[Comparison]) -> list[str]:
    """Return notes on differences over fewer questions, and on the selected baseline runs."""
    fewer = "n of m: the difference is over n shared questions, each mean over up to m questions"
    several = "each row is compared with the run of the baseline that has the most similar settings"
    notes = [fewer] * any(row.difference.n != row.n for row in compared)
    return notes + [several] * any(row.n_baselines > 1 for row in compared)


def _shared(metric: str, first: Scores, second: Scores) -> list[str]:
    return [q for q in first if metric in first[q] and metric in second.get(q, {})]


def paired_differences(
    first: Scores, second: Scores, scopes: Scopes, metrics: Iterable[str]
) -> Iterator[tuple[str, Difference]]:
    """Yield the paired difference (second minus first) on each metric over the shared questions."""
    for metric in metrics:
        if questions := _shared(metric, first, second):
            before, after = ([scores[q][metric] for q in questions] for scores in (first, second))
            yield metric, paired_difference(before, after, scopes=[*map(scopes.get, questions)])


def format_difference(difference: Difference) -> str:
    """Return the signed mean of a difference with its interval: `+0.120 [+0.050, +0.190]`."""
    interval = format_interval(difference.low, difference.high, difference.n, "+.3f")
    return f"{difference.mean:+.3f}{interval}"


def difference_table(caption: str, first: Scores, second: Scores, scopes: Scopes) -> Table:
    """Return a table that compares two runs on all metrics that both have."""
    metrics = dict.fromkeys(chain.from_iterable(first.values()))
    cells = tuple(
        (metric, str(one.n), f"{one.first:.3f}", f"{one.second:.3f}", format_difference(one),
         format_p(one.p), *map(str, (one.wins, one.ties, one.losses)))
        for metric, one in paired_differences(first, second, scopes, metrics)
    )  # fmt: skip
    notes = (
        "over the questions that both runs have; interval: paired bootstrap; p: two-sided paired "
        "permutation test (mid-p) by scope, uncorrected for multiple metrics; "
        f"neither direction is better: {', '.join(UNDIRECTED)}",
    )
    heads = ("metric", "n", "A", "B", "B - A [95 %]", "p", "B higher", "same", "A higher")
    return Table(caption, heads, cells, notes, texts=("metric",))


def flipped_line(name: str, first: Scores, second: Scores) -> str:
    """Return a line with the questions on which a metric rises or falls, up to 20 of each."""
    both, parts = _shared(name, first, second), []
    for verb, sign in (("gained", 1), ("lost", -1)):
        questions = [q for q in both if sign * second[q][name] > sign * first[q][name]]
        n_more = len(questions) - _MOST_SHOWN
        more = f" and {n_more} more" if n_more > 0 else ""
        parts.append(f"{verb} {', '.join(questions[:_MOST_SHOWN]) or MISSING}{more}")
    return f"{name}: {'; '.join(parts)}"


def settings_that_differ(first: RunMetrics, second: RunMetrics) -> list[tuple[str, str, str]]:
    """Return (path, value in A, value in B) for each setting, model or corpus that differs."""
    a, b = map(rows.recorded_settings, (first, second))
    values = ((name, *(str(of.get(name, "")) or MISSING for of in (a, b))) for name in {*a, *b})
    return sorted((name, one, two) for name, one, two in values if one != two)
