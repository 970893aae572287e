"""Chunks read sentence by sentence by the tagger, with their titles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Literal

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.extraction import Triple
from graphrag_bench.models.nlp import NUMERIC, Nlp, Sentence
from graphrag_bench.progress import Progress

TitleUse = Literal["off", "entity", "about"]
"""Whether a title is not read, is an entity, or is what the passage is about as well."""


def read_chunks(
    chunk_table: ChunkTable, nlp: Nlp, progress: Progress, title: TitleUse = "about"
) -> Iterator[tuple[str, list[Sentence]]]:
    """Yield the title of each chunk, "" where titles are off, and the sentences of its text."""
    texts = list(chunk_table.texts)
    with progress.task("reading sentences", len(texts)) as advance:
        for row, sentences in enumerate(nlp.sentences(texts)):
            yield chunk_table.titles[row] if title != "off" else "", sentences
            advance(1)


def named_entities(sentence: Sentence) -> list[str]:
    """Return the named entities of a sentence, numbers, amounts and dates aside, as they come."""
    return [name for name, label in sentence.entities if label not in NUMERIC]


def together(names: Sequence[str], title: str, most: int) -> list[tuple[str, str]]:
    """Return the pairs that share a sentence which names these distinct entities.

    All pairs where they are `most` at most; `title`, where given and not named, with each of them.
    With 0 there is no pair.
    """
    pairs = list(combinations(names, 2)) if len(names) <= most else []
    if title and most and title not in names:
        pairs += [(title, other) for other in names]
    return pairs


def facts_of(sentence: Sentence, subject: str, kept: set[str]) -> Iterator[Triple]:
    """Yield the relations between kept names; `subject` replaces a personal pronoun."""
    for relation in sentence.relations:
        head, tail = (
            subject if part in sentence.pronouns else part
            for part in (relation.head, relation.tail)
        )
        if head in kept and tail in kept and head != tail:
            yield Triple(head, relation.relation, tail)
