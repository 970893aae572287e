"""Measure the values that papers print (means, costs, win rates, sizes, times) in stored runs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from graphrag_bench.papers.printed import PaperTable, PrintedCell
from graphrag_bench.report.rows import TOKENS, total_of
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.folder import Row, read_json, write_whole
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.tables.candidates import Candidate
from graphrag_bench.text import count_tokens

_SUMS = ("calls", "prompt_tokens", "completion_tokens")
"""Usage statistics that are sums over all questions. All other usage statistics are means."""


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
    """Return which fraction of the retrieved tree nodes is in a layer, averaged over questions.

    `layer` is `0`, `1` or `>1`. Returns None if a retrieved node does not belong to a tree.
    """
    shares = []
    for row in rows:
        context = row.get("context") or {}
        names = [one["id"] for one in context.get("pieces", ()) if one["kind"] == "node"]
        names += [name for kind, name in context.get("cut", ()) if kind == "node"]
        layers = [one for name in names if (one := layer_of(name)) is not None]
        if len(layers) < len(names):
            return None
        if layers:
            least = int(layer.removeprefix(">"))
            n = sum(one > least if layer.startswith(">") else one == least for one in layers)
            shares.append(n / len(layers))
    return _interval(mean_with_interval(shares)) if shares else None


def reason_without_figure(table: PaperTable, cell: PrintedCell) -> str:
    """Return why no run can give a value for this cell, or "" if a run can."""
    metric = table.metric(cell)
    if metric.kind == "none":
        return metric.value
    if metric.criteria and cell.versus == cell.method:
        return "a method against itself"
    return "the paper does not name the opponent" if metric.criteria and not cell.versus else ""


@dataclass
class FigureSource:
    """Values of the stored runs in `home`; verdicts and corpora are read only once."""

    home: Path

    @cached_property
    def verdicts(self) -> StoredVerdicts:
        """The stored verdicts and grades of the judges."""
        return StoredVerdicts(self.home)

    def sizes(self, run: StoredRun) -> Mapping[str, int]:
        """Return the `documents` and `tokens` of a run's corpus; {} if it is unknown or changed."""
        digest = str(run.metrics.get("corpus") or "")
        file = self.home / "runs" / ".tables" / f"{digest}.json"
        sizes: dict[str, int] = read_json(file) if digest else {}
        if not digest or sizes:
            return sizes
        if (dataset := run.dataset) is None or dataset.corpus_digest != digest:
            return {}
        n_tokens = sum(count_tokens(one.text) for one in dataset.documents)
        sizes = {"documents": len(dataset.documents), "tokens": n_tokens}
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(sizes) + "\n")
        return sizes

    def figure(self, table: PaperTable, cell: PrintedCell, one: Candidate) -> FigureValue | None:
        """Return the value that a candidate gives for a cell; None if its runs do not have it."""
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
                cost = metrics["cost"]
                parts = [cost["stages"].get("build")]
                if what == "report_tokens":
                    steps = cost["steps"].items()
                    parts = [part for name, part in steps if name.startswith("reports")]
                n_tokens = sum(total_of(part, *TOKENS) for part in parts if part)
                return FigureValue(n_tokens, metrics["n"]) if n_tokens else None
            case "time" | "seconds":
                step = what if metric.kind == "seconds" else ""
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
        """Return the mean win rate over seeds; of several levels, the lowest or highest mean."""
        levels: dict[str, list[VerdictKey]] = {}
        for part, run in zip(table.parts(cell), one.parts or (one,), strict=True):
            if run is not None and run.other is not None:
                keys = run.run.folder.path.name, run.other.folder.path.name
                levels.setdefault(part.level, []).extend(
                    (*keys, name, run.judge, run.protocol) for name in part.own.metric.criteria
                )
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
        try:
            experiment = Experiment.prepare(config, dataset)
            item = next((item for item in experiment.plan if item.resource == resource), None)
            if item is None or not experiment.store().holds(item):
                return None
            folder = experiment.store().folder(item)
            if what == "chunks":
                return FigureValue(len(load_artifact(ChunkTable, folder).texts), n)
            graph: Graph = load_artifact(Graph, folder)
            return FigureValue(graph.n_nodes if what == "nodes" else graph.n_relationships, n)
        except UserError:
            return None
