"""The extraction of each chunk for a textual graph: described entities and relationships."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class EntityRecord:
    """An entity as one place of a chunk tells of it; `type` is "" where none is known."""

    name: str
    type: str = ""
    description: str = ""


@dataclass(frozen=True)
class RelationshipRecord:
    """A relationship as one place of a chunk tells of it; `strength` is at least 0."""

    source: str
    target: str
    description: str = ""
    keywords: tuple[str, ...] = ()
    strength: float = 1.0


@dataclass(frozen=True)
class ChunkRecords:
    """The records of one chunk, as written, in order."""

    entities: tuple[EntityRecord, ...] = ()
    relationships: tuple[RelationshipRecord, ...] = ()


@dataclass(frozen=True)
class TextExtraction:
    """One row for each chunk, in chunk order, and counts worth reporting about the whole."""

    rows: tuple[ChunkRecords, ...]
    statistics: Mapping[str, float]

    def save(self, folder: Path) -> None:
        """Write one JSON line for each chunk, and the statistics."""
        lines = [json.dumps(asdict(row), ensure_ascii=False) for row in self.rows]
        text = "".join(f"{line}\n" for line in lines)
        (folder / "rows.jsonl").write_bytes(text.encode("utf-8", errors="replace"))
        (folder / "statistics.json").write_text(json.dumps(dict(self.statistics)), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> TextExtraction:
        """The extraction that `save` wrote."""
        lines = (folder / "rows.jsonl").read_bytes().decode("utf-8").split("\n")
        rows = tuple(_records(json.loads(line)) for line in lines if line)
        statistics = json.loads((folder / "statistics.json").read_text(encoding="utf-8"))
        return cls(rows, statistics)


def _records(row: Mapping[str, list[dict[str, str]]]) -> ChunkRecords:
    entities = tuple(EntityRecord(**entity) for entity in row["entities"])
    relationships = tuple(
        RelationshipRecord(
            told["source"],
            told["target"],
            told["description"],
            tuple(told["keywords"]),
            float(told["strength"]),
        )
        for told in row["relationships"]
    )
    return ChunkRecords(entities, relationships)
