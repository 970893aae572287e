"""Triples, entities, relationships and facts that were extracted from chunks."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

RowT = TypeVar("RowT")


@dataclass(frozen=True)
class Extracted(Generic[RowT]):
    """Extraction from all chunks, with an object of the class `kind` for each chunk, in order.

    `counted` maps statistics to fields of the objects. A statistic counts the items in its field.
    """

    kind: ClassVar[type[Any]]
    counted: ClassVar[Mapping[str, str]]
    rows: tuple[RowT, ...]
    statistics: Mapping[str, float]

    @classmethod
    def of(cls, rows: Sequence[RowT], counts: Mapping[str, float]) -> Self:
        """Return an extraction whose statistics are `counts` and the numbers of extracted items."""
        numbers: dict[str, float] = {
            name: sum(len(getattr(row, part)) for row in rows) for name, part in cls.counted.items()
        }
        return cls(tuple(rows), {**numbers, **counts})

    def save(self, folder: Path) -> None:
        """Write the extraction to a folder. Lone surrogates in texts become "?"."""
        lines = [json.dumps(asdict(row), ensure_ascii=False) for row in self.rows]  # type: ignore[call-overload]
        text = "".join(f"{line}\n" for line in lines)
        (folder / "rows.jsonl").write_bytes(text.encode("utf-8", errors="replace"))
        (folder / "statistics.json").write_text(json.dumps(dict(self.statistics)))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the extraction that `save` wrote."""
        from pydantic import TypeAdapter

        row = TypeAdapter(cls.kind)
        lines = (folder / "rows.jsonl").read_bytes().split(b"\n")  # texts may hold U+2028
        statistics = json.loads((folder / "statistics.json").read_text(encoding="utf-8"))
        return cls(tuple(row.validate_json(line) for line in lines if line), statistics)


@dataclass(frozen=True)
class Triple:
    """Triple that was extracted from a chunk. `weight` is the number of its extractions."""

    head: str
    relation: str
    tail: str
    weight: float = 1.0


@dataclass(frozen=True)
class ChunkExtraction:
    """Entities and triples of one chunk, in order of extraction. Their texts are not normalised."""

    entities: tuple[str, ...]
    triples: tuple[Triple, ...]


@dataclass(frozen=True)
class Extraction(Extracted[ChunkExtraction]):
    """Entities and triples of every chunk."""

    kind = ChunkExtraction
    counted = {"triples": "triples"}


@dataclass(frozen=True)
class EntityRecord:
    """Mention of an entity in a text. If its type is unknown, `type` is ""."""

    name: str
    type: str = ""
    description: str = ""


@dataclass(frozen=True)
class RelationshipRecord:
    """Mention of a relationship in a text. The strength is at least 0."""

    source: str
    target: str
    description: str = ""
    keywords: tuple[str, ...] = ()
    strength: float = 1.0


@dataclass(frozen=True)
class ChunkRecords:
    """Mentions of entities and relationships in one chunk. Their texts are not normalised."""

    entities: tuple[EntityRecord, ...] = ()
    relationships: tuple[RelationshipRecord, ...] = ()


@dataclass(frozen=True)
class TextExtraction(Extracted[ChunkRecords]):
    """Entities and relationships of every chunk, with descriptions."""

    kind = ChunkRecords
    counted = {"entity_records": "entities", "relationship_records": "relationships"}


@dataclass(frozen=True)
class FactRecord:
    """Mention of a fact. `completeness` (0..10) says how clear `text` is without its chunk."""

    text: str
    entities: tuple[EntityRecord, ...]
    completeness: float = 10.0


@dataclass(frozen=True)
class ChunkFacts:
    """Facts of one chunk in order of extraction. Their texts are not normalised."""

    facts: tuple[FactRecord, ...] = ()

    @property
    def entities(self) -> tuple[EntityRecord, ...]:
        """The entities of all facts."""
        return tuple(entity for fact in self.facts for entity in fact.entities)


@dataclass(frozen=True)
class FactExtraction(Extracted[ChunkFacts]):
    """Facts of every chunk. A fact may link more than two entities."""

    kind = ChunkFacts
    counted = {"fact_records": "facts", "entity_records": "entities"}
