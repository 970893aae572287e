"""The run folder: rows are appended to a journal, and put in order at the end.

A kill loses at most the row being written: a torn last line is skipped, and every other file is
written under another name and renamed. Shards share a folder, each with a journal, a ledger and
records of its own; readers read them all.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from graphrag_bench.errors import UserError
from graphrag_bench.files import read_yaml

Row = dict[str, Any]
METRICS, CONFIG, REFERENCES = "metrics.json", "config.yaml", "artifacts.json"
ENVIRONMENT, TABLE = "environment.json", "table.md"
SELECTED = "selections"
_RANKS = ("failed", "retrieved", "answered")
_SECONDS_OF_A_LOOK = 1.0


class RunLocked(UserError):
    """Another process is at work on the same run."""


class DamagedRun(UserError):
    """A file of a run folder cannot be read; the message names both."""

    def __init__(self, file: Path, what: str) -> None:
        super().__init__(
            f"The run {file.parent} is damaged ({file.name}: {what}). Remove that file and run the "
            f"same command again, or remove the run: graphrag-bench runs rm {file.parent}."
        )


@contextmanager
def file_lock(path: Path, refusal: str, seconds: float = 0.0) -> Iterator[None]:
    """Hold a lock file; raises Occupied, with `refusal`, when another process has it for longer.

    Its folder is made where it is missing.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(path).acquire(timeout=seconds)
    except Timeout:
        raise RunLocked(refusal) from None
    with lock:
        yield


