"""A free table over runs: any field in rows and columns, the means of a metric in the cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.evaluation.statistics import Mean, mean_with_interval
from graphrag_bench.report.notes import cut_notes
from graphrag_bench.report.rendering import MISSING, Table, shown_interval
from graphrag_bench.report.rows import INFLATED

Cell = tuple[str, str, str]
_SHOWN = 4
_CHOSEN = "*"


@dataclass(frozen=True)
class PivotRun:
    """A run as a table sees it.

    `fields` are its names and settings by path, `scores` the metrics of each question, and
    `attributes` what the data set says of each question: hops, type, scope. `mark` says that it was
    chosen on these questions out of several configurations (`selection.mark`).
    """

    fields: Mapping[str, str]
    scores: Mapping[str, Mapping[str, float]]
    attributes: Mapping[str, Mapping[str, str]]
    mark: str = ""


@dataclass(frozen=True)
class Layout:
    """What rows, columns and cells show; `by` splits the questions of a cell over rows."""

    rows: str
    cols: str
    value: str
    by: str | None = None

    def led(self, line: str, part: str) -> tuple[str, ...]:
        """The first cells of a row: its line, and its part where the questions are split."""
        return (line, part) if self.by else (line,)


def pivot_table(runs: Sequence[PivotRun], layout: Layout) -> Table:
    """The mean of a metric with its 95 % bootstrap interval and n, for each row and column.

    Questions that share a scope are drawn together. A cell with a run that was chosen on these
    questions has a `*`, and a note with the mark. Where several runs share a cell, a question
    counts with the mean of its scores over them, and the note says in what they differ. Rows and
    columns follow the order of the runs, numbers and the parts of a split sorted. Raises
    UserError, with the nearest names, for a field, metric or attribute that no run has.
    """
    fields, held = _held(runs, layout)
    lines, cols, parts = _places(runs, fields, held)
    rows = [
        (*layout.led(line, part), *[_cell(held.get((line, col, part))) for col in cols])
        for line, part in product(lines, parts)
        if any((line, col, part) in held for col in cols)
    ]
    texts = layout.led(layout.rows, layout.by or "")
    caption = f"{layout.value} by {', '.join(filter(None, (layout.rows, layout.by, layout.cols)))}"
    return Table(caption, (*texts, *cols), tuple(rows), _notes(held, fields), texts)


@dataclass(frozen=True)
class PivotCell:
    """The mean of a metric over the questions of a cell, and the runs that share it.

    `part` is "" where the questions are not split.
    """

    line: str
    part: str
    column: str
    mean: Mean
    runs: tuple[PivotRun, ...]


def pivot_cells(runs: Sequence[PivotRun], layout: Layout) -> list[PivotCell]:
    """The cells of a table that hold a run, row by row; raises as `pivot_table` does."""
    fields, held = _held(runs, layout)
    lines, cols, parts = _places(runs, fields, held)
    return [
        PivotCell(line, part, col, _mean(shared), tuple(run for run, _ in shared))
        for line, part, col in product(lines, parts, cols)
        if (shared := held.get((line, col, part)))
    ]


def long_pivot(runs: Sequence[PivotRun], layouts: Sequence[Layout]) -> Table:
    """The same figures for a program to read: a row for each cell, a number in each column.

    The layouts differ in their value alone. `n` are questions, `runs` those that share the cell,
    `selected` the marks of those that were chosen on these questions. A cell of no run has no row.
    """
    first = layouts[0]
    rows = []
    for layout in layouts:
        for cell in pivot_cells(runs, layout):
            marks = dict.fromkeys(run.mark for run in cell.runs if run.mark)
            found = cell.mean
            figures = [f"{one:.6f}" for one in (found.mean, found.low, found.high)]
            counts = [str(found.n), str(len(cell.runs)), "; ".join(marks)]
            lead = layout.led(cell.line, cell.part)
            rows.append((*lead, cell.column, layout.value, *figures, *counts))
    lead = first.led(first.rows, first.by or "")
    heads = (*lead, first.cols, "metric", "mean", "low", "high", "n", "runs", "selected")
    return Table("", heads, tuple(rows), ())


_Held = dict[Cell, list[tuple[PivotRun, dict[str, float]]]]


def _held(runs: Sequence[PivotRun], layout: Layout) -> tuple[tuple[str, str], _Held]:
    if not runs:
        raise UserError("There is no run to make a table of.")
    row_field, col_field = (_field(runs, name) for name in (layout.rows, layout.cols))
    value = _metric(runs, layout.value)
    _check_attribute(runs, layout.by)
    held: _Held = {}
    for run in runs:
        for part, scores in _parts(run, value, layout.by).items():
            at = run.fields.get(row_field, MISSING), run.fields.get(col_field, MISSING), part
            held.setdefault(at, []).append((run, scores))
    return (row_field, col_field), held


def _places(
    runs: Sequence[PivotRun], fields: tuple[str, str], held: _Held
) -> tuple[list[str], list[str], list[str]]:
    lines, cols = (_placed([run.fields.get(name, MISSING) for run in runs]) for name in fields)
    return lines, cols, sorted({part for _, _, part in held}, key=_in_order)


def _field(runs: Sequence[PivotRun], name: str) -> str:
    known = sorted({field for run in runs for field in run.fields})
    for field in (name, f"method.{name}"):
        if field in known:
            return field
    short = [field.removeprefix("method.") for field in known]
    raise UserError(f"No run has a field '{name}'. {did_you_mean(name, short, known[:8], n=5)}")


_NO_DATA = "none; are the data sets at hand?"
"""What is listed where no stored run has any name."""


def _metric(runs: Sequence[PivotRun], name: str) -> str:
    known = sorted({key for run in runs for scores in run.scores.values() for key in scores})
    if name in known:
        return name
    listed = known or [_NO_DATA]
    raise UserError(f"No run has a metric '{name}'. {did_you_mean(name, known, listed, n=5)}")


def _check_attribute(runs: Sequence[PivotRun], name: str | None) -> None:
    known = sorted({key for run in runs for held in run.attributes.values() for key in held})
    if name is not None and name not in known:
        hint = did_you_mean(name, known, known or [_NO_DATA])
        raise UserError(f"No data set has the attribute '{name}' for its questions. {hint}")


def _parts(run: PivotRun, value: str, by: str | None) -> dict[str, dict[str, float]]:
    parts: dict[str, dict[str, float]] = {}
    for question, scores in run.scores.items():
        if value in scores:
            part = run.attributes.get(question, {}).get(by, MISSING) if by else ""
            parts.setdefault(part, {})[question] = scores[value]
    return parts


def _placed(values: Sequence[str]) -> list[str]:
    found = list(dict.fromkeys(values))
    numeric = all(value == MISSING or _in_order(value)[0] == 0 for value in found)
    return sorted(found, key=_in_order) if numeric else found


def _in_order(part: str) -> tuple[int, float, str]:
    try:
        return 0, float(part), ""
    except ValueError:
        return (2 if part == MISSING else 1), 0.0, part


def _cell(held: Sequence[tuple[PivotRun, Mapping[str, float]]] | None) -> str:
    if not held:
        return MISSING
    found = _mean(held)
    shared = f", {len(held)} runs" if len(held) > 1 else ""
    chosen = _CHOSEN if any(run.mark for run, _ in held) else ""
    interval = shown_interval(found.low, found.high, found.n)
    return f"{found.mean:.3f}{chosen}{interval} n={found.n}{shared}"


def _mean(held: Sequence[tuple[PivotRun, Mapping[str, float]]]) -> Mean:
    values: dict[str, list[float]] = {}
    scopes: dict[str, str | None] = {}
    for run, scores in held:
        for question, score in scores.items():
            values.setdefault(question, []).append(score)
            scopes[question] = run.attributes.get(question, {}).get("scope")
    means = [sum(scores) / len(scores) for scores in values.values()]
    return mean_with_interval(means, scopes=[scopes[question] for question in values])


def _notes(
    held: Mapping[Cell, Sequence[tuple[PivotRun, object]]], placed: tuple[str, str]
) -> tuple[str, ...]:
    every = list({id(run): run for runs in held.values() for run, _ in runs}.values())
    scoped = any("scope" in of_question for run in every for of_question in run.attributes.values())
    notes = [
        "mean over questions that did not fail, 95 % bootstrap interval over questions"
        f"{' and their scopes' if scoped else ''}, n questions"
    ]
    marks = {f"{run.fields.get('title', 'a run')} {run.mark}": None for run in every if run.mark}
    notes += [f"{_CHOSEN} {', '.join(marks)}; {INFLATED}"] if marks else []
    notes += cut_notes(
        (run.fields.get("title", "a run"), run.fields.get("embedder", "")) for run in every
    )
    differ: dict[str, None] = {}
    for runs in held.values():
        fields = [run.fields for run, _ in runs]
        for name in sorted({key for one in fields for key in one} - {"key", *placed}):
            if len({one.get(name) for one in fields}) > 1:
                differ[name] = None
    if differ:
        names = sorted(differ, key=lambda name: (name.count("."), name))
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        notes.append(
            f"cells with several runs average over what differs in them: "
            f"{', '.join(names[:_SHOWN])}{more}"
        )
    return tuple(notes)
