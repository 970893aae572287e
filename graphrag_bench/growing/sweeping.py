"""What the state that holds does not need is removed from the folder of a live index."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from graphrag_bench.models.marked_file import MarkedFile


def drop_artifacts(root: Path, kept: Mapping[str, str]) -> None:
    """Remove the artifacts below the folder `root` of all data sets but those that are `kept`.

    `kept` maps resources to keys. What a killed build has left goes too.
    """
    for path in sorted(root.glob("*/*/*")):
        if kept.get(path.parent.name) == path.name:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for folder in sorted(root.glob("*/*")):
        if not any(folder.iterdir()):
            folder.rmdir()


class Uses:
    """Which rows of the stores a build reads and writes, so that the others can be removed."""

    def __init__(self, stores: Sequence[MarkedFile]) -> None:
        """Begin to note."""
        self.stores = stores
        for store in stores:
            store.note_uses()

    def drop_others(self) -> int:
        """Remove the replies, vectors and readings that the build did not ask for; how many."""
        return sum(store.drop_unused() for store in self.stores)
