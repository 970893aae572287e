"""What the state that holds does not need is removed from the folder of a live index."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from graphrag_bench.data.history import FOLDER as HISTORY
from graphrag_bench.data.history import Version
from graphrag_bench.models.marked_file import MarkedFile
from graphrag_bench.offline.earlier import EARLIER, SUFFIX, grown_from
from graphrag_bench.offline.plan import Planned


def drop_artifacts(root: Path, kept: Mapping[str, str]) -> None:
    """Remove the artifacts below the folder `root` of all data sets but those that are `kept`.

    `kept` maps resources to keys. What a killed build has left goes too; what an artifact grew from
    and the versions of the corpus stay.
    """
    for path in sorted(root.glob("*/*/*")):
        stays = kept.get(path.parent.name) == path.name
        if stays or path.suffix == SUFFIX or path.parent.name == HISTORY:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for folder in sorted(root.glob("*/*")):
        if not any(folder.iterdir()):
            folder.rmdir()


def drop_versions(root: Path, plan: Sequence[Planned], version: Version) -> None:
    """Remove what the folder of a data set has of other versions of its corpus than this one."""
    stays = {version.path.name}
    stays |= {f"{grown_from(item, '').key}{SUFFIX}" for item in plan if EARLIER in item.inputs}
    for path in (*root.glob(f"*/*{SUFFIX}"), *root.glob(f"{HISTORY}/*.npz")):
        if path.name not in stays:
            path.unlink()


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
