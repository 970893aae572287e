"""Errors of a run folder that was cut, emptied or changed: it is named and left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from graphrag_bench.errors import UserError
from graphrag_bench.plain_yaml import read_yaml
from graphrag_bench.runs.checked_json import hash_of, plain_text, read_checked
from graphrag_bench.runs.seals import SEALS, faults

METRICS, CONFIG, REFERENCES = "metrics.json", "config.yaml", "artifacts.json"
TABLE = "table.md"
"""The table of a run, for people; no command reads it, so that its damage stops none."""
_FIRST = "# the last line holds the hash of the lines between"
_OF_METRICS = ("dataset", "method", "n", "answered", "failed", "metrics", "settings", "limit")
_OF_CONFIG = ("dataset", "method")
_OF_REFERENCES = ("dataset", "artifacts")


class DamagedRun(UserError):
    """A file of a run folder cannot be read; the message names both."""

    def __init__(self, folder: Path, what: str) -> None:
        super().__init__(
            f"The run {folder} is damaged ({what}); the same command as then runs again what it "
            f"lacks, and `graphrag-bench runs rm {folder}` removes it."
        )
        self.folder, self.what = folder, what


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raise DamagedRun where what is done within cannot read the file, with the reason."""
    try:
        yield
    except DamagedRun:
        raise
    except (OSError, ValueError, RecursionError, UserError) as error:
        said = " ".join(str(error).split())[:200]
        raise DamagedRun(path.parent, f"{path.name} cannot be read: {said}") from None


def read_json(path: Path) -> dict[str, Any]:
    """What a JSON file of a run holds; raises DamagedRun unless it is a mapping, as written."""
    with reading(path):
        return _mapping(path, read_checked(path))


def config_text(held: Mapping[str, Any]) -> str:
    """The text of `config.yaml`: the settings between two lines that tell whether it is whole."""
    body = yaml.safe_dump(dict(held), sort_keys=False, allow_unicode=True)  # branches have an order
    return f"{_FIRST}\n{body}# {hash_of(body)}\n"


def read_config(path: Path) -> dict[str, Any]:
    """The settings of a run, from `config.yaml`; raises DamagedRun."""
    with reading(path):
        text = plain_text(path)
        first, _, rest = text.partition("\n")
        body, _, last = rest.rstrip("\n").rpartition("\n")
        if first == _FIRST and last != f"# {hash_of(body + chr(10))}":
            raise DamagedRun(
                path.parent, f"{path.name} is cut, or was changed after it was written"
            )
        return _mapping(path, read_yaml(text, path.name), _OF_CONFIG)


def check_run(folder: Path) -> None:
    """Raise DamagedRun for a run folder with a file that cannot be read, or differs from its seal.

    `metrics.json` tells how many rows there were. What was never sealed, in a run from before there
    were seals or one that has not ended, is not damage when it is missing.
    """
    metrics: Mapping[str, Any] = {}
    if (folder / METRICS).exists():
        metrics = _mapping(folder / METRICS, read_json(folder / METRICS), _OF_METRICS)
    read_config(folder / CONFIG)
    if (folder / REFERENCES).exists():
        _mapping(folder / REFERENCES, read_json(folder / REFERENCES), _OF_REFERENCES)
    for name, what in sealed_faults(folder).items():
        if name != TABLE:
            raise DamagedRun(folder, f"{name} {what}")
    n_lines = 0
    for path in (*folder.glob("records*.jsonl"), *folder.glob("journal*.jsonl")):
        with reading(path):
            held = path.read_bytes()
        if path.name.startswith("records") and not held.endswith(b"\n"):
            raise DamagedRun(folder, f"{path.name} is {'cut' if held else 'empty'}")
        lines = held.split(b"\n")
        n_lines += sum(line.startswith(b"{") and line.endswith(b"}") for line in lines)
    if metrics:
        check_rows(folder, n_lines, metrics)


def sealed_faults(folder: Path) -> dict[str, str]:
    """What is wrong with each file that differs from its seal; raises DamagedRun."""
    with reading(folder / SEALS):
        return faults(folder)


def check_rows(folder: Path, n_rows: int, metrics: Mapping[str, Any]) -> None:
    """Raise DamagedRun where fewer rows are left than were scored."""
    n = metrics.get("n", 0)
    if not isinstance(n, int) or n_rows < n:
        raise DamagedRun(folder, f"records.jsonl holds {n_rows} rows of {n}")


def _mapping(path: Path, held: object, names: tuple[str, ...] = ()) -> dict[str, Any]:
    if not isinstance(held, dict):
        raise DamagedRun(path.parent, f"{path.name} holds no mapping")
    if lacking := [name for name in names if name not in held]:
        raise DamagedRun(path.parent, f"{path.name} lacks '{lacking[0]}'")
    return held
