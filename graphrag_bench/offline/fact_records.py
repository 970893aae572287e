"""Delimited records of a passage's facts, each with its entities, read from a model's reply."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.graph.extraction import ChunkFacts, EntityRecord, FactRecord
from graphrag_bench.offline.records import COMPLETE, number_of, record_fields
from graphrag_bench.text import normalise_name

_MOST, _LEAST = 10.0, 0.0
"""The range of completeness; the highest is that of a fact without a score."""


@dataclass(frozen=True)
class FactReply:
    """A reply with its facts, and how many records were malformed.

    `cut` says that the reply reached its end in the middle, so that its last record is left out.
    """

    text: str
    records: ChunkFacts = ChunkFacts()
    malformed: int = 0
    cut: bool = False

    @property
    def has_records(self) -> bool:
        """Whether a fact was read."""
        return bool(self.records.facts)


@dataclass
class _Found:
    facts: list[FactRecord] = field(default_factory=list)
    malformed: int = 0


def read_facts(text: str, cut: bool, *, purpose: str) -> FactReply:
    """The facts of a reply; raises UnreadableReply when it has none and does not say so.

    Records are separated by `##`, their fields by `<|>`; what counts is the text between a
    record's first `(` and last `)`. A fact has a text and, in its last field, a completeness, which
    is moved into 0..10 and is 10 where it is no number. Entities, of a name and a description at
    least, belong to the fact before them; one that stands before every fact is malformed. More
    fields are ignored. The last record of a `cut` reply is left out. A reply that is only
    `<|COMPLETE|>` has no facts.
    Source: HyperGraphRAG (Luo et al. 2025), the layout of its released prompt.
    """
    found = _Found()
    for fields in record_fields(text, cut):
        _read(fields, found)
    if not found.facts and (COMPLETE not in text or found.malformed):
        raise UnreadableReply(purpose, text)
    return FactReply(text, ChunkFacts(tuple(found.facts)), found.malformed, cut)


def _read(fields: list[str], found: _Found) -> None:
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
