"""Free tables over runs: any field in rows and columns, the means of a metric in the cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.evaluation.statistics import Mean, mean_with_interval
from graphrag_bench.report.figures import Bar, Grid, plot_bars, plot_grids
from graphrag_bench.report.notes import cut_notes
from graphrag_bench.report.rendering import MISSING, Table, shown_interval
from graphrag_bench.report.rows import INFLATED, SHOWN, mark
from graphrag_bench.run.folder import METRICS
from graphrag_bench.run.stored import StoredRun, find_run, readable_runs, scores_of, stored_runs

KINDS = ("bars", "heat")
FIELDS = (
    "method", "title", "dataset", "llm", "llm_build", "embedder", "extraction", "tokenizer",
    "profile", "fidelity", "limit", "key", "corpus",
)  # fmt: skip
_MOST_NAMED = 4
_CHOSEN = "*"
_NO_DATA = "none; are the data sets at hand?"
"""What is listed where no stored run has any name."""


@dataclass(frozen=True)
class PivotRun:
    """A run as a table sees it.

    `fields` are its names and settings by path, `scores` the metrics of each question, and
    `attributes` what the data set says of each question: hops, type, scope. `mark` says that it was
    chosen on these questions out of several configurations (`rows.mark`).
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

    def lead(self, line: str, part: str) -> tuple[str, ...]:
        """Return the first cells of a row: its line, and its part where questions are split."""
        return (line, part) if self.by else (line,)


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

    @property
    def marks(self) -> dict[str, None]:
        """The marks of those runs that were chosen on these questions."""
        return dict.fromkeys(run.mark for run in self.runs if run.mark)


def named_runs(names: list[str], home: str) -> list[StoredRun]:
    """Return the runs of folders, of beginnings of keys, or all below a home; each once, in order.

    A folder that is not a run gives all runs below it. Raises UserError where there is none.
    """
    if not names:
        runs = stored_runs(home)
        if not runs:
            raise UserError(f"There is no run below {home}/runs.")
        return runs
    runs = []
    for name in names:
        below = sorted(Path(name).glob(f"**/{METRICS}")) if Path(name).is_dir() else []
        runs += readable_runs(below) if below else [find_run(name, home)]
    return list({run.folder.path.resolve(): run for run in runs}.values())


def pivot_run(run: StoredRun) -> PivotRun:
    """Return the fields, scores and question attributes of a run; only fields without its set.

    The scores are of the questions that its stored scoring is of: a run that is reported on
    split=test is not mixed with what it was tuned on.
    """
    metrics = run.metrics
    fields = {name: str(metrics[name]) for name in FIELDS if metrics.get(name) not in (None, "")}
    fields |= {"corpus": str(metrics["corpus"])[:SHOWN]} if metrics.get("corpus") else {}
    fields |= {path: str(value) for path, value in metrics["settings"].items() if value is not None}
    return PivotRun(fields, scores_of(run), _attributes(run.dataset), mark(metrics))


def _attributes(dataset: Dataset | None) -> dict[str, dict[str, str]]:
    if dataset is None:
        return {}
    scopes = {question.id: question.scope for question in dataset.questions}
    attributes = {}
    for question, gold in dataset.gold.items():
        values = {"hops": gold.hops, "type": gold.type, "scope": scopes.get(question)}
        attributes[question] = {name: str(value) for name, value in values.items() if value}
    return attributes


def pivot_table(runs: Sequence[PivotRun], layout: Layout) -> Table:
    """Return the mean of a metric with its 95 % bootstrap interval and n, by row and column.

    Questions that share a scope are drawn together. A cell with a run that was chosen on these
    questions has a `*`, and a note with the mark. Where several runs share a cell, a question
    counts with the mean of its scores over them, and the note says in what they differ. Rows and
    columns follow the order of the runs, numbers and the parts of a split sorted. Raises
    UserError, with the nearest names, for a field, metric or attribute that no run has.
    """
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    cells = pivot_cells(runs, layout)
    for cell in cells:
        rows.setdefault(layout.lead(cell.line, cell.part), {})[cell.column] = _text(cell)
    cols = _values(runs, layout.cols)
    lines = [(*lead, *[row.get(col, MISSING) for col in cols]) for lead, row in rows.items()]
    texts = layout.lead(layout.rows, layout.by or "")
    caption = f"{layout.value} by {', '.join(filter(None, (layout.rows, layout.by, layout.cols)))}"
    return Table(caption, (*texts, *cols), tuple(lines), _notes(runs, cells, layout), texts)


