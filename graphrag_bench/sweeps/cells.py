"""The cells of a sweep: composed and checked before any of them is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from graphrag_bench.config.compose import composed, raw_method
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.settings import check_settings
from graphrag_bench.config.words import Word, given_names
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.method import RESERVED
from graphrag_bench.experiment.pooling import refuse_for_all
from graphrag_bench.experiment.shared import Shared
from graphrag_bench.experiment.unused_settings import refuse_idle
from graphrag_bench.sweeps.baseline import check_baseline
from graphrag_bench.sweeps.manifest import CellRow
from graphrag_bench.sweeps.reference_rows import references

_EXTENT = {"limit", "answer", "evaluation", "repeats", "split", "dev_share"}
Cell = tuple[Path, str]
"""A run folder, and how much of the run was asked for and how it is scored."""


def cell_of(experiment: Experiment) -> Cell:
    """The identity of a cell of a sweep; equal cells run once."""
    extent = experiment.settings.model_dump_json(include=_EXTENT)
    return experiment.folder.path, extent


@dataclass
class Preparing:
    """Experiments of settings, with what they share."""

    shared: Shared = field(default_factory=Shared)
    references: dict[Cell, list[Experiment]] = field(default_factory=dict)

    def experiment(self, values: Mapping[str, Any], *, swept: bool = True) -> Experiment:
        """The checked experiment of resolved settings; raises UserError."""
        made = Experiment.prepare(values, swept=swept, shared=self.shared)
        check_baseline(made)
        return made

    def with_references(self, experiment: Experiment) -> list[Experiment]:
        """The experiment, then its reference rows."""
        name = cell_of(experiment)
        if name not in self.references:
            self.references[name] = [
                Experiment.prepare(held, experiment.dataset, swept=True, shared=self.shared)
                for held in references(experiment)
            ]
        return [experiment, *self.references[name]]

    def checked(self, found: Sequence[Mapping[str, Any]]) -> list[Experiment]:
        """The experiment of every cell."""
        return [self.experiment(cell) for cell in found]


def checked_alone(words: Sequence[Word], preparing: Preparing) -> dict[str, Any]:
    """The settings of a single run; raises UserError, for what it would never read too."""
    values = composed(words)
    plain = preparing.experiment(values, swept=False)
    if plain.settings.objective is not None:
        raise UserError("objective names the best cell of a sweep: use it with -m.")
    refuse_idle(given_names(words), [plain])
    return values


def manifest_rows(
    cell_words: Sequence[Sequence[Word]], made: Sequence[Experiment]
) -> list[CellRow]:
    """The rows of a manifest before anything is run: settings that differ between cells."""
    everywhere = set(cell_words[0]).intersection(*cell_words)
    first: dict[Cell, int] = {}
    rows = []
    for number, (words, experiment) in enumerate(zip(cell_words, made, strict=True), 1):
        same = first.setdefault(cell_of(experiment), number)
        run = experiment.folder.path.relative_to(experiment.home).as_posix()
        own = {word.name: word.text for word in words if word not in everywhere}
        rows.append(CellRow(number, own, run, same_as=None if same == number else same))
    return rows


def composed_cells(cell_words: Sequence[Sequence[Word]]) -> list[dict[str, Any]]:
    """The settings of every cell of a sweep (`split_cells`), in order; raises UserError.

    A parameter that no method of the sweep has is refused, and so is a path pooling that none can
    have.
    """
    found = [composed(cell) for cell in cell_words]
    lacking = [_lacking(values["method"]) for values in found]
    for name in sorted(set().union(*lacking)):
        if all(name in missing for missing in lacking):
            known = {key for values in found for key in _parameters(values["method"])}
            hint = did_you_mean(name, sorted(known))
            raise UserError(f"No method of this sweep has 'method.{name}'. {hint}")
    made = [one_method_only(values) for values in found]
    if any(values.get("pooling") for values in made):
        load_plugins(check_settings(made[0]).plugins)
        refuse_for_all(made)
    return made


def split_cells(words: Sequence[Word]) -> list[list[Word]]:
    """The words of every cell of a grid, the last one changing first; those of Hydra left out.

    Raises UserError for a setting that cannot be read, and for an interval, which is not a grid.
    """
    own = [word for word in words if not word.is_hydras]
    every = [[Word(word.name, text) for text in word.values()] for word in own]
    return [list(cell) for cell in product(*every)]


def one_method_only(values: dict[str, Any]) -> dict[str, Any]:
    """The settings without the parameters that this cell's method does not have.

    A parameter swept over several methods collapses the cells of a method that lacks it to one.
    """
    missing = _lacking(values["method"])
    method = {key: value for key, value in values["method"].items() if key not in missing}
    return {**values, "method": method}


def _parameters(method: Mapping[str, Any]) -> set[str]:
    return {*(raw_method(method) or method), *RESERVED}


def _lacking(method: Mapping[str, Any]) -> set[str]:
    return set(method) - _parameters(method)
