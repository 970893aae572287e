"""Which method a live index is of, with which settings: written once, when it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.growing.versions import INDEX, write_whole
from graphrag_bench.plain_json import read_json

_OWN = (("paths", "home"), ("paths", "shared_artifacts"), ("cache", "path"), ("cache", "mode"))
"""Settings that an index sets itself: what it does not need is removed from where they point."""


@dataclass(frozen=True)
class Choice:
    """A method, by name or as its steps, and the settings that were given with it."""

    method: str | Mapping[str, Any]
    settings: Mapping[str, Any]


def index_choice(
    folder: Path, method: str | Mapping[str, Any] | None, settings: Mapping[str, Any]
) -> Choice:
    """The choice of the index in a folder, written there for a new one.

    Raises UserError for a folder without an index where no method is named, for one that is not
    empty, for settings that an index makes itself, and where another method or other settings are
    given than those of the index.
    """
    own = [f"{group}.{name}" for group, name in _OWN if name in (settings.get(group) or {})]
    if own:
        raise UserError(f"{', '.join(own)}: an index keeps everything in its own folder.")
    path = folder / INDEX
    if not path.is_file():
        if method is None:
            raise UserError(f"There is no index in {folder}; name its method to make one.")
        if folder.is_dir() and any(folder.iterdir()):
            raise UserError(f"{folder} is not empty and has no index; name another folder.")
        folder.mkdir(parents=True, exist_ok=True)
        made = Choice(method, dict(settings))
        try:
            write_whole(path, asdict(made))
        except TypeError as error:
            raise UserError(f"The settings of an index are kept as JSON: {error}.") from None
        return made
    held = read_json(path.read_text(encoding="utf-8"), str(path))
    if not isinstance(held, dict) or not isinstance(held.get("settings"), dict):
        raise UserError(f"{path} is damaged.")
    kept = Choice(held["method"], held["settings"])
    if method is not None and method != kept.method:
        raise UserError(
            f"The index in {folder} is of {_named(kept.method)}, not of {_named(method)}; "
            "another method has an index in another folder."
        )
    other = [name for name, value in settings.items() if kept.settings.get(name) != value]
    if other:
        raise UserError(
            f"The index in {folder} was made with other settings ({', '.join(other)}); leave them "
            "out, or make an index in another folder."
        )
    return kept


def _named(method: Any) -> str:
    return f"'{method}'" if isinstance(method, str) else "a method of your own"
