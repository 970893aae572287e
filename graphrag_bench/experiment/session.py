"""The runs of one process: what they share, what came out, and what is lacking."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.experiment.baseline import check_baseline
from graphrag_bench.experiment.execute import RunResult, execute
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.failing import too_many
from graphrag_bench.experiment.objectives import check_objective
from graphrag_bench.experiment.reference_rows import references
from graphrag_bench.experiment.shared import Shared
from graphrag_bench.progress import Progress
from graphrag_bench.report.selection import best_of, mark
from graphrag_bench.runs.folder import Occupied

Cell = tuple[Path, str]
"""A run folder, and how much of the run is wanted and how it is scored."""
_EXTENT = {"limit", "answer", "evaluation", "repeats", "split", "dev_share"}
_PAUSE = 2.0
"""Seconds between two looks at a run that another process is at work on."""


def cell_of(experiment: Experiment) -> Cell:
    """Return the identity of a cell of a sweep; equal cells run once."""
    extent = experiment.settings.model_dump_json(include=_EXTENT)
    return experiment.folder.path, extent


@dataclass
class Session:
    """Experiments and results of one process, each made once.

    `cells` has the result of each cell of a sweep, or its error, by the number of its job;
    `overrides` what the cell was given. `failure` is the last error of a job.
    """

    shared: Shared = field(default_factory=Shared)
    experiments: dict[str, Experiment] = field(default_factory=dict)
    rows: dict[Cell, list[Experiment]] = field(default_factory=dict)
    results: dict[Cell, RunResult] = field(default_factory=dict)
    cells: dict[int, RunResult | str] = field(default_factory=dict)
    overrides: dict[int, Sequence[str]] = field(default_factory=dict)
    failure: Exception | None = None
    swept: bool = False

    def experiment(self, values: Mapping[str, Any], *, swept: bool) -> Experiment:
        """Return the checked experiment of composed settings; raises UserError.

        Experiments share data sets, models and artifacts.
        """
        name = json.dumps([values, swept], sort_keys=True, default=str)
        if name not in self.experiments:
            made = Experiment.prepare(values, swept=swept, shared=self.shared)
            check_baseline(made)
            check_objective(made.settings)
            if made.settings.objective and made.settings.split == "test":
                raise UserError("objective chooses settings: split=dev; report it on split=test.")
            self.experiments[name] = made
        return self.experiments[name]

    def with_references(self, experiment: Experiment) -> list[Experiment]:
        """Return the experiment, then its reference rows."""
        name = cell_of(experiment)
        if name not in self.rows:
            self.rows[name] = [
                Experiment.prepare(values, experiment.dataset, swept=True, shared=self.shared)
                for values in references(experiment)
            ]
        return [experiment, *self.rows[name]]

    def run(self, experiment: Experiment, *, swept: bool, label: str = "") -> RunResult:
        """Run an experiment and its reference rows, each once, and return its result.

        In a sweep what another process runs is waited for. `label` precedes its progress.
        """
        every = self.with_references(experiment)
        for row, one in enumerate(every):
            if cell_of(one) not in self.results:
                progress = None if row else Progress(part=label)
                done = _waited(one, progress) if swept else execute(one, progress)
                self.results[cell_of(one)] = done
        result = self.results[cell_of(experiment)]
        own = cell_of(result.experiment)  # another one where an artifact is incomplete
        self.results.setdefault(own, result)
        self.rows.setdefault(own, every[1:])
        return result

    def names_of(self, experiment: Experiment) -> list[Cell]:
        """Return the identities of an experiment and its reference rows."""
        return [cell_of(one) for one in self.with_references(experiment)]

    def shown(self) -> list[RunResult]:
        """Return the results that a table shows: those of the cells, each before its references."""
        ends = [end for _, end in sorted(self.cells.items()) if isinstance(end, RunResult)]
        every = [name for end in ends for name in self.names_of(end.experiment)]
        return [self.results[name] for name in dict.fromkeys(every)]

    @property
    def errors(self) -> dict[int, str]:
        """The errors of the cells that failed, by the number of the job."""
        return {cell: end for cell, end in sorted(self.cells.items()) if isinstance(end, str)}

    def lacking(self) -> list[str]:
        """Return what runs lack, a line each: rows, or more answers than may fail."""
        return list(dict.fromkeys(line for one in self.shown() if (line := _lacking(one))))

    def best(self) -> list[str]:
        """Return lines that name the best cell by `objective`; its result gets the mark.

        None without an objective. Raises UserError for a metric that the runs do not have.
        """
        ends = {cell: end for cell, end in self.cells.items() if isinstance(end, RunResult)}
        objective = next((end.experiment.settings.objective for end in ends.values()), None)
        if objective is None:
            return []
        first: dict[Cell, int] = {}
        for number, end in sorted(ends.items()):
            first.setdefault(cell_of(end.experiment), number)
        numbers = list(first.values())
        row, selection = best_of([ends[number].metrics for number in numbers], objective)
        best = ends[numbers[row]]
        if selection["n_configurations"] > 1:
            best.folder.add_selection(selection)
        metrics = best.folder.completed(best.metrics)
        self.results[cell_of(best.experiment)] = replace(best, metrics=metrics)
        value = metrics["metrics"][objective]
        n, split = selection["n_configurations"], selection["split"]
        lines = [
            f"best of {n} configurations by {objective} on split={split}: {value['mean']:.3f} "
            f"[{value['low']:.2f}, {value['high']:.2f}], n={value['n']} {mark(metrics)}".rstrip(),
            f"  {best.folder.path}",
        ]
        if selection["n_equal"]:
            lines.append(f"  {selection['n_equal']} other(s) are as high; the first is taken")
        if split == "all":
            lines.append("  chosen on all questions, none is left to report it on: use split=dev")
        else:
            words = [one for one in self.overrides[numbers[row]] if not one.startswith(_CHOOSING)]
            lines.append("its value on questions that it was not chosen on:")
            if any(one.startswith("experiment=") for one in words):
                words += ["hydra.mode=RUN", "objective=null"]  # its file may hold the sweep
            command = shlex.join(["graphrag-bench", "run", *words, "split=test"])
            lines.append(f"  {command}")
        return lines


_CHOOSING = ("split=", "objective=")


def _waited(experiment: Experiment, progress: Progress | None) -> RunResult:
    waiting = False
    while True:
        try:
            return execute(experiment, progress)
        except Occupied as occupied:
            if not waiting:
                Progress().say(f"waiting for another process: {occupied}")
            waiting = True
            time.sleep(_PAUSE)


def _lacking(result: RunResult) -> str:
    metrics, settings = result.metrics, result.experiment.settings
    n, n_failed, n_selected = (int(metrics[name]) for name in ("n", "failed", "selected"))
    title, limit = metrics["title"], settings.failures.limit
    if too_many(metrics, limit):
        allowed = "all of them" if n_failed == n else f"more than failures.limit={limit:.0%}"
        return (
            f"{title}: {n_failed} of {n} questions failed, {allowed}; the same command tries "
            f"them again: {result.folder.file('failures', 'txt')}"
        )
    if n < n_selected and settings.part == (1, 1):
        return f"{title}: {n_selected - n} of {n_selected} questions have no row"
    return ""


@cache
def session() -> Session:
    """Return the session of this process."""
    return Session()
