"""Our figures for the cells of a paper's table, collected from stored runs; nothing is run.

A run may stand in a row when it has what makes the row: the method and the settings it names. Runs
on the paper's data by the paper's model come first. Whatever else a table has comes from one group
of runs (one data set, one model, as many questions) for each model of the paper, so that its
methods compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from graphrag_bench.data.dataset import card_names, load_card
from graphrag_bench.experiment.given_settings import decided, holds, stated
from graphrag_bench.experiment.paper_sources import FigureSource, Measured, reason_of
from graphrag_bench.experiment.stored import StoredRun
from graphrag_bench.report.filled_cells import Figure, Filled
from graphrag_bench.report.grading import Grade, Ours, Theirs, grade, is_model
from graphrag_bench.report.papers import PaperTable, Printed

Row = tuple[str, str, str, tuple[str, ...], str]
"""A row of the paper (`Printed.row`), and the kind of metric: counts are graded by themselves."""
Group = tuple[str, str, int]
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
    """A run that may stand in a row, with its grade there."""

    run: StoredRun
    grade: Grade

    @property
    def group(self) -> Group:
        """Data set, answering model and number of questions."""
        held = self.run.metrics
        return held["dataset"], held["llm"], held["selected"]

    @property
    def order(self) -> tuple[Any, ...]:
        """The nearest to the paper first, then the one with more questions, then by key."""
        found = self.grade
        n_questions = -self.run.metrics["n"]
        key = self.run.metrics["key"]
        return found.letter, len(found.others), len(found.differences), n_questions, key


def collected(
    table: PaperTable,
    runs: Sequence[StoredRun],
    source: FigureSource,
    *,
    papers_prompts: bool = False,
    failures: Mapping[tuple[str, ...], str] | None = None,
) -> dict[Printed, Filled]:
    """What stands beside every printed cell; `failures` are the errors of rows, by settings."""
    filled: dict[Printed, Filled] = {}
    offered = [Offered.of(run, papers_prompts) for run in runs]
    for name in table.datasets:
        rows: dict[Row, list[Printed]] = {}
        for cell in table.cells:
            if cell.dataset == name:
                rows.setdefault((*cell.row, table.paper.metrics[cell.metric].kind), []).append(cell)
        chosen = _chosen(table, rows, offered, source)
        for row, held in rows.items():
            errors = failures or {}
            if row not in chosen:
                errors = {**_all_failed(table, held[0], offered), **errors}
            for cell in held:
                filled[cell] = _filled(table, cell, chosen.get(row), source, errors)
    return filled


def _all_failed(
    table: PaperTable, cell: Printed, offered: Sequence[Offered]
) -> dict[tuple[str, ...], str]:
    """The first error of a run that fits a row and has no question that did not fail."""
    row = table.settings_of(cell)
    for one in _candidates(table, cell, offered):
        held = one.run.metrics
        if row and held["n"] and held["failed"] == held["n"]:
            first = " ".join(held["errors"][0].split()) if held["errors"] else "no error kept"
            return {row: f"every question failed: {first}"}
    return {}


def _chosen(
    table: PaperTable,
    rows: Mapping[Row, Sequence[Printed]],
    offered: Sequence[Offered],
    source: FigureSource,
) -> dict[Row, Candidate]:
    """The run of each row, as far as there is one."""
    found = {}
    for row, cells in rows.items():
        fitting = _candidates(table, cells[0], offered)
        found[row] = [
            one for one in fitting if any(source.measured(table, cell, one.run) for cell in cells)
        ]
    best = {
        row: sorted((one for one in held if one.grade.comparable), key=_order)
        for row, held in found.items()
    }
    groups = {
        llm: _largest_group({row: held for row, held in found.items() if row[2] == llm})
        for llm in {row[2] for row in rows}
    }
    others = {
        row: sorted((one for one in held if one.group == groups[row[2]]), key=_order)
        for row, held in found.items()
    }
    return {row: (best[row] or others[row])[0] for row in rows if best[row] or others[row]}


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


def _candidates(table: PaperTable, cell: Printed, offered: Sequence[Offered]) -> list[Candidate]:
    wanted = table.settings_of(cell)
    if wanted is None:
        return []
    theirs = conditions(table, cell)
    found = []
    counts = table.shape.kind == "counts"
    counted = table.paper.metrics[cell.metric].kind == "count"
    for one in offered:
        ours = one.ours
        if not all(holds(ours.settings, text) for text in wanted):
            continue
        if _of_another_row(table, cell, ours.llm) or (counts and ours.dataset != theirs.dataset):
            continue
        found.append(Candidate(one.run, Grade("A") if counted else grade(ours, theirs)))
    return found


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
    )


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


def _filled(
    table: PaperTable,
    cell: Printed,
    chosen: Candidate | None,
    source: FigureSource,
    failures: Mapping[tuple[str, ...], str],
) -> Filled:
    if table.settings_of(cell) is None:
        return Filled(reason="not one of our methods")
    reason = reason_of(table, cell)
    if reason:
        return Filled(reason=reason)
    found = source.measured(table, cell, chosen.run) if chosen else None
    if chosen and found:
        return Filled(_figure(cell, chosen, found))
    failure = failures.get(table.settings_of(cell) or (), "")
    if table.paper.datasets[cell.dataset].card is None:
        return Filled(reason="no card of ours holds this data set", failure=failure)
    lacking, after = source.lacking(table, cell, chosen.run if chosen else None)
    return Filled(runs=lacking, after=after, failure=failure)


def _figure(cell: Printed, chosen: Candidate, found: Measured) -> Figure:
    held = chosen.run.metrics
    scale = 100.0 if cell.unit == "percent" and found.share else 1.0
    low, high = (None if b is None else b * scale for b in (found.low, found.high))
    return Figure(
        value=found.value * scale,
        low=low,
        high=high,
        n=found.n,
        failed=held["failed"],
        dataset=held["dataset"],
        llm=held["llm"],
        embedder=held["embedder"],
        profile=held["profile"],
        fidelity=held["fidelity"],
        run=str(chosen.run.folder.path),
        grade=chosen.grade,
    )
