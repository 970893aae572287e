"""The facts planted in a synthetic world, read without error, or with errors at known rates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeInt

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
_STREAMS = ("drop", "merge", "spurious", "rumours")


@artifact("extraction.planted")
def planted_extraction(
    *,
    chunk_table: ChunkTable,
    aliases: Aliases = "resolved",
    drop: Rate = 0.0,
    merge: Rate = 0.0,
    spurious: Annotated[float, Field(ge=0)] = 0.0,
    rumours: Rate = 0.0,
    noise_seed: NonNegativeInt = 0,
) -> Extraction:
    """The entities and facts that the sentences of a synthetic world state, chunk by chunk.

    With the defaults nothing is missed, mistaken or made up: names replace aliases,
    and rumours give entities but no triples. `aliases="as_written"` keeps aliases as names of
    their own, with the triple that introduces them. Faults, each an exact share: of the facts
    `drop` are not read; of the names `merge` are taken for another name throughout; `spurious`
    false triples for each true one are added between names of the corpus; of the rumours
    `rumours` are taken for facts. A higher rate has the faults of a lower one and more. Raises
    UserError when no chunk states a fact of a synthetic world.
    """
    faults = _Faults(drop, merge, spurious, rumours, noise_seed)
    rows, counts = _read(chunk_table, aliases, faults, "extraction.planted")
    read = [
        ChunkExtraction(row.names, tuple(Triple(f.head, f.phrase, f.tail) for f in row.facts))
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
    merge: Rate = 0.0,
    spurious: Annotated[float, Field(ge=0)] = 0.0,
    rumours: Rate = 0.0,
    noise_seed: NonNegativeInt = 0,
) -> TextExtraction:
    """The described entities and relationships that the sentences of a synthetic world state.

    Faults as of `extraction.planted`. An entity is described by the sentences that introduce it
    and by those of its facts, a relationship by its sentence, as written: a merged name keeps the
    texts of both. The keyword of a relationship is what questions call it, its strength 1.
    """
    faults = _Faults(drop, merge, spurious, rumours, noise_seed)
    rows, counts = _read(chunk_table, aliases, faults, "text_extraction.planted")
    records = [
        ChunkRecords(tuple(_entities(row)), tuple(_relationships(row, keywords))) for row in rows
    ]
    return TextExtraction.of(records, counts)


@dataclass(frozen=True)
class _Faults:
    drop: float
    merge: float
    spurious: float
    rumours: float
    seed: int

    def random(self, stream: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, _STREAMS.index(stream)])

    def chosen(self, stream: str, n: int, share: float) -> list[int]:
        return [int(row) for row in self.random(stream).permutation(n)[: round(share * n)]]


@dataclass(frozen=True)
class _Fact:
    head: str
    phrase: str
    tail: str
    sentence: str


@dataclass(frozen=True)
class _Row:
    """What was read from one chunk: names in order, what introduces them, facts.

    `introduced` holds name, type and sentence.
    """

    names: tuple[str, ...]
    introduced: tuple[tuple[str, str, str], ...]
    facts: tuple[_Fact, ...]


def _read(
    table: ChunkTable, aliases: Aliases, faults: _Faults, step: str
) -> tuple[list[_Row], dict[str, float]]:
    stated = [list(statements(table.texts[row])) for row in range(len(table))]
    if not any(stated):
        raise UserError(
            f"No chunk states a fact of a synthetic world, and build.{step.replace('.', '=')} "
            "reads nothing else: take dataset=world, or build from another extraction (nlp)."
        )
    names = {}
    if aliases == "resolved":
        named = (one for of_chunk in stated for one in of_chunk if one.phrase == ALSO)
        names = {normalise_name(one.tail): one.head for one in named}
    rumours = [(r, at) for r, row in enumerate(stated) for at, one in enumerate(row) if one.rumour]
    believed = {rumours[at] for at in faults.chosen("rumours", len(rumours), faults.rumours)}
    rows = []
    for row, of_chunk in enumerate(stated):
        believable = [not one.rumour or (row, at) in believed for at, one in enumerate(of_chunk)]
        rows.append(_row(table.texts[row], of_chunk, names, believable))
    rows, n_dropped = _dropped(rows, faults)
    rows, n_merged = _merged(rows, faults)
    rows, n_spurious = _with_spurious(rows, faults)
    counts = {
        "dropped_facts": n_dropped,
        "merged_names": n_merged,
        "spurious_facts": n_spurious,
        "believed_rumours": len(believed),
    }
    return rows, {name: float(count) for name, count in counts.items() if count}


def _row(
    text: str, stated: Sequence[Statement], names: Mapping[str, str], believable: Sequence[bool]
) -> _Row:
    def known(name: str) -> str:
        return names.get(normalise_name(name), name)

    introduced = [(known(name), type_, sentence) for name, type_, sentence in kinds(text)]
    facts = []
    ends = []
    for one, is_believed in zip(stated, believable, strict=True):
        fact = _Fact(known(one.head), one.phrase, known(one.tail), one.sentence)
        ends += [fact.head, fact.tail]
        if fact.head == fact.tail:
            introduced.append((fact.head, "", one.sentence))
        elif is_believed:
            facts.append(fact)
    every = dict.fromkeys([*(name for name, _, _ in introduced), *ends])
    return _Row(tuple(every), tuple(introduced), tuple(facts))


def _dropped(rows: list[_Row], faults: _Faults) -> tuple[list[_Row], int]:
    places = [(row, at) for row, of_chunk in enumerate(rows) for at in range(len(of_chunk.facts))]
    dropped = {places[at] for at in faults.chosen("drop", len(places), faults.drop)}
    return [
        replace(
            of_chunk,
            facts=tuple(one for at, one in enumerate(of_chunk.facts) if (row, at) not in dropped),
        )
        for row, of_chunk in enumerate(rows)
    ], len(dropped)


def _merged(rows: list[_Row], faults: _Faults) -> tuple[list[_Row], int]:
    names = list(dict.fromkeys(name for row in rows for name in row.names))
    order = faults.chosen("merge", len(names), 1.0)
    n_merged = min(round(faults.merge * len(names)), len(names) - 1)
    mistaken = {
        names[row]: names[order[-1 - place % (len(names) - n_merged)]]
        for place, row in enumerate(order[:n_merged])
    }

    def known(name: str) -> str:
        return mistaken.get(name, name)

    return [
        _Row(
            tuple(dict.fromkeys(known(name) for name in row.names)),
            tuple((known(name), type_, text) for name, type_, text in row.introduced),
            tuple(replace(one, head=known(one.head), tail=known(one.tail)) for one in row.facts),
        )
        for row in rows
    ], n_merged


def _with_spurious(rows: list[_Row], faults: _Faults) -> tuple[list[_Row], int]:
    names = list(dict.fromkeys(name for row in rows for name in row.names))
    able = [row for row, of_chunk in enumerate(rows) if of_chunk.names]
    n_spurious = round(faults.spurious * sum(len(row.facts) for row in rows))
    phrases = list(BY_PHRASE)
    added: list[list[_Fact]] = [[] for _ in rows]
    for chunk, head, phrase, tail in faults.random("spurious").random((n_spurious, 4)).tolist():
        row = able[int(chunk * len(able))]
        about = rows[row].names[int(head * len(rows[row].names))]
        words, other = phrases[int(phrase * len(phrases))], names[int(tail * len(names))]
        added[row].append(_Fact(about, words, other, Statement(about, words, other).sentence))
    pairs = zip(rows, added, strict=True)
    return [replace(row, facts=(*row.facts, *false)) for row, false in pairs], n_spurious


def _entities(row: _Row) -> Iterator[EntityRecord]:
    for name, type_, sentence in row.introduced:
        yield EntityRecord(name, type_, sentence)
    for one in row.facts:
        relation = BY_PHRASE.get(one.phrase)
        yield EntityRecord(one.head, relation.head if relation else "", one.sentence)
        yield EntityRecord(one.tail, relation.tail if relation else "", one.sentence)


def _relationships(row: _Row, keywords: bool) -> Iterator[RelationshipRecord]:
    for one in row.facts:
        role = BY_PHRASE[one.phrase].role if one.phrase in BY_PHRASE else "other name"
        yield RelationshipRecord(one.head, one.tail, one.sentence, (role,) if keywords else ())
