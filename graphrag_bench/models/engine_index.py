"""The index that a released engine has built: its files as they are, and what it said of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

GRAPH = "graph.graphml"
"""The engine's graph in a file that `graph.import_from` reads."""
_FILES, _TOLD = "engine", "engine.json"


@dataclass(frozen=True)
class Told:
    """What an engine said of itself and its index: its settings in force, and what is not equal.

    `n_lost` counts the chunks that it has left without a node, as it could not read a reply.
    """

    engine: str
    version: str
    mode: str
    settings: Mapping[str, Any]
    not_equal: tuple[str, ...]
    n_nodes: int
    n_relationships: int
    n_chunks: int
    n_lost: int = 0

    @classmethod
    def of(
        cls,
        engine: str,
        version: str,
        mode: str,
        opened: Mapping[str, Any],
        counts: Mapping[str, Any],
        *,
        differs: str = "",
    ) -> Told:
        """From the results of the calls `open` and `build`; `differs` is that of the release."""
        n_nodes, n_relationships, n_chunks, n_lost = (
            int(counts.get(name) or 0)
            for name in ("n_nodes", "n_relationships", "n_chunks", "n_lost")
        )
        settings, said = opened.get("settings"), opened.get("not_equal")
        unequal = [differs] if differs else []
        unequal += map(str, said) if isinstance(said, list) else ()
        return cls(
            engine, version, mode,
            dict(settings) if isinstance(settings, Mapping) else {},
            tuple(unequal),
            n_nodes, n_relationships, n_chunks, n_lost,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class EngineIndex:
    """An engine's index; `folder` has its own files, `graph` its graph as GraphML, if it has one.

    The files of `folder` are copied before an engine opens them: engines write into their index.
    """

    folder: Path
    told: Told
    graph: Path | None = None

    @property
    def statistics(self) -> dict[str, Any]:
        """What the recipe of the artifact says, for tables and plans."""
        held = asdict(self.told)
        return {**held, "not_equal": list(self.told.not_equal)}

    def save(self, folder: Path) -> None:
        """Copy all of it into a folder."""
        shutil.copytree(self.folder, folder / _FILES)
        if self.graph is not None:
            shutil.copyfile(self.graph, folder / GRAPH)
        text = json.dumps(self.statistics, indent=1, sort_keys=True, ensure_ascii=False)
        (folder / _TOLD).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> EngineIndex:
        """The index of a folder; raises OSError, ValueError or LookupError for a damaged one."""
        held = json.loads((folder / _TOLD).read_text(encoding="utf-8"))
        told = Told(**{**held, "not_equal": tuple(held["not_equal"])})
        graph = folder / GRAPH
        return cls((folder / _FILES).resolve(), told, graph if graph.is_file() else None)
