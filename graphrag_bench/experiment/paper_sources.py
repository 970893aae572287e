"""Where our figure for a printed metric comes from: metrics, ledger, data set or artifacts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.statistics import Mean, mean_with_interval
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.paper_candidates import Candidate, evaluator, opposite
from graphrag_bench.experiment.stored import StoredRun
from graphrag_bench.experiment.verdicts import Verdicts
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.manifest import verify
from graphrag_bench.offline.plan import Planned
from graphrag_bench.offline.store import loaded
from graphrag_bench.report.papers import Metric, PaperTable, Printed

Settings = tuple[str, ...]
SERIAL = "timing_serial.json"
"""What `graphrag-bench time` leaves in the folder of a run."""
_SUMS = ("calls", "prompt_tokens", "completion_tokens")
"""What the usage of a run sums over its questions; the rest are means."""


@dataclass(frozen=True)
class Measured:
    """A figure over `n` questions; a `share` is in 0..1 and printed in percent."""

    value: float
    n: int
    low: float | None = None
    high: float | None = None
    share: bool = False


def reason_of(table: PaperTable, cell: Printed) -> str:
    """Why nothing of ours can stand beside a metric; "" where something can."""
    return table.paper.metrics[cell.metric].none or ""


@dataclass
class FigureSource:
    """Figures of stored runs below `home`; what has to be opened for them is opened once."""

    home: Path
    _known: dict[tuple[object, ...], Measured | None] = field(default_factory=dict)

    @cached_property
    def verdicts(self) -> Verdicts:
        """What judges have said of the runs."""
        return Verdicts(self.home)

    def measured(self, table: PaperTable, cell: Printed, one: Candidate) -> Measured | None:
        """Our figure for a cell out of one candidate; None when it does not have it."""
        metric = table.paper.metrics[cell.metric]
        other = one.other.folder.path if one.other else None
        key = (metric, one.run.folder.path, other, one.judge)
        if key not in self._known:
            self._known[key] = self._measured(metric, one)
        return self._known[key]

    def _measured(self, metric: Metric, one: Candidate) -> Measured | None:
        run, held = one.run, one.run.metrics
        if metric.judged and one.other is not None:
            keys = run.folder.path.name, one.other.folder.path.name
            return _share(self.verdicts.win_rate(*keys, metric.judged, one.judge, run.scopes))
        if metric.judged_answer:
            path = run.folder.path
            return _share(self.verdicts.judged(path, metric.judged_answer, one.judge, run.scopes))
        if metric.metric:
            having = [name for name in metric.metric.split("|") if name in held["metrics"]]
            return _with_interval(held["metrics"][having[0]]) if having else None
        if metric.usage:
            value = held["usage"].get(metric.usage)
            n = held["n"] if metric.usage in _SUMS else 1
            return Measured(value / n, held["n"]) if value else None
        if metric.cost:
            return _usd(held)
        if metric.build:
            return _build_tokens(held, reports=metric.build == "report_tokens")
        if metric.time:
            return _seconds(run.folder.path)
        what = metric.count or metric.graph
        return self._size(run, what) if what else None

    def _size(self, run: StoredRun, what: str) -> Measured | None:
        """The number of documents, questions, chunks, nodes or relationships of a run."""
        n = run.metrics["n"]
        if what in ("documents", "questions"):
            found = run.dataset
            return Measured(len(getattr(found, what)), n) if found else None
        try:
            experiment = Experiment.prepare({**run.config, "paths": {"home": str(self.home)}})
        except UserError:
            return None
        resource = "chunk_table" if what == "chunks" else "graph"
        items = [item for item in experiment.plan if item.resource == resource]
        if not items or not experiment.store().holds(items[0]):
            return None
        try:
            return Measured(_length(experiment.store().folder(items[0]), items[0], what), n)
        except UserError:
            return None

    def lacking(
        self, table: PaperTable, cell: Printed, run: StoredRun | None
    ) -> tuple[tuple[Settings, ...], str]:
        """The settings of the runs that a cell lacks, and the command that follows them.

        A run that is there and lacks the metric is scored again; a win rate takes the runs of both
        sides and a judge.
        """
        own = table.settings_of_paper(cell)
        metric = table.paper.metrics[cell.metric]
        if run is not None and metric.metric:
            return (), f"graphrag-bench score {run.folder.path}"
        if metric.time:
            timed = run.folder.path if run else "RUN"
            return ((own,) if own and not run else ()), f"graphrag-bench time {timed} n=20"
        if metric.judged_answer:
            return ((own,) if own else ()), f"graphrag-bench judge RUN {_judge(table, cell)}"
        if not metric.judged:
            return ((own,) if own else ()), ""
        sides = [own, table.settings_of_paper(opposite(cell)) if cell.versus else None]
        judging = f"graphrag-bench compare RUN_A RUN_B {_judge(table, cell)}"
        return tuple(side for side in sides if side), judging


def _judge(table: PaperTable, cell: Printed) -> str:
    """The settings of the paper's judge."""
    model = table.paper.llms[evaluator(table, cell)]
    return " ".join(text.replace("llm", "llm_judge", 1) for text in model.run)


def _with_interval(found: Mapping[str, Any]) -> Measured:
    return Measured(found["mean"], found["n"], found["low"], found["high"], share=True)


def _share(found: Mean | None) -> Measured | None:
    return Measured(found.mean, found.n, found.low, found.high, share=True) if found else None


def _seconds(folder: Path) -> Measured | None:
    """The mean seconds of a question by the serial timing of the run; None before there is one."""
    file = folder / SERIAL
    if not file.is_file():
        return None
    held = json.loads(file.read_text(encoding="utf-8"))
    return Measured(held["seconds"]["mean"], held["n"])


def _usd(held: Mapping[str, Any]) -> Measured | None:
    """The mean US dollars of a question, cached replies at what they were worth; None for none."""
    spent = [
        part["paid"]["usd"] + part["cached"]["usd"] for part in held["cost"]["questions"].values()
    ]
    if not spent or not sum(spent):
        return None
    found = mean_with_interval(spent)
    return Measured(found.mean, found.n, found.low, found.high)


def _build_tokens(held: Mapping[str, Any], *, reports: bool) -> Measured | None:
    """Prompt and completion tokens of building, paid or cached, or those of the reports alone."""
    cost = held["cost"]
    named = {name: part for name, part in cost["steps"].items() if name.startswith("reports")}
    parts = list(named.values()) if reports else [cost["stages"].get("build")]
    n_tokens = sum(
        part[where][kind]
        for part in parts
        if part
        for where in ("paid", "cached")
        for kind in ("prompt_tokens", "completion_tokens")
    )
    return Measured(n_tokens, held["n"]) if n_tokens else None


def _length(folder: Path, item: Planned, what: str) -> int:
    verify(folder)
    if item.resource == "chunk_table":
        return len(ChunkTable.load(folder).texts)
    graph: Graph = loaded(Graph, folder)
    return graph.n_nodes if what == "nodes" else graph.n_relationships
