"""Where our figure for a printed metric comes from: metrics, ledger, data set or artifacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from graphrag_bench.analysis.judging.verdicts import StoredVerdicts
from graphrag_bench.analysis.papers import measures
from graphrag_bench.analysis.papers.candidates import Candidate
from graphrag_bench.analysis.papers.measures import Measured
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.papers.names import Metric
from graphrag_bench.papers.printed import PaperTable, Printed
from graphrag_bench.runs.stored import StoredRun

_ITSELF = "a method against itself"
_ALONE = "the paper does not name what it is compared with"


def reason_of(table: PaperTable, cell: Printed) -> str:
    """Why no figure of ours can be compared with a cell; "" where one can."""
    metric = table.metric(cell)
    if metric.none or not metric.criteria:
        return metric.none or ""
    return _ITSELF if cell.versus == cell.method else "" if cell.versus else _ALONE


@dataclass
class FigureSource:
    """Figures of stored runs below `home`; what has to be opened for them is opened once."""

    home: Path
    _known: dict[tuple[object, ...], Measured | None] = field(default_factory=dict)
    _sizes: dict[str, Mapping[str, int]] = field(default_factory=dict)

    @cached_property
    def verdicts(self) -> StoredVerdicts:
        """What judges have said of the runs."""
        return StoredVerdicts(self.home)

    def sizes(self, run: StoredRun) -> Mapping[str, int]:
        """The documents and tokens of the corpus of a run; empty where it is not at hand."""
        digest = str(run.metrics.get("corpus"))
        if digest not in self._sizes:
            self._sizes[digest] = measures.corpus_sizes(run, self.home)
        return self._sizes[digest]

    def measured(self, table: PaperTable, cell: Printed, one: Candidate) -> Measured | None:
        """Our figure for a cell out of one candidate; None when it does not have it.

        Of several runs the mean over the seeds of each level, and of levels the one that the cell
        prints: the lowest or the highest, ties by the order of the levels.
        """
        metric, layer = table.metric(cell), table.layer(cell) or ""
        levels: dict[str, list[Candidate]] = {}
        for part, held in zip(table.parts(cell), one.parts or (one,), strict=True):
            if held is not None:
                levels.setdefault(part.level, []).append(held)
        found = [self._mean(metric, layer, held) for held in levels.values()]
        over = table.over(cell)
        if over is None:
            return measures.averaged(found)
        choose: Callable[..., Measured | None] = min if over == "lowest" else max
        there = [one for one in found if one is not None]
        return choose(there, key=lambda one: one.value, default=None)

    def _mean(self, metric: Metric, layer: str, held: Sequence[Candidate]) -> Measured | None:
        paths = [(o.run.folder.path, o.other and o.other.folder.path, o.judge) for o in held]
        key = (metric, layer, *paths)
        if key not in self._known and metric.criteria:
            self._known[key] = self._won(metric, held)
        elif key not in self._known:
            of_runs = (self._measured(metric, layer, one) for one in held)
            self._known[key] = measures.averaged(of_runs)
        return self._known[key]

    def _won(self, metric: Metric, held: Sequence[Candidate]) -> Measured | None:
        compared = [
            (one.run.folder.path.name, one.other.folder.path.name, criterion, one.judge)
            for one in held
            if one.other is not None
            for criterion in metric.criteria
        ]
        return measures.share_of(self.verdicts.win_rate(compared, held[0].run.scopes))

    def _measured(self, metric: Metric, layer: str, one: Candidate) -> Measured | None:
        run, held, path = one.run, one.run.metrics, one.run.folder.path
        if metric.judged_answer:
            mean = self.verdicts.judged(path, metric.judged_answer, one.judge, run.scopes)
            return measures.share_of(mean)
        if metric.metric:
            return measures.metric_of(held, metric.metric)
        if metric.usage:
            return measures.usage_of(held, metric.usage)
        if metric.cost:
            return measures.usd(held)
        if metric.build:
            return measures.build_tokens(held, reports=metric.build == "report_tokens")
        if metric.time or metric.seconds:
            return measures.seconds(run.folder.timing(), held["cost"], metric.seconds or "")
        if metric.tokens:
            return measures.step_tokens(run.rows.values(), metric.tokens)
        if metric.layers:
            return measures.layer_share(run.rows.values(), layer) if layer else None
        what = metric.count or metric.graph
        return self._size(run, what) if what else None

    def _size(self, run: StoredRun, what: str) -> Measured | None:
        n, found = run.metrics["n"], run.dataset
        if what == "questions":
            return Measured(len(found.questions), n) if found else None
        if what in ("documents", "tokens"):
            held = self.sizes(run)
            return Measured(held[what], n) if held else None
        try:
            experiment = Experiment.prepare(
                {**run.config, "paths": {"home": str(self.home)}}, found
            )
        except UserError:
            return None
        resource = "chunk_table" if what == "chunks" else "graph"
        items = [item for item in experiment.plan if item.resource == resource]
        if not items or not experiment.store().holds(items[0]):
            return None
        try:
            folder = experiment.store().folder(items[0])
            return Measured(measures.length(folder, items[0], what), n)
        except UserError:
            return None
