"""Values of stored runs for the cells of a paper's table, and the inputs that are still missing."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.artifacts.store import load_artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.statistics import Mean, mean_with_interval
from graphrag_bench.graphs.tree import layer_of
from graphrag_bench.judging.pairs import VerdictKey
from graphrag_bench.judging.tables import StoredVerdicts
from graphrag_bench.papers.printed import PaperTable, Part, PrintedCell, PrintedSize, Recipe
from graphrag_bench.report.rendering import MISSING
from graphrag_bench.report.rows import TOKENS, group_by, total_of
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.folder import Row, read_json, write_whole
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.tables import candidates
from graphrag_bench.tables.candidates import Candidate, grade_of, stored_of
from graphrag_bench.tables.grading import Grade, Mismatch, RunConditions
from graphrag_bench.text import count_tokens

Cells = Mapping[PrintedCell, "CellEntry"]
_SUMS = ("calls", "prompt_tokens", "completion_tokens")
"""Usage statistics that are sums over all questions. All other usage statistics are means."""
_SERIAL = "seconds need a run with workers=1 cache.mode=off"
_WITHOUT_ANSWERS = ("count", "graph", "build")
"""Kinds of metrics that do not depend on answers. Each kind has its own selection of runs."""
_SHARES = ("judged", "judged_answer", "metric", "layers")
"""Kinds of metrics with values in 0..1, which papers print in percent."""


@dataclass(frozen=True)
class FigureValue:
    """A value measured over `n` questions, with a confidence interval if it is a mean."""

    value: float
    n: int
    low: float | None = None
    high: float | None = None


def _interval(mean: Mean | None) -> FigureValue | None:
    return FigureValue(mean.mean, mean.n, mean.low, mean.high) if mean else None


def _mean_of(values: Sequence[float]) -> FigureValue | None:
    return _interval(mean_with_interval(values)) if sum(values) else None


def seconds(timing: Sequence[Row], cost: Mapping[str, Any], what: str = "") -> FigureValue | None:
    """Return the mean number of seconds per question, of all steps or of a stage or operator.

    A question without such a step counts as 0 seconds. Returns None if the questions ran in
    parallel, if replies came from the cache, or if no step matches `what`.
    """
    cached = any(part["cached"]["calls"] for part in cost.get("questions", {}).values())
    if cached or not timing or any(row.get("workers") != 1 for row in timing):
        return None
    n = len({row["question"] for row in timing})
    of_steps = {(row["question"], row["step"]): row["seconds"] for row in timing}
    parts = [time for (_, step), time in of_steps.items() if not what or _is_of(step, what)]
    return FigureValue(sum(parts) / n, n) if parts else None


def _is_of(step: str, what: str) -> bool:
    place, _, operator = step.partition(" ")
    return what in (place.partition(".")[0], operator)


def step_tokens(rows: Iterable[Row], what: str) -> FigureValue | None:
    """Return the mean prompt and completion tokens of a stage or operator per question."""
    answered = [row["steps"] for row in rows if row["status"] != "failed"]
    of_step = [[part for name, part in steps.items() if _is_of(name, what)] for steps in answered]
    return _mean_of([sum(part.get(one, 0) for part in of for one in TOKENS) for of in of_step])


def layer_share(rows: Iterable[Row], layer: str) -> FigureValue | None:
    """Return the mean fraction of retrieved nodes in a tree layer (`0`, `1`, or `>1` for higher).

    Returns None if a retrieved node belongs to no tree, or if no node was retrieved.
    """
    least, shares = int(layer.removeprefix(">")), []
    for row in rows:
        context = row.get("context") or {}
        names = [one["id"] for one in context.get("pieces", ()) if one["kind"] == "node"]
        names += [name for kind, name in context.get("cut", ()) if kind == "node"]
        layers = [one for name in names if (one := layer_of(name)) is not None]
        if len(layers) < len(names):
            return None
        if layers:
            n = sum(one > least if layer.startswith(">") else one == least for one in layers)
            shares.append(n / len(layers))
    return _interval(mean_with_interval(shares)) if shares else None


class FigureSource:
    """Values of the stored runs in `home`; verdicts and corpora are read only once."""

    def __init__(self, home: Path) -> None:
        self.home, self.verdicts = home, StoredVerdicts(home)

    def sizes(self, run: StoredRun) -> Mapping[str, int]:
        """Return the `documents` and `tokens` of a run's corpus; {} if it is unknown or changed."""
        if not (digest := str(run.metrics.get("corpus") or "")):
            return {}
        file = self.home / "runs" / ".tables" / f"{digest}.json"
        sizes: dict[str, int] = read_json(file)
        if sizes or (dataset := run.dataset) is None or dataset.corpus_digest != digest:
            return sizes
        n_tokens = sum(count_tokens(one.text) for one in dataset.documents)
        sizes = {"documents": len(dataset.documents), "tokens": n_tokens}
        write_whole(file, json.dumps(sizes) + "\n")
        return sizes

    def figure(self, table: PaperTable, cell: PrintedCell, one: Candidate) -> FigureValue | None:
        """Return a cell's value from the runs of a candidate, or None if they lack the metric."""
        metric = table.metric(cell)
        run, metrics, what = one.run, one.run.metrics, metric.value
        match metric.kind:
            case "judged":
                return self._win_rate(table, cell, one)
            case "judged_answer":
                judged = self.verdicts.judged(run.folder.path, what, run.scopes)
                return _interval(judged.get(one.judge))
            case "metric":
                stored = metrics["metrics"]
                mean = next((stored[name] for name in what.split("|") if stored.get(name)), None)
                return _interval(mean and Mean(**mean))
            case "usage":
                value, n = metrics["usage"].get(what), metrics["n"]
                return FigureValue(value / (n if what in _SUMS else 1), n) if value else None
            case "cost":
                costs = metrics["cost"]["questions"].values()
                return _mean_of([total_of(cost, "usd") for cost in costs])
            case "build":
                parts = [metrics["cost"]["stages"].get("build")]
                if what == "report_tokens":
                    steps = metrics["cost"]["steps"].items()
                    parts = [part for name, part in steps if name.startswith("reports")]
                n_tokens = sum(total_of(part, *TOKENS) for part in parts if part)
                return FigureValue(n_tokens, metrics["n"]) if n_tokens else None
            case "time" | "seconds" as kind:
                step = what if kind == "seconds" else ""
                return seconds(run.folder.timing(), metrics["cost"], step)
            case "tokens":
                return step_tokens(run.rows.values(), what)
            case "layers":
                layer = next((row.layer for row in table.rows_of(cell) if row.layer), "")
                return layer_share(run.rows.values(), layer) if layer else None
            case "count" | "graph":
                return self._size(run, what)
        return None

    def _win_rate(self, table: PaperTable, cell: PrintedCell, one: Candidate) -> FigureValue | None:
        """Return the mean win rate over seeds. Of several levels, the lowest or highest counts."""
        levels: dict[str, list[VerdictKey]] = {}
        for part, run in zip(table.parts(cell), one.parts or (one,), strict=True):
            if run is not None and run.other is not None:
                keys = run.run.folder.path.name, run.other.folder.path.name
                own = (run.judge, run.protocol)
                of_level = levels.setdefault(part.level, [])
                of_level += ((*keys, name, *own) for name in part.own.metric.criteria)
        rates = (self.verdicts.win_rate(of, one.run.scopes) for of in levels.values())
        highest = any(row.over == "highest" for row in table.rows_of(cell))
        means = sorted(filter(None, rates), key=lambda mean: mean.mean, reverse=highest)
        return _interval(means[0]) if means else None

    def _size(self, run: StoredRun, what: str) -> FigureValue | None:
        n, dataset = run.metrics["n"], run.dataset
        if what == "questions":
            return FigureValue(len(dataset.questions), n) if dataset else None
        if what in ("documents", "tokens"):
            sizes = self.sizes(run)
            return FigureValue(sizes[what], n) if sizes else None
        resource = "chunk_table" if what == "chunks" else "graph"
        config = {**run.config, "paths": {"home": str(self.home)}}
        with suppress(UserError):
            experiment = Experiment.prepare(config, dataset)
            built = filter(experiment.store().holds, experiment.plan)
            for item in (one for one in built if one.resource == resource):
                folder = experiment.store().folder(item)
                if what == "chunks":
                    return FigureValue(len(load_artifact(ChunkTable, folder).texts), n)
                graph: Graph = load_artifact(Graph, folder)
                return FigureValue(graph.n_nodes if what == "nodes" else graph.n_relationships, n)
        return None


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

    `runs` lists the settings of missing runs. `unjudged` lists the keys of runs, or pairs of runs,
    without verdicts. `missing_parts` names other missing inputs. `reason` explains why the cell
    cannot have a value. A mean over several runs can have a value before all runs exist.
    """

    figure: Figure | None = None
    runs: tuple[tuple[str, ...], ...] = ()
    missing_parts: str = ""
    unjudged: tuple[tuple[str, ...], ...] = ()
    reason: str = ""


def difference(cell: PrintedCell, filled: Cells) -> str:
    """Return our value minus the paper's value, e.g. `+1.2`; "–" for no value or grade C."""
    figure = filled[cell].figure
    if figure is None or figure.grade.major or cell.value is None:
        return MISSING
    return f"{figure.value - cell.value:+.1f}"


