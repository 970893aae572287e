"""Extract all facts of a synthetic world, or all facts except a given fraction."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from graphrag_bench.algorithms.extraction import (
    ChunkExtraction,
    ChunkRecords,
    EntityRecord,
    Extraction,
    RelationshipRecord,
    TextExtraction,
    Triple,
)
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.text import normalise_name
from graphrag_bench.world.grammar import ALSO, BY_PHRASE, Statement, kinds, statements

Rate = Annotated[float, Field(ge=0, le=1)]
Aliases = Literal["resolved", "as_written"]


@artifact("extraction.planted")
def planted_extraction(
    *, chunk_table: ChunkTable, aliases: Aliases = "resolved", drop: Rate = 0.0
) -> Extraction:
    """Extract the entities and facts of a synthetic world.

    By default every fact is extracted, and aliases are replaced by names. If `aliases` is
    "as_written", aliases stay separate names, and the statement that introduces an alias becomes a
    triple. From a rumour, i.e. a false statement, only the entities are extracted. `drop` is the
    fraction of the facts that are left out. Increasing `drop` only leaves out additional facts.
    Raises UserError if no chunk states a fact of a synthetic world.
    """
    rows, counts = _read(chunk_table, aliases, drop, "extraction.planted")
    read = [
        ChunkExtraction(row.names, tuple(Triple(f.head, f.phrase, f.tail) for f, _ in row.facts))
        for row in rows
    ]
    return Extraction.of(read, counts)


@artifact("text_extraction.planted")
def planted_text_extraction(
    *,
    chunk_table: ChunkTable,
    keywords: bool = True,
    aliases: Aliases = "resolved",
    drop: Rate = 0.0,
) -> TextExtraction:
    """Extract the entities and relationships of a synthetic world, with descriptions.

    `aliases` and `drop` have the same meaning as in `extraction.planted`. An entity is described by
    the sentences that introduce it or state its facts. A relationship is described by the sentence
    that states it. Its keyword is its role in questions, e.g. "birthplace", and its strength is 1.
    """
    rows, counts = _read(chunk_table, aliases, drop, "text_extraction.planted")
    records = [
        ChunkRecords(tuple(_entities(row)), tuple(_relationships(row, keywords))) for row in rows
    ]
    return TextExtraction.of(records, counts)


@dataclass(frozen=True)
class _Row:
    names: tuple[str, ...]
    introduced: tuple[tuple[str, str, str], ...]
    facts: tuple[tuple[Statement, str], ...]


def _read(
    table: ChunkTable, aliases: Aliases, drop: float, step: str
) -> tuple[list[_Row], dict[str, float]]:
    stated = [list(statements(text)) for text in table.texts]
    if not any(stated):
        raise UserError(
            f"No chunk states a fact of a synthetic world. build.{step.replace('.', '=')} requires "
            "dataset=world; for other data sets use another extraction, e.g. nlp."
        )
    names = {}
    if aliases == "resolved":
        named = (one for of_chunk in stated for one in of_chunk if one.phrase == ALSO)
        names = {normalise_name(one.tail): one.head for one in named}
    rows = [_row(text, row, names) for text, row in zip(table.texts, stated, strict=True)]
    places = [(row, at) for row, of_chunk in enumerate(rows) for at in range(len(of_chunk.facts))]
    order = np.random.default_rng([0, 0]).permutation(len(places))
    dropped = {places[at] for at in order[: round(drop * len(places))].tolist()}
    rows = [
        replace(
            of_chunk,
            facts=tuple(one for at, one in enumerate(of_chunk.facts) if (row, at) not in dropped),
        )
        for row, of_chunk in enumerate(rows)
    ]
    return rows, {"dropped_facts": float(len(dropped))} if dropped else {}


def _row(text: str, stated: list[Statement], names: dict[str, str]) -> _Row:
    def known(name: str) -> str:
        return names.get(normalise_name(name), name)

    introduced = [(known(name), type_, sentence) for name, type_, sentence in kinds(text)]
    facts = []
    ends = []
    for one in stated:
        fact = replace(one, head=known(one.head), tail=known(one.tail))
        ends += [fact.head, fact.tail]
        if fact.head == fact.tail:
            introduced.append((fact.head, "", one.sentence))
        elif not one.rumour:
            facts.append((fact, one.sentence))
    every = dict.fromkeys([*(name for name, _, _ in introduced), *ends])
    return _Row(tuple(every), tuple(introduced), tuple(facts))


def _entities(row: _Row) -> Iterator[EntityRecord]:
    for name, type_, sentence in row.introduced:
        yield EntityRecord(name, type_, sentence)
    for fact, sentence in row.facts:
        relation = BY_PHRASE.get(fact.phrase)
        yield EntityRecord(fact.head, relation.head if relation else "", sentence)
        yield EntityRecord(fact.tail, relation.tail if relation else "", sentence)


def _relationships(row: _Row, keywords: bool) -> Iterator[RelationshipRecord]:
    for fact, sentence in row.facts:
        role = BY_PHRASE[fact.phrase].role if fact.phrase in BY_PHRASE else "other name"
        yield RelationshipRecord(fact.head, fact.tail, sentence, (role,) if keywords else ())
