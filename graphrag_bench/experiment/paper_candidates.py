"""The stored runs that may stand in a row of a paper's table, each with its grade there.

A run may stand in a row when it has what makes the row: the method and the settings it names. Runs
on the paper's data by the paper's model come first. Whatever else a table has comes from one group
of runs (one data set, one model, as many questions, one judge) for each model of the paper, so that
its methods compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from graphrag_bench.data.dataset import card_names, load_card
from graphrag_bench.experiment.given_settings import decided, holds, stated
from graphrag_bench.experiment.stored import StoredRun
from graphrag_bench.experiment.verdicts import Verdicts
from graphrag_bench.report.grading import Grade, Ours, Theirs, grade, is_model, of_both
from graphrag_bench.report.papers import PaperTable, Printed

Row = tuple[str, str, str, tuple[str, ...], str]
"""A row of the paper (`Printed.row`), and the kind of metric where that is graded apart."""
Group = tuple[str, str, int, str]
_PACKAGED = ("methods", "operators", "graphrag_bench")
"""Where prompts of this project lie."""


@dataclass(frozen=True)
class Offered:
    """A stored run and its conditions, read once."""

    run: StoredRun
    ours: Ours

    @classmethod
    def of(cls, run: StoredRun, papers_prompts: bool) -> Offered:
        """The run with its conditions.

        The prompts count as the paper's where the user says so and none of them is packaged here.
        """
        held = run.metrics
        settings = stated(held["settings"], held["dataset"])
        own = not any(
            str(value).partition(":")[0] in _PACKAGED
            for name, value in settings.items()
            if name.endswith("prompt")
        )
        card = load_card(held["dataset"]) if held["dataset"] in card_names() else None
        ours = Ours(
            dataset=held["dataset"],
            n_questions=held["n"],
            llm=held["llm"],
            embedder=held["embedder"],
            settings=settings,
            llm_build=held["llm_build"],
            papers_prompts=papers_prompts and own,
            verified=bool(getattr(card, "verified", True)),
        )
        return cls(run, ours)


@dataclass(frozen=True)
class Candidate:
    """A run that may stand in a row, with its grade there; a win rate has the `other` run too."""

    run: StoredRun
    grade: Grade
    other: StoredRun | None = None
    judge: str = ""

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
    table: PaperTable, cell: Printed, offered: Sequence[Offered], verdicts: Verdicts
) -> list[Candidate]:
    """The runs that may stand in a cell; of judged ones only those that a judge has seen."""
    metric = table.paper.metrics[cell.metric]
    own = fitting(table, cell, offered)
    if metric.judged:
        return [
            one
            for pair in pairs(table, cell, offered)
            for one in _seen(table, cell, pair, verdicts, metric.judged)
        ]
    theirs = conditions(table, cell)
    if metric.judged_answer:
        return [
            Candidate(one.run, grade(replace(one.ours, judge=judge), theirs), judge=judge)
            for one in own
            for judge in verdicts.judges_of(one.run.folder.path, metric.judged_answer)
        ]
    counted = metric.kind == "count"
    if metric.graph:
        theirs = replace(theirs, own_questions=False)
    return [
        Candidate(one.run, Grade("A") if counted else grade(one.ours, theirs)) for one in own
    ]  # fmt: skip


def pairs(
    table: PaperTable, cell: Printed, offered: Sequence[Offered]
) -> list[tuple[Offered, Offered]]:
    """The runs of both sides of a cell, on one set and by one model; none with itself."""
    if not cell.versus or cell.method == cell.versus:
        return []
    others = fitting(table, opposite(cell), offered)
    return [
        (one, other)
        for one in fitting(table, cell, offered)
        for other in others
        if (one.ours.dataset, one.ours.llm) == (other.ours.dataset, other.ours.llm)
        and one.run.folder.path != other.run.folder.path
    ]


def _seen(
    table: PaperTable, cell: Printed, pair: tuple[Offered, Offered], verdicts: Verdicts, by: str
) -> list[Candidate]:
    """A candidate for each judge who compared a pair of runs."""
    keys = [one.run.folder.path.name for one in pair]
    return [pair_candidate(table, cell, pair, j) for j in verdicts.judges(keys[0], keys[1], by)]


def pair_candidate(
    table: PaperTable, cell: Printed, pair: tuple[Offered, Offered], judge: str = ""
) -> Candidate:
    """A pair of runs with the grade of both sides; `judge` "" for one that nobody has compared."""
    one, other = pair
    found = of_both(
        grade(replace(one.ours, judge=judge), conditions(table, cell)),
        grade(replace(other.ours, judge=judge), conditions(table, opposite(cell))),
    )
    return Candidate(one.run, found, other.run, judge)


def opposite(cell: Printed) -> Printed:
    """The cell of the other side of a pair, as far as its settings go."""
    return replace(cell, method=cell.versus, versus=cell.method, value=None, shown="", note="")


def fitting(table: PaperTable, cell: Printed, offered: Sequence[Offered]) -> list[Offered]:
    """The runs that have what makes the row of a cell."""
    wanted = table.settings_of(cell)
    if wanted is None:
        return []
    counts = table.shape.kind == "counts"
    card = table.paper.datasets[cell.dataset].card
    return [
        one
        for one in offered
        if all(holds(one.ours.settings, text) for text in wanted)
        and not _of_another_row(table, cell, one.ours.llm)
        and not (counts and one.ours.dataset != card)
    ]


def _of_another_row(table: PaperTable, cell: Printed, llm: str) -> bool:
    """Whether a table over several models has its own row for this one, or none but the first.

    A model that the table does not have stands in the rows of its first one.
    """
    if len(table.llms) < 2 or not cell.llm or is_model(llm, table.paper.llms[cell.llm]):
        return False
    known = any(is_model(llm, table.paper.llms[name]) for name in table.llms)
    return known or cell.llm != table.llms[0]


def conditions(table: PaperTable, cell: Printed) -> Theirs:
    """What the paper did for a cell, in our words."""
    paper = table.paper
    place = paper.datasets[cell.dataset]
    llm = cell.llm or (paper.llm if cell.method else "")
    return Theirs(
        dataset=place.card,
        dataset_name=cell.dataset,
        n_questions=_sampled(cell) or place.questions,
        llm_name=llm,
        llm=paper.llms.get(llm),
        embedder_name=paper.embedder or "",
        embedder=paper.embedders.get(paper.embedder or ""),
        settings=_their_settings(table, cell),
        own_questions=place.abstract,
        judge_name=evaluator(table, cell),
        judge=paper.llms.get(evaluator(table, cell)),
    )


def evaluator(table: PaperTable, cell: Printed) -> str:
    """The printed name of the judge of a cell: the answering model where the paper names none."""
    named = [text.partition("=")[2] for text in cell.setting if text.startswith("evaluator=")]
    return named[0] if named else table.paper.llm


def _sampled(cell: Printed) -> int | None:
    """The number of questions that the row itself states."""
    found = [item.partition("=")[2] for item in cell.setting if item.startswith("sampled queries=")]
    return int(found[0]) if found else None


def _their_settings(table: PaperTable, cell: Printed) -> dict[str, Any]:
    place = table.paper.datasets[cell.dataset]
    held = table.paper.methods.get(cell.method)
    own = [*place.run, *table.paper.settings, *(held.also if held else [])]
    return dict(_decided((*own, *(table.settings_of(cell) or ())), place.card))


@cache
def _decided(given: tuple[str, ...], dataset: str | None) -> Mapping[str, Any]:
    return decided(given, dataset)


def chosen(found: Mapping[Row, Sequence[Candidate]]) -> dict[Row, Candidate]:
    """The run of each row, out of those that have a figure for it, as far as there is one.

    The nearest to the paper on its own data by its own model; else one of the group that fills most
    rows, so that they compare.
    """
    best = {
        row: sorted((one for one in held if one.grade.comparable), key=_order)
        for row, held in found.items()
    }
    groups = {
        llm: _largest_group({row: held for row, held in found.items() if row[2] == llm})
        for llm in sorted({row[2] for row in found})
    }
    others = {
        row: sorted((one for one in held if one.group == groups[row[2]]), key=_order)
        for row, held in found.items()
    }
    return {row: (best[row] or others[row])[0] for row in found if best[row] or others[row]}


def _order(one: Candidate) -> tuple[Any, ...]:
    return one.order


def _largest_group(found: Mapping[Row, Sequence[Candidate]]) -> Group | None:
    """The group of grade C that fills most rows; of several the nearest, then the larger."""
    rows: dict[Group, set[Row]] = {}
    others: dict[Group, int] = {}
    for row, held in found.items():
        for one in held:
            if not one.grade.comparable:
                rows.setdefault(one.group, set()).add(row)
                others[one.group] = len(one.grade.others)
    ranked = sorted(rows, key=lambda group: (-len(rows[group]), others[group], -group[2], group))
    return ranked[0] if ranked else None