def pivot_cells(runs: Sequence[PivotRun], layout: Layout) -> list[PivotCell]:
    """Return the cells of a table that hold a run, row by row; raises as `pivot_table` does."""
    import pandas

    places = ["line", "part", "column"]
    scores = pandas.DataFrame(_scores(runs, layout), columns=[*places, *_SCORE])
    groups: dict[Any, pandas.DataFrame] = dict(iter(scores.groupby(places, sort=False)))
    cells = {}
    for (line, part, column), group in groups.items():
        shared = tuple(runs[row] for row in group["run"].unique())
        of_question = group.groupby("question", sort=False).agg({"score": "mean", "scope": "last"})
        scopes = [one if isinstance(one, str) else None for one in of_question["scope"]]
        mean = mean_with_interval(of_question["score"].tolist(), scopes=scopes)
        cells[line, part, column] = PivotCell(line, part, column, mean, shared)
    parts = sorted(scores["part"].unique(), key=_in_order)
    ordered = product(_values(runs, layout.rows), parts, _values(runs, layout.cols))
    return [cells[place] for place in ordered if place in cells]


_SCORE = ("run", "question", "score", "scope")


def _scores(runs: Sequence[PivotRun], layout: Layout) -> list[tuple[Any, ...]]:
    """Line, part and column of each score of each run, and what it is the score of."""
    if not runs:
        raise UserError("There is no run to make a table of.")
    row_field, col_field = _field(runs, layout.rows), _field(runs, layout.cols)
    metrics = sorted({name for run in runs for scores in run.scores.values() for name in scores})
    if layout.value not in metrics:
        hint = did_you_mean(layout.value, metrics, metrics or [_NO_DATA], n=5)
        raise UserError(f"No run has a metric '{layout.value}'. {hint}")
    known = sorted({name for run in runs for one in run.attributes.values() for name in one})
    if layout.by is not None and layout.by not in known:
        hint = did_you_mean(layout.by, known, known or [_NO_DATA])
        raise UserError(f"No data set has the attribute '{layout.by}' for its questions. {hint}")
    rows = []
    for place, run in enumerate(runs):
        line, column = (run.fields.get(name, MISSING) for name in (row_field, col_field))
        for question, scores in run.scores.items():
            if layout.value in scores:
                said = run.attributes.get(question, {})
                part = said.get(layout.by, MISSING) if layout.by else ""
                score = place, question, scores[layout.value], said.get("scope")
                rows.append((line, part, column, *score))
    return rows


def long_pivot(runs: Sequence[PivotRun], layouts: Sequence[Layout]) -> Table:
    """Return the same figures for a program to read: a row a cell, a number in each column.

    The layouts differ in their value alone. `n` are questions, `runs` those that share the cell,
    `selected` the marks of those that were chosen on these questions. A cell of no run has no row.
    """
    first, rows = layouts[0], []
    for layout in layouts:
        for cell in pivot_cells(runs, layout):
            mean = cell.mean
            figures = [f"{one:.6f}" for one in (mean.mean, mean.low, mean.high)]
            counts = [str(mean.n), str(len(cell.runs)), "; ".join(cell.marks)]
            lead = layout.lead(cell.line, cell.part)
            rows.append((*lead, cell.column, layout.value, *figures, *counts))
    heads = (*first.lead(first.rows, first.by or ""), first.cols,
             "metric", "mean", "low", "high", "n", "runs", "selected")  # fmt: skip
    return Table("", heads, tuple(rows), ())


def _field(runs: Sequence[PivotRun], name: str) -> str:
    known = sorted({field for run in runs for field in run.fields})
    for field in (name, f"method.{name}"):
        if field in known:
            return field
    short = [field.removeprefix("method.") for field in known]
    raise UserError(f"No run has a field '{name}'. {did_you_mean(name, short, known[:8], n=5)}")


