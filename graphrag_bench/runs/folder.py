"""The run folder: rows are appended to a journal as questions finish, and put in order at the end.

A kill loses at most the row being written: a last line that is cut is passed over when read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphrag_bench.runs.record import Row

RECORDS, JOURNAL, LEDGER, METRICS = (
    "records.jsonl",
    "journal.jsonl",
    "ledger.jsonl",
    "metrics.json",
)
CONFIG, ENVIRONMENT = "config.yaml", "environment.json"


@dataclass(frozen=True)
class RunFolder:
    """One run: runs/<dataset>/<method>/<key>/. The name says what, not when."""

    path: Path

    def rows(self) -> dict[str, Row]:
        """The stored row of each question id; a later row takes an earlier one's place."""
        rows: dict[str, Row] = {}
        for name in (RECORDS, JOURNAL):
            for row in _lines(self.path / name):
                held = rows.get(row["question"])
                if held is None or _rank(row) >= _rank(held):
                    rows[row["question"]] = row
        return rows

    def done(self, answering: bool) -> set[str]:
        """The questions that need no more work; failed ones do, retrieved ones when answering."""
        enough = {"answered"} if answering else {"answered", "retrieved"}
        return {name for name, row in self.rows().items() if row["status"] in enough}

    def append(self, row: Row, ledger: Iterable[Row]) -> None:
        """Keep a finished question, and what its steps and calls took."""
        self.path.mkdir(parents=True, exist_ok=True)
        _append(self.path / LEDGER, ledger)
        _append(self.path / JOURNAL, [row])

    def finish(self, order: Sequence[str]) -> None:
        """Write `records.jsonl` in question order from all rows, whole, and drop the journal."""
        rows = self.rows()
        ordered = [rows[name] for name in order if name in rows]
        write_whole(self.path / RECORDS, "".join(_line(row) for row in ordered))
        (self.path / JOURNAL).unlink(missing_ok=True)

    def ledger(self) -> list[Row]:
        """All ledger rows."""
        return list(_lines(self.path / LEDGER))

    def metrics(self) -> dict[str, Any]:
        """What `metrics.json` holds; empty before the first scoring."""
        path = self.path / METRICS
        if not path.is_file():
            return {}
        held: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return held

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a JSON file of the folder, whole."""
        self.path.mkdir(parents=True, exist_ok=True)
        text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
        write_whole(self.path / name, text + "\n")


def _rank(row: Row) -> int:
    return ("failed", "retrieved", "answered").index(row["status"])


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n"


def _append(path: Path, rows: Iterable[Row]) -> None:
    text = "".join(_line(row) for row in rows)
    if text:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)


def _lines(path: Path) -> Iterable[Row]:
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").split("\n"):
        if not line:
            continue
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue  # a line that a kill cut short


def write_whole(path: Path, text: str) -> None:
    """Write a file so that readers see the old one or the new one, never a part."""
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
