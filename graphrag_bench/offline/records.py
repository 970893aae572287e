"""Delimited records of a passage, read from a reply: entities and relationships, or facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.graph.extraction import (
    ChunkFacts,
    ChunkRecords,
    EntityRecord,
    FactRecord,
    RelationshipRecord,
)
from graphrag_bench.text import normalise_name

RECORD, FIELD, COMPLETE = "##", "<|>", "<|COMPLETE|>"
_MOST, _LEAST = 10.0, 0.0
"""The range of completeness; the highest is that of a fact without a score."""
_KINDS = ("entity", "relationship")
_IGNORED = "content_keywords"
_BETWEEN_RECORDS = re.compile(rf"{RECORD}|{re.escape(COMPLETE)}|\n(?=\s*\(\s*[\"']?[a-z_]+[\"']?<)")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")


R = TypeVar("R", bound=ChunkRecords | ChunkFacts)


@dataclass(frozen=True)
class RecordReply(Generic[R]):
    """A reply with its records, and how many were malformed or of negative strength.

    `cut` says that the reply reached its end in the middle, so that its last record is left out.
    """

    text: str
    records: R
    malformed: int = 0
    negative: int = 0
    cut: bool = False

    @property
    def has_records(self) -> bool:
        """Whether a record was read."""
        return self.records != type(self.records)()


@dataclass
class _Found:
    entities: list[EntityRecord] = field(default_factory=list)
    relationships: list[RelationshipRecord] = field(default_factory=list)
    facts: list[FactRecord] = field(default_factory=list)
    malformed: int = 0
    negative: int = 0


def read_records(
    text: str, cut: bool, *, keywords: bool, purpose: str
) -> RecordReply[ChunkRecords]:
    """The records of a reply; raises UnreadableReply when it has none and does not say so.

    Records are separated by `##`, their fields by `<|>`; what counts is the text between a
    record's first `(` and last `)`. An entity has at least 4 fields, a relationship at least 5;
    more is ignored. With `keywords` a relationship of 6 fields or more holds them in the fifth,
    and one of 5 has none. The last field is the strength where it is a signed decimal number,
    which is taken as 0 when negative (and counted), and otherwise the strength is 1. The last
    record of a `cut` reply is left out. A reply that is only `<|COMPLETE|>` has no records.
    Source: the released code of Zhou et al. 2025 (4e87938) and nano-graphrag; names in quotes are
    accepted with and without them.
    """
    found = _Found()
    for fields in record_fields(text, cut):
        _read(fields, keywords, found)
    records = ChunkRecords(tuple(found.entities), tuple(found.relationships))
    return _reply(text, records, found, cut, purpose)


def read_facts(text: str, cut: bool, *, purpose: str) -> RecordReply[ChunkFacts]:
    """The facts of a reply; raises UnreadableReply when it has none and does not say so.

    Records are told apart as `read_records` says. A fact has a text and, in its last field, a
    completeness, which is moved into 0..10 and is 10 where it is no number. Entities, of a name and
    a description at least, belong to the fact before them; one that stands before every fact is
    malformed. More fields are ignored.
    Source: HyperGraphRAG (Luo et al. 2025), the layout of its released prompt.
    """
    found = _Found()
    for fields in record_fields(text, cut):
        _read_fact(fields, found)
    return _reply(text, ChunkFacts(tuple(found.facts)), found, cut, purpose)


def _reply(text: str, records: R, found: _Found, cut: bool, purpose: str) -> RecordReply[R]:
    reply = RecordReply(text, records, found.malformed, found.negative, cut)
    if not reply.has_records and (COMPLETE not in text or found.malformed):
        raise UnreadableReply(purpose, text)
    return reply


def record_fields(text: str, cut: bool) -> Iterator[list[str]]:
    """The fields of each record of a reply, without spaces and quotes around them.

    Records are told apart as `read_records` says; one without brackets has no fields, and what has
    no `<|>` is no record. The last record of a `cut` reply is left out.
    """
    parts = _BETWEEN_RECORDS.split(text)
    for part in parts[:-1] if cut else parts:
        if FIELD in part:
            start, end = part.find("("), part.rfind(")")
            inside = part[start + 1 : end].split(FIELD) if end > start else []
            yield [_bare(field) for field in inside]


def number_of(field: str, otherwise: float) -> float:
    """The signed decimal number that a field is, `otherwise` where it is none."""
    return float(field) if _NUMBER.fullmatch(field) else otherwise


def _read(fields: list[str], keywords: bool, found: _Found) -> None:
    kind = fields[0].lower() if fields else ""
    if kind == _IGNORED:
        return
    named = [normalise_name(name) for name in fields[1 : 2 if kind == "entity" else 3]]
    if kind not in _KINDS or len(fields) < 4 + (kind == "relationship") or not all(named):
        found.malformed += 1
    elif kind == "entity":
        found.entities.append(EntityRecord(fields[1], fields[2].lower(), fields[3]))
    else:
        found.relationships.append(_relationship(fields, keywords, found))


def _relationship(fields: list[str], keywords: bool, found: _Found) -> RelationshipRecord:
    strength = number_of(fields[-1], 1.0)
    found.negative += strength < 0
    themes = re.split(r"[,;]", fields[4]) if keywords and len(fields) >= 6 else []
    kept = tuple(dict.fromkeys(theme.strip() for theme in themes if theme.strip()))
    return RelationshipRecord(fields[1], fields[2], fields[3], kept, max(strength, 0.0))


def _bare(text: str) -> str:
    text = text.strip()
    for quote in "\"'":
        if len(text) > 1 and text[0] == text[-1] == quote:
            text = text[1:-1].strip()
    return text


def _read_fact(fields: list[str], found: _Found) -> None:
    kind = fields[0].lower() if fields else ""
    if kind == "fact" and len(fields) > 1 and fields[1]:
        complete = number_of(fields[-1], _MOST) if len(fields) > 2 else _MOST
        found.facts.append(FactRecord(fields[1], (), min(max(complete, _LEAST), _MOST)))
    elif kind == "entity" and len(fields) > 2 and normalise_name(fields[1]) and found.facts:
        last = found.facts[-1]
        named = (*last.entities, EntityRecord(fields[1], "", fields[2]))
        found.facts[-1] = replace(last, entities=named)
    else:
        found.malformed += 1
