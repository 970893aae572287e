"""Chunks to typed entities, triples and attributes without a language model, by spaCy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import NonNegativeInt

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.extraction import (
    AttributeRecord,
    EntityRecord,
    SchemaExtraction,
    SchemaRecords,
    Triple,
)
from graphrag_bench.models.nlp import NUMERIC, Nlp, Sentence
from graphrag_bench.offline.extraction import CO_OCCURS
from graphrag_bench.offline.tagging import TitleUse, facts_of, read_chunks, together
from graphrag_bench.progress import Progress

COPULA, IS = "be", "is"
"""The relation of "X was a Y", and the name of the attribute that it states."""
TELLING = ("DATE", "TIME", "PERCENT", "MONEY", "QUANTITY")
"""Labels of numbers that tell something by themselves."""
COUNT = "CARDINAL"
"""The label of a bare number, which tells something behind the words of a relation alone."""


@artifact("schema_extraction.nlp")
def nlp_schema_extraction(
    *,
    chunk_table: ChunkTable,
    nlp: Nlp,
    progress: Progress,
    noun_phrases: bool = True,
    co_occurrence: NonNegativeInt = 8,
    title: TitleUse = "about",
) -> SchemaExtraction:
    """Typed entities, triples and attributes read by spaCy, sentence by sentence.

    The schema is the tagger's: an entity's type is its NER label, "" for a title that no label
    fits; numbers, amounts and dates are values, not entities. Triples are subject-verb-object, and
    two named entities of one sentence that none joins co-occur, in sentences with at most
    `co_occurrence` of them (0 switches that off). An entity has three kinds of attributes. A
    subject-verb-object relation to a number or date is one, named by the words of the relation
    ("be born in: 1867"). A copula with a noun phrase, "X was a Y", is one named `is`. A date,
    time, percentage, amount of money or quantity that no relation reaches is one of the only
    entity of its sentence, where there is just one, named by its label ("date: 1867"). Ordinals
    state nothing, and neither do bare numbers but with a relation that is no copula. `title`
    is that of `extraction.nlp`; with `about` it stands for he, she, it and they, and is the entity
    of sentences that name none. `noun_phrases` makes the phrases that a relation joins to an
    entity, but for copulas, entities without a type.
    Source: ours, so that Youtu-GraphRAG's graph can be made without a language model.
    """
    rows = []
    for name, sentences in read_chunks(chunk_table, nlp, progress, title):
        reader = _Reader(name, title == "about" and bool(name), noun_phrases, co_occurrence)
        rows.append(reader.chunk(sentences))
    return SchemaExtraction.of(rows, {})


@dataclass(frozen=True)
class _Reader:
    """Sentences of one chunk to facts.

    `name` is the title, "" when it is not read; `about` says that the passage is about it.
    """

    name: str
    about: bool
    noun_phrases: bool
    co_occurrence: int

    def chunk(self, sentences: list[Sentence]) -> SchemaRecords:
        entities = {EntityRecord(self.name): None} if self.name else {}
        triples: list[Triple] = []
        attributes: dict[AttributeRecord, None] = {}
        for sentence in sentences:
            named = {name: label for name, label in sentence.entities if label not in NUMERIC}
            entities.update({EntityRecord(*one): None for one in _typed(named)})
            facts = list(self._facts(sentence))
            held = self._triples(facts, sentence, named)
            triples += held
            if self.noun_phrases:
                ends = (end for fact in held for end in (fact.head, fact.tail))
                entities.update({EntityRecord(end): None for end in ends if end not in named})
            triples += self._together(named, held)
            attributes.update(dict.fromkeys(self._attributes(facts, sentence, named)))
        return SchemaRecords(tuple(entities), tuple(triples), tuple(attributes))

    def _facts(self, sentence: Sentence) -> Iterator[Triple]:
        kept = {name for name, _ in sentence.entities} | {*sentence.phrases, self.name} - {""}
        return facts_of(sentence, self.name if self.about else "", kept)

    def _triples(
        self, facts: list[Triple], sentence: Sentence, named: dict[str, str]
    ) -> list[Triple]:
        known = {*named, self.name} - {""}
        ends = known | (set(sentence.phrases) if self.noun_phrases else set())
        return [
            fact
            for fact in facts
            if {fact.head, fact.tail} <= ends
            and {fact.head, fact.tail} & known
            and (fact.tail in known or fact.relation != COPULA)
        ]

    def _together(self, named: dict[str, str], held: list[Triple]) -> Iterator[Triple]:
        joined = {frozenset((fact.head, fact.tail)) for fact in held}
        title = self.name if self.about else ""
        for head, tail in together(list(named), title, self.co_occurrence):
            if frozenset((head, tail)) not in joined:
                yield Triple(head, CO_OCCURS, tail)

    def _attributes(
        self, facts: list[Triple], sentence: Sentence, named: dict[str, str]
    ) -> Iterator[AttributeRecord]:
        known = {*named, self.name} - {""}
        numbers = {name: label for name, label in sentence.entities if label in NUMERIC}
        reached = set()
        for fact in facts:
            if fact.head not in known or fact.tail in known:
                continue
            copula, label = fact.relation == COPULA, numbers.get(fact.tail, "")
            states = label in (TELLING if copula else (*TELLING, COUNT)) if label else copula
            if states:
                reached.add(fact.tail)
                yield AttributeRecord(fact.head, IS if copula else fact.relation, fact.tail)
        only = list(named) or ([self.name] if self.about else [])
        for value, label in numbers.items():
            if len(only) == 1 and label in TELLING and value not in reached:
                yield AttributeRecord(only[0], label.lower(), value)


def _typed(named: dict[str, str]) -> Iterator[tuple[str, str]]:
    return ((name, label.lower()) for name, label in named.items())
