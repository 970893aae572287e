"""Select a stored run with the method and settings of each row of a paper's table.

Runs on the paper's data with the paper's model are preferred. Rows without such runs get runs that
share one data set, model, number of questions and judge, so that these rows are comparable.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import attrgetter
from typing import Any

from graphrag_bench.judging.tables import StoredVerdicts
from graphrag_bench.papers.names import PrintedMetric
from graphrag_bench.papers.printed import PaperTable, Part, PrintedCell, Recipe, TableRow
from graphrag_bench.report.rows import group_by
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.tables import grading
from graphrag_bench.tables.grading import Grade, Mismatch, RunConditions

GradedRow = tuple[TableRow, str]
"""Row of a paper's table and kind of metric, which is "" for metrics that depend on answers."""
RunGroup = tuple[str, str, int, str, str]


def qualifying(recipe: Recipe, conditions: Sequence[RunConditions]) -> list[RunConditions]:
    """Return the runs with all settings that a printed value requires."""
    place, table, wanted = recipe.place, recipe.table, recipe.required
    own, listed, known = recipe.cell.llm, table.llms, table.paper.llms
    others = {table.paper.datasets[name].card for name in table.datasets} - {place.card}

    def of_row(llm: str) -> bool:
        """Return whether the row is for this model. Unlisted models count as the first model."""
        names = [name for name in listed if grading.is_model(llm, known[name])] or listed[:1]
        return len(listed) < 2 or not own or own in names

    def of_set(one: RunConditions) -> bool:
        same = one.abstract if place.abstract else one.card == one.run.metrics["dataset"]
        if not table.counts:
            return not place.abstract or same or one.card != place.card
        return one.card == place.card and (same or not table.counts_questions)

    return [
        one for one in conditions
        if one.card not in others  # the table has rows for these data sets
        and all(grading.has_setting(one.settings, text) for text in wanted)
        and of_row(one.run.metrics["llm"]) and of_set(one)
    ]  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """Stored run that can fill a row of a paper's table, and its grade of comparability.

    For a win rate, `other` is the run of the opponent. If a value is the mean of several runs,
    `parts` has a candidate or None for each run, and the other fields describe the first run.
    """

    run: StoredRun
    grade: Grade
    other: StoredRun | None = None
    judge: str = ""
    protocol: str = ""
    parts: "tuple[Candidate | None, ...]" = ()

    @property
    def group(self) -> RunGroup:
        """The data set, model, number of questions, judge and protocol of the run."""
        metrics, how = self.run.metrics, (self.judge, self.protocol)
        return metrics["dataset"], metrics["llm"], metrics["selected"], *how

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Runs nearest to the paper come first, then runs with more questions."""
        metrics, other = self.run.metrics, self.other.metrics["key"] if self.other else ""
        near = self.grade.letter, len(self.grade.major), len(self.grade.mismatches)
        return *near, -metrics["n"], metrics["key"], other, self.judge, self.protocol


def candidates(
    table: PaperTable, cell: PrintedCell, stored: Sequence[RunConditions], verdicts: StoredVerdicts
) -> list[Candidate]:
    """Return the candidates for a printed value; a judged metric needs judged runs."""

    def of_part(part: Part) -> Iterator[Candidate]:
        for runs in stored_of(part, stored):
            other = runs[1].run if len(runs) > 1 else None
            for how in _judges(part.own.metric, runs, verdicts):
                yield Candidate(runs[0].run, grade_of(part, runs, *how), other, *how)

    parts = [list(of_part(part)) for part in table.parts(cell)]
    if len(parts) == 1:
        return parts[0]
    whole = []
    for group in sorted({one.group for runs in parts for one in runs}):
        nearest = [_nearest(one for one in runs if one.group == group) for runs in parts]
        there = [one for one in nearest if one is not None]
        mismatches = [field for one in there for field in one.grade.mismatches]
        if len(there) < len(nearest):
            mismatches.append(Mismatch("runs", str(len(there)), str(len(nearest))))
        whole.append(replace(there[0], grade=Grade.of(mismatches), parts=tuple(nearest)))
    return whole


def _nearest(runs: Iterable[Candidate]) -> Candidate | None:
    return min(runs, key=attrgetter("sort_key"), default=None)


def _judges(
    metric: PrintedMetric, runs: Sequence[RunConditions], verdicts: StoredVerdicts
) -> list[tuple[str, str]]:
    """Return the judge and protocol pairs of runs; [("", "")] if the metric needs no judge."""
    folders = [one.run.folder.path for one in runs]
    if metric.criteria:
        first, second = (folder.name for folder in folders)
        seen = [set(verdicts.judges(first, second, name)) for name in metric.criteria]
        return sorted(set.intersection(*seen))
    if metric.kind == "judged_answer":
        scopes = runs[0].run.scopes
        return [(judge, "") for judge in verdicts.judged(folders[0], metric.value, scopes)]
    return [("", "")]


def grade_of(part: Part, runs: Sequence[RunConditions], judge: str = "", how: str = "") -> Grade:
    """Return the grade of a value. The grade of a win rate includes the mismatches of both runs."""
    grades = [grading.grade(run, of, judge, how) for run, of in zip(runs, part.sides, strict=True)]
    return Grade.of(mismatch for one in grades for mismatch in one.mismatches)


def stored_of(part: Part, conditions: Sequence[RunConditions]) -> list[tuple[RunConditions, ...]]:
    """Return the stored runs that can give a value; for a win rate, the pairs of runs."""
    cell, own = part.own.cell, qualifying(part.own, conditions)
    if not part.own.metric.criteria:
        return [(one,) for one in own]
    if not cell.versus or cell.method == cell.versus:
        return []
    return [
        (one, other)
        for one, other in product(own, qualifying(part.other, conditions))
        if all(one.run.metrics[name] == other.run.metrics[name] for name in ("dataset", "llm"))
        and one.run.folder.path != other.run.folder.path
    ]


def selected_runs(rows: Mapping[GradedRow, Sequence[Candidate]]) -> dict[GradedRow, Candidate]:
    """Select for each row the candidate whose conditions are closest to those of the paper.

    If all candidates of a row have grade C, only candidates from one group are used. For each
    model, this is the group that covers the most rows.
    """
    by_llm = group_by(rows, lambda row: row[0][2])
    groups = {llm: _largest_group([rows[row] for row in of]) for llm, of in by_llm.items()}
    picked = {}
    for row, runs in rows.items():
        best = _nearest(one for one in runs if not one.grade.major)
        if one := best or _nearest(one for one in runs if one.group == groups[row[0][2]]):
            picked[row] = one
    return picked


def _largest_group(rows: Iterable[Sequence[Candidate]]) -> RunGroup | None:
    n_rows: Counter[RunGroup] = Counter()
    n_major: dict[RunGroup, int] = {}
    for runs in rows:
        groups = {one.group: len(one.grade.major) for one in runs if one.grade.major}
        n_rows.update(groups.keys())
        n_major |= groups
    places = ((-n, n_major[group], -group[2], group) for group, n in n_rows.items())
    return min(places, default=(None,))[-1]