def cell_entries(
    table: PaperTable, runs: Sequence[StoredRun], source: FigureSource, papers_prompts: bool = False
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
        having: dict[candidates.GradedRow, dict[object, Candidate]] = {row: {} for row in rows}
        for row, cells in rows.items():
            for cell in cells:
                for one in candidates.candidates(table, cell, conditions, source.verdicts):
                    if one.sort_key not in having[row] and source.figure(table, cell, one):
                        having[row][one.sort_key] = one
        picked = candidates.selected_runs({row: list(of.values()) for row, of in having.items()})
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
        if recipe.metric.kind == "none":
            return CellEntry(reason=recipe.metric.value)
        if recipe.metric.criteria and cell.versus == cell.method:
            return CellEntry(reason="a method against itself")
        if recipe.metric.criteria and not cell.versus:
            return CellEntry(reason="the paper does not name the opponent")
        measured = self.source.figure(table, cell, picked) if picked else None
        parts = table.parts(cell)
        runs = (picked.parts or (picked,)) if picked else [None] * len(parts)
        pairs = zip(parts, runs, strict=True)
        gaps = [(part, run) for part, run in pairs if measured is None or run is None]
        runnable = recipe.place.run_card is not None
        rest = self.lacking(recipe, gaps) if gaps and runnable else CellEntry()
        if picked is not None and measured is not None:
            return replace(rest, figure=_figure(table, cell, picked, measured))
        return rest if runnable else CellEntry(reason="no card for this data set")

    def lacking(self, recipe: Recipe, gaps: Sequence[tuple[Part, Candidate | None]]) -> CellEntry:
        """Return the missing inputs. A gap is a part without a value, with its run or None."""
        metric = recipe.metric
        unscored = [run.run.folder.path for _, run in gaps if run]
        if metric.kind == "metric" and unscored:
            wanted = metric.value.split("|")[0]
            return CellEntry(missing_parts=f"{wanted} of {unscored[0]} (graphrag-bench runs score)")
        parts = [part for part, run in gaps if metric.criteria or run is None]
        stored = [(part, stored_of(part, self.conditions)) for part in parts]
        if metric.criteria or metric.kind == "judged_answer":
            on = f" on {', '.join(table_criteria(self.table))}" if metric.criteria else ""
            return CellEntry(
                runs=_words(one for part, runs in stored if not runs for one in part.sides),
                missing_parts=f"verdicts of {recipe.judge}{on}",
                unjudged=tuple(self.nearest(part, runs) for part, runs in stored if runs),
            )
        timed = metric.kind in ("time", "seconds")
        words = _words(part.own for part, runs in stored if not (timed and runs))
        return CellEntry(reason=_SERIAL) if timed and not words else CellEntry(runs=words)

    def nearest(self, part: Part, stored: Sequence[tuple[RunConditions, ...]]) -> tuple[str, ...]:
        """Return the keys of the run or pair to judge: the best grade, then the largest group."""

        def place(runs: tuple[RunConditions, ...]) -> tuple[object, ...]:
            one = Candidate(runs[0].run, grade_of(part, runs), runs[-1].run)
            return one.grade.letter, -self.groups[one.group], one.sort_key

        return tuple(one.run.folder.path.name for one in min(stored, key=place))


def table_criteria(table: PaperTable) -> list[str]:
    """Return the distinct criteria, such as `diversity`, of the win rates in a table."""
    metrics = (table.paper.metrics[cell.metric] for cell in table.cells)
    return list(dict.fromkeys(name for metric in metrics for name in metric.criteria))


def _words(recipes: Iterable[Recipe]) -> tuple[tuple[str, ...], ...]:
    return tuple(dict.fromkeys(words for one in recipes if (words := one.words)))


def _figure(table: PaperTable, cell: PrintedCell, picked: Candidate, found: FigureValue) -> Figure:
    graded, metric = picked.grade, table.metric(cell)
    percent = cell.unit == "percent" and metric.kind in _SHARES
    scale = 100.0 if percent else 1000.0 if cell.unit == "ms" else 1.0
    low, high = (None if end is None else end * scale for end in (found.low, found.high))
    counted = metric.kind == "count" and cell.value
    if counted and not (size := PrintedSize.of(cell, metric.value)).agrees(found.value):
        values = f"{found.value:,.0f}", f"{size.value:,}"
        graded = Grade.of([*graded.major, Mismatch(size.what, *values, major=True)])
    path, metrics = str(picked.run.folder.path), picked.run.metrics
    judge = picked.judge + (f", protocol {picked.protocol}" if picked.protocol else "")
    return Figure(found.value * scale, low, high, found.n, metrics, path, graded, judge)
