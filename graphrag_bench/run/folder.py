"""The folder of a run.

Finished questions are appended to a journal, which is merged into the records at the end. The
shards of a run share its folder, but each shard has its own journal, ledger and records.
"""

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from filelock import Timeout

from graphrag_bench.errors import UserError
from graphrag_bench.files import read_yaml
from graphrag_bench.locks import lease_of, lock

Row = dict[str, Any]
METRICS, CONFIG, REFERENCES = "metrics.json", "config.yaml", "artifacts.json"
ENVIRONMENT, TABLE = "environment.json", "table.md"
SELECTED = "selections"
_RANKS = ("failed", "retrieved", "answered")


class RunLocked(UserError):
    """Another process holds the lock of the run."""


class DamagedRun(UserError):
    """A file in the folder of a run cannot be read."""

    def __init__(self, file: Path, what: str) -> None:
        super().__init__(
            f"The run {file.parent} is damaged ({file.name}: {what}). Delete the file and repeat "
            f"the command, or delete the run: graphrag-bench runs rm {file.parent}."
        )


@contextmanager
def file_lock(path: Path, refusal: str, seconds: float = 0.0) -> Iterator[None]:
    """Hold a lock file. Raises RunLocked(`refusal`) if a process still holds it after `seconds`."""
    try:
        held = lock(path, seconds)
    except Timeout:
        owner = lease_of(path).owner
        host = owner.hostname.partition("?")[0] if owner else ""
        by = f" (process {owner.pid} on {host} holds {path.name})" if owner else ""
        raise RunLocked(f"{refusal}{by}") from None
    with held:
        yield


@dataclass(frozen=True)
class RunFolder:
    """Folder of a run, runs/DATASET/METHOD/KEY, or of one `shard` of the run, e.g. `3-of-20`."""

    path: Path
    shard: str = ""

    def file(self, name: str, suffix: str = "jsonl") -> Path:
        """Return the path of a file of this shard. `name` is its kind, such as `records`."""
        return self.path / (f"{name}.{self.shard}.{suffix}" if self.shard else f"{name}.{suffix}")

    def files(self, name: str) -> list[Path]:
        """Return the files of a kind from all shards. The file of the unsharded run comes first."""
        return sorted(self.path.glob(f"{name}.jsonl")) + sorted(self.path.glob(f"{name}.*.jsonl"))

    def rows(self) -> dict[str, Row]:
        """Return the most complete result of each question, by id. Later rows win ties."""
        rows: dict[str, Row] = {}
        for row in read_lines(*self.files("records"), *self.files("journal")):
            if isinstance(row.get("question"), str) and row.get("status") in _RANKS:
                known = rows.setdefault(row["question"], row)
                if _RANKS.index(row["status"]) >= _RANKS.index(known["status"]):
                    rows[row["question"]] = row
        return rows

    def finished_questions(self, answering: bool) -> set[str]:
        """Return the ids of answered questions. If not `answering`, add retrieved questions."""
        enough = {"answered"} if answering else {"answered", "retrieved"}
        return {name for name, row in self.rows().items() if row["status"] in enough}

    def append(self, row: Row, timing: Iterable[Row], contexts: Iterable[Row] = ()) -> None:
        """Append the result of a question, the seconds of its steps and its context."""
        self.path.mkdir(parents=True, exist_ok=True)
        append_lines(self.file("timing"), timing)
        append_lines(self.file("contexts"), contexts)
        append_lines(self.file("journal"), [row])

    def finish(self, order: Sequence[str]) -> None:
        """Merge journals into records, sorted by `order`. An unsharded run merges all shards."""
        rows, records, contexts = self.rows(), self.file("records"), self.file("contexts")
        files, with_texts, journals = (
            [self.file(name)] if self.shard else self.files(name)
            for name in ("records", "contexts", "journal")
        )
        mine = {str(row.get("question")) for row in read_lines(*files, *journals)}
        write_rows(records, [rows[name] for name in order if name in mine and name in rows])
        if texts := {str(row.get("question")): row for row in read_lines(*with_texts)}:
            write_rows(contexts, [texts[name] for name in order if name in texts])
        for path in {*files, *with_texts, *journals} - {records, contexts}:
            path.unlink(missing_ok=True)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Lock this shard of the run. Raises RunLocked if another process is working on it.

        The lock also blocks the whole run, and shards such as 1/5 that share questions with 1/4.
        """
        own, division = self.file("run", "lock"), self.shard.partition("-of-")[2]
        refusal = (
            f"Another process runs {self.path}. Wait for it, or divide the questions among four "
            "processes with shard=1/4, ..., shard=4/4."
        )
        with file_lock(own, refusal):  # comes first, so that two processes cannot both pass
            allowed = {own, *self.path.glob(f"run*-of-{division}.lock" if division else own.name)}
            for path in sorted(set(self.path.glob("run*.lock")) - allowed):
                with file_lock(path, refusal, seconds=1.0):
                    pass
            yield

    def timing(self) -> list[Row]:
        """Return the seconds of each question and step, from all shards."""
        return list(read_lines(*self.files("timing")))

    def metrics(self) -> dict[str, Any]:
        """Return the content of `metrics.json`, or {} if the run has not been scored yet."""
        return read_json(self.path / METRICS)

    def write_metrics(self, metrics: Row, *, keep_wider: bool = False) -> Row:
        """Write and return the metrics, with the selections in the stored metrics.

        If `keep_wider` is true, stored metrics that cover more questions are not overwritten.
        """
        stored = self.metrics()
        new = metrics | ({SELECTED: stored[SELECTED]} if SELECTED in stored else {})
        if not (keep_wider and is_narrower(new, stored)):
            self.write_json(METRICS, new)
        return new

    def add_selection(self, selection: Row) -> list[Row]:
        """Record that a sweep selected this run. Return all recorded selections."""
        stored = self.metrics()
        selections: list[Row] = stored.setdefault(SELECTED, [])
        if selection not in selections:
            selections.append(selection)
            self.write_json(METRICS, stored)
        return selections

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a JSON file into the folder."""
        text = json.dumps(dict(value), indent=1, sort_keys=True, ensure_ascii=False)
        write_whole(self.path / name, text + "\n")

    def write_config(self, settings: Mapping[str, Any]) -> None:
        """Write the settings of the run to `config.yaml`."""
        text = yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True)
        write_whole(self.path / CONFIG, text)  # not sorted, because the order of steps matters

    def config(self) -> dict[str, Any]:
        """Return the settings in `config.yaml`. Raises DamagedRun if the file cannot be read."""
        return _mapping(self.path / CONFIG, lambda text: read_yaml(text.decode(), CONFIG))


