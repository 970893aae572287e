"""Tables of judged answers and of pairwise comparisons: win rates, biases, matrices, agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from graphrag_bench.analysis.judging.agreement import Agreement, agreement
from graphrag_bench.analysis.judging.bias import Corrected, corrected
from graphrag_bench.analysis.judging.blind_sheet import Item, Labels
from graphrag_bench.analysis.judging.both_orders import (
    BothOrders,
    HeadToHead,
    head_to_head,
    win_matrix,
)
from graphrag_bench.analysis.judging.verdicts import Scopes, Values, mean_of
from graphrag_bench.evaluation.significance import holm
from graphrag_bench.evaluation.statistics import Mean, mean_with_interval
from graphrag_bench.report.notes import drawn_over
from graphrag_bench.report.rendering import MISSING, Table, p_head, shown_interval, shown_p

_HEADS = (
    "A", "B", "criterion", "n", "missing", "A wins", "ties", "B wins", "A's rate [95 %]",
    "p", "without place", "without place and length",
)  # fmt: skip
_NOTES = (
    "every pair was judged in both orders; a tie is a pair whose winner changed with the order, "
    "and counts half; missing: one of the two verdicts failed or could not be read, in no rate",
    "without ...: A's rate by a model of the judge in which each verdict is decided by quality, "
    "place or length; in brackets by one in which place and length add to the quality it sees. The "
    "verdicts cannot tell which holds; neither does where quality depends on length. ?: the two "
    "models name different winners, so these verdicts decide none",
)
_AUDITED = (
    "A", "B", "criterion", "flips [95 %]", "first wins [95 %]", "longer wins [95 %]",
    "length effect [95 %]", "weight of place", "weight of length",
)  # fmt: skip
_OF_AUDIT = (
    "flips: share of pairs that changed with the order (a judge that always takes the first: "
    "100 %); first wins: share of verdicts for the answer shown first (fair: 50 %)",
    "longer wins: share of points of the longer answer; length effect: how much more of the points "
    "A gets where its answer is the longer one (0: none, 1: length decides all)",
    "weights: share of the verdicts that the first place (less than 0: the second) and the longer "
    "answer decide, by the same model",
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
    def found(self) -> HeadToHead:
        """The win rates from the verdicts."""
        return head_to_head(self.verdicts, scopes=self.scopes)

    @cached_property
    def without(self) -> tuple[Corrected | str, Corrected | str]:
        """A's rate without the judge's leaning to places, and to places and lengths."""
        place, both = (
            corrected(self.verdicts, length=length, scopes=self.scopes) for length in (False, True)
        )
        return place, both

    @property
    def names(self) -> tuple[str, str, str]:
        """The first cells of a row."""
        return self.a, self.b, self.criterion


def match_table(caption: str, matches: Sequence[Match]) -> Table:
    """A row for each pair and criterion; notes say why a rate could not be corrected.

    Holm's correction is over all rows that have a verdict.
    """
    rows = []
    known = [match for match in matches if match.found.n]
    ps = dict(zip(map(id, known), holm([match.found.p for match in known]), strict=True))
    why: dict[str, list[str]] = {}
    for match in matches:
        found = match.found
        counts = (found.n, found.missing, found.wins, found.ties, found.losses)
        p = shown_p(ps[id(match)]) if found.n else MISSING
        without = [_corrected(one) for one in match.without]
        rows.append((*match.names, *map(str, counts), _percent(found.rate), p, *without))
        for what, one in zip(("place", "place and length"), match.without, strict=True):
            if isinstance(one, str):
                reason = f"not corrected for {what}: {one}"
                why.setdefault(reason, []).append(" - ".join(match.names))
    notes = [f"{reason} ({', '.join(names)})" for reason, names in why.items()]
    of_p = (
        "p: two-sided paired permutation test of A's points against B's (mid-p; of questions by "
        "themselves the sign test of wins against losses), Holm-corrected for the "
        f"{len(known)} tests of this table"
    )
    notes = [f"intervals are 95 % bootstrap over {_drawn(matches)}", of_p, *notes]
    heads = tuple(p_head([len(known)]) if head == "p" else head for head in _HEADS)
    return Table(caption, heads, tuple(rows), (*_NOTES, *notes), texts=_HEADS[:3])


def _drawn(matches: Sequence[Match]) -> str:
    return drawn_over(match.found.rate.clusters for match in matches if match.found.rate)


def audit_table(matches: Sequence[Match]) -> Table:
    """A row for each pair and criterion: how far places and lengths have decided."""
    rows = []
    for match in matches:
        found = match.found
        effect = found.length
        shown = f"{effect.mean:+.2f} [{effect.low:+.2f}, {effect.high:+.2f}]" if effect else MISSING
        place, both = match.without
        held = both if isinstance(both, Corrected) else place
        of_place = MISSING if isinstance(held, str) else f"{held.place:+.2f}"
        of_length = MISSING if isinstance(both, str) else f"{both.length:+.2f}"
        rates = map(_percent, (found.flips, found.first, found.longer))
        rows.append((*match.names, *rates, shown, of_place, of_length))
    notes = (f"intervals as above, over {_drawn(matches)}", *_OF_AUDIT)
    return Table("the judge", _AUDITED, tuple(rows), notes, texts=_AUDITED[:3])


def _percent(held: Mean | Corrected | None) -> str:
    if held is None:
        return MISSING
    rate = held.rate if isinstance(held, Corrected) else held.mean
    return f"{100 * rate:.1f} [{100 * held.low:.0f}, {100 * held.high:.0f}]"


def _corrected(held: Corrected | str) -> str:
    if isinstance(held, str):
        return MISSING
    return f"{_percent(held)} ({100 * held.by_degree:.1f}){'' if held.decided else ' ?'}"


def matrices(
    titles: Sequence[str], matches: Sequence[Match]
) -> dict[str, list[list[float | None]]]:
    """For each criterion the percentage of questions that the row wins against the column.

    Rows and columns are the runs of these titles, in their order; see `win_matrix`.
    """
    found = {}
    for criterion in dict.fromkeys(match.criterion for match in matches):
        held = ((m.a, m.b, m.found.rate) for m in matches if m.criterion == criterion)
        means = {(a, b): rate.mean if rate else None for a, b, rate in held}
        rates = [[means.get((row, column)) for column in titles] for row in titles]
        found[criterion] = win_matrix(rates)
    return found


def matrix_tables(titles: Sequence[str], matches: Sequence[Match]) -> list[Table]:
    """The `matrices` as tables."""
    tables = []
    for criterion, matrix in matrices(titles, matches).items():
        rows = tuple(
            (title, *[MISSING if cell is None else f"{cell:.1f}" for cell in cells])
            for title, cells in zip(titles, matrix, strict=True)
        )
        note = (
            "row against column, percent; a cell and its mirror sum to 100; the first table has "
            "the intervals and p of each pair"
        )
        tables.append(Table(f"{criterion}: win rates", ("", *titles), rows, (note,), texts=("",)))
    return tables


def agreement_table(raters: Mapping[str, Labels], scopes: Scopes) -> Table:
    """A row for each two raters and criterion, and one over all criteria.

    Intervals draw the items of one question together, and those of one scope (`scopes`, by
    question).
    """

    def scope(item: Item) -> str:
        return scopes.get(item[0]) or f"question {item[0]}"

    heads = ("who", "with", "criterion", "n", "alike", "kappa [95 %]")
    criteria = list(dict.fromkeys(item[3] for held in raters.values() for item in held))
    rows = []
    for (one, first), (other, second) in combinations(raters.items(), 2):
        for criterion in (*criteria, "all"):
            ours, theirs = (
                {item: label for item, label in held.items() if criterion in ("all", item[3])}
                for held in (first, second)
            )
            rows.append((one, other, criterion, *_agreed(agreement(ours, theirs, scope=scope))))
    notes = (
        "Cohen's kappa over A, B and tie: 1 is full agreement, 0 what chance gives; items are "
        "questions and pairs that both have labelled; none where both gave one label throughout; "
        "intervals resample whole questions, and questions that share a scope, together",
    )
    return Table("agreement", heads, tuple(rows), notes, texts=heads[:3])


def _agreed(found: Agreement | None) -> tuple[str, str, str]:
    """The number of items, the share labelled alike, and kappa with its interval."""
    if found is None:
        return "0", MISSING, MISSING
    kappa = MISSING
    if found.kappa is not None:
        kappa = f"{found.kappa:.2f} [{found.low:.2f}, {found.high:.2f}]"
    return str(found.n), f"{found.alike:.0%}", kappa


_POINTS = {"A": 1.0, "tie": 0.5, "B": 0.0}


def people_table(
    titles: Mapping[str, str],
    people: Mapping[str, Labels],
    pairs: Sequence[tuple[str, str]],
    scopes: Scopes,
) -> Table:
    """A row for each person, pair and criterion: wins, ties, losses and A's rate.

    Intervals draw questions of one scope (`scopes`, by question) together.
    """
    heads = ("who", "A", "B", "criterion", "n", "A wins", "ties", "B wins", "A's rate [95 %]")
    rows = []
    for who, held in people.items():
        for a, b in pairs:
            for criterion in dict.fromkeys(item[3] for item in held):
                said = {i[0]: v for i, v in held.items() if i[1:] == (a, b, criterion)}
                if said:
                    labels = list(said.values())
                    counts = (len(said), *map(labels.count, ("A", "tie", "B")))
                    points = [_POINTS[label] for label in labels]
                    rate = mean_with_interval(points, scopes=list(map(scopes.get, said)))
                    cells = (who, titles[a], titles[b], criterion, *map(str, counts))
                    rows.append((*cells, _percent(rate)))
    return Table("what people said", heads, tuple(rows), (), texts=heads[:4])


def judged_table(runs: Sequence[tuple[str, Values, Scopes]]) -> Table:
    """A row for each run, metric and judge; means are over the answers that have a value.

    Runs are (title, values, scopes); intervals draw the questions of one scope together.
    """
    heads = ("method", "metric", "n", "missing", "mean [95 %]", "judge")
    rows = []
    clusters: set[int] = set()
    for title, values, scopes in runs:
        for judge, metrics in values.items():
            for metric, held in metrics.items():
                mean = mean_of(held, scopes)
                n = mean.n if mean else 0
                clusters.add(mean.clusters if mean else 0)
                rows.append((title, metric, str(n), str(len(held) - n), _shown(mean), judge))
    notes = (
        "missing: answers whose judgement failed, could not be read, or had nothing to judge; "
        "they are in no mean",
        f"intervals are 95 % bootstrap over {drawn_over(clusters)}",
        "a judge of the same family as the reader tends to favour it",
    )
    return Table("judged answers", heads, tuple(rows), notes, texts=("method", "metric", "judge"))


def _shown(found: Mean | None) -> str:
    if found is None:
        return MISSING
    return f"{found.mean:.3f}{shown_interval(found.low, found.high, found.n)}"
