"""Chunks to described entities and relationships without a language model, by spaCy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import NonNegativeInt

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.extraction import (
    ChunkRecords,
    EntityRecord,
    RelationshipRecord,
    TextExtraction,
)
from graphrag_bench.models.nlp import NUMERIC, Nlp, Sentence
from graphrag_bench.offline.tagging import (
    TitleUse,
    facts_of,
    named_entities,
    read_chunks,
    together,
)
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name


@artifact("text_extraction.nlp")
def nlp_text_extraction(
    *,
    chunk_table: ChunkTable,
    nlp: Nlp,
    progress: Progress,
    numbers: bool = False,
    noun_phrases: bool = False,
    keywords: bool = True,
    co_occurrence: NonNegativeInt = 8,
    title: TitleUse = "about",
) -> TextExtraction:
    """Entities and relationships read by spaCy, one record for each sentence that tells of them.

    An entity's type is its NER label ("" for a noun phrase, and for a title that no label fits),
    its description the sentence; `numbers` keeps dates, amounts and counts as entities. Two names
    are related when a subject-verb-object relation joins them or, in sentences with at most
    `co_occurrence` distinct named entities (0 switches this off), when they share a sentence:
    the description is that sentence, the keywords its lemmas, the strength 1, so that merged
    strengths are counts. `title="about"` takes a passage to be about its title: the title
    replaces he, she, it and they as a subject, is related to the named entities of sentences that
    do not name it, and is described by the sentences that name it or, where none does, by the
    first; `entity` only describes it, `off` does not read it.
    """
    rows = []
    for name, sentences in read_chunks(chunk_table, nlp, progress, title):
        about = title == "about" and bool(name)
        reader = _Reader(name, about, numbers, noun_phrases, keywords, co_occurrence)
        rows.append(reader.chunk(sentences))
    return TextExtraction.of(rows, {})


@dataclass(frozen=True)
class _Reader:
    """Sentences of one chunk to records.

    `name` is the title, "" when it is not read; `about` says that the passage is about it. The
    others are the settings of the builder.
    """

    name: str
    about: bool
    numbers: bool
    noun_phrases: bool
    keywords: bool
    co_occurrence: int

    def chunk(self, sentences: list[Sentence]) -> ChunkRecords:
        entities = [record for sentence in sentences for record in self._entities(sentence)]
        relationships = [record for one in sentences for record in self._relationships(one)]
        return ChunkRecords((*self._title(sentences), *entities), tuple(relationships))

    def _title(self, sentences: list[Sentence]) -> Iterator[EntityRecord]:
        if not self.name:
            return
        wanted = f" {normalise_name(self.name)} "
        naming = [one.text for one in sentences if wanted in f" {normalise_name(one.text)} "]
        for text in naming or [one.text for one in sentences[:1]] or [""]:
            yield EntityRecord(self.name, "", text)

    def _entities(self, sentence: Sentence) -> Iterator[EntityRecord]:
        for name, label in dict.fromkeys(sentence.entities):
            if self.numbers or label not in NUMERIC:
                yield EntityRecord(name, label.lower(), sentence.text)
        for phrase in sentence.phrases if self.noun_phrases else ():
            yield EntityRecord(phrase, "", sentence.text)

    def _relationships(self, sentence: Sentence) -> Iterator[RelationshipRecord]:
        keywords = sentence.lemmas if self.keywords else ()
        seen = set()
        distinct = list(dict.fromkeys(named_entities(sentence)))
        pairs = together(distinct, self.name if self.about else "", self.co_occurrence)
        for head, tail in (*self._facts(sentence), *pairs):
            ends = frozenset((normalise_name(head), normalise_name(tail)))
            if len(ends) == 2 and ends not in seen:
                seen.add(ends)
                yield RelationshipRecord(head, tail, sentence.text, keywords)

    def _facts(self, sentence: Sentence) -> Iterator[tuple[str, str]]:
        kept = {record.name for record in self._entities(sentence)} | {self.name}
        for fact in facts_of(sentence, self.name if self.about else "", kept - {""}):
            yield fact.head, fact.tail
