"""JSON files of a run folder: each holds a hash of its name and the rest; no change goes unseen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

CHECK = "sha256"
"""The key that holds the hash."""


def json_text(name: str, held: Mapping[str, object]) -> str:
    """The text of the JSON file `name`, with the hash of what it holds."""
    return _json({**held, CHECK: hash_of(name + _json(held))}) + "\n"


def read_checked(path: Path) -> object:
    """What a JSON file holds, without its hash; one from before there were any is not checked.

    Raises OSError for what is not a plain file, ValueError or RecursionError for what is not JSON,
    and ValueError for content that was changed after writing, or written as another file.
    """
    held: object = json.loads(plain_text(path))
    if isinstance(held, dict) and CHECK in held:
        check = held.pop(CHECK)
        whole = _json(held)  # earlier versions left the name out
        if check not in (hash_of(path.name + whole), hash_of(whole)):
            raise ValueError("it was changed after it was written")
    return held


def plain_text(path: Path) -> str:
    """The text of a plain file; raises OSError for another kind, which could be waited for."""
    if not path.is_file():
        raise OSError("it is not a plain file" if path.exists() else "it is not there")
    return path.read_text(encoding="utf-8")


def hash_of(text: str) -> str:
    """The first 16 digits of the sha256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _json(held: Mapping[str, object]) -> str:
    return json.dumps(dict(held), indent=1, sort_keys=True, ensure_ascii=False)
