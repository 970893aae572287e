"""A paper's table with our figures: one table for each data set, or one long list of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from graphrag_bench.analysis.papers.filled_cells import Cells, Figure, Filled, difference
from graphrag_bench.analysis.papers.grading import MISSING
from graphrag_bench.analysis.papers.notes import (
    DAGGER,
    Row,
    comparison_notes,
)
from graphrag_bench.papers.printed import PaperTable, Printed
from graphrag_bench.report.rendering import Table

_LONG = (
    "table", "data set", "method", "versus", "metric", "llm", "setting", "paper", "unit",
    "suspicious", "note", "ours", "low", "high", "n", "failed", "our data", "our model",
    "our embedder", "profile", "fidelity", "grade", "difference", "differs in", "run", "missing",
)  # fmt: skip


def comparison_tables(table: PaperTable, filled: Cells) -> list[Table]:
    """One table for each data set: a row for each row of the paper, its metrics as columns.

    A difference is shown only where data and model are the paper's (grades A and B); elsewhere the
    notes give the rank correlation of the methods. A figure whose cells cannot be named gives one
    table without rows. The last note is the command of the runs that are lacking.
    """
    blocks = [_block(table, name, filled) for name in table.datasets] or [_unprinted(table)]
    if table.shape.sweeps or any(one.runs for one in filled.values()):
        run = f"graphrag-bench run experiment={table.full_name}"
        blocks[-1] = replace(blocks[-1], notes=(*blocks[-1].notes, f"its runs: {run}"))
    return blocks


def _unprinted(table: PaperTable) -> Table:
    notes = [f"{table.paper.citation}: the figure's numbers are not printed"]
    if table.shape.shows:
        notes.append(f"it shows {table.shape.shows}")
    return Table(_caption(table, ""), ("method", "paper", "ours"), (), tuple(notes))


def _caption(table: PaperTable, dataset: str) -> str:
    where = f" · {dataset}" if dataset else ""
    return f"{table.full_name}{where}: {table.shape.caption}"


def _block(table: PaperTable, dataset: str, filled: Cells) -> Table:
    cells = [cell for cell in table.cells if cell.dataset == dataset]
    metrics = list(dict.fromkeys(cell.metric for cell in cells))
    rows: dict[Row, dict[str, Printed]] = {}
    for cell in cells:
        rows.setdefault(cell.row, {})[cell.metric] = cell
    comparable = {cell.metric for cell in cells if _comparable(cell, filled)}
    compared = [name for name in metrics if name in comparable]
    heads = ["method"]
    for name in metrics:
        heads += [name, "ours [95 %]", *(["ours − paper"] if name in compared else [])]
    heads += ["n", "model", "profile", "grade"]
    named = {row: row_name(table, row) for row in rows}
    made = [_row(named[row], held, metrics, compared, filled) for row, held in rows.items()]
    notes = comparison_notes(table, dataset, cells, filled, named)
    texts = ("method", "model", "profile", "grade")
    return Table(_caption(table, dataset), tuple(heads), tuple(made), notes, texts)


def _comparable(cell: Printed, filled: Cells) -> bool:
    figure = filled[cell].figure
    return cell.value is not None and figure is not None and figure.grade.comparable


def row_name(table: PaperTable, row: Row) -> str:
    """The method, what it beats, and in tables over several of them model and settings."""
    method, versus, llm, setting = row
    parts = [f"{method} > {versus}" if versus else method]
    if len(table.llms) > 1:
        parts.append(llm)
    parts += [item for item in setting if not item.startswith(("evaluator=", "qa_type="))]
    return ", ".join(part for part in parts if part) or MISSING


def _row(
    name: str,
    held: Mapping[str, Printed],
    metrics: Sequence[str],
    compared: Sequence[str],
    filled: Cells,
) -> tuple[str, ...]:
    made = [name]
    for metric in metrics:
        cell = held.get(metric)
        made += [_printed(cell), _ours(filled[cell] if cell else None)]
        if metric in compared:
            made.append(difference(cell, filled) if cell else "")
    figures = [figure for cell in held.values() if (figure := filled[cell].figure)]
    if figures:
        counts = dict.fromkeys(str(figure.n) for figure in figures)
        grades = dict.fromkeys(_graded(figure) for figure in figures)
        one = figures[0]
        profile = f"{one.profile}, paper" if one.fidelity == "paper" else one.profile
        made += [" / ".join(counts), short(one.llm), profile, " / ".join(grades)]
    else:
        made += [MISSING] * 4
    return tuple(made)


def _graded(figure: Figure) -> str:
    other = any(reason.startswith("data: ") for reason in figure.grade.others)
    return f"{figure.grade.letter} ({figure.dataset})" if other else figure.grade.letter


def short(identity: str) -> str:
    """A model's identity without its fingerprints: the part before `@`, or the first colon."""
    return (identity.partition("@")[0] if "@" in identity else identity.partition(":")[0]) or "none"


def _printed(cell: Printed | None) -> str:
    if cell is None:
        return ""
    return (cell.shown or MISSING) + (DAGGER if cell.suspicious else "")


def _ours(filled: Filled | None) -> str:
    if filled is None:
        return ""
    figure = filled.figure
    if figure is None:
        return "failed" if filled.failure else MISSING
    mark = "!" if figure.failed else ""
    if figure.low is None or figure.high is None:
        return f"{_number(figure.value)}{mark}"
    return f"{_number(figure.value)}{mark} [{_number(figure.low)}, {_number(figure.high)}]"


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 or value == 0 else f"{value:.3g}"


def long_table(table: PaperTable, filled: Cells) -> Table:
    """A row for each printed cell with all that is known of it, for other programs."""
    rows = tuple(_long_row(table, cell, filled) for cell in table.cells)
    return Table(_caption(table, ""), _LONG, rows, (), texts=_LONG)


def _long_row(table: PaperTable, cell: Printed, filled: Cells) -> tuple[str, ...]:
    one = filled[cell]
    printed = [
        table.full_name, cell.dataset, cell.method, cell.versus, cell.metric, cell.llm,
        "; ".join(cell.setting), cell.shown, cell.unit, "yes" if cell.suspicious else "",
        cell.note,
    ]  # fmt: skip
    missing = one.failure or one.missing or one.reason
    figure = one.figure
    if figure is None:
        return (*printed, *[""] * 14, missing)
    bounds = [("" if b is None else f"{b:.6g}") for b in (figure.low, figure.high)]
    differs = "; ".join([*figure.grade.others, *figure.grade.differences])
    gap = difference(cell, {cell: one})
    return (
        *printed, f"{figure.value:.6g}", *bounds, str(figure.n), str(figure.failed),
        figure.dataset, figure.llm, figure.embedder, figure.profile, figure.fidelity,
        figure.grade.letter, "" if gap == MISSING else gap, differs, figure.run, missing,
    )  # fmt: skip
