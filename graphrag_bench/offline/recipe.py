"""The recipe of an artifact: what it was made of, and one sha256 for each of its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest

RECIPE = "recipe.json"
_KEY_PARTS = ("builder", "code", "settings", "inputs")


class Damaged(UserError):
    """An artifact cannot be read, or was changed after it was written."""

    def __init__(self, folder: Path, what: str) -> None:
        super().__init__(
            f"The artifact {folder} is damaged ({what}); remove that folder to build it again."
        )
        self.folder, self.what = folder, what


def is_stored(folder: Path) -> bool:
    """Return whether a folder is an artifact: it gets its name when it is whole."""
    return (folder / RECIPE).is_file()


def write_recipe(folder: Path, recipe: Mapping[str, Any]) -> None:
    """Write the recipe of a folder that holds all other files of an artifact."""
    text = json.dumps(
        {**recipe, "files": _hashes(folder)}, indent=1, sort_keys=True, ensure_ascii=False
    )
    (folder / RECIPE).write_text(text + "\n", encoding="utf-8")


def read_recipe(folder: Path) -> dict[str, Any]:
    """Return the recipe of an artifact, its files unchecked; raises Damaged."""
    try:
        recipe = json.loads((folder / RECIPE).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise Damaged(folder, f"{RECIPE} cannot be read: {error}") from None
    mappings = ("settings", "inputs", "files")
    if (
        not isinstance(recipe, dict)
        or not {*_KEY_PARTS, "files"} <= set(recipe)
        or not all(isinstance(recipe[name], dict) for name in mappings)
    ):
        raise Damaged(folder, f"{RECIPE} is not a recipe")
    return recipe


def check(folder: Path) -> None:
    """Compare the files of an artifact with its recipe, and its key with both; raises Damaged."""
    recipe = read_recipe(folder)
    key = digest(*(recipe[part] for part in _KEY_PARTS))
    resource = str(recipe["builder"]).partition(".")[0]
    if (resource, key) != (folder.parent.name, folder.name):
        raise Damaged(folder, f"{RECIPE} is that of {resource}/{key}")
    hashes = _hashes(folder)
    for name in sorted({*hashes, *recipe["files"]}):
        if name not in hashes:
            raise Damaged(folder, f"{name} is missing")
        if hashes[name] != recipe["files"].get(name):
            raise Damaged(folder, f"{name} holds other bytes than were written")


def content_of(folder: Path) -> str:
    """Return the sha256 of the recipe, which holds those of all other files."""
    return _sha256(folder / RECIPE)


def _hashes(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != RECIPE)
    return {path.relative_to(folder).as_posix(): _sha256(path) for path in paths}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
