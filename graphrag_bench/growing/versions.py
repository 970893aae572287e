"""The versions of a live index on disk: its documents, and which version holds."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from graphrag_bench.data.dataset import Document
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import file_digest
from graphrag_bench.plain_json import read_json

CURRENT, DOCUMENTS, INDEX = "current.json", "documents.jsonl", "index.json"
_LOCK = ".writer.lock"


@dataclass(frozen=True)
class Version:
    """One state of the index, its number from 1.

    `artifacts` maps each resource to its key, and `documents` is the digest of their file.
    """

    number: int
    documents: str
    artifacts: Mapping[str, str]


@dataclass(frozen=True)
class Versions:
    """The states below a folder: one file names the one that holds, and is replaced as a whole."""

    folder: Path

    def current(self) -> Version | None:
        """The state that holds; None for an index without any. Raises UserError for damage."""
        path = self.folder / CURRENT
        try:
            held: Any = read_json(path.read_text(encoding="utf-8"), str(path))
            return Version(int(held["number"]), str(held["documents"]), dict(held["artifacts"]))
        except FileNotFoundError:
            return None
        except (ValueError, LookupError, TypeError) as error:
            raise UserError(f"{path} is damaged ({error}); nothing else names the state.") from None

    def documents(self, version: Version | None) -> tuple[Document, ...]:
        """The documents of a state in the order in which they were added; of None, none.

        Raises FileNotFoundError where the state is gone, UserError where the file was changed.
        """
        if version is None:
            return ()
        path = self._file(version.number)
        content = path.read_text(encoding="utf-8")
        if file_digest(path) != version.documents:
            raise UserError(f"{path} was changed after it was written.")
        rows = (json.loads(line) for line in content.split("\n")[:-1])
        return tuple(Document(**{**row, "aliases": tuple(row["aliases"])}) for row in rows)

    def commit(self, documents: Sequence[Document], artifacts: Mapping[str, str]) -> Version:
        """Make a new state the one that holds, at once and for everybody."""
        before = self.current()
        number = before.number + 1 if before else 1
        path = self._file(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(asdict(row)) + "\n" for row in documents)
        _written(path, "".join(lines))
        made = Version(number, file_digest(path), dict(artifacts))
        write_whole(self.folder / CURRENT, asdict(made))
        return made

    def drop_others(self) -> None:
        """Remove the documents of every state but the one that holds."""
        current = self.current()
        for path in (self.folder / "versions").glob("*"):
            if current is None or path != self._file(current.number).parent:
                shutil.rmtree(path)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only one that changes the index; raises UserError where another process does."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / _LOCK)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise UserError(
                f"Another process is changing the index in {self.folder}; it can be asked "
                "meanwhile, and changed when that is done."
            ) from None
        try:
            yield
        finally:
            lock.release()

    def _file(self, number: int) -> Path:
        return self.folder / "versions" / f"{number:06}" / DOCUMENTS


def write_whole(path: Path, content: Mapping[str, Any]) -> None:
    """Replace a file by JSON: whoever reads it finds the old or the new, after a crash too."""
    new = path.with_name(f"{path.name}.new")
    _written(new, json.dumps(content, indent=1, sort_keys=True) + "\n")
    new.replace(path)
    with suppress(OSError, AttributeError):  # a system that cannot flush a folder does without
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _written(path: Path, content: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
