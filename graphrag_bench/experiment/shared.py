"""What the runs of one process share: data sets, models, open files and loaded artifacts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Generic, TypeVar

from graphrag_bench.data.dataset import Dataset
from graphrag_bench.offline.recipe import RECIPE
from graphrag_bench.offline.store import loaded

T = TypeVar("T")
MOST_OF_A_KIND = 2
"""Models of a group, and files of a kind, at a time: those of this run and of the one before."""
MOST_BYTES = 2**30
"""Artifacts at a time, by their size on disk."""
LEAST_BYTES = MOST_BYTES // 64
"""What the smallest artifact counts as: every column of thousands of scopes is a memory map."""


class Shared:
    """Things by what decides them: each is made once, and closed when others have displaced it.

    What is used later than that is made again. What a run may spend and what it has spent is its
    own: caches, budgets and ledgers are layers of the run around a model that is shared.
    """

    def __init__(self) -> None:
        self.datasets: dict[str, Dataset] = {}
        self._artifacts = _Recent[Any](MOST_BYTES)
        self._kinds: dict[str, _Recent[Any]] = {}

    def once(self, kind: str, settings: object, make: Callable[[], T]) -> T:
        """Return the thing of a kind that has these settings, made if it is not there."""
        recent: _Recent[T] = self._kinds.setdefault(kind, _Recent(MOST_OF_A_KIND))
        return recent.get(key_of(settings), make)

    def load(self, produces: Any, folder: Path) -> Any:
        """Return what `loaded` does; the same object until the artifact is built again."""
        stat = (folder / RECIPE).stat()
        key = produces, str(folder.absolute()), stat.st_ino, stat.st_mtime_ns
        return self._artifacts.get(key, lambda: loaded(produces, folder), lambda: _weight(folder))

    def close(self) -> None:
        """Let go of everything; models and files are closed."""
        self.datasets.clear()
        for recent in (self._artifacts, *self._kinds.values()):
            recent.shrink(0)


class _Recent(Generic[T]):
    def __init__(self, most: int) -> None:
        self._most = most
        self._weighed: dict[Hashable, tuple[T, int]] = {}

    def get(self, key: Hashable, make: Callable[[], T], weigh: Callable[[], int] = lambda: 1) -> T:
        if key in self._weighed:
            self._weighed[key] = self._weighed.pop(key)  # as the last one
        else:
            value, weight = make(), weigh()
            self.shrink(self._most - weight)
            self._weighed[key] = value, weight
        return self._weighed[key][0]

    def shrink(self, most: int) -> None:
        while self._weighed and sum(weight for _, weight in self._weighed.values()) > most:
            gone, _ = self._weighed.pop(next(iter(self._weighed)))
            if hasattr(gone, "close"):
                gone.close()


def _weight(folder: Path) -> int:
    n_bytes = 0
    for top, _, names in os.walk(folder):
        for name in names:
            n_bytes += os.stat(os.path.join(top, name)).st_size
    return max(n_bytes, LEAST_BYTES)


def key_of(settings: object) -> str:
    """Return the name under which settings are looked up."""
    return json.dumps(settings, sort_keys=True, default=str)