def _values(runs: Sequence[PivotRun], name: str) -> list[str]:
    field = _field(runs, name)
    values = list(dict.fromkeys(run.fields.get(field, MISSING) for run in runs))
    numeric = all(value == MISSING or _in_order(value)[0] == 0 for value in values)
    return sorted(values, key=_in_order) if numeric else values


def _in_order(part: str) -> tuple[int, float, str]:
    try:
        return 0, float(part), ""
    except ValueError:
        return (2 if part == MISSING else 1), 0.0, part


def _text(cell: PivotCell) -> str:
    mean = cell.mean
    shared = f", {len(cell.runs)} runs" if len(cell.runs) > 1 else ""
    interval = shown_interval(mean.low, mean.high, mean.n)
    return f"{mean.mean:.3f}{_CHOSEN if cell.marks else ''}{interval} n={mean.n}{shared}"


def _notes(runs: Sequence[PivotRun], cells: Sequence[PivotCell], layout: Layout) -> tuple[str, ...]:
    shown = {id(run) for cell in cells for run in cell.runs}
    every = [run for run in runs if id(run) in shown]
    titles = [run.fields.get("title", "a run") for run in every]
    scoped = any("scope" in of_question for run in every for of_question in run.attributes.values())
    notes = [
        "mean over questions that did not fail, 95 % bootstrap interval over questions"
        f"{' and their scopes' if scoped else ''}, n questions"
    ]
    marks = dict.fromkeys(
        f"{t} {run.mark}" for t, run in zip(titles, every, strict=True) if run.mark
    )
    notes += [f"{_CHOSEN} {', '.join(marks)}; {INFLATED}"] if marks else []
    notes += cut_notes(zip(titles, (run.fields.get("embedder", "") for run in every), strict=True))
    placed = {"key", _field(runs, layout.rows), _field(runs, layout.cols)}
    differing = {
        name
        for cell in cells
        for name in {field for run in cell.runs for field in run.fields} - placed
        if len({run.fields.get(name) for run in cell.runs}) > 1
    }
    if differing:
        names = sorted(differing, key=lambda name: (name.count("."), name))
        n_more = len(names) - _MOST_NAMED
        notes.append(
            "cells with several runs average over what differs in them: "
            + ", ".join(names[:_MOST_NAMED])
            + (f" and {n_more} more" if n_more > 0 else "")
        )
    return tuple(notes)


def plot_pivot(
    path: Path, runs: Sequence[PivotRun], layout: Layout, kind: str | None, *, span: int = 1
) -> None:
    """Write the cells of a free table as `kind`, `bars` or `heat`.

    Without a kind it is a heat map where rows and columns are numbers, two at least of each, and
    the questions are not split. Bars have a group for each row and part, a bar in it for each
    column. Raises UserError as `pivot_table` does, and for a heat map of split questions.
    """
    cells = pivot_cells(runs, layout)
    if kind == "heat" and layout.by:
        raise UserError(f"A heat map has rows and columns alone; by={layout.by} goes with bars.")
    lines = list(dict.fromkeys(cell.line for cell in cells))
    columns = list(dict.fromkeys(cell.column for cell in cells))
    if kind == "heat" or (kind is None and not layout.by and _are_numbers(lines, columns)):
        means = {(cell.line, cell.column): cell.mean.mean for cell in cells}
        values = [[means.get((line, column)) for column in columns] for line in lines]
        grid = Grid(layout.value, layout.rows, layout.cols, lines, columns, values)
        plot_grids(path, [grid], span=span)
        return
    bars = [
        Bar(", ".join(filter(None, (cell.line, cell.part))), cell.column,
            cell.mean.mean, cell.mean.low, cell.mean.high)
        for cell in cells
    ]  # fmt: skip
    plot_bars(path, bars, layout.value, span=span)


def _are_numbers(*labels: Sequence[str]) -> bool:
    try:
        return all(len({float(one) for one in names}) > 1 for names in labels)
    except ValueError:
        return False
