"""Composition through Hydra, which composes the same choices of groups once in a process."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphrag_bench.experiment.groups import GROUPS, load, names
from graphrag_bench.locations import project_folder

_States = tuple[tuple[str, int, int], ...]


def composition(overrides: Sequence[str]) -> Any:
    """The unresolved configuration of prepared overrides; raises what Hydra raises.

    Settings (`++NAME=VALUE`) are laid over what the choices of groups come to, as Hydra does it.
    Choices are composed anew when a file of `configs` has changed, and with settings of Hydra.
    """
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.types import RunMode

    folder = project_folder("configs")
    if any(one.lstrip("+~").startswith("hydra") for one in overrides):
        return _by_hydra(folder, overrides)
    settings = [one for one in overrides if one.startswith("++")]
    choices = tuple(one for one in overrides if not one.startswith("++"))
    parsed = OverridesParser.create().parse_overrides(settings)
    ConfigLoaderImpl.validate_sweep_overrides_legal(parsed, RunMode.RUN, from_shell=False)
    config = copy.deepcopy(_chosen(folder, choices, _states(folder)))
    ConfigLoaderImpl._apply_overrides_to_config(parsed, config)
    return config


@lru_cache(maxsize=64)
def _chosen(folder: Path, choices: tuple[str, ...], _: _States) -> Any:
    return _by_hydra(folder, choices)


def _by_hydra(folder: Path, overrides: Sequence[str]) -> Any:
    from hydra import compose, initialize_config_dir

    _check_files(overrides)
    from hydra.core.global_hydra import GlobalHydra

    GlobalHydra.instance().clear()
    with initialize_config_dir(str(folder), version_base="1.3"):
        return compose("run", overrides=list(overrides))


def _check_files(overrides: Sequence[str]) -> None:
    """Read every chosen file as plain YAML first: Hydra would unfold any alias and follow any tag.

    Raises UserError for one that cannot be read, and for a method that holds code.
    """
    chosen = dict(one.lstrip("+").partition("=")[::2] for one in overrides)
    for name, value in chosen.items():
        group = name.partition("@")[0]
        choice = value.strip("'\"")
        if group in GROUPS and choice in names(group):
            load(group, choice)


def _states(folder: Path) -> _States:
    """Path, time of change and size of every file under a folder, sorted."""
    walked = os.walk(folder, followlinks=True)
    paths = [os.path.join(held, name) for held, _, names in walked for name in names]
    stats = [(path, os.stat(path)) for path in sorted(paths) if os.path.isfile(path)]
    return tuple((path, stat.st_mtime_ns, stat.st_size) for path, stat in stats)
