"""The stored runs that qualify for a row of a paper's table, each with its grade there.

A run qualifies for a row when it has the method and the settings that the row names. Runs
on the paper's data by the paper's model come first. Whatever else a table has comes from one group
of runs (one data set, one model, as many questions, one judge) for each model of the paper, so that
its methods compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from graphrag_bench.analysis.judging.verdicts import StoredVerdicts
from graphrag_bench.analysis.papers.grading import Grade, grade, grade_of_sizes, of_both
from graphrag_bench.analysis.papers.offered import Offered, conditions, fitting
from graphrag_bench.papers.printed import PaperTable, Part, Printed
from graphrag_bench.runs.stored import StoredRun

Row = tuple[str, str, str, tuple[str, ...], str]
"""A row of the paper (`Printed.row`), and the kind of metric where that is graded apart."""
Group = tuple[str, str, int, str]
ORDER = attrgetter("order")
"""The key by which candidates are sorted."""


@dataclass(frozen=True)
class Candidate:
    """A run that qualifies for a row, with its grade; a win rate has the `other` run too.

    Of a row that is made of several runs, `parts` has one for each (`PaperTable.parts`), None for
    one that is lacking, and the rest is that of the first.
    """

    run: StoredRun
    grade: Grade
    other: StoredRun | None = None
    judge: str = ""
    parts: tuple[Candidate | None, ...] = ()

    @property
    def group(self) -> Group:
        """Data set, answering model, number of questions and judge."""
        held = self.run.metrics
        return held["dataset"], held["llm"], held["selected"], self.judge

    @property
    def order(self) -> tuple[Any, ...]:
        """The nearest to the paper first, then the one with more questions, then by key."""
        found, held = self.grade, self.run.metrics
        near = found.letter, len(found.others), len(found.differences)
        other = self.other.metrics["key"] if self.other else ""
        return *near, -held["n"], held["key"], other, self.judge


def candidates(
    table: PaperTable, cell: Printed, offered: Sequence[Offered], verdicts: StoredVerdicts
) -> list[Candidate]:
    """The runs that qualify for a cell; for a judged metric only runs that a judge has seen.

    A cell that is made of several runs takes them from one group: data set, model, questions and
    judge.
    """
    found = [_of_part(table, cell, part, offered, verdicts) for part in table.parts(cell)]
    return found[0] if len(found) == 1 else _together(found)


def _together(found: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    made = []
    for group in sorted({one.group for held in found for one in held}):
        nearest = [
            min((one for one in held if one.group == group), key=ORDER, default=None)
            for held in found
        ]
        there = [one for one in nearest if one is not None]
        whole = there[0].grade
        for one in there[1:]:
            whole = of_both(whole, one.grade)
        if len(there) < len(nearest):
            lacking = f"over {len(there)} of {len(nearest)} runs"
            whole = Grade("C" if whole.others else "B", whole.others, (*whole.differences, lacking))
        made.append(replace(there[0], grade=whole, parts=tuple(nearest)))
    return made


def _of_part(
    table: PaperTable,
    cell: Printed,
    part: Part,
    offered: Sequence[Offered],
    verdicts: StoredVerdicts,
) -> list[Candidate]:
    metric = table.metric(cell)
    if metric.criteria:
        return [
            one
            for pair in pairs(table, cell, part, offered)
            for one in _seen(table, cell, part, pair, verdicts)
        ]
    own = fitting(table, cell, offered, part.own)
    theirs = conditions(table, cell, part.own)
    if metric.judged_answer:
        return [
            Candidate(one.run, grade(replace(one.ours, judge=judge), theirs), judge=judge)
            for one in own
            for judge in verdicts.judges_of(one.run.folder.path, metric.judged_answer)
        ]
    if metric.graph or metric.build:
        theirs = replace(theirs, own_questions=False, corpus_alone=True)
    graded = grade_of_sizes if metric.count else grade
    return [Candidate(one.run, graded(one.ours, theirs)) for one in own]


def pairs(
    table: PaperTable, cell: Printed, part: Part, offered: Sequence[Offered]
) -> list[tuple[Offered, Offered]]:
    """The runs of both sides of a part, on one set and by one model; none with itself."""
    if not cell.versus or cell.method == cell.versus:
        return []
    others = fitting(table, cell.opposite, offered, part.other)
    return [
        (one, other)
        for one in fitting(table, cell, offered, part.own)
        for other in others
        if (one.ours.dataset, one.ours.llm) == (other.ours.dataset, other.ours.llm)
        and one.run.folder.path != other.run.folder.path
    ]


def _seen(
    table: PaperTable,
    cell: Printed,
    part: Part,
    pair: tuple[Offered, Offered],
    verdicts: StoredVerdicts,
) -> list[Candidate]:
    keys = [one.run.folder.path.name for one in pair]
    said = [
        set(verdicts.judges(keys[0], keys[1], criterion))
        for criterion in table.metric(cell).criteria
    ]
    return [pair_candidate(table, cell, part, pair, j) for j in sorted(set.intersection(*said))]


def pair_candidate(
    table: PaperTable, cell: Printed, part: Part, pair: tuple[Offered, Offered], judge: str = ""
) -> Candidate:
    """A pair of runs with the grade of both sides; `judge` "" for one that nobody has compared."""
    one, other = pair
    found = of_both(
        grade(replace(one.ours, judge=judge), conditions(table, cell, part.own)),
        grade(replace(other.ours, judge=judge), conditions(table, cell.opposite, part.other)),
    )
    return Candidate(one.run, found, other.run, judge)


def chosen(found: Mapping[Row, Sequence[Candidate]]) -> dict[Row, Candidate]:
    """The run of each row, out of those that have a figure for it, as far as there is one.

    The nearest to the paper on its own data by its own model; else one of the group that fills most
    rows, so that they compare.
    """
    best = {
        row: min((one for one in held if one.grade.comparable), key=ORDER, default=None)
        for row, held in found.items()
    }
    groups = {
        llm: _largest_group({row: held for row, held in found.items() if row[2] == llm})
        for llm in sorted({row[2] for row in found})
    }
    others = {
        row: min((one for one in held if one.group == groups[row[2]]), key=ORDER, default=None)
        for row, held in found.items()
    }
    return {row: one for row in found if (one := best[row] or others[row])}


def _largest_group(found: Mapping[Row, Sequence[Candidate]]) -> Group | None:
    rows: dict[Group, set[Row]] = {}
    others: dict[Group, int] = {}
    for row, held in found.items():
        for one in held:
            if not one.grade.comparable:
                rows.setdefault(one.group, set()).add(row)
                others[one.group] = len(one.grade.others)
    ranked = sorted(rows, key=lambda group: (-len(rows[group]), others[group], -group[2], group))
    return ranked[0] if ranked else None
