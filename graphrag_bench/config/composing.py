"""Composition through Hydra, which composes the same choices of groups once in a process."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from graphrag_bench.config.choices import States, states


def composition(overrides: Sequence[str]) -> Any:
    """The unresolved configuration of prepared overrides; raises what Hydra raises.

    Settings (`++NAME=VALUE`) are laid over what the choices of groups come to, as Hydra does it.
    Choices are composed again when a file of theirs has changed, and with settings of Hydra.
    Raises UserError for a choice whose file cannot be read.
    """
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.types import RunMode

    if any(one.lstrip("+~").startswith("hydra") for one in overrides):
        return _by_hydra(overrides)
    settings = [one for one in overrides if one.startswith("++")]
    chosen = tuple(one for one in overrides if not one.startswith("++"))
    parsed = OverridesParser.create().parse_overrides(settings)
    ConfigLoaderImpl.validate_sweep_overrides_legal(parsed, RunMode.RUN, from_shell=False)
    named = [one.partition("=")[2].strip("'\"") for one in chosen]
    config = copy.deepcopy(_chosen(chosen, states(named)))
    ConfigLoaderImpl._apply_overrides_to_config(parsed, config)
    return config


@lru_cache(maxsize=64)
def _chosen(chosen: tuple[str, ...], _: States) -> Any:
    return _by_hydra(chosen)


def _by_hydra(overrides: Sequence[str]) -> Any:
    from hydra import compose, version
    from hydra._internal.hydra import Hydra
    from hydra.core.global_hydra import GlobalHydra

    from graphrag_bench.config.config_source import search_path

    version.setbase("1.3")
    GlobalHydra.instance().clear()
    try:
        Hydra.create_main_hydra2("run", search_path())
        return compose("run", overrides=list(overrides))
    finally:
        GlobalHydra.instance().clear()
