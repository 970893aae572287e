"""The extraction of each chunk: triples, described records, n-ary facts, or records by a schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


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
        save_rows(folder, self.rows, self.statistics)

    @classmethod
    def load(cls, folder: Path) -> Extraction:
        """The extraction that `save` wrote."""
        rows, statistics = load_rows(folder)
        triples = [tuple(Triple(**one) for one in row["triples"]) for row in rows]
        names = [tuple(row["entities"]) for row in rows]
        return cls(tuple(map(ChunkExtraction, names, triples)), statistics)


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


@dataclass(frozen=True)
class FactRecord:
    """A fact as one place of a chunk tells it, with all entities that it names.

    `completeness` says how much of what is needed to understand it the text holds, 0 to 10.
    """

    text: str
    entities: tuple[EntityRecord, ...]
    completeness: float = 10.0


@dataclass(frozen=True)
class ChunkFacts:
    """The facts of one chunk, as written, in order."""

    facts: tuple[FactRecord, ...] = ()


@dataclass(frozen=True)
class FactExtraction:
    """One row for each chunk, in chunk order, and counts worth reporting about the whole."""

    rows: tuple[ChunkFacts, ...]
    statistics: Mapping[str, float]

    @classmethod
    def of(cls, rows: Sequence[ChunkFacts], counts: Mapping[str, float]) -> FactExtraction:
        """The extraction of these rows, with the numbers of their records before other counts."""
        every = [fact for row in rows for fact in row.facts]
        named = sum(len(fact.entities) for fact in every)
        return cls(tuple(rows), {"fact_records": len(every), "entity_records": named, **counts})

    def save(self, folder: Path) -> None:
        """Write one JSON line for each chunk, and the statistics."""
        save_rows(folder, self.rows, self.statistics)

    @classmethod
    def load(cls, folder: Path) -> FactExtraction:
        """The extraction that `save` wrote."""
        rows, statistics = load_rows(folder)
        return cls(tuple(ChunkFacts(tuple(map(_fact, row["facts"]))) for row in rows), statistics)


def _fact(told: Mapping[str, Any]) -> FactRecord:
    entities = tuple(EntityRecord(**entity) for entity in told["entities"])
    return FactRecord(told["text"], entities, told["completeness"])


@dataclass(frozen=True)
class AttributeRecord:
    """A named value that a chunk states of an entity."""

    entity: str
    name: str
    value: str


@dataclass(frozen=True)
class SchemaRecords:
    """The typed entities, triples and attributes of one chunk, as written, in order."""

    entities: tuple[EntityRecord, ...] = ()
    triples: tuple[Triple, ...] = ()
    attributes: tuple[AttributeRecord, ...] = ()


@dataclass(frozen=True)
class SchemaExtraction:
    """One row for each chunk, in chunk order, and counts worth reporting about the whole."""

    rows: tuple[SchemaRecords, ...]
    statistics: Mapping[str, float]

    @classmethod
    def of(cls, rows: Sequence[SchemaRecords], counts: Mapping[str, float]) -> SchemaExtraction:
        """The extraction of these rows, with the numbers of what they hold before other counts."""
        numbers: dict[str, float] = {
            "entity_records": sum(len(row.entities) for row in rows),
            "triples": sum(len(row.triples) for row in rows),
            "attribute_records": sum(len(row.attributes) for row in rows),
        }
        return cls(tuple(rows), {**numbers, **counts})

    def save(self, folder: Path) -> None:
        """Write one JSON line for each chunk, and the statistics."""
        save_rows(folder, self.rows, self.statistics)

    @classmethod
    def load(cls, folder: Path) -> SchemaExtraction:
        """The extraction that `save` wrote."""
        rows, statistics = load_rows(folder)
        return cls(tuple(_typed(row) for row in rows), statistics)


def _typed(row: Mapping[str, list[dict[str, Any]]]) -> SchemaRecords:
    return SchemaRecords(
        tuple(EntityRecord(**one) for one in row["entities"]),
        tuple(Triple(**one) for one in row["triples"]),
        tuple(AttributeRecord(**one) for one in row["attributes"]),
    )


def save_rows(folder: Path, rows: Sequence[Any], statistics: Mapping[str, float]) -> None:
    """Write dataclasses as JSON lines, lone surrogates replaced, and the statistics."""
    text = "".join(f"{json.dumps(asdict(row), ensure_ascii=False)}\n" for row in rows)
    (folder / "rows.jsonl").write_bytes(text.encode("utf-8", errors="replace"))
    (folder / "statistics.json").write_text(json.dumps(dict(statistics)), encoding="utf-8")


def load_rows(folder: Path) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """The rows as they were written, and the statistics; a text may hold any sign of a line end."""
    lines = (folder / "rows.jsonl").read_bytes().decode("utf-8").split("\n")
    statistics = json.loads((folder / "statistics.json").read_text(encoding="utf-8"))
    return [json.loads(line) for line in lines if line], statistics
