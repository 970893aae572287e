"""Sweeps: the cells of a multirun, composed and checked first, then handed to Hydra's launcher."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.cli.overrides import composed, refusal
from graphrag_bench.errors import UserError, nearest
from graphrag_bench.experiment.experiment import Experiment, load_plugins
from graphrag_bench.experiment.groups import load, names
from graphrag_bench.experiment.method import RESERVED
from graphrag_bench.experiment.pooling import refuse_for_all
from graphrag_bench.experiment.settings import check_settings
from graphrag_bench.locations import project_folder

Cell = tuple[Path, str]
"""A run folder, and how much of the run was asked for and how it is scored."""


def cell_of(experiment: Experiment) -> Cell:
    """What a cell of a sweep comes to; equal cells are worked on once."""
    extent = experiment.settings.model_dump_json(include={"limit", "answer", "evaluation"})
    return experiment.folder.path, extent


def cells(overrides: Sequence[str]) -> list[dict[str, Any]]:
    """The settings of every cell of a sweep, in Hydra's order; raises UserError.

    A parameter that no method of the sweep has is refused, and so is a path pooling that none can
    have.
    """
    found = [composed(cell) for cell in _split(overrides)]
    lacking = [_lacking(values["method"]) for values in found]
    for name in sorted(set().union(*lacking)):
        if all(name in missing for missing in lacking):
            known = {key for values in found for key in _parameters(values["method"])}
            close = ", ".join(nearest(name, known) or sorted(known)) or "none"
            raise UserError(f"No method of this sweep has 'method.{name}'; nearest: {close}.")
    made = [one_method_only(values) for values in found]
    if any(values.get("pooling") for values in made):
        load_plugins(check_settings(made[0]).plugins)
        refuse_for_all(made)
    return made


def _split(overrides: Sequence[str]) -> list[list[str]]:
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
    from hydra._internal.utils import create_config_search_path
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    loader = ConfigLoaderImpl(create_config_search_path(str(project_folder("configs"))))
    parser = OverridesParser.create(config_loader=loader)
    parsed = []
    for override in overrides:
        try:
            parsed += parser.parse_overrides([override])
        except HydraException as error:
            raise refusal(override, error, {}) from None
    batches = BasicSweeper.split_arguments(parsed, max_batch_size=None)
    return [list(cell) for batch in batches for cell in batch]


def one_method_only(values: dict[str, Any]) -> dict[str, Any]:
    """The settings without the parameters that this cell's method does not have.

    A parameter swept over several methods collapses the cells of a method that lacks it to one.
    """
    missing = _lacking(values["method"])
    method = {key: value for key, value in values["method"].items() if key not in missing}
    return {**values, "method": method}


def _parameters(method: Mapping[str, Any]) -> set[str]:
    """The names that the method's file holds, and those that every method may have."""
    name = method.get("name")
    return {*(load("method", name) if name in names("method") else method), *RESERVED}


def _lacking(method: Mapping[str, Any]) -> set[str]:
    return set(method) - _parameters(method)


def launch(
    overrides: Sequence[str], folder: Path, job: Callable[[Mapping[str, Any]], None]
) -> None:
    """Give every cell to `job` through Hydra's multirun, so that launchers and sweepers work.

    `folder` gets Hydra's own record of the sweep. A UserError of a cell ends the sweep: the cells
    after it are passed over, and it is raised again here.
    """
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import DictConfig

    stopped: list[UserError] = []

    def cell(_: DictConfig) -> None:
        if stopped:
            return
        try:
            job(one_method_only(composed(list(HydraConfig.get().overrides.task))))
        except UserError as error:
            stopped.append(error)

    quoted = str(folder).replace("\\", "\\\\").replace("'", "\\'")
    quiet = [f"hydra.sweep.dir='{quoted}'", "hydra.sweep.subdir=."]
    held = sys.argv
    sys.argv = [held[0], "-m", *overrides, *quiet]
    try:
        hydra.main(str(project_folder("configs")), "run", version_base="1.3")(cell)()
    finally:
        sys.argv = held
    if stopped:
        raise stopped[0]
