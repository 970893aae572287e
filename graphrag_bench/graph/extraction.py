"""The extraction of each chunk: entity names and (head, relation, tail) triples."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Triple:
    """A fact as written in the chunk; `weight` counts how often it was read."""

    head: str
    relation: str
    tail: str
    weight: float = 1.0


@dataclass(frozen=True)
class ChunkExtraction:
    """The entities and triples of one chunk, as written, in order."""

    entities: tuple[str, ...]
    triples: tuple[Triple, ...]


@dataclass(frozen=True)
class Extraction:
    """One row for each chunk, in chunk order, and counts worth reporting about the whole."""

    rows: tuple[ChunkExtraction, ...]
    statistics: Mapping[str, float]

    def save(self, folder: Path) -> None:
        """Write one JSON line for each chunk, and the statistics."""
        lines = [json.dumps(asdict(row), ensure_ascii=False) for row in self.rows]
        (folder / "rows.jsonl").write_text("".join(f"{x}\n" for x in lines), encoding="utf-8")
        (folder / "statistics.json").write_text(json.dumps(dict(self.statistics)), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Extraction:
        """The extraction that `save` wrote."""
        rows = []
        for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            triples = tuple(Triple(**triple) for triple in row["triples"])
            rows.append(ChunkExtraction(tuple(row["entities"]), triples))
        statistics = json.loads((folder / "statistics.json").read_text(encoding="utf-8"))
        return cls(tuple(rows), statistics)
