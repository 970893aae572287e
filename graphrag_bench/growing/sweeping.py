"""What the state that holds does not need is removed from the folder of a live index."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from graphrag_bench.data.history import FOLDER as HISTORY
from graphrag_bench.models.marked_file import MarkedFile


def drop_artifacts(root: Path, kept: Mapping[str, str]) -> None:
    """Remove every artifact below `root` but those that `kept` maps resources to, and what a
    killed build has left."""
    for folder in root.glob("*/*"):
        resource = folder.parent.name
        if resource == HISTORY or kept.get(resource) == folder.name:
            continue
        if folder.is_dir():
            shutil.rmtree(folder)
        else:
            folder.unlink(missing_ok=True)
    for folder in root.glob("*"):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


class Uses:
    """Which rows of the stores a build reads and writes, so that the others can be removed."""

    def __init__(self, *stores: MarkedFile) -> None:
        """Begin to note."""
        self.stores = stores
        for store in stores:
            store.note_uses()

    def drop_others(self) -> int:
        """Remove the replies, vectors and readings that the build did not ask for; how many."""
        return sum(store.drop_unused() for store in self.stores)
