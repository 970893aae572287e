"""Tables of judged answers and of pairwise comparisons: win rates, audits, matrices, agreement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from graphrag_bench.evaluation.statistics import Mean, holm
from graphrag_bench.judging.pairs import Scopes, Values, mean_of
from graphrag_bench.judging.win_rates import (
    Agreement,
    BothOrders,
    HeadToHead,
    Item,
    Labels,
    agreement,
    head_to_head,
)
from graphrag_bench.report.notes import resampling_units
from graphrag_bench.report.rendering import MISSING, Table, p_head, shown_interval, shown_p

_OF_MATCH = ("A", "B", "criterion")
_NOTES = (
    "every pair was judged in both orders; a tie is a pair whose winner changed with the order, "
    "and counts half; missing: one of the two verdicts failed or could not be read, in no rate",
)
_OF_AUDIT = (
    "flips: share of pairs that changed with the order (a judge that always takes the first: "
    "100 %); first wins: share of verdicts for the answer shown first (fair: 50 %)",
    "longer wins: share of points of the longer answer (1: length decides all)",
)


@dataclass(frozen=True)
class Match:
    """Two runs by title, a criterion, and the verdicts on every question.

    `scopes` are those of the questions, in the same order; none for questions that share nothing.
    """

    a: str
    b: str
    criterion: str
    verdicts: tuple[BothOrders, ...]
    scopes: tuple[str | None, ...] | None = None

    @cached_property
    def rates(self) -> HeadToHead:
        """The win rates from the verdicts."""
        return head_to_head(self.verdicts, scopes=self.scopes)

    @property
    def names(self) -> tuple[str, str, str]:
        """The first cells of a row."""
        return self.a, self.b, self.criterion


def match_table(caption: str, matches: Sequence[Match]) -> Table:
    """Return a row for each pair and criterion.

    Holm's correction is over all rows that have a verdict.
    """
    n_tests = sum(match.rates.n > 0 for match in matches)
    corrected = iter(holm([match.rates.p for match in matches if match.rates.n]))
    rows = []
    for match in matches:
        rates = match.rates
        counts = (rates.n, rates.missing, rates.wins, rates.ties, rates.losses)
        p = shown_p(next(corrected)) if rates.n else MISSING
        rows.append((*match.names, *map(str, counts), _percent(rates.rate), p))
    of_p = (
        "p: two-sided paired permutation test of A's points against B's (mid-p; of questions by "
        "themselves the sign test of wins against losses), Holm-corrected for the "
        f"{n_tests} tests of this table"
    )
    notes = (*_NOTES, f"intervals are 95 % bootstrap over {_drawn(matches)}", of_p)
    heads = (*_OF_MATCH, "n", "missing", "A wins", "ties", "B wins", "A's rate [95 %]")
    return Table(caption, (*heads, p_head([n_tests])), tuple(rows), notes, texts=_OF_MATCH)


def _drawn(matches: Sequence[Match]) -> str:
    return resampling_units(match.rates.rate.clusters for match in matches if match.rates.rate)


def audit_table(matches: Sequence[Match]) -> Table:
    """Return a row for each pair and criterion: how far places and lengths have decided."""
    rows = []
    for match in matches:
        both = match.rates
        rows.append((*match.names, *map(_percent, (both.flips, both.first, both.longer))))
    notes = (f"intervals as above, over {_drawn(matches)}", *_OF_AUDIT)
    heads = ("flips [95 %]", "first wins [95 %]", "longer wins [95 %]")
    return Table("the judge", (*_OF_MATCH, *heads), tuple(rows), notes, texts=_OF_MATCH)


def _percent(mean: Mean | None) -> str:
    if mean is None:
        return MISSING
    return f"{100 * mean.mean:.1f} [{100 * mean.low:.0f}, {100 * mean.high:.0f}]"


def matrix_tables(titles: Sequence[str], matches: Sequence[Match]) -> list[Table]:
    """Return for each criterion the percentage of questions that the row wins of the column.

    The diagonal is 50, and a cell and its mirror sum to 100. Source: Zhou et al. 2025, Fig. 7.
    """
    note = (
        "row against column, percent; a cell and its mirror sum to 100; the first table has "
        "the intervals and p of each pair"
    )
    tables = []
    for criterion in dict.fromkeys(match.criterion for match in matches):
        cells = {(title, title): 50.0 for title in titles}
        for match in matches:
            if match.criterion == criterion and (rate := match.rates.rate):
                cells[match.a, match.b] = 100 * rate.mean
                cells[match.b, match.a] = 100 * (1 - rate.mean)
        rows = tuple(
            (row, *(f"{cells[row, one]:.1f}" if (row, one) in cells else MISSING for one in titles))
            for row in titles
        )
        tables.append(Table(f"{criterion}: win rates", ("", *titles), rows, (note,), texts=("",)))
    return tables


def agreement_table(raters: Mapping[str, Labels], scopes: Scopes) -> Table:
    """Return a row for each two raters and criterion, and one over all criteria.

    Intervals draw the items of one question together, and those of one scope (`scopes`, by
    question).
    """

    def scope(item: Item) -> str:
        return scopes.get(item[0]) or f"question {item[0]}"

    heads = ("who", "with", "criterion", "n", "alike", "kappa [95 %]")
    criteria = list(dict.fromkeys(item[3] for labels in raters.values() for item in labels))
    rows = []
    for (one, first), (other, second) in combinations(raters.items(), 2):
        for criterion in (*criteria, "all"):
            ours, theirs = (
                {item: label for item, label in labels.items() if criterion in ("all", item[3])}
                for labels in (first, second)
            )
            rows.append((one, other, criterion, *_agreed(agreement(ours, theirs, scope=scope))))
    notes = (
        "Cohen's kappa over A, B and tie: 1 is full agreement, 0 what chance gives; items are "
        "questions and pairs that both have labelled; none where both gave one label throughout; "
        "intervals resample whole questions, and questions that share a scope, together",
    )
    return Table("agreement", heads, tuple(rows), notes, texts=heads[:3])


def _agreed(agreement: Agreement | None) -> tuple[str, str, str]:
    if agreement is None:
        return "0", MISSING, MISSING
    kappa = MISSING
    if agreement.kappa is not None:
        kappa = f"{agreement.kappa:.2f} [{agreement.low:.2f}, {agreement.high:.2f}]"
    return str(agreement.n), f"{agreement.alike:.0%}", kappa


def judged_table(runs: Sequence[tuple[str, Values, Scopes]]) -> Table:
    """Return a row for each run, metric and judge; means are over answers that have a value.

    Runs are (title, values, scopes); intervals draw the questions of one scope together.
    """
    heads = ("method", "metric", "n", "missing", "mean [95 %]", "judge")
    rows = []
    clusters: set[int] = set()
    for title, values, scopes in runs:
        for judge, metrics in values.items():
            for metric, by_question in metrics.items():
                mean = mean_of(by_question, scopes)
                n = mean.n if mean else 0
                clusters.add(mean.clusters if mean else 0)
                rows.append((title, metric, str(n), str(len(by_question) - n), _shown(mean), judge))
    notes = (
        "missing: answers whose judgement failed, could not be read, or had nothing to judge; "
        "they are in no mean",
        f"intervals are 95 % bootstrap over {resampling_units(clusters)}",
        "a judge of the same family as the reader tends to favour it",
    )
    return Table("judged answers", heads, tuple(rows), notes, texts=("method", "metric", "judge"))


def _shown(mean: Mean | None) -> str:
    if mean is None:
        return MISSING
    return f"{mean.mean:.3f}{shown_interval(mean.low, mean.high, mean.n)}"
