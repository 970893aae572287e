"""Measured values for the cells of a paper's table, and the inputs that are still missing."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphrag_bench.papers.printed import PaperTable, Part, PrintedCell, PrintedSize, Recipe
from graphrag_bench.report.rendering import MISSING
from graphrag_bench.report.rows import group_by
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.tables import candidates
from graphrag_bench.tables.candidates import Candidate, grade_of, stored_of
from graphrag_bench.tables.grading import Grade, Mismatch, RunConditions
from graphrag_bench.tables.measures import FigureSource, FigureValue, reason_without_figure


@dataclass(frozen=True)
class Figure:
    """Value of a stored run over `n` questions, in the paper's unit, with its interval if known."""

    value: float
    low: float | None
    high: float | None
    n: int
    metrics: Mapping[str, Any]
    run: str
    grade: Grade
    judge: str = ""


@dataclass(frozen=True)
class CellEntry:
    """Our value for a cell of a paper's table, and the inputs that are still missing.

    `runs` has the settings of missing runs. `unjudged` has the keys of the runs, or pairs of runs,
    without verdicts. `missing_parts` names other missing inputs. `reason` explains why the cell
    cannot have a value. A mean over several runs can have a value before all runs are there.
    """

    figure: Figure | None = None
    runs: tuple[tuple[str, ...], ...] = ()
    missing_parts: str = ""
    unjudged: tuple[tuple[str, ...], ...] = ()
    reason: str = ""


def count_of_runs(n_runs: int) -> str:
    """Return `1 run`, `2 runs` and so on, or "" for zero runs."""
    return f"{n_runs} run{'s' if n_runs > 1 else ''}" if n_runs else ""


Cells = Mapping[PrintedCell, CellEntry]
Gap = tuple[Part, Candidate | None]
"""A part of a printed value that is missing, and the stored run that lacks only the metric."""


def difference(cell: PrintedCell, filled: Cells) -> str:
    """Return our value minus the paper's value, e.g. `+1.2`; "–" for no value or grade C."""
    figure = filled[cell].figure
    if figure is None or figure.grade.major or cell.value is None:
        return MISSING
    return f"{figure.value - cell.value:+.1f}"


_TIMES = ("time", "seconds")
_SERIAL = "seconds need a run with workers=1 cache.mode=off"
_WITHOUT_ANSWERS = ("count", "graph", "build")
"""Kinds of metrics that do not depend on answers. Each kind has its own selection of runs."""
_SHARES = ("judged", "judged_answer", "metric", "layers")
"""Kinds of metrics with values in 0..1, which papers print in percent."""


def cell_entries(
    table: PaperTable,
    runs: Sequence[StoredRun],
    source: FigureSource,
    *,
    papers_prompts: bool = False,
) -> dict[PrintedCell, CellEntry]:
    """Return our entry for each cell of a paper's table."""

    def row_of(cell: PrintedCell) -> candidates.GradedRow:
        kind = table.metric(cell).kind
        return cell.row, kind if kind in _WITHOUT_ANSWERS else ""

    cards = {place.card for place in table.paper.datasets.values()}
    conditions = []
    for run in runs:
        ours = run.metrics.get("card", run.metrics["dataset"]) in cards
        conditions.append(RunConditions.of(run, papers_prompts, source.sizes(run) if ours else {}))
    groups = Counter(Candidate(one.run, Grade()).group for one in conditions)
    collection = _Collection(table, conditions, source, groups)
    filled: dict[PrintedCell, CellEntry] = {}
    for name in table.datasets:
        rows = group_by((cell for cell in table.cells if cell.dataset == name), row_of)
        having: dict[candidates.GradedRow, list[Candidate]] = {}
        for row, cells in rows.items():
            of_row: dict[tuple[object, ...], Candidate] = {}
            for cell in cells:
                for one in candidates.candidates(table, cell, conditions, source.verdicts):
                    if one.sort_key not in of_row and source.figure(table, cell, one):
                        of_row[one.sort_key] = one
            having[row] = list(of_row.values())
        picked = candidates.selected_runs(having)
        for row, cells in rows.items():
            filled |= {cell: collection.filled(cell, picked.get(row)) for cell in cells}
    return filled


