"""Hydra's multirun over cells that are composed elsewhere; imported when a sweep starts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

from hydra import version
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.hydra import Hydra
from hydra._internal.utils import run_and_report
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig

from graphrag_bench.config.config_source import search_path


class CellLoader(ConfigLoaderImpl):
    """Gives a cell the sweep's configuration with the overrides of the cell noted in it.

    Hydra would compose every cell twice, to check it and to run it, and what it comes to is read by
    no one: the cells are checked before a sweep starts, and composed where they are run.
    """

    def load_sweep_config(
        self, master_config: DictConfig, sweep_overrides: list[str]
    ) -> DictConfig:
        """The configuration of a cell."""
        config = copy.deepcopy(master_config)
        config.hydra.overrides.task = list(sweep_overrides)
        return config


def multirun(overrides: Sequence[str], cell: Callable[[DictConfig], object]) -> None:
    """Let the sweeper and the launcher of the overrides call `cell` for each cell.

    Raises SystemExit when a cell raises, or Hydra itself, after showing the error.
    """
    version.setbase("1.3")
    GlobalHydra.instance().clear()
    hydra = Hydra("run", CellLoader(search_path()))
    GlobalHydra.instance().initialize(hydra)
    try:
        run_and_report(
            lambda: hydra.multirun(
                config_name="run",
                task_function=cell,
                overrides=[*overrides, "hydra.mode=MULTIRUN"],
            )
        )
    finally:
        GlobalHydra.instance().clear()
