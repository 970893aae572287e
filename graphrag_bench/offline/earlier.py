"""The graph and communities of a corpus before it changed: what `communities.leiden_grown` needs.

Which ones an artifact grew from is written next to it, so that the same command finds the same
ones later: `communities/<key that it would have alone>.earlier` holds their key.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.manifest import Verify, is_stored, read_recipe, verify
from graphrag_bench.offline.plan import Planned

EARLIER = "earlier_version"
"""The name of the need."""
SUFFIX = ".earlier"
COMMUNITIES = "communities"


@dataclass(frozen=True)
class Earlier:
    """The communities of that key below the folder `root` of a data set; "" for none.

    Their files are checked as `verify` says before one is read: raises Damaged.
    """

    root: Path
    key: str
    verify: Verify = "first"

    @cached_property
    def communities(self) -> Communities | None:
        """The communities; None for none."""
        return Communities.load(self._checked(self._folder)) if self.key else None

    @cached_property
    def graph(self) -> Graph | None:
        """The graph that they are of; None for none."""
        return Graph.load(self._checked(self._graph)) if self.key else None

    @property
    def is_there(self) -> bool:
        """Whether both are stored; of none, yes."""
        return not self.key or (is_stored(self._folder) and is_stored(self._graph))

    @property
    def _folder(self) -> Path:
        return self.root / COMMUNITIES / self.key

    @property
    def _graph(self) -> Path:
        key: str = read_recipe(self._folder)["inputs"]["graph"]
        return self.root / "graph" / key

    def _checked(self, folder: Path) -> Path:
        verify(folder, self.verify)
        return folder


def grown_from(planned: Planned, key: str) -> Planned:
    """The artifact as it is when it grows from the communities of that key; "" for alone."""
    return planned.built_from(**{EARLIER: key})


def kept_earlier(root: Path, alone: Planned) -> str | None:
    """The key that an artifact was built to grow from; None where it was not built yet."""
    path = _file(root, alone)
    return path.read_text(encoding="utf-8").strip() if path.is_file() else None


def keep_earlier(root: Path, planned: Planned) -> None:
    """Write down what an artifact grows from, where it is one that grows."""
    if EARLIER in planned.inputs:
        path = _file(root, grown_from(planned, ""))
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.new")
        new.write_text(f"{planned.inputs[EARLIER]}\n", encoding="utf-8")
        new.replace(path)


def _file(root: Path, alone: Planned) -> Path:
    return root / alone.resource / f"{alone.key}{SUFFIX}"
