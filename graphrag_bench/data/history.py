"""The history of a corpus: its versions in the order in which they were first built.

One file for each version in `artifacts/<dataset>/history/`, `000001-<corpus digest>.npz`, written
under another name and renamed when it is whole; nothing in it depends on when it was written.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.columns import Texts
from graphrag_bench.data.dataset import Dataset, Document
from graphrag_bench.errors import UserError
from graphrag_bench.values import IntArray

FOLDER = "history"
_NAMED = re.compile(r"(\d{6,})-([0-9a-f]+)\.npz")
_DIGEST_BYTES = 8
_UNREADABLE = (OSError, ValueError, LookupError, RuntimeError, EOFError, zipfile.BadZipFile)
"""What readers of a zip file raise at bytes that are not theirs."""


@dataclass(frozen=True, eq=False)
class Documents:
    """The documents of a corpus in its order: a column of ids, and the digest of each content.

    `contents` are uint64 (n,): of title, text, scope and aliases, and not of the id.
    """

    ids: Texts
    contents: NDArray[np.uint64]

    @classmethod
    def of(cls, dataset: Dataset) -> Documents:
        """Those of a data set."""
        held = b"".join(_content(row) for row in dataset.documents)
        contents = np.frombuffer(held, "<u8").astype(np.uint64)
        return cls(Texts.of([row.id for row in dataset.documents]), contents)


@dataclass(frozen=True)
class Version:
    """A corpus that was built: its digest, its number in the history from 1, and its file."""

    corpus: str
    number: int
    path: Path

    @cached_property
    def documents(self) -> Documents:
        """What it was made of; raises UserError where the file is damaged."""
        try:
            with zipfile.ZipFile(self.path) as file:
                if damaged := file.testzip():
                    raise ValueError(f"{damaged} is not what was written")
            with np.load(self.path, allow_pickle=False) as held:
                return Documents(Texts(held["blob"], held["offsets"]), held["contents"])
        except _UNREADABLE as error:
            raise UserError(
                f"The history file {self.path} is damaged ({error}); remove it: the corpus that it "
                "lists is forgotten, and nothing that was built from it."
            ) from None

    @property
    def built(self) -> datetime:
        """When its file was written, in UTC."""
        return datetime.fromtimestamp(self.path.stat().st_mtime, UTC)


@dataclass(frozen=True)
class History:
    """The versions of the corpus whose artifacts are in the folder `root`."""

    root: Path

    def versions(self) -> list[Version]:
        """All versions, the one that was built first at the beginning."""
        found = [
            Version(named[2], int(named[1]), path)
            for path in (self.root / FOLDER).glob("*.npz")
            if (named := _NAMED.fullmatch(path.name))
        ]
        return sorted(found, key=lambda version: version.number)

    def version(self, corpus_digest: str) -> Version | None:
        """The version of that corpus; None where it was not built yet."""
        return next((one for one in self.versions() if one.corpus == corpus_digest), None)

    def before(self, corpus_digest: str) -> Version | None:
        """The version that was built before this corpus; None for the first.

        For a corpus that is not in the history yet that is the latest one.
        """
        earlier = None
        for version in self.versions():
            if version.corpus == corpus_digest:
                break
            earlier = version
        return earlier

    def keep(self, dataset: Dataset) -> Version:
        """The version of a data set, written after all others unless it is there already.

        Processes may do so at the same time.
        """
        digest = dataset.corpus_digest
        if held := self.version(digest):
            return held
        from filelock import FileLock

        folder = self.root / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            if held := self.version(digest):
                return held
            number = max((version.number for version in self.versions()), default=0) + 1
            path, new = folder / f"{number:06}-{digest}.npz", folder / ".new"
            rows = Documents.of(dataset)
            with new.open("wb") as file:
                np.savez(file, blob=rows.ids.blob, offsets=rows.ids.offsets, contents=rows.contents)
            new.replace(path)
        return Version(digest, number, path)


@dataclass(frozen=True)
class Changes:
    """What a corpus has that the version before had not, and the reverse, as document ids.

    `new` and `changed` are in the order of the corpus, `gone` in that of the version before.
    `total` is the number of documents that the corpus has now.
    """

    new: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    total: int

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.new or self.changed or self.gone)

    def __str__(self) -> str:
        """As `12 of 6,119 documents new, 3 changed, 1 gone`; what is 0 is left out."""
        counts = {"new": len(self.new), "changed": len(self.changed), "gone": len(self.gone)}
        said = [f"{count:,} {what}" for what, count in counts.items() if count]
        if not said or said[0].endswith("gone"):
            documents = "document" if self.total == 1 else "documents"
            return ", ".join([f"{self.total:,} {documents}", *(said or ["none changed"])])
        count, _, what = said[0].partition(" ")
        return ", ".join([f"{count} of {self.total:,} documents {what}", *said[1:]])


def changes(before: Version, dataset: Dataset) -> Changes:
    """How a data set differs from a version before.

    A document with the same content is the same one, wherever it has moved to: in the order of
    the corpus, or to another id. Of the others, one with an id that was there before is changed.
    Equal contents are matched by their ids first, then in order, each once.
    """
    old, now = before.documents, Documents.of(dataset)
    ids, old_ids = list(now.ids), list(old.ids)
    place = {name: row for row, name in enumerate(old_ids)}
    at = np.array([place.get(name, -1) for name in ids], np.int64)
    known = np.flatnonzero(at >= 0)
    same = known[old.contents[at[known]] == now.contents[known]]
    other = _without(len(ids), same)
    left = _without(len(old_ids), at[same])
    other, left = _unmatched(now.contents, other, old.contents, left)
    waiting = {old_ids[row] for row in left}
    rest = [ids[row] for row in other]
    changed = tuple(name for name in rest if name in waiting)
    twins = frozenset(changed)
    return Changes(
        tuple(name for name in rest if name not in waiting),
        changed,
        tuple(old_ids[row] for row in left if old_ids[row] not in twins),
        len(ids),
    )


def _unmatched(
    contents: NDArray[np.uint64], rows: IntArray, old: NDArray[np.uint64], left: IntArray
) -> tuple[IntArray, IntArray]:
    """The rows of both sides that have no partner of the same content on the other side."""
    waiting: dict[int, list[int]] = defaultdict(list)
    for row in left[::-1].tolist():
        waiting[int(old[row])].append(row)
    alone = []
    for row in rows.tolist():
        partners = waiting.get(int(contents[row]))
        if partners:
            partners.pop()
        else:
            alone.append(row)
    still = sorted(row for rest in waiting.values() for row in rest)
    return np.array(alone, np.int64), np.array(still, np.int64)


def _without(n_rows: int, rows: IntArray) -> IntArray:
    """The rows below `n_rows` but for some, ascending."""
    left = np.ones(n_rows, bool)
    left[rows] = False
    return np.flatnonzero(left)


def _content(row: Document) -> bytes:
    told = json.dumps([row.title, row.text, row.scope, list(row.aliases)], ensure_ascii=False)
    whole = told.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(whole, digest_size=_DIGEST_BYTES).digest()