@dataclass(frozen=True)
class RunFolder:
    """One run: runs/<dataset>/<method>/<key>/. The name says what, not when.

    `shard` is the part of the run that this process writes: "" for all, or e.g. `3-of-20`.
    """

    path: Path
    shard: str = ""

    def file(self, name: str, suffix: str = "jsonl") -> Path:
        """The path of one of this shard's files: records, journal, ledger or timing."""
        return self.path / (f"{name}.{self.shard}.{suffix}" if self.shard else f"{name}.{suffix}")

    def files(self, name: str) -> list[Path]:
        """The files of that name of all shards, the whole run's first."""
        return sorted(self.path.glob(f"{name}.jsonl")) + sorted(self.path.glob(f"{name}.*.jsonl"))

    def rows(self) -> dict[str, Row]:
        """The stored row of each question id; the more complete of two rows wins."""
        rows: dict[str, Row] = {}
        for path in (*self.files("records"), *self.files("journal")):
            for row in read_lines(path):
                if not (isinstance(row.get("question"), str) and row.get("status") in _RANKS):
                    continue
                known = rows.get(row["question"])
                if known is None or _RANKS.index(row["status"]) >= _RANKS.index(known["status"]):
                    rows[row["question"]] = row
        return rows

    def done(self, answering: bool) -> set[str]:
        """The questions that need no more work; failed ones do, retrieved ones when answering."""
        enough = {"answered"} if answering else {"answered", "retrieved"}
        return {name for name, row in self.rows().items() if row["status"] in enough}

    def append(self, row: Row, timing: Iterable[Row], contexts: Iterable[Row] = ()) -> None:
        """Keep a finished question, the seconds of its steps, and the texts of its context."""
        self.path.mkdir(parents=True, exist_ok=True)
        append_lines(self.file("timing"), timing)
        append_lines(self.file("contexts"), contexts)
        append_lines(self.file("journal"), [row])

    def finish(self, order: Sequence[str]) -> None:
        """Write this shard's records and contexts in question order, whole, and drop its journal.

        An unsharded finish takes in the records of all shards and removes their files.
        """
        rows, records, contexts = self.rows(), self.file("records"), self.file("contexts")
        parts = [*self._parts("records"), *self._parts("journal")]
        mine = {str(row.get("question")) for path in parts for row in read_lines(path)}
        write_rows(records, [rows[name] for name in order if name in mine and name in rows])
        texts = [row for path in self._parts("contexts") for row in read_lines(path)]
        by_question = {str(row.get("question")): row for row in texts}
        if texts:
            write_rows(contexts, [by_question[name] for name in order if name in by_question])
        for path in (*parts, *self._parts("contexts")):
            if path not in (records, contexts):
                path.unlink(missing_ok=True)

    def _parts(self, name: str) -> list[Path]:
        return [self.file(name)] if self.shard else self.files(name)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold this shard of the run; raises Occupied when another process works on it.

        A whole run excludes its shards, and shards of different totals exclude each other: they
        would pay for the same questions. Each takes its own lock first and then looks at the
        others.
        """
        own, division = self.file("run", "lock"), self.shard.partition("-of-")[2]
        refusal = (
            f"Another process is at work on the run {self.path}. Wait for its end, or share the "
            "work: start every process with another shard, shard=1/4 to 4/4."
        )
        with file_lock(own, refusal):
            allowed = {own, *self.path.glob(f"run*-of-{division}.lock" if division else own.name)}
            for path in sorted(set(self.path.glob("run*.lock")) - allowed):
                with file_lock(path, refusal, _SECONDS_OF_A_LOOK):
                    pass
            yield

    def timing(self) -> list[Row]:
        """The timing rows of all shards."""
        return [row for path in self.files("timing") for row in read_lines(path)]

    def metrics(self) -> dict[str, Any]:
        """Return the content of `metrics.json`; empty before the first scoring."""
        return read_json(self.path / METRICS)

    def write_metrics(
        self, metrics: Mapping[str, Any], *, keep_wider: bool = False
    ) -> dict[str, Any]:
        """Write and return `metrics.json`, with the stored `selections`.

        With `keep_wider` a stored scoring of more questions or answers stays.
        """
        stored = self.metrics()
        selections = {SELECTED: stored[SELECTED]} if SELECTED in stored else {}
        new = {**metrics, **selections}
        if not (keep_wider and is_narrower(new, stored)):
            self.write_json(METRICS, new)
        return new

    def add_selection(self, selection: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Add a sweep that the run was the best of to `selections`, and return all of them."""
        stored = self.metrics()
        selections: list[dict[str, Any]] = stored.get(SELECTED, [])
        if selection not in selections:
            selections = [*selections, dict(selection)]
            self.write_json(METRICS, {**stored, SELECTED: selections})
        return selections

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a JSON file of the folder, whole."""
        text = json.dumps(dict(value), indent=1, sort_keys=True, ensure_ascii=False)
        write_whole(self.path / name, text + "\n")

    def write_config(self, settings: Mapping[str, Any]) -> None:
        """Write `config.yaml`, whole."""
        text = yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True)
        write_whole(self.path / CONFIG, text)  # unsorted: branches have an order

    def config(self) -> dict[str, Any]:
        """The settings that the run was made with; raises DamagedRun."""
        path = self.path / CONFIG
        try:
            values = read_yaml(path.read_text(encoding="utf-8"), CONFIG)
        except (OSError, ValueError, UserError) as error:
            raise DamagedRun(path, str(error)) from None
        return _mapping(path, values)


def paths_of(value: Any, path: str = "", *, lists: bool = False) -> dict[str, Any]:
    """Return the values of nested mappings by path, below `path`; with `lists` of lists too."""
    if lists and isinstance(value, list):
        value = dict(enumerate(value))
    if not isinstance(value, Mapping):
        return {path: value}
    values: dict[str, Any] = {}
    for name, inner in value.items():
        values |= paths_of(inner, f"{path}.{name}" if path else str(name), lists=lists)
    return values


def read_json(path: Path) -> dict[str, Any]:
    """What a JSON file of a run holds, {} where it is missing; raises DamagedRun for no mapping."""
    try:
        return _mapping(path, json.loads(path.read_bytes()))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise DamagedRun(path, str(error)) from None


def _mapping(path: Path, values: object) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise DamagedRun(path, "no mapping")
    return values


def _lines(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write a file of JSON lines, whole."""
    write_whole(path, _lines(rows))


def append_lines(path: Path, rows: Iterable[Row]) -> None:
    """Append lines in one write; a line that a kill cut short before is closed off first."""
    if not (text := _lines(rows)):
        return
    with path.open("a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                text = "\n" + text
        file.write(text.encode("utf-8", "replace"))


def read_lines(path: Path) -> Iterator[Row]:
    """The rows of a JSON-lines file; lines that a kill cut short are skipped."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        if not line:
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            yield row


def write_whole(path: Path, text: str) -> None:
    """Write a file so that readers see the old one or the new one, never a part.

    Its folder is made where it is missing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    new.write_text(text, encoding="utf-8", errors="replace")
    new.replace(path)


def is_narrower(new: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Return whether a scoring covers fewer questions or answers than another, all among its own.

    The two parts of a split do not cover each other, nor do splits by different shares.
    """
    return bool(stored) and _covers(stored, new) and not _covers(new, stored)


def _covers(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    limits = [math.inf if each["limit"] is None else each["limit"] for each in (one, other)]
    whole = one.get("split", "all") == "all" and one["limit"] is None
    same = _part(one) == _part(other) and limits[0] >= limits[1]
    return (whole or same) and one["answered"] >= other["answered"]


def _part(metrics: Mapping[str, Any]) -> tuple[object, object]:
    split = metrics.get("split", "all")
    return split, metrics.get("dev_share") if split != "all" else None
