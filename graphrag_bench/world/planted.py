"""Extract all facts of a synthetic world, or all facts except a given fraction."""

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

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
from graphrag_bench.world import grammar
from graphrag_bench.world.facts import Rate

Aliases = Literal["resolved", "as_written"]


@artifact("extraction.planted")
def planted_extraction(
    *, chunk_table: ChunkTable, aliases: Aliases = "resolved", drop: Rate = 0.0
) -> Extraction:
    """Extract the entities and facts of a synthetic world. From rumours, extract only entities.

    By default, aliases are replaced by names. If `aliases` is "as_written", aliases stay separate
    names, and the statement that introduces an alias becomes a triple. `drop` is the fraction of
    the facts that are left out. A higher `drop` leaves out the same facts and more. Raises
    UserError if no chunk states a fact of a synthetic world.
    """
    rows, counts = _read(chunk_table, aliases, drop, "extraction.planted")
    triples = (tuple(Triple(f.head, f.phrase, f.tail) for f, _ in row.facts) for row in rows)
    return Extraction.of([*map(ChunkExtraction, (row.names for row in rows), triples)], counts)


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
    records = []
    for row in rows:
        entities = [EntityRecord(*introduced) for introduced in row.introduced]
        relationships = []
        for fact, sentence in row.facts:
            relation = grammar.BY_PHRASE.get(fact.phrase, _OTHER_NAME)
            entities.append(EntityRecord(fact.head, relation.head, sentence))
            entities.append(EntityRecord(fact.tail, relation.tail, sentence))
            themes = (relation.role,) if keywords else ()
            relationships.append(RelationshipRecord(fact.head, fact.tail, sentence, themes))
        records.append(ChunkRecords(tuple(entities), tuple(relationships)))
    return TextExtraction.of(records, counts)


_OTHER_NAME = grammar.WorldRelation(grammar.ALSO, "other name", "", "")


class _Row(NamedTuple):
    names: tuple[str, ...]
    introduced: list[tuple[str, str, str]]
    facts: list[tuple[grammar.Statement, str]]


def _read(
    table: ChunkTable, aliases: Aliases, drop: float, step: str
) -> tuple[list[_Row], dict[str, float]]:
    stated = [list(grammar.statements(text)) for text in table.texts]
    if not any(stated):
        raise UserError(
            f"No chunk states a fact of a synthetic world. build.{step.replace('.', '=')} requires "
            "dataset=world; for other data sets use another extraction, e.g. nlp."
        )
    named = (one for of_chunk in stated for one in of_chunk if one.phrase == grammar.ALSO)
    names = {normalise_name(one.tail): one.head for one in named if aliases == "resolved"}
    rows = [_row(text, row, names) for text, row in zip(table.texts, stated, strict=True)]
    places = [(row, at) for row, of_chunk in enumerate(rows) for at in range(len(of_chunk.facts))]
    order = np.random.default_rng([0, 0]).permutation(len(places))
    dropped = sorted(places[at] for at in order[: round(drop * len(places))].tolist())
    for row, at in reversed(dropped):
        del rows[row].facts[at]
    return rows, {"dropped_facts": float(len(dropped))} if dropped else {}


def _row(text: str, stated: list[grammar.Statement], names: dict[str, str]) -> _Row:
    def known(name: str) -> str:
        return names.get(normalise_name(name), name)

    introduced = [(known(name), type_, sentence) for name, type_, sentence in grammar.kinds(text)]
    every = dict.fromkeys(name for name, _, _ in introduced)
    facts = []
    for one in stated:
        fact = replace(one, head=known(one.head), tail=known(one.tail))
        every |= {fact.head: None, fact.tail: None}
        if fact.head == fact.tail:
            introduced.append((fact.head, "", one.sentence))
        elif not one.rumour:
            facts.append((fact, one.sentence))
    return _Row(tuple(every), introduced, facts)
