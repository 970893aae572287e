"""Tables of judged answers, win rates and judge biases, and the stored verdicts behind them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean

from graphrag_bench.evaluation.statistics import Mean, holm
from graphrag_bench.judging.pairs import VERDICTS, HeadToHead, VerdictKey, mean_of, points_won
from graphrag_bench.report import rendering
from graphrag_bench.report.comparisons import Scopes
from graphrag_bench.report.notes import resampling_units
from graphrag_bench.report.rendering import MISSING, Table, format_interval, p_column
from graphrag_bench.run.folder import read_lines
from graphrag_bench.run.judged import judged_rows, judged_values

Values = Mapping[str, Mapping[str, Mapping[str, float | None]]]
"""Judged values by judge, metric and question."""
_OF_MATCH = ("A", "B", "criterion")


def match_table(caption: str, rates: Sequence[HeadToHead]) -> Table:
    """Return a table of win rates by pair of runs and criterion, with Holm-corrected p-values."""
    corrected = holm([one.p for one in rates if one.n])
    n_tests, ps, rows = len(corrected), iter(corrected), []
    for one in rates:
        counts = (one.n, one.missing, one.wins, one.ties, one.losses)
        p = rendering.format_p(next(ps)) if one.n else MISSING
        rows.append((*one.names, *map(str, counts), _percent(one.rate), p))
    notes = (
        "a tie counts half: the winner changed with the order, or the answers are equal and were "
        "not judged; missing: one of the two verdicts failed or could not be read",
        f"intervals are 95 % bootstrap over {_drawn(rates)}",
        f"p: two-sided paired permutation test (mid-p), Holm over the {n_tests} tests",
    )
    heads = (*_OF_MATCH, "n", "missing", "A wins", "ties", "B wins", "A's rate [95 %]")
    return Table(caption, (*heads, p_column([n_tests])), tuple(rows), notes, texts=_OF_MATCH)


def _drawn(rates: Sequence[HeadToHead]) -> str:
    return resampling_units(one.rate.clusters for one in rates if one.rate)


def audit_table(rates: Sequence[HeadToHead]) -> Table:
    """Return a table of the judge's position and length biases by pair of runs and criterion."""
    rows = [(*one.names, *map(_percent, (one.flips, one.first, one.longer))) for one in rates]
    notes = (
        f"intervals as above, over {_drawn(rates)}",
        "flips: share of pairs whose winner changed with the order; first answer wins: share of "
        "verdicts for the answer shown first (50 % if unbiased); equal answers are left out of "
        "both",
        "longer answer wins: share of pairs whose longer answer wins; a tie counts half",
    )
    heads = ("flips [95 %]", "first answer wins [95 %]", "longer answer wins [95 %]")
    return Table("the judge", (*_OF_MATCH, *heads), tuple(rows), notes, texts=_OF_MATCH)


def _percent(mean: Mean | None) -> str:
    if mean is None:
        return MISSING
    return f"{100 * mean.mean:.1f}{format_interval(100 * mean.low, 100 * mean.high, mean.n, '.0f')}"


def judged_table(runs: Sequence[tuple[str, Values, Scopes]]) -> Table:
    """Return a table of mean judged values with a row for each run, metric and judge."""
    heads = ("method", "metric", "n", "missing", "mean [95 %]", "judge")
    rows, clusters = [], set[int]()
    for title, values, scopes in runs:
        for judge, metrics in values.items():
            for metric, by_question in metrics.items():
                mean = mean_of(by_question, scopes)
                n, of = (mean.n, mean.clusters) if mean else (0, 0)
                shown = rendering.format_mean(mean.stored() if mean else None)
                clusters.add(of)
                rows.append((title, metric, str(n), str(len(by_question) - n), shown, judge))
    notes = (
        "missing: answers whose judgement failed, could not be read, or had nothing to judge; "
        "they are not in the mean",
        f"intervals are 95 % bootstrap over {resampling_units(clusters)}",
        "judges tend to favour readers of the same model family",
    )
    return Table("judged answers", heads, tuple(rows), notes, texts=("method", "metric", "judge"))


@dataclass
class StoredVerdicts:
    """Verdicts stored in a home: on pairs in comparisons/, and on single answers in runs/."""

    home: Path
    _judged: dict[tuple[Path, str], dict[str, Mean]] = field(default_factory=dict)

    @cached_property
    def _points(self) -> dict[VerdictKey, dict[str, float]]:
        """The mean points of questions judged in both orders, by key and question."""
        files = sorted(self.home.glob(f"comparisons/*/{VERDICTS}"))
        won = points_won(row for path in files for row in read_lines(path))
        return {
            compared: {name: fmean(two.values()) for name, two in by.items() if len(two) == 2}
            for compared, by in won.items()
        }

    def judges(self, first: str, second: str, criterion: str) -> list[tuple[str, str]]:
        """Return the (judge, protocol) pairs that compared two runs by a criterion, sorted."""
        wanted = first, second, criterion
        return sorted((judge, how) for *key, judge, how in self._points if tuple(key) == wanted)

    def win_rate(self, compared: Iterable[VerdictKey], scopes: Scopes) -> Mean | None:
        """Return the win rate of the first run of each key, in 0..1, or None without verdicts.

        A win in only one order counts half. Questions that were judged in only one order are left
        out. Several keys (criteria, seeds) are averaged by question.
        """
        points: dict[str, list[float]] = {}
        for one in compared:
            for question, value in self._points.get(one, {}).items():
                points.setdefault(question, []).append(value)
        return mean_of({question: fmean(values) for question, values in points.items()}, scopes)

    def judged(self, folder: Path, metric: str, scopes: Scopes) -> dict[str, Mean]:
        """Return the mean of a metric over a run, in 0..1, by judge. The judges are sorted."""
        if (folder, metric) not in self._judged:
            values = sorted(judged_values(judged_rows(folder)).items())
            means = ((judge, mean_of(of.get(metric, {}), scopes)) for judge, of in values)
            self._judged[folder, metric] = {judge: mean for judge, mean in means if mean}
        return self._judged[folder, metric]
