"""The graph and communities of a corpus before it changed: what `communities.leiden_grown` needs.

Which ones an artifact grew from is written next to it, so that the same command finds the same
ones later: `communities/<key that it would have alone>.earlier` holds their key.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from graphrag_bench.fingerprint import digest
from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.manifest import read_recipe
from graphrag_bench.offline.plan import Planned

EARLIER = "earlier_version"
"""The name of the need."""
SUFFIX = ".earlier"
COMMUNITIES = "communities"


@dataclass(frozen=True)
class Earlier:
    """The communities of that key below the folder `root` of a data set; "" for none."""

    root: Path
    key: str

    @cached_property
    def communities(self) -> Communities | None:
        """The communities; None for none."""
        return Communities.load(self._folder) if self.key else None

    @cached_property
    def graph(self) -> Graph | None:
        """The graph that they are of."""
        if not self.key:
            return None
        recipe = read_recipe(self._folder)
        return Graph.load(self.root / "graph" / recipe["inputs"]["graph"])

    @property
    def _folder(self) -> Path:
        return self.root / COMMUNITIES / self.key


def grown(planned: Planned, key: str) -> Planned:
    """The artifact as it is when it grows from the communities of that key; "" for alone."""
    inputs = {**planned.inputs, EARLIER: key}
    made = replace(planned, inputs=inputs)
    recipe = made.recipe
    return replace(
        made, key=digest(*(recipe[p] for p in ("builder", "code", "settings", "inputs")))
    )


def kept_earlier(root: Path, alone: Planned) -> str | None:
    """The key that an artifact was built to grow from; None where it was not built yet."""
    path = _file(root, alone)
    return path.read_text(encoding="utf-8").strip() if path.is_file() else None


def keep_earlier(root: Path, planned: Planned) -> None:
    """Write down what an artifact grows from, where it is one that grows."""
    if EARLIER in planned.inputs:
        path = _file(root, grown(planned, ""))
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.new")
        new.write_text(f"{planned.inputs[EARLIER]}\n", encoding="utf-8")
        new.replace(path)


def _file(root: Path, alone: Planned) -> Path:
    return root / alone.resource / f"{alone.key}{SUFFIX}"
