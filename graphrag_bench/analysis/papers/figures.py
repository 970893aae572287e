"""Our figures for the cells of a paper's table, collected from stored runs; nothing is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graphrag_bench.analysis.papers.candidates import Candidate, Row, candidates, chosen
from graphrag_bench.analysis.papers.filled_cells import Figure, Filled
from graphrag_bench.analysis.papers.gaps import gaps, lacking
from graphrag_bench.analysis.papers.grading import Grade
from graphrag_bench.analysis.papers.measures import Measured
from graphrag_bench.analysis.papers.offered import Offered, fitting
from graphrag_bench.analysis.papers.sources import FigureSource, reason_of
from graphrag_bench.papers.printed import PaperTable, Printed, PrintedSize
from graphrag_bench.report.rows import mark
from graphrag_bench.runs.stored import StoredRun

_BY_THEMSELVES = ("count", "graph", "build")
"""Figures that do not depend on how questions are answered, and are graded apart."""
_SCALES = {"ms": 1000.0}
"""What seconds are multiplied by, by the unit of the paper."""


def collected(
    table: PaperTable,
    runs: Sequence[StoredRun],
    source: FigureSource,
    *,
    papers_prompts: bool = False,
) -> dict[Printed, Filled]:
    """What is shown next to every printed cell."""
    filled: dict[Printed, Filled] = {}
    cards = {place.card for place in table.paper.datasets.values()}
    offered = []
    for run in runs:
        ours = run.metrics.get("card", run.metrics["dataset"]) in cards
        offered.append(Offered.of(run, papers_prompts, source.sizes(run) if ours else {}))
    for name in table.datasets:
        rows: dict[Row, list[Printed]] = {}
        for cell in table.cells:
            if cell.dataset == name:
                kind = table.metric(cell).kind
                apart = kind if kind in _BY_THEMSELVES else ""
                rows.setdefault((*cell.row, apart), []).append(cell)
        picked = chosen({r: _with_figure(table, rows[r], offered, source) for r in rows})
        for row, held in rows.items():
            failure = "" if row in picked else _failure(table, held[0], offered)
            for cell in held:
                filled[cell] = _filled(table, cell, picked.get(row), source, offered, failure)
    return filled


def _with_figure(
    table: PaperTable, row: Sequence[Printed], offered: Sequence[Offered], source: FigureSource
) -> list[Candidate]:
    found: dict[tuple[object, ...], Candidate] = {}
    for cell in row:
        for one in candidates(table, cell, offered, source.verdicts):
            if one.order not in found and source.measured(table, cell, one):
                found[one.order] = one
    return list(found.values())


def _failure(table: PaperTable, cell: Printed, offered: Sequence[Offered]) -> str:
    for one in fitting(table, cell, offered):
        metrics = one.run.metrics
        if metrics["n"] and metrics["failed"] == metrics["n"]:
            errors = metrics["errors"]
            first = " ".join(errors[0].split()) if errors else "no error was stored"
            return f"every question failed: {first}"
    return ""


def _filled(
    table: PaperTable,
    cell: Printed,
    picked: Candidate | None,
    source: FigureSource,
    offered: Sequence[Offered],
    failure: str,
) -> Filled:
    if table.settings_of(cell) is None:
        return Filled(reason="not one of our methods")
    if reason := reason_of(table, cell):
        return Filled(reason=reason)
    found = source.measured(table, cell, picked) if picked else None
    known = picked is not None and found is not None
    open_parts = gaps(table, cell, picked, known=known)
    runnable = table.paper.datasets[cell.dataset].ran is not None
    rest = lacking(table, cell, offered, open_parts) if open_parts and runnable else Filled()
    if picked is not None and found is not None:
        return replace(rest, figure=_figure(table, cell, picked, found))
    if not runnable:
        return Filled(reason="no card of ours holds this data set", failure=failure)
    return replace(rest, failure=failure)


def _figure(table: PaperTable, cell: Printed, picked: Candidate, found: Measured) -> Figure:
    held = picked.run.metrics
    scale = 100.0 if cell.unit == "percent" and found.share else _SCALES.get(cell.unit, 1.0)
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
        grade=_graded(table, cell, picked.grade, found),
        selected=mark(held),
    )


def _graded(table: PaperTable, cell: Printed, held: Grade, found: Measured) -> Grade:
    what = table.metric(cell).count
    said = PrintedSize.of(cell, what).differs(found.value) if what and cell.value else ""
    return Grade("C", tuple(dict.fromkeys([*held.others, said]))) if said else held
