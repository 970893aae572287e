"""The folder of a run. Finished questions are appended to a journal, which is sorted at the end.

If the process is killed, at most the result that is being written is lost. Readers skip an
incomplete last line. Every other file is written under a temporary name and then renamed. The
shards of a run share its folder, but each shard has its own journal, ledger and records.
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
from filelock import Timeout

from graphrag_bench.errors import UserError
from graphrag_bench.files import read_yaml
from graphrag_bench.locks import lease_of, lock

Row = dict[str, Any]
METRICS, CONFIG, REFERENCES = "metrics.json", "config.yaml", "artifacts.json"
ENVIRONMENT, TABLE = "environment.json", "table.md"
SELECTED = "selections"
_RANKS = ("failed", "retrieved", "answered")
_SECONDS_OF_A_LOOK = 1.0


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
    """Hold a lock file while the `with` block runs.

    Raises RunLocked with the message `refusal` if another process still holds it after `seconds`.
    """
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
        """Return the stored result of each question, by id.

        If a question has several results, the most complete result is returned. If several are
        equally complete, the last of them is returned.
        """
        rows: dict[str, Row] = {}
        for path in (*self.files("records"), *self.files("journal")):
            for row in read_lines(path):
                if not (isinstance(row.get("question"), str) and row.get("status") in _RANKS):
                    continue
                known = rows.get(row["question"])
                if known is None or _RANKS.index(row["status"]) >= _RANKS.index(known["status"]):
                    rows[row["question"]] = row
        return rows

    def finished_questions(self, answering: bool) -> set[str]:
        """Return the ids of the answered questions.

        If `answering` is false, questions whose context is stored count as finished too.
        """
        enough = {"answered"} if answering else {"answered", "retrieved"}
        return {name for name, row in self.rows().items() if row["status"] in enough}

    def append(self, row: Row, timing: Iterable[Row], contexts: Iterable[Row] = ()) -> None:
        """Append the result of a question, the seconds of its steps and its context."""
        self.path.mkdir(parents=True, exist_ok=True)
        append_lines(self.file("timing"), timing)
        append_lines(self.file("contexts"), contexts)
        append_lines(self.file("journal"), [row])

    def finish(self, order: Sequence[str]) -> None:
        """Merge the journal into the records, sorted in question `order`, and delete the journal.

        A shard merges only its own files. An unsharded run merges the files of all shards.
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
        """Lock this shard of the run. Raises RunLocked if another process is working on it.

        The lock of an unsharded run excludes all shards. Shards of different divisions, such as 1/4
        and 1/5, exclude each other, because they share questions.
        """
        own, division = self.file("run", "lock"), self.shard.partition("-of-")[2]
        refusal = (
            f"Another process runs {self.path}. Wait for it, or divide the questions among four "
            "processes with shard=1/4, ..., shard=4/4."
        )
        with file_lock(own, refusal):  # comes first, so that two processes cannot both pass
            allowed = {own, *self.path.glob(f"run*-of-{division}.lock" if division else own.name)}
            for path in sorted(set(self.path.glob("run*.lock")) - allowed):
                with file_lock(path, refusal, _SECONDS_OF_A_LOOK):
                    pass
            yield

    def timing(self) -> list[Row]:
        """Return the seconds of each question and step, from all shards."""
        return [row for path in self.files("timing") for row in read_lines(path)]

    def metrics(self) -> dict[str, Any]:
        """Return the content of `metrics.json`, or {} if the run has not been scored yet."""
        return read_json(self.path / METRICS)

    def write_metrics(
        self, metrics: Mapping[str, Any], *, keep_wider: bool = False
    ) -> dict[str, Any]:
        """Write the metrics to `metrics.json`, and return them with the stored selections.

        If `keep_wider` is true, a stored file that covers more questions is not overwritten.
        """
        stored = self.metrics()
        selections = {SELECTED: stored[SELECTED]} if SELECTED in stored else {}
        new = {**metrics, **selections}
        if not (keep_wider and is_narrower(new, stored)):
            self.write_json(METRICS, new)
        return new

    def add_selection(self, selection: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Record that a sweep selected this run. Return all recorded selections."""
        stored = self.metrics()
        selections: list[dict[str, Any]] = stored.get(SELECTED, [])
        if selection not in selections:
            selections = [*selections, dict(selection)]
            self.write_json(METRICS, {**stored, SELECTED: selections})
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
        path = self.path / CONFIG
        try:
            values = read_yaml(path.read_text(encoding="utf-8"), CONFIG)
        except (OSError, ValueError, UserError) as error:
            raise DamagedRun(path, str(error)) from None
        return _mapping(path, values)


def paths_of(value: Any, path: str = "", *, lists: bool = False) -> dict[str, Any]:
    """Return the values in nested mappings, by dotted path.

    If `lists` is true, the items of nested lists get paths as well.

    >>> paths_of({"graph": {"per": "all"}, "cuts": [2, 5]})
    {'graph.per': 'all', 'cuts': [2, 5]}
    >>> paths_of({"cuts": [2, 5]}, "evaluation", lists=True)
    {'evaluation.cuts.0': 2, 'evaluation.cuts.1': 5}
    """
    if lists and isinstance(value, list):
        value = dict(enumerate(value))
    if not isinstance(value, Mapping):
        return {path: value}
    values: dict[str, Any] = {}
    for name, inner in value.items():
        values |= paths_of(inner, f"{path}.{name}" if path else str(name), lists=lists)
    return values


def read_json(path: Path) -> dict[str, Any]:
    """Return the mapping in a JSON file, or {} if the file does not exist.

    Raises DamagedRun if the file cannot be read or does not contain a mapping.
    """
    try:
        return _mapping(path, json.loads(path.read_bytes()))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise DamagedRun(path, str(error)) from None


def _mapping(path: Path, values: object) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise DamagedRun(path, "not a mapping")
    return values


def _lines(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows to a JSON-lines file."""
    write_whole(path, _lines(rows))


def append_lines(path: Path, rows: Iterable[Row]) -> None:
    """Append rows to a JSON-lines file in one write. An incomplete last line is ended first."""
    if not (text := _lines(rows)):
        return
    with path.open("a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                text = "\n" + text
        file.write(text.encode("utf-8", "replace"))


def read_lines(path: Path) -> Iterator[Row]:
    """Yield the mappings in a JSON-lines file, if it exists. All other lines are skipped."""
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
    """Replace a file atomically, so that nobody reads half of it. Create its folder if missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    new.write_text(text, encoding="utf-8", errors="replace")
    new.replace(path)


def is_narrower(new: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Return whether `stored` covers all questions and answers of `new`, and more."""
    return bool(stored) and _covers(stored, new) and not _covers(new, stored)


def _covers(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    limits = [math.inf if each["limit"] is None else each["limit"] for each in (one, other)]
    splits = [each.get("split", "all") for each in (one, other)]
    whole = splits[0] == "all" and one["limit"] is None
    shares_agree = splits[0] == "all" or one.get("dev_share") == other.get("dev_share")
    same = splits[0] == splits[1] and shares_agree and limits[0] >= limits[1]
    return (whole or same) and one["answered"] >= other["answered"]
