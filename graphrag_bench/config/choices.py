"""Where choices of groups are looked for: the project's `configs`, and those of the user.

A choice of a group is a name or a file. Names are looked for in the folders of `folders()`, each
with a folder for every group (`configs/method/mine.yaml` is `method=mine`); a file is named by its
path (`method=./mine.yaml`). A data set needs no file to be chosen: its card is enough. All ways of
composing settings ask here, and nowhere else.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphrag_bench.data.card import card_file, card_names
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.locations import project_folder
from graphrag_bench.plain_yaml import read_yaml

ROLES = ("llm_build", "llm_judge")
"""Groups whose choices are those of `llm`: other models in the same run."""
GROUPS = (
    "dataset", "method", "llm", *ROLES, "embedder", "chunking", "pooling", "experiment",
)  # fmt: skip
FILE = "file"
"""The key of a user's method that holds the path of its file."""

_given: list[Path] = []
_of_plugins: list[Path] = []


def look_in(folders: Iterable[str | Path]) -> None:
    """Look for names in these folders too, in place of those given before (--config-dir).

    Raises UserError for what is not a folder, and for a folder without a folder of any group.
    """
    found = [Path(folder).expanduser() for folder in folders]
    for folder in found:
        if not folder.is_dir():
            raise UserError(f"--config-dir: there is no folder '{folder}'.")
        if not any((folder / group).is_dir() for group in GROUPS):
            raise UserError(
                f"--config-dir: '{folder}' has no folder of a group, such as "
                f"{folder / 'method'}; there are {', '.join(g for g in GROUPS if g not in ROLES)}."
            )
    _given[:] = [folder.resolve() for folder in found]


def add_folder(folder: Path) -> None:
    """Look for names in the `configs` of a plug-in package too, as long as the process lives."""
    if folder.is_dir() and folder.resolve() not in _of_plugins:
        _of_plugins.append(folder.resolve())


def folders() -> list[Path]:
    """The project's `configs` first, then those given, of the working directory, of plug-ins."""
    every = [project_folder("configs"), *_given, Path.cwd() / "configs", *_of_plugins]
    return list(dict.fromkeys(path.resolve() for path in every if path.is_dir()))


def names(group: str) -> list[str]:
    """The names that a group has, the user's among them, sorted."""
    return sorted(_own(group).union(*(_names_in(folder, group) for folder in folders())))


def built_in(group: str) -> list[str]:
    """The names of the project's own choices of a group, sorted."""
    return sorted(_own(group))


def path_of(group: str, choice: str) -> Path:
    """The file of a choice, which is a name or a path; the card of a data set without a file.

    Raises UserError with the nearest names for an unknown one, for a path that leads to no file,
    and, naming both files, for a name that two folders have.
    """
    if names_a_file(choice):
        path = Path(choice).expanduser()
        if not path.is_file():
            raise UserError(f"{group}={choice}: there is no file '{path.absolute()}'.")
        return path.absolute()
    found = _of_name(group, choice)
    if not found:
        raise unknown(group, choice, names(group))
    first, *others = found
    if others:
        raise UserError(
            f"{group}={choice}: two files have this name, {first} and {others[0]}. Rename yours, "
            f"or choose it by its path: {group}=./FILE.yaml."
        )
    return first


def names_a_file(choice: str) -> bool:
    """Whether a choice is the path of a file, not a name."""
    return "/" in choice or choice.endswith((".yaml", ".yml"))


def content(group: str, choice: str) -> dict[str, Any]:
    """What the file of a choice holds, as it is written there.

    For a data set without a file, that is its name. A user's method has its path under `file`.
    Raises UserError with file and line for what cannot be read.
    """
    path = path_of(group, choice)
    if group == "dataset" and path == card_file(choice):
        return {"name": choice}
    held = read(path)
    if group == "method" and not _is_built_in(path):
        if FILE in held:
            raise UserError(f"{path}: '{FILE}' is not a parameter's name; choose another.")
        held[FILE] = str(path)
    return held


def read(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; raises UserError with file and line when there is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path}: this is not text in UTF-8.") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}.") from None
    found = copy.deepcopy(_parsed(text, str(path)))
    if not isinstance(found, dict):
        raise UserError(f"{path}: a mapping was expected, NAME: VALUE on every line.")
    return found


@lru_cache(maxsize=256)
def _parsed(text: str, path: str) -> Any:
    """The value of a YAML text, read as OmegaConf reads it: 1e-3 is a number."""
    from omegaconf._utils import get_yaml_loader

    return read_yaml(text, path, get_yaml_loader())  # a SafeLoader


def _of_name(group: str, name: str) -> list[Path]:
    own = _own_file(group, name)
    found = [own] if own else []
    for folder in folders():
        path = _file(folder, group, name)
        same = (path == one or path.read_bytes() == one.read_bytes() for one in found)
        if path.is_file() and not any(same):
            found.append(path)
    return found


def _own_file(group: str, name: str) -> Path | None:
    path = _file(project_folder("configs").resolve(), group, name)
    if path.is_file():
        return path
    card = card_file(name)
    return card if group == "dataset" and card.is_file() else None


def _own(group: str) -> set[str]:
    cards = card_names() if group == "dataset" else []
    return {*cards, *_names_in(project_folder("configs"), group)}


def _names_in(folder: Path, group: str) -> set[str]:
    return {path.stem for path in _file(folder, group, "").parent.glob("*.yaml") if path.is_file()}


def _file(folder: Path, group: str, name: str) -> Path:
    return folder / ("llm" if group in ROLES else group) / f"{name}.yaml"


def _is_built_in(path: Path) -> bool:
    return path.is_relative_to(project_folder("configs").resolve())