def paths_of(value: Any, path: str = "", *, lists: bool = False) -> dict[str, Any]:
    """Return the values in nested mappings by dotted path. With `lists`, list items have paths too.

    >>> paths_of({"graph": {"per": "all"}, "cuts": [2, 5]}, lists=True)
    {'graph.per': 'all', 'cuts.0': 2, 'cuts.1': 5}
    """
    if lists and isinstance(value, list):
        value = dict(enumerate(value))
    if not isinstance(value, Mapping):
        return {path: value}
    inner = (paths_of(v, f"{path}.{k}".removeprefix("."), lists=lists) for k, v in value.items())
    return dict(chain.from_iterable(of.items() for of in inner))


def read_json(path: Path) -> dict[str, Any]:
    """Return the mapping in a JSON file, or {} if there is no file. Raises DamagedRun."""
    return _mapping(path, json.loads, optional=True)


def _mapping(path: Path, parse: Callable[[bytes], Any], *, optional: bool = False) -> Row:
    try:
        values: object = parse(path.read_bytes())
    except (OSError, ValueError, RecursionError, UserError) as error:
        if optional and isinstance(error, FileNotFoundError):
            return {}
        raise DamagedRun(path, str(error)) from None
    if not isinstance(values, dict):
        raise DamagedRun(path, "not a mapping")
    return values


def _lines(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows to a JSON-lines file."""
    write_whole(path, _lines(rows))


def append_lines(path: Path, rows: Iterable[Row]) -> None:
    """Append rows to a JSON-lines file in one write. First end an incomplete last line."""
    if text := _lines(rows):
        with path.open("a+b") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                text = text if file.read(1) == b"\n" else "\n" + text
            file.write(text.encode("utf-8", "replace"))


def read_lines(*paths: Path) -> Iterator[Row]:
    """Yield the mappings in JSON-lines files. Skip other lines and missing files."""
    for path in filter(Path.is_file, paths):
        for line in filter(None, path.read_text("utf-8", errors="replace").split("\n")):
            with suppress(ValueError, RecursionError):
                if isinstance(row := json.loads(line), dict):
                    yield row


def write_whole(path: Path, text: str) -> None:
    """Replace a file atomically, so that nobody reads half of it. Create its folder if missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    new.write_text(text, encoding="utf-8", errors="replace")
    new.replace(path)


def is_narrower(new: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Return whether `stored` covers all questions and answers of `new`, and additional ones."""
    return bool(stored) and _covers(stored, new) and not _covers(new, stored)


def _covers(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    own, others = (math.inf if each["limit"] is None else each["limit"] for each in (one, other))
    is_all = one["split"] == "all"
    same = one["split"] == other["split"] and (is_all or one["dev_share"] == other["dev_share"])
    covers = (is_all and one["limit"] is None) or (same and own >= others)
    return bool(covers and one["answered"] >= other["answered"])
