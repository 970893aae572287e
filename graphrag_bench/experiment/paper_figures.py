"""Our figures for the cells of a paper's table, collected from stored runs; nothing is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphrag_bench.experiment.paper_candidates import (
    Candidate,
    Offered,
    Row,
    candidates,
    chosen,
    evaluator,
    fitting,
    pair_candidate,
    pairs,
)
from graphrag_bench.experiment.paper_sources import FigureSource, Measured, reason_of
from graphrag_bench.experiment.stored import StoredRun
from graphrag_bench.report.filled_cells import Figure, Filled
from graphrag_bench.report.papers import PaperTable, Printed
from graphrag_bench.report.selection import mark

_BY_THEMSELVES = ("count", "graph")
"""Figures that do not depend on how questions are answered, and are graded apart."""
_ITSELF = "a method against itself"


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
                kind = table.paper.metrics[cell.metric].kind
                apart = kind if kind in _BY_THEMSELVES else ""
                rows.setdefault((*cell.row, apart), []).append(cell)
        picked = chosen({row: _with_figure(table, row, rows, offered, source) for row in rows})
        for row, held in rows.items():
            errors = failures or {}
            if row not in picked:
                errors = {**_all_failed(table, held[0], offered), **errors}
            for cell in held:
                one = _filled(table, cell, picked.get(row), source, errors)
                filled[cell] = one if one.figure else _with_judging(table, cell, offered, one)
    return filled


def _with_figure(
    table: PaperTable,
    row: Row,
    rows: Mapping[Row, Sequence[Printed]],
    offered: Sequence[Offered],
    source: FigureSource,
) -> list[Candidate]:
    """The runs that have a figure for any cell of a row."""
    found: dict[tuple[object, ...], Candidate] = {}
    for cell in rows[row]:
        for one in candidates(table, cell, offered, source.verdicts):
            if one.order not in found and source.measured(table, cell, one):
                found[one.order] = one
    return list(found.values())


def _with_judging(
    table: PaperTable, cell: Printed, offered: Sequence[Offered], lacking: Filled
) -> Filled:
    """What is lacking, with the runs to compare instead of those to make, where both are stored."""
    if not table.paper.metrics[cell.metric].judged or lacking.reason:
        return lacking
    held = [pair_candidate(table, cell, pair) for pair in pairs(table, cell, offered)]
    if not held:
        return lacking
    best = min(held, key=lambda one: one.order)
    sides = [str(run.folder.path) for run in (best.run, best.other) if run]
    model = table.paper.llms[evaluator(table, cell)]
    judge = [text.replace("llm", "llm_judge", 1) for text in model.run]
    return Filled(compare=tuple(sides), judge=tuple(judge), failure=lacking.failure)


def _all_failed(
    table: PaperTable, cell: Printed, offered: Sequence[Offered]
) -> dict[tuple[str, ...], str]:
    """The first error of a run that fits a row and has no question that did not fail."""
    row = table.settings_of(cell)
    for one in fitting(table, cell, offered):
        held = one.run.metrics
        if row and held["n"] and held["failed"] == held["n"]:
            first = " ".join(held["errors"][0].split()) if held["errors"] else "no error kept"
            return {row: f"every question failed: {first}"}
    return {}


def _filled(
    table: PaperTable,
    cell: Printed,
    picked: Candidate | None,
    source: FigureSource,
    failures: Mapping[tuple[str, ...], str],
) -> Filled:
    if table.settings_of(cell) is None:
        return Filled(reason="not one of our methods")
    reason = reason_of(table, cell) or (
        "" if not cell.versus or cell.method != cell.versus else _ITSELF
    )
    if reason:
        return Filled(reason=reason)
    found = source.measured(table, cell, picked) if picked else None
    if picked and found:
        return Filled(_figure(cell, picked, found))
    failure = failures.get(table.settings_of(cell) or (), "")
    if table.paper.datasets[cell.dataset].card is None:
        return Filled(reason="no card of ours holds this data set", failure=failure)
    lacking, after = source.lacking(table, cell, picked.run if picked else None)
    return Filled(runs=lacking, after=after, failure=failure)


def _figure(cell: Printed, picked: Candidate, found: Measured) -> Figure:
    held = picked.run.metrics
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
        run=str(picked.run.folder.path),
        grade=picked.grade,
        selected=mark(held),
    )
