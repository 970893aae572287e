"""Folders of configs that a command line names: `--config-dir`, `hydra.searchpath=[...]`."""

from __future__ import annotations

from collections.abc import Sequence

from graphrag_bench.errors import UserError

_OPTION = "--config-dir"
_HYDRAS = "hydra.searchpath="
_FILE = "file://"


def with_config_dirs(words: Sequence[str]) -> list[str]:
    """The words without the folders among them, in which choices are looked for from now on.

    Raises UserError for an option without a folder, and for a folder that holds no group.
    """
    from graphrag_bench.config.choices import look_in

    rest: list[str] = []
    folders: list[str] = []
    left = iter(words)
    for word in left:
        name, equals, value = word.partition("=")
        if name == _OPTION:
            folders.append(value if equals else next(left, ""))
            if not folders[-1]:
                raise UserError(f"{_OPTION} needs a folder: {_OPTION} FOLDER.")
        elif word.startswith(_HYDRAS):
            listed = value.strip("[]").split(",")
            folders += [one.strip(" '\"").removeprefix(_FILE) for one in listed if one.strip()]
        else:
            rest.append(word)
    look_in(folders)
    return rest
