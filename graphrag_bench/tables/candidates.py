"""The stored runs that qualify for a row of a paper's table, each with its grade there.

A run qualifies for a row when it has the method and the settings that the row names. Runs
on the paper's data by the paper's model come first. Whatever else a table has comes from one group
of runs (one data set, one model, as many questions, one judge) for each model of the paper, so that
its methods compare.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import attrgetter
from typing import Any

from graphrag_bench.judging.pairs import StoredVerdicts
from graphrag_bench.papers.printed import PaperTable, Part, Printed
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.tables.grading import (
    Grade,
    Offered,
    conditions,
    fitting,
    grade,
    grade_of_sizes,
    of_both,
)

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
        metrics = self.run.metrics
        return metrics["dataset"], metrics["llm"], metrics["selected"], self.judge

    @property
    def order(self) -> tuple[Any, ...]:
        """The nearest to the paper first, then the one with more questions, then by key."""
        metrics, other = self.run.metrics, self.other.metrics["key"] if self.other else ""
        near = self.grade.letter, len(self.grade.others), len(self.grade.differences)
        return *near, -metrics["n"], metrics["key"], other, self.judge


def candidates(
    table: PaperTable, cell: Printed, offered: Sequence[Offered], verdicts: StoredVerdicts
) -> list[Candidate]:
    """Return the runs that qualify for a cell; for a judged metric only those a judge has seen.

    A cell that is made of several runs takes them from one group: data set, model, questions and
    judge.
    """
    parts = [list(_of_part(table, cell, part, offered, verdicts)) for part in table.parts(cell)]
    if len(parts) == 1:
        return parts[0]
    whole = []
    for group in sorted({one.group for runs in parts for one in runs}):
        nearest = [_nearest(one for one in runs if one.group == group) for runs in parts]
        there = [one for one in nearest if one is not None]
        graded = reduce(of_both, (one.grade for one in there))
        if len(there) < len(nearest):
            differs = (*graded.differences, f"over {len(there)} of {len(nearest)} runs")
            graded = Grade("C" if graded.others else "B", graded.others, differs)
        whole.append(replace(there[0], grade=graded, parts=tuple(nearest)))
    return whole


def _nearest(runs: Iterable[Candidate]) -> Candidate | None:
    return min(runs, key=ORDER, default=None)


def _of_part(
    table: PaperTable,
    cell: Printed,
    part: Part,
    offered: Sequence[Offered],
    verdicts: StoredVerdicts,
) -> Iterator[Candidate]:
    metric = table.metric(cell)
    if metric.criteria:
        for pair in pairs(table, cell, part, offered):
            keys = [one.run.folder.path.name for one in pair]
            judges = [
                set(verdicts.judges(keys[0], keys[1], criterion)) for criterion in metric.criteria
            ]
            for judge in sorted(set.intersection(*judges)):
                yield _pair_candidate(table, cell, part, pair, judge)
        return
    theirs = conditions(table, cell, part.own)
    if metric.graph or metric.build:
        theirs = replace(theirs, own_questions=False, corpus_alone=True)
    graded = grade_of_sizes if metric.count else grade
    for one in fitting(table, cell, offered, part.own):
        if not metric.judged_answer:
            yield Candidate(one.run, graded(one.ours, theirs))
            continue
        for judge in verdicts.judges_of(one.run.folder.path, metric.judged_answer):
            yield Candidate(one.run, grade(replace(one.ours, judge=judge), theirs), judge=judge)


def pairs(
    table: PaperTable, cell: Printed, part: Part, offered: Sequence[Offered]
) -> list[tuple[Offered, Offered]]:
    """Return the runs of both sides of a part, on one set and by one model; none with itself."""
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


def _pair_candidate(
    table: PaperTable, cell: Printed, part: Part, pair: tuple[Offered, Offered], judge: str
) -> Candidate:
    one, other = pair
    both = of_both(
        grade(replace(one.ours, judge=judge), conditions(table, cell, part.own)),
        grade(replace(other.ours, judge=judge), conditions(table, cell.opposite, part.other)),
    )
    return Candidate(one.run, both, other.run, judge)


def chosen(rows: Mapping[Row, Sequence[Candidate]]) -> dict[Row, Candidate]:
    """Return the run of each row, out of those that have a figure for it, where there is one.

    The nearest to the paper on its own data by its own model; else one of the group that fills most
    rows, so that they compare.
    """
    groups = {
        llm: _largest_group({row: runs for row, runs in rows.items() if row[2] == llm})
        for llm in sorted({row[2] for row in rows})
    }
    picked = {}
    for row, runs in rows.items():
        best = _nearest(one for one in runs if one.grade.comparable)
        if one := best or _nearest(one for one in runs if one.group == groups[row[2]]):
            picked[row] = one
    return picked


def _largest_group(candidates_of: Mapping[Row, Sequence[Candidate]]) -> Group | None:
    rows: dict[Group, set[Row]] = {}
    others: dict[Group, int] = {}
    for row, runs in candidates_of.items():
        for one in runs:
            if not one.grade.comparable:
                rows.setdefault(one.group, set()).add(row)
                others[one.group] = len(one.grade.others)
    ranked = sorted(rows, key=lambda group: (-len(rows[group]), others[group], -group[2], group))
    return ranked[0] if ranked else None