@dataclass(frozen=True)
class _Collection:
    table: PaperTable
    conditions: Sequence[RunConditions]
    source: FigureSource
    groups: Counter[candidates.RunGroup]
    """The number of stored runs in each group of comparable runs."""

    def filled(self, cell: PrintedCell, picked: Candidate | None) -> CellEntry:
        table, recipe = self.table, Recipe(self.table, cell)
        if reason := reason_without_figure(table, cell):
            return CellEntry(reason=reason)
        measured = self.source.figure(table, cell, picked) if picked else None
        parts = table.parts(cell)
        runs = (picked.parts or (picked,)) if picked else [None] * len(parts)
        pairs = zip(parts, runs, strict=True)
        gaps = [(part, run) for part, run in pairs if measured is None or run is None]
        runnable = recipe.place.run_card is not None
        rest = self.lacking(recipe, gaps) if gaps and runnable else CellEntry()
        if picked is not None and measured is not None:
            return replace(rest, figure=_figure(table, cell, picked, measured))
        if not runnable:
            return CellEntry(reason="no card for this data set")
        return rest

    def lacking(self, recipe: Recipe, gaps: Sequence[Gap]) -> CellEntry:
        """Return what a value needs: new runs, or scores, timings or verdicts of stored runs."""
        metric = recipe.metric
        unscored = [run.run.folder.path for _, run in gaps if run]
        if metric.kind == "metric" and unscored:
            wanted = metric.value.split("|")[0]
            return CellEntry(missing_parts=f"{wanted} of {unscored[0]} (graphrag-bench runs score)")
        parts = [part for part, run in gaps if metric.criteria or run is None]
        stored = [(part, stored_of(part, self.conditions)) for part in parts]
        if metric.criteria or metric.kind == "judged_answer":
            on = f" on {', '.join(criteria_of_table(self.table))}" if metric.criteria else ""
            return CellEntry(
                runs=_words(one for part, runs in stored if not runs for one in part.sides),
                missing_parts=f"verdicts of {recipe.judge}{on}",
                unjudged=tuple(self.nearest(part, runs) for part, runs in stored if runs),
            )
        timed = metric.kind in _TIMES
        words = _words(part.own for part, runs in stored if not (timed and runs))
        return CellEntry(reason=_SERIAL) if timed and not words else CellEntry(runs=words)

    def nearest(self, part: Part, stored: Sequence[tuple[RunConditions, ...]]) -> tuple[str, ...]:
        """Return the key of the run, or the keys of the pair of runs, that should be judged.

        The order is: best grade, largest group of comparable runs, nearest to the paper.
        """

        def place(runs: tuple[RunConditions, ...]) -> tuple[object, ...]:
            one = Candidate(runs[0].run, grade_of(part, runs), runs[-1].run)
            return one.grade.letter, -self.groups[one.group], one.sort_key

        return tuple(one.run.folder.path.name for one in min(stored, key=place))


def criteria_of_table(table: PaperTable) -> list[str]:
    """Return the distinct criteria, such as `diversity`, of the win rates in a table."""
    metrics = (table.paper.metrics[cell.metric] for cell in table.cells)
    return list(dict.fromkeys(name for metric in metrics for name in metric.criteria))


def _words(recipes: Iterable[Recipe]) -> tuple[tuple[str, ...], ...]:
    return tuple(dict.fromkeys(words for one in recipes if (words := one.words)))


def _figure(
    table: PaperTable, cell: PrintedCell, picked: Candidate, measured: FigureValue
) -> Figure:
    graded, metric = picked.grade, table.metric(cell)
    percent = cell.unit == "percent" and metric.kind in _SHARES
    scale = 100.0 if percent else 1000.0 if cell.unit == "ms" else 1.0
    low, high = (None if end is None else end * scale for end in (measured.low, measured.high))
    counted = metric.kind == "count" and cell.value
    if counted and not (size := PrintedSize.of(cell, metric.value)).agrees(measured.value):
        values = f"{measured.value:,.0f}", f"{size.value:,}"
        graded = Grade.of([*graded.major, Mismatch(size.what, *values, major=True)])
    path, metrics = str(picked.run.folder.path), picked.run.metrics
    judge = picked.judge + (f", protocol {picked.protocol}" if picked.protocol else "")
    return Figure(measured.value * scale, low, high, measured.n, metrics, path, graded, judge)
