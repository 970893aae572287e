"""The manifest of a sweep: one row a cell, with its settings, run folder, status and error.

It is HOME/runs/.sweeps/<key>/manifest.jsonl, written whole under a lock, so that
several processes may work on one sweep. It tells what became of each cell; the run folders alone
say what is done, so a manifest that is lost costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Literal

from graphrag_bench.config.words import Word
from graphrag_bench.fingerprint import digest
from graphrag_bench.lookup import by_beginning
from graphrag_bench.runs.folder import read_lines, write_whole

MANIFEST, SWEEP = "manifest.jsonl", "sweep.json"
Status = Literal["waiting", "started", "done", "failed"]
"""`started` is at work, or was killed."""
_HOW = (
    "hydra", "workers", "nlp_workers", "executor", "ray", "cache", "budget", "failures", "paths",
)  # fmt: skip
"""What a sweep may be gone on with in another way: it is the same sweep."""


@dataclass(frozen=True)
class CellRow:
    """One cell: its number from 1, the settings in which it differs, its run, what became of it.

    `run` is the run folder below the home. `same_as` is the number of an earlier cell that comes
    to the same, which runs once. `n_failed` counts questions without an answer.
    """

    cell: int
    settings: Mapping[str, str]
    run: str
    status: Status = "waiting"
    error: str = ""
    n_failed: int = 0
    same_as: int | None = None

    @property
    def said(self) -> str:
        """The settings on one line."""
        return " ".join(f"{name}={value}" for name, value in self.settings.items())


def sweep_key(words: Sequence[Word]) -> str:
    """The key of a sweep: of all its settings but those that only say how it is run."""
    own = [word for word in words if word.name.replace("/", ".").partition(".")[0] not in _HOW]
    return digest([str(word) for word in own])


@dataclass
class Manifest:
    """The manifest in a folder; rows are read again at every access."""

    folder: Path

    def rows(self) -> list[CellRow]:
        """The rows by number; none before the sweep has started."""
        names = {field.name for field in fields(CellRow)}
        lines = read_lines(self.folder / MANIFEST)
        held = [CellRow(**row) for row in lines if set(row) == names]
        return sorted(held, key=lambda row: row.cell)

    @property
    def settings(self) -> list[str]:
        """The settings that the sweep was started with; none where they cannot be read."""
        path = self.folder / SWEEP
        if not path.is_file():
            return []
        try:
            return [str(one) for one in json.loads(path.read_text(encoding="utf-8"))["settings"]]
        except (OSError, ValueError, LookupError, TypeError):
            return []

    def start(self, words: Sequence[Word], rows: Sequence[CellRow]) -> None:
        """Write the cells; what is known of cells with the same run stays."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"settings": [str(word) for word in words]}, indent=1, ensure_ascii=False)
        with self._locked():
            write_whole(self.folder / SWEEP, text + "\n")
            self._write(self.merged(rows))

    def merged(self, rows: Sequence[CellRow]) -> list[CellRow]:
        """The rows with what the manifest knows of those with the same number and run."""
        known = {(row.cell, row.run): row for row in self.rows()}
        return [_carried(row, known.get((row.cell, row.run))) for row in rows]

    def enter(self, row: CellRow) -> None:
        """Put a row in place of the one with its number, or after the others."""
        with self._locked() as held:
            self._write([*(one for one in held if one.cell != row.cell), row])

    def note(self, cell: int, status: Status, error: str = "", n_failed: int = 0) -> None:
        """Write down what became of a cell."""
        with self._locked() as held:
            self._write(
                replace(row, status=status, error=error, n_failed=n_failed)
                if row.cell == cell
                else row
                for row in held
            )

    def named(self, cell: int) -> str:
        """`cell 2 of 5 (damping=0.5)`: a cell with the settings in which it differs.

        How many there are is left out where a sweeper chooses them as it goes.
        """
        rows = {row.cell: row for row in self.rows()}
        total = f" of {len(rows)}" if rows[cell].run else ""
        said = rows[cell].said.replace("method.", "")
        return f"cell {cell}{total}" + (f" ({said})" if said else "")

    @contextmanager
    def _locked(self) -> Iterator[list[CellRow]]:
        from filelock import FileLock

        with FileLock(self.folder / f"{MANIFEST}.lock"):
            yield self.rows()

    def _write(self, rows: Iterable[CellRow]) -> None:
        ordered = sorted(rows, key=lambda row: row.cell)
        lines = [json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in ordered]
        write_whole(self.folder / MANIFEST, "".join(lines))


def _carried(row: CellRow, known: CellRow | None) -> CellRow:
    if known is None:
        return row
    return replace(row, status=known.status, error=known.error, n_failed=known.n_failed)


def manifest_of(home: Path, words: Sequence[Word]) -> Manifest:
    """The manifest of a sweep, whether it has started or not."""
    return Manifest(sweeps_folder(home) / sweep_key(words))


def sweeps_folder(home: Path) -> Path:
    """Where the sweeps of a home are kept."""
    return home / "runs" / ".sweeps"


def stored_sweeps(home: Path) -> list[Manifest]:
    """The sweeps of a home, by key."""
    found = sorted(sweeps_folder(home).glob(f"*/{MANIFEST}"))
    return [Manifest(path.parent) for path in found]


def find_sweep(home: Path, key: str) -> Manifest:
    """The sweep whose key begins so; raises UserError when there is none, or more than one."""
    held = {sweep.folder.name: sweep for sweep in stored_sweeps(home)}
    return by_beginning(key, held, "sweep", sweeps_folder(home))
