"""A running sweep: each cell by Hydra's launcher, its end recorded, while the others continue."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrag_bench.config.words import Word, given_names
from graphrag_bench.errors import UserError, caught
from graphrag_bench.experiment.execute import RunResult, execute
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.unused_settings import refuse_idle
from graphrag_bench.progress import Progress
from graphrag_bench.runs.folder import Occupied
from graphrag_bench.sweeps.cells import (
    Cell,
    Preparing,
    cell_of,
    composed_cells,
    manifest_rows,
    split_cells,
)
from graphrag_bench.sweeps.manifest import CellRow, Manifest, manifest_of
from graphrag_bench.sweeps.multirun import launch, one_by_one
from graphrag_bench.sweeps.objectives import check_objective

Results = dict[Cell, RunResult]
CELL = "cell"
"""What Hydra's multirun is given of a grid: the numbers of its cells."""
SECONDS_OF_A_PAUSE = 2.0
"""Between two looks at a run that another process is at work on."""


@dataclass
class Grid:
    """A sweep whose cells are known before it starts, and its manifest."""

    words: list[Word]
    cell_words: list[list[Word]]
    values: list[dict[str, Any]]
    made: list[Experiment]
    preparing: Preparing = field(default_factory=Preparing)

    @classmethod
    def of(cls, words: Sequence[Word]) -> Grid:
        """The checked cells of a sweep's words; raises UserError before anything is run."""
        split = split_cells(words)
        values = composed_cells(split)
        preparing = Preparing()
        made = preparing.checked(values)
        refuse_idle(given_names(words), made)
        if any(one.settings.objective and one.settings.split == "test" for one in made):
            raise UserError("objective chooses settings: split=dev, and report it on split=test.")
        for experiment in made:
            check_objective(experiment.settings)
        return cls(list(words), split, values, made, preparing)

    @property
    def manifest(self) -> Manifest:
        """The manifest of the sweep."""
        return manifest_of(self.made[0].home, self.words)

    @property
    def rows(self) -> list[CellRow]:
        """The rows of the manifest before anything is run."""
        return manifest_rows(self.cell_words, self.made)

    def started(self) -> Manifest:
        """The manifest, written; what an earlier call has noted of the same runs stays."""
        self.manifest.start(self.words, self.rows)
        return self.manifest

    @property
    def objective(self) -> str | None:
        """The metric whose best cell is named at the end."""
        return self.made[0].settings.objective

    def words_by_cell(self) -> dict[Cell, Sequence[Word]]:
        """The settings of every cell."""
        cells = zip(self.made, self.cell_words, strict=True)
        return {cell_of(experiment): given for experiment, given in cells}

    def run(self, results: Results) -> dict[int, str]:
        """Run every cell, add what came out to `results`, and return the errors by cell.

        A cell that failed here and that another process has done since is no error. Hydra launches
        the cells where a word names a launcher or another setting of Hydra's.
        """
        manifest, preparing, values = self.started(), Preparing(), self.values

        def job(number: int, _: Mapping[str, str] | None = None) -> None:
            run_cell(manifest, number, values[number - 1], results, preparing)

        if any(word.is_hydras for word in self.words):
            every = Word(CELL, ",".join(str(number) for number in range(1, len(values) + 1)))
            launched = launch([every], self.words, manifest.folder, job)
        else:
            launched = one_by_one(len(values), job)
        errors = failures(manifest)
        if not (launched or errors):
            raise UserError("Hydra could not start the sweep; its message is above.")
        self._gather(results, errors)
        while errors != (now := failures(manifest)):  # others went on while they were waited for
            errors = now
            self._gather(results, errors)
        for row in manifest.rows():
            if row.cell not in errors and row.status != "done":  # another process was at work on it
                n_failed = results[cell_of(self.made[row.cell - 1])].metrics["failed"]
                manifest.note(row.cell, "done", n_failed=n_failed)
        return errors

    def _gather(self, results: Results, errors: Mapping[int, str]) -> None:
        held = dict(results)
        results.clear()
        for number, cell in enumerate(self.made, 1):
            for one in self.preparing.with_references(cell) if number not in errors else ():
                if (name := cell_of(one)) not in results:
                    results[name] = held.get(name) or when_free(one)


def run_one(
    values: Mapping[str, Any],
    results: Results,
    preparing: Preparing,
    *,
    swept: bool = False,
    progress: Progress | None = None,
) -> RunResult:
    """Run one experiment and its reference rows, each once; the result of the experiment.

    In a sweep, a reference row that another process is running is left to it. `progress` is the
    experiment's own; the reference rows belong to no cell.
    """
    experiment = preparing.experiment(values, swept=swept)
    for place, one in enumerate(preparing.with_references(experiment)):
        if cell_of(one) not in results:
            try:
                results[cell_of(one)] = execute(one, None if place else progress)
            except Occupied:
                if not (swept and place):
                    raise
    return results[cell_of(experiment)]


def run_cell(
    manifest: Manifest, cell: int, values: Mapping[str, Any], results: Results, preparing: Preparing
) -> RunResult | None:
    """The result of a cell; None when it failed, or when another process is at work on it.

    A UserError ends the cell alone. An error of the program is noted and raised; a process that is
    stopped leaves the cell `started`.
    """
    manifest.note(cell, "started")
    shown = Progress(part=manifest.named(cell))
    try:
        result = caught(lambda: run_one(values, results, preparing, swept=True, progress=shown))
    except Occupied:
        return None
    except UserError as error:
        manifest.note(cell, "failed", str(error))
        return None
    if isinstance(result, Exception):
        manifest.note(cell, "failed", f"{type(result).__name__}: {result}")
        raise result
    manifest.note(cell, "done", n_failed=int(result.metrics["failed"]))
    return result


def when_free(experiment: Experiment) -> RunResult:
    """The result of an experiment once no other process is at work on it."""
    said = False
    while True:
        try:
            return execute(experiment)
        except Occupied as occupied:
            if not said:
                Progress().say(f"waiting for another process: {occupied}")
            said = True
            time.sleep(SECONDS_OF_A_PAUSE)


def failures(manifest: Manifest) -> dict[int, str]:
    """The errors of the cells that failed, by number."""
    return {row.cell: row.error for row in manifest.rows() if row.status == "failed"}
