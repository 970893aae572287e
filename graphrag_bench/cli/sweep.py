"""Sweeps: the cells of a multirun, composed and checked first, then handed to Hydra's launcher."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.cli.overrides import composed
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.groups import resolve
from graphrag_bench.experiment.method import RESERVED
from graphrag_bench.locations import project_folder


def cells(overrides: Sequence[str]) -> list[dict[str, Any]]:
    """The settings of every cell of a sweep, in Hydra's order; raises UserError."""
    return [one_method_only(composed(cell)) for cell in _split(overrides)]


def _split(overrides: Sequence[str]) -> list[list[str]]:
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
    from hydra._internal.utils import create_config_search_path
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    loader = ConfigLoaderImpl(create_config_search_path(str(project_folder("configs"))))
    try:
        parsed = OverridesParser.create(config_loader=loader).parse_overrides(list(overrides))
    except HydraException as error:
        raise UserError(str(error).splitlines()[0]) from None
    batches = BasicSweeper.split_arguments(parsed, max_batch_size=None)
    return [list(cell) for batch in batches for cell in batch]


def one_method_only(values: dict[str, Any]) -> dict[str, Any]:
    """The settings without the parameters that this cell's method does not have.

    A parameter swept over several methods collapses the cells of a method that lacks it to one.
    """
    from graphrag_bench.experiment.groups import load, names

    method = values["method"]
    if method.get("name") in names("method"):
        raw = load("method", method["name"])
        known = {*raw, *RESERVED}
        values["method"] = {key: value for key, value in method.items() if key in known}
    return values


def launch(
    overrides: Sequence[str], folder: Path, job: Callable[[Mapping[str, Any]], None]
) -> None:
    """Give every cell to `job` through Hydra's multirun, so that launchers and sweepers work.

    `folder` gets Hydra's own record of the sweep.
    """
    import hydra
    from omegaconf import DictConfig, OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    def cell(config: DictConfig) -> None:
        job(one_method_only(resolve(config, OmegaConf, OmegaConfBaseException)))

    quiet = [f"hydra.sweep.dir={folder}", "hydra.sweep.subdir=."]
    held = sys.argv
    sys.argv = [held[0], "-m", *overrides, *quiet]
    try:
        hydra.main(str(project_folder("configs")), "run", version_base="1.3")(cell)()
    finally:
        sys.argv = held
