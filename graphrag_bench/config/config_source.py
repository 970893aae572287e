"""Hydra's view of the choices of groups: it looks where `experiment.choices` looks."""

from __future__ import annotations

from typing import Any

from hydra._internal.sources_registry import SourcesRegistry
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import OmegaConf

from graphrag_bench.config.compose import load
from graphrag_bench.config import choices
from graphrag_bench.locations import project_folder

_SCHEME = "choices"
_ROOT = "run"
_STUDY = "experiment"


class ChoicesSource(ConfigSource):
    """The root `run`, and every group with the names and files that `choices` knows.

    A choice comes with what it changes of another already laid over that; the defaults of the root
    and of a study are left to Hydra. A study is at the root of the settings, whatever it says.
    """

    @staticmethod
    def scheme() -> str:
        """The scheme under which Hydra finds this source."""
        return _SCHEME

    def load_config(self, config_path: str) -> ConfigResult:
        """The content of a choice, `GROUP/CHOICE`, or of the root."""
        group, _, choice = config_path.partition("/")
        if not choice:
            held: dict[str, Any] = choices.read(project_folder("configs") / f"{_ROOT}.yaml")
        else:
            held = choices.content(group, choice) if group == _STUDY else load(group, choice)
        package = "_global_" if group == _STUDY else None
        config = OmegaConf.create(held)
        return ConfigResult(self.provider, f"{_SCHEME}://", config, {"package": package})

    def available(self) -> bool:
        """True."""
        return True

    def is_group(self, config_path: str) -> bool:
        """Whether a path is a group."""
        return config_path in choices.GROUPS

    def is_config(self, config_path: str) -> bool:
        """Whether a path is the root, or a choice that there is."""
        group, _, choice = config_path.partition("/")
        if not choice or group not in choices.GROUPS:
            return config_path == _ROOT
        return choices.names_a_file(choice) or choice in choices.names(group)

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """The names of a group."""
        return choices.names(config_path) if config_path in choices.GROUPS else []


def search_path() -> ConfigSearchPath:
    """Where Hydra looks: its own settings, and the choices."""
    SourcesRegistry.instance().register(ChoicesSource)
    return create_config_search_path(f"{_SCHEME}://")
