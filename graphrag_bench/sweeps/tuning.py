"""Settings chosen by a sweep: Optuna on the dev part alone, and the best cell with its mark."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

from graphrag_bench.config.compose import composed
from graphrag_bench.config.words import Word, given_names
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.unused_settings import refuse_idle
from graphrag_bench.report.selection import best_of, mark
from graphrag_bench.sweeps.cells import Cell, Preparing, cell_of, composed_cells, one_method_only
from graphrag_bench.sweeps.launching import Grid, Results, failures, run_cell, when_free
from graphrag_bench.sweeps.manifest import CellRow, Manifest, manifest_of
from graphrag_bench.sweeps.multirun import launch
from graphrag_bench.sweeps.objectives import check_objective

OBJECTIVE = "evidence_recall@5"
"""What a sweep by Optuna looks for unless `objective` says another metric."""
_OF_OPTUNA = {
    "hydra.sweeper.direction": "maximize",
    "hydra.sweeper.n_jobs": "1",
    "hydra.sweeper.max_failure_rate": "1.0",
    "hydra.sweeper.sampler.seed": "0",
}
"""What Optuna is told unless the user says it: one trial at a time and the same ones every time, so
that a sweep that was killed goes on from the runs that it has."""
_SEEDLESS = ("grid", "motpe")
"""Samplers of Optuna that take no seed."""
_PLUGINS = {
    "hydra/sweeper=optuna": ("hydra_plugins.hydra_optuna_sweeper", "tuning"),
    "hydra/launcher=ray": ("hydra_plugins.hydra_ray_launcher", "ray-sweeps"),
    "hydra/launcher=ray_aws": ("hydra_plugins.hydra_ray_launcher", "ray-sweeps"),
}


def require_plugins(words: Sequence[Word]) -> None:
    """Raise UserError for a sweeper or launcher of Hydra whose extra is not installed."""
    for word in words:
        package, extra = _PLUGINS.get(str(word), ("hydra", ""))
        if find_spec("hydra_plugins" if extra else "hydra") is None or find_spec(package) is None:
            raise UserError(f"{word} needs an extra: pip install 'graphrag-bench[{extra}]'.")


def is_tuning(words: Sequence[Word]) -> bool:
    """Whether a sweeper chooses the cells as it goes."""
    chosen = [word.text for word in words if word.name == "hydra/sweeper"]
    return bool(chosen) and chosen[-1] != "basic"


@dataclass
class Tuning:
    """A sweep whose cells Optuna chooses: on the dev part, without answers unless asked for."""

    words: list[Word]
    swept: list[Word]
    fixed: list[Word]
    first: Experiment
    objective: str
    preparing: Preparing = field(default_factory=Preparing)

    @classmethod
    def of(cls, words: Sequence[Word]) -> Tuning:
        """The checked sweep of words; raises UserError before anything is run.

        Checked are the first value of every swept setting, and each of its other choices and ends
        with them.
        """
        added, notes = _with_defaults(words)
        for note in notes:
            sys.stderr.write(f"note: {note}\n")
        hydras = [word for word in added if word.is_hydras]
        swept = [word for word in added if not word.is_hydras and word.is_sweep]
        fixed = [word for word in added if not (word.is_hydras or word in swept)]
        points = _points(swept)
        preparing = Preparing()
        values = composed_cells([[*fixed, *point] for point in points])
        made = preparing.checked(values)
        refuse_idle(given_names(words), made)
        for experiment in made:
            check_objective(experiment.settings)
        objective = made[0].settings.objective or OBJECTIVE
        return cls([*fixed, *swept, *hydras], swept, fixed, made[0], objective, preparing)

    @property
    def manifest(self) -> Manifest:
        """The manifest of the sweep."""
        return manifest_of(self.first.home, self.words)

    def run(self, results: Results) -> dict[int, str]:
        """Run the trials, add what came out to `results`, and return the errors by trial."""
        manifest, preparing, objective, fixed = (
            self.manifest, Preparing(), self.objective, self.fixed
        )  # fmt: skip
        manifest.start(self.words, [])
        missing: list[UserError] = []
        home = self.first.home

        def job(number: int, own: Mapping[str, str]) -> float | None:
            if missing:
                return 0.0  # the sweep ends in that error
            manifest.enter(CellRow(number, own, ""))
            values = one_method_only(composed([*fixed, *(Word(k, v) for k, v in own.items())]))
            result = run_cell(manifest, number, values, results, preparing)
            if result is None:
                return None
            run = result.folder.path.relative_to(home).as_posix()
            manifest.enter(CellRow(number, own, run, "done", n_failed=result.metrics["failed"]))
            if objective not in result.metrics["metrics"]:
                missing.append(_no_such(objective, result.metrics))
                return 0.0
            return float(result.metrics["metrics"][objective]["mean"])

        _quiet_optuna()
        launched = launch(self.swept, self.words, manifest.folder, job)
        if missing:
            raise missing[0]
        errors = failures(manifest)
        if not (launched or errors):
            raise UserError("Hydra could not end the sweep; its message is above.")
        self._gather(results)
        return errors

    def _gather(self, results: Results) -> None:
        for experiment, _ in self._trials():
            if cell_of(experiment) not in results:
                results[cell_of(experiment)] = when_free(experiment)

    def words_by_cell(self) -> dict[Cell, Sequence[Word]]:
        """The settings of every trial that was done."""
        return {cell_of(experiment): given for experiment, given in self._trials()}

    def _trials(self) -> list[tuple[Experiment, list[Word]]]:
        rows = [row for row in self.manifest.rows() if row.status == "done"]
        given = [[*self.fixed, *(Word(k, v) for k, v in row.settings.items())] for row in rows]
        made = [self.preparing.experiment(one_method_only(composed(held))) for held in given]
        return list(zip(made, given, strict=True))


def _with_defaults(words: Sequence[Word]) -> tuple[list[Word], list[str]]:
    added, notes = list(words), []
    values = {word.name: word.text.strip("'\"") for word in words}
    if values.get("split", "dev") != "dev":
        raise UserError(
            f"split={values['split']}: settings are chosen on split=dev alone; the best one is "
            "then run on split=test."
        )
    if "split" not in values:
        added.append(Word("split", "dev"))
        notes.append("split=dev: settings are chosen on the dev part of the questions alone")
    if "answer" not in values:
        added.append(Word("answer", "off"))
        notes.append("answer=off: no answer is asked for; add answer=on for a metric of answers")
    if values.get("hydra/sweeper") == "optuna":
        held = {k: v for k, v in _OF_OPTUNA.items() if k not in values}
        if values.get("hydra/sweeper/sampler") in _SEEDLESS:
            held.pop("hydra.sweeper.sampler.seed", None)
        added += [Word(name, value) for name, value in held.items()]
    return added, notes


def _points(swept: Sequence[Word]) -> list[list[Word]]:
    if not swept:
        raise UserError("Nothing is swept: give a setting values, e.g. 'method.damping=0.1,0.5'.")
    space = {word.name: word.ends() for word in swept}
    first = {name: values[0] for name, values in space.items()}
    others = [{**first, name: value} for name, values in space.items() for value in values[1:]]
    return [[Word(*one) for one in point.items()] for point in [first, *others]]


def _quiet_optuna() -> None:
    if find_spec("optuna") is not None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)


def _no_such(objective: str, metrics: Mapping[str, Any]) -> UserError:
    said = str(unknown("metric", objective, metrics["metrics"]))
    hint = "" if metrics["answered"] else " Metrics of answers need answer=on."
    return UserError(f"objective={objective}: {said}{hint}")


def selected(sweep: Grid | Tuning, results: Results) -> list[str]:
    """Lines that name the best cell and the command to report it by; its result gets the mark.

    No lines without an objective. Raises UserError for a metric that the runs do not have.
    """
    if sweep.objective is None or not results:
        return []
    swept = sweep.words_by_cell()
    names = [name for name in results if name in swept]
    row, selection = best_of([results[name].metrics for name in names], sweep.objective)
    best = results[names[row]]
    if selection["n_configurations"] > 1:
        best.folder.add_selection(selection)
    metrics = best.folder.completed(best.metrics)
    results[names[row]] = replace(best, metrics=metrics)
    held = metrics["metrics"][sweep.objective]
    n, split = selection["n_configurations"], selection["split"]
    given = swept[names[row]]
    equal = selection["n_equal"]
    lines = [
        f"best of {n} configurations by {sweep.objective} on split={split}: {held['mean']:.3f} "
        f"[{held['low']:.2f}, {held['high']:.2f}], n={held['n']} {mark(metrics)}".rstrip(),
        f"  {best.folder.path}",
        *([f"  {equal} other(s) are as high; the first is taken"] if equal else []),
    ]
    if split == "all":
        return [*lines, "  chosen on all questions, none is left to report it on: use split=dev"]
    return [*lines, "its value on questions that it was not chosen on:", f"  {_command(given)}"]


def _command(words: Sequence[Word]) -> str:
    left = ("split", "objective")
    kept = [str(word) for word in words if word.name not in left]
    return shlex.join(["graphrag-bench", "run", *kept, "split=test"])
