"""The extraction of each chunk for a textual graph: described entities and relationships."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphrag_bench.graph.extraction import load_rows, save_rows


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

    @classmethod
    def of(cls, rows: Sequence[ChunkRecords], counts: Mapping[str, float]) -> TextExtraction:
        """The extraction of these rows, with the numbers of their records before other counts."""
        n_entities = sum(len(row.entities) for row in rows)
        n_relationships = sum(len(row.relationships) for row in rows)
        numbers = {"entity_records": n_entities, "relationship_records": n_relationships}
        return cls(tuple(rows), {**numbers, **counts})

    def save(self, folder: Path) -> None:
        """Write one JSON line for each chunk, and the statistics."""
        save_rows(folder, self.rows, self.statistics)

    @classmethod
    def load(cls, folder: Path) -> TextExtraction:
        """The extraction that `save` wrote."""
        rows, statistics = load_rows(folder)
        return cls(tuple(_records(row) for row in rows), statistics)


def _records(row: Mapping[str, list[dict[str, Any]]]) -> ChunkRecords:
    entities = tuple(EntityRecord(**entity) for entity in row["entities"])
    relationships = tuple(
        RelationshipRecord(**{**told, "keywords": tuple(told["keywords"])})
        for told in row["relationships"]
    )
    return ChunkRecords(entities, relationships)
