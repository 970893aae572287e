"""Select a stored run for each row of a paper's table.

A run qualifies for a row if it has the row's method and settings. Runs on the paper's data with the
paper's model come first. All other runs of a table belong to the same group (data set, model,
number of questions, judge) for each model of the paper, so that the methods are comparable.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import attrgetter
from typing import Any

from graphrag_bench.judging.pairs import StoredVerdicts
from graphrag_bench.papers.names import PrintedMetric
from graphrag_bench.papers.printed import PaperTable, Part, PrintedCell, Recipe, TableRow
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.tables.grading import (
    Grade,
    Mismatch,
    RunConditions,
    grade,
    has_setting,
    is_model,
)


def qualifying(recipe: Recipe, conditions: Sequence[RunConditions]) -> list[RunConditions]:
    """Return the runs with the settings of a recipe."""
    wanted = recipe.required
    if wanted is None:
        return []
    return [
        one
        for one in conditions
        if all(has_setting(one.settings, text) for text in wanted)
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
    """Whether the model belongs to another row; an unknown model belongs to the first row."""
    own, listed, known = recipe.cell.llm, recipe.table.llms, recipe.table.paper.llms
    if len(listed) < 2 or not own or is_model(llm, known[own]):
        return False
    return own != listed[0] or any(is_model(llm, known[name]) for name in listed)


GradedRow = tuple[TableRow, str]
"""Row of the paper, with the kind of metric if that kind is graded separately."""
RunGroup = tuple[str, str, int, str, str]


@dataclass(frozen=True)
class Candidate:
    """Run that qualifies for a row, with its grade; a win rate also has the `other` run.

    A row of several runs has a candidate or None for each in `parts` (`PaperTable.parts`); the
    other fields then describe the first run.
    """

    run: StoredRun
    grade: Grade
    other: StoredRun | None = None
    judge: str = ""
    protocol: str = ""
    parts: "tuple[Candidate | None, ...]" = ()

    @property
    def group(self) -> RunGroup:
        """Data set, answering model, number of questions, judge and protocol."""
        metrics, how = self.run.metrics, (self.judge, self.protocol)
        return metrics["dataset"], metrics["llm"], metrics["selected"], *how

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Sort key: nearest to the paper, then most questions, then the run key."""
        metrics, other = self.run.metrics, self.other.metrics["key"] if self.other else ""
        near = self.grade.letter, len(self.grade.major), len(self.grade.mismatches)
        return *near, -metrics["n"], metrics["key"], other, self.judge, self.protocol


def candidates(
    table: PaperTable,
    cell: PrintedCell,
    conditions: Sequence[RunConditions],
    verdicts: StoredVerdicts,
) -> list[Candidate]:
    """Return the runs that qualify for a cell; for a judged metric only judged runs.

    The parts of a cell belong to the same group: data set, model, questions and judge.
    """
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
    """The judges of the runs with their protocols; ("", "") if the metric needs no judge."""
    folders = [one.run.folder.path for one in runs]
    if metric.criteria:
        first, second = (folder.name for folder in folders)
        seen = [set(verdicts.judges(first, second, name)) for name in metric.criteria]
        return sorted(set.intersection(*seen))
    if metric.kind == "judged_answer":
        return [(judge, "") for judge in verdicts.judges_of(folders[0], metric.value)]
    return [("", "")]


def grade_of(part: Part, runs: Sequence[RunConditions], judge: str = "", how: str = "") -> Grade:
    """Return the grade of a figure, with all mismatches of every run of its part."""
    sides = zip(runs, part.sides, strict=True)
    return Grade.of(one for run, of in sides for one in grade(run, of, judge, how).mismatches)


def stored_of(part: Part, conditions: Sequence[RunConditions]) -> list[tuple[RunConditions, ...]]:
    """Return the stored runs of a part; for a win rate, pairs with one data set and one model."""
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
    """Select a run for each row from its candidates.

    The nearest run of grade A or B is preferred, then the nearest run of the group that fills most
    rows.
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
