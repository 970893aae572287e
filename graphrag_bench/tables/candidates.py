"""Select a stored run for each row of a paper's table.

A run qualifies for a row if it has the row's method and settings. Runs on the paper's data with the
paper's model come first. For each model of the paper, the other selected runs share one data
set, model, number of questions and judge (their *group*), so that the methods are comparable.
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
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.tables import grading
from graphrag_bench.tables.grading import Grade, Mismatch, RunConditions


def qualifying(recipe: Recipe, conditions: Sequence[RunConditions]) -> list[RunConditions]:
    """Return the runs that have the settings in a recipe, which describes a printed figure."""
    wanted = recipe.required
    if wanted is None:
        return []
    return [
        one
        for one in conditions
        if all(grading.has_setting(one.settings, text) for text in wanted)
        and not _of_another_row(recipe, one.run.metrics["llm"])
        and not _of_another_set(recipe, one)
    ]


def _of_another_set(recipe: Recipe, one: RunConditions) -> bool:
    place, table = recipe.place, recipe.table
    asks_others = not one.abstract if place.abstract else one.card != one.run.metrics["dataset"]
    if not table.counts:
        return place.abstract and asks_others and one.card == place.card
    return one.card != place.card or (table.counts_questions and asks_others)


def _of_another_row(recipe: Recipe, llm: str) -> bool:
    """Return whether the model is of another row; an unknown model is of the first row."""
    own, listed, known = recipe.cell.llm, recipe.table.llms, recipe.table.paper.llms
    if len(listed) < 2 or not own or grading.is_model(llm, known[own]):
        return False
    return own != listed[0] or any(grading.is_model(llm, known[name]) for name in listed)


GradedRow = tuple[TableRow, str]
"""Row of a paper's table, with a kind of metric if a run is selected for this kind alone."""
RunGroup = tuple[str, str, int, str, str]


@dataclass(frozen=True)
class Candidate:
    """Run that qualifies for a row of a paper's table, with its grade of comparability.

    For a win rate, `other` is the opponent's run. If several runs give the figures of a row,
    `parts` has a candidate for each of them, or None for a missing run; the other fields then
    describe the first run.
    """

    run: StoredRun
    grade: Grade
    other: StoredRun | None = None
    judge: str = ""
    protocol: str = ""
    parts: "tuple[Candidate | None, ...]" = ()

    @property
    def group(self) -> RunGroup:
        """What comparable runs share: data set, model, number of questions, judge and protocol."""
        metrics, how = self.run.metrics, (self.judge, self.protocol)
        return metrics["dataset"], metrics["llm"], metrics["selected"], *how

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """The key by which candidates are sorted.

        Runs that are nearest to the paper come first. Of equally near runs, those with more
        questions come first.
        """
        metrics, other = self.run.metrics, self.other.metrics["key"] if self.other else ""
        near = self.grade.letter, len(self.grade.major), len(self.grade.mismatches)
        return *near, -metrics["n"], metrics["key"], other, self.judge, self.protocol


def candidates(
    table: PaperTable,
    cell: PrintedCell,
    conditions: Sequence[RunConditions],
    verdicts: StoredVerdicts,
) -> list[Candidate]:
    """Return the runs that qualify for a printed figure; for a judged metric, only judged runs."""
    parts = [list(_of_part(part, conditions, verdicts)) for part in table.parts(cell)]
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


def _of_part(
    part: Part, conditions: Sequence[RunConditions], verdicts: StoredVerdicts
) -> Iterator[Candidate]:
    for runs in stored_of(part, conditions):
        other = runs[1].run if len(runs) > 1 else None
        for how in _judges(part.own.metric, runs, verdicts):
            yield Candidate(runs[0].run, grade_of(part, runs, *how), other, *how)


def _judges(
    metric: PrintedMetric, runs: Sequence[RunConditions], verdicts: StoredVerdicts
) -> list[tuple[str, str]]:
    """Return the judges of runs with their protocols; ("", "") if the metric needs no judge."""
    folders = [one.run.folder.path for one in runs]
    if metric.criteria:
        first, second = (folder.name for folder in folders)
        seen = [set(verdicts.judges(first, second, name)) for name in metric.criteria]
        return sorted(set.intersection(*seen))
    if metric.kind == "judged_answer":
        return [(judge, "") for judge in verdicts.judges_of(folders[0], metric.value)]
    return [("", "")]


def grade_of(part: Part, runs: Sequence[RunConditions], judge: str = "", how: str = "") -> Grade:
    """Return the grade of a figure; the grade of a win rate has the mismatches of both runs."""
    grades = [grading.grade(run, of, judge, how) for run, of in zip(runs, part.sides, strict=True)]
    return Grade.of(mismatch for one in grades for mismatch in one.mismatches)


def stored_of(part: Part, conditions: Sequence[RunConditions]) -> list[tuple[RunConditions, ...]]:
    """Return the stored runs, or for a win rate the pairs of runs, that can give a figure."""
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
    """Select a run for each row of a paper's table from its candidates.

    The run nearest to the paper is selected if its grade is A or B. Otherwise a run of the group
    that has runs for most rows is selected: of these runs, the nearest to the paper.
    """
    groups = {
        llm: _largest_group({row: runs for row, runs in rows.items() if row[0][2] == llm})
        for llm in sorted({row[0][2] for row in rows})
    }
    picked = {}
    for row, runs in rows.items():
        best = _nearest(one for one in runs if not one.grade.major)
        if one := best or _nearest(one for one in runs if one.group == groups[row[0][2]]):
            picked[row] = one
    return picked


def _largest_group(candidates_of: Mapping[GradedRow, Sequence[Candidate]]) -> RunGroup | None:
    n_rows: Counter[RunGroup] = Counter()
    others: dict[RunGroup, int] = {}
    for runs in candidates_of.values():
        groups = {one.group: len(one.grade.major) for one in runs if one.grade.major}
        n_rows.update(groups.keys())
        others |= groups

    def place(group: RunGroup) -> tuple[int, int, int, RunGroup]:
        return -n_rows[group], others[group], -group[2], group

    return min(n_rows, key=place, default=None)
