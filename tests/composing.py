"""Hydra's compositions in tests: what the same choices give is read and merged once in a process.

That is most of the 0.1 seconds of one; overrides of values are applied to a copy. Nothing is used
that was composed of other files, or of files that have changed since.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hydra._internal import config_loader_impl as loading

from graphrag_bench.config import sources

LOADER = loading.ConfigLoaderImpl
_list, _merge = loading.create_defaults_list, LOADER._compose_config_from_defaults_list
_lists: dict[object, Any] = {}
_merged: dict[int, Any] = {}


def remember() -> None:
    """Let Hydra use what it has composed before."""
    loading.create_defaults_list = _defaults_list
    LOADER._compose_config_from_defaults_list = _merged_once  # type: ignore[method-assign]


def forget() -> None:
    """Let it compose everything anew."""
    _lists.clear()
    _merged.clear()


def _defaults_list(repo: Any, config_name: str, overrides_list: Sequence[Any], **how: Any) -> Any:
    every = [one for one in overrides_list if not one.is_sweep_override()]
    values = [
        one for one in every
        if isinstance(one.value(), dict) or not repo.group_exists(one.key_or_group)
    ]  # fmt: skip
    choices = [one for one in every if one not in values]
    files = [file for folder in sources.folders() for file in folder.rglob("*.yaml")]
    files += filter(None, (sources.file_of("", str(one.value())) for one in choices))
    times = [(file, file.stat().st_mtime_ns) for file in files if file.is_file()]
    words = [*map(repr, repo.get_sources()), *(one.input_line for one in choices)]
    key = (config_name, *words, *times)  # `skip_missing` counts for ??? alone, in no file
    if key not in _lists:
        _lists[key] = _list(repo, config_name, overrides_list, **how)
    return replace(_lists[key], config_overrides=values)


def _merged_once(self: Any, defaults: list[Any], repo: Any) -> Any:
    if id(defaults) not in _merged:  # `_lists` keeps them, so that no other has their number
        _merged[id(defaults)] = _merge(self, defaults, repo)
    return copy.deepcopy(_merged[id(defaults)])
