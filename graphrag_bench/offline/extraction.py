"""Chunks to entities and triples without a language model: from an OpenIE file, or by spaCy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from pydantic import NonNegativeInt

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.rows import read_text
from graphrag_bench.errors import UserError
from graphrag_bench.graph.extraction import ChunkExtraction, Extraction, Triple
from graphrag_bench.models.nlp import NUMERIC, Nlp, Sentence
from graphrag_bench.offline.importers.sources import squash
from graphrag_bench.offline.pruning import Prune, pruned
from graphrag_bench.plain_json import read_json
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name

CO_OCCURS = "occurs with"
TitleUse = Literal["off", "entity", "about"]


@artifact("extraction.openie_file")
def openie_file(*, chunk_table: ChunkTable, openie: Path) -> Extraction:
    """The entities and triples of a file in HippoRAG's OpenIE format, matched by passage text.

    Triples that are not three texts are skipped and counted; where the first element is itself a
    list, that list is read. Raises UserError when a chunk has no passage in the file.
    """
    by_passage: dict[str, Any] = {}
    for document in _documents(openie):
        by_passage.setdefault(squash(str(document["passage"])), document)
    rows, skipped, missing = [], 0, []
    for row in range(len(chunk_table)):
        found = by_passage.get(squash(chunk_table.passage(row)))
        if found is None:
            missing.append(row)
            continue
        triples = [_triple(item) for item in found.get("extracted_triples", [])]
        skipped += sum(triple is None for triple in triples)
        entities = tuple(str(name) for name in found.get("extracted_entities", []))
        rows.append(ChunkExtraction(entities, tuple(t for t in triples if t is not None)))
    if missing:
        example = chunk_table.passage(missing[0])[:80].replace("\n", " / ")
        raise UserError(
            f"{openie}: {len(missing)} of {len(chunk_table)} passages of the corpus are not in "
            f"the file, the first is: {example!r}. The file must be made of this corpus, and "
            "chunking must be presplit; build.extraction=nlp does without a file."
        )
    n_triples = sum(len(row.triples) for row in rows)
    return Extraction(tuple(rows), {"triples": n_triples, "skipped_triples": skipped})


def _documents(path: Path) -> list[Any]:
    try:
        content = read_json(read_text(path), str(path))
    except json.JSONDecodeError as error:
        raise UserError(f"{path}, line {error.lineno}: not JSON ({error.msg}).") from None
    documents = content.get("docs") if isinstance(content, dict) else None
    if not isinstance(documents, list):
        raise UserError(f"{path}: the field 'docs' with a list of passages is missing.")
    for number, document in enumerate(documents):
        if not isinstance(document, dict) or "passage" not in document:
            raise UserError(f"{path}, docs {number}: the field 'passage' is missing.")
        for name in ("extracted_entities", "extracted_triples"):
            if not isinstance(document.get(name, []), list):
                raise UserError(f"{path}, docs {number}: the field '{name}' is not a list.")
    return documents


def _triple(item: Any) -> Triple | None:
    if isinstance(item, list) and item and isinstance(item[0], list):
        item = item[0]
    if isinstance(item, list) and len(item) == 3 and all(isinstance(part, str) for part in item):
        return Triple(*item)
    return None


@artifact("extraction.nlp")
def nlp_extraction(
    *,
    chunk_table: ChunkTable,
    nlp: Nlp,
    progress: Progress,
    noun_phrases: bool = True,
    co_occurrence: NonNegativeInt = 8,
    title: TitleUse = "about",
    prune: Prune = "none",
) -> Extraction:
    """Entities, noun phrases and relations read by spaCy, sentence by sentence.

    Relations are subject-verb-object; two named entities of one sentence that no such relation
    joins co-occur. Sentences with more than `co_occurrence` distinct entities give none (0
    switches co-occurrence off). `title="about"` takes a passage to be about its title: the title
    replaces he, she, it and they as a subject, and co-occurs with the named entities of
    sentences that do not name it; `entity` only makes it a node, `off` does not read it.
    `prune` leaves out phrases of one passage that are no named entity and have no neighbour
    (`unjoined`), at most one (`leaves`), or any (`single`), with their relations.
    `statistics["relation_share"]` is the share of sentences that gave a subject-verb-object
    relation, in 0..1: a bag of co-occurrences is not a knowledge graph.
    """
    rows, n_sentences, n_related = [], 0, 0
    named: list[set[str]] = []
    texts = list(chunk_table.texts)
    with progress.task("reading sentences", len(texts)) as advance:
        for row, sentences in enumerate(nlp.sentences(texts)):
            name = chunk_table.titles[row] if title != "off" else ""
            rows.append(_chunk(sentences, name, title, noun_phrases, co_occurrence))
            always = [name, *(entity for one in sentences for entity, _ in one.entities)]
            named.append({normalise_name(entity) for entity in always})
            n_sentences += len(sentences)
            n_related += sum(bool(sentence.relations) for sentence in sentences)
            advance(1)
    share = n_related / n_sentences if n_sentences else 0.0
    rows = pruned(rows, named, prune)
    n_triples = sum(len(row.triples) for row in rows)
    return Extraction(tuple(rows), {"triples": n_triples, "relation_share": round(share, 4)})


def _chunk(
    sentences: list[Sentence], name: str, title: TitleUse, noun_phrases: bool, co_occurrence: int
) -> ChunkExtraction:
    entities = [name] if name else []
    triples = []
    for sentence in sentences:
        kept = {entity for entity, _ in sentence.entities} | ({name} if name else set())
        entities += [entity for entity, _ in sentence.entities]
        if noun_phrases:
            entities += sentence.phrases
            kept |= set(sentence.phrases)
        related = list(facts_of(sentence, name if title == "about" else "", kept))
        joined = {frozenset((fact.head, fact.tail)) for fact in related}
        named = [entity for entity, label in sentence.entities if label not in NUMERIC]
        distinct = list(dict.fromkeys(named))
        pairs = list(combinations(distinct, 2)) if len(distinct) <= co_occurrence else []
        if title == "about" and name and co_occurrence:
            pairs += [(name, entity) for entity in distinct if name not in distinct]
        triples += related
        triples += [Triple(a, CO_OCCURS, b) for a, b in pairs if frozenset((a, b)) not in joined]
    return ChunkExtraction(tuple(dict.fromkeys(entities)), tuple(triples))


def facts_of(sentence: Sentence, subject: str, kept: set[str]) -> Iterator[Triple]:
    """The relations between kept names; `subject` replaces a personal pronoun."""
    for relation in sentence.relations:
        head, tail = (
            subject if part in sentence.pronouns else part
            for part in (relation.head, relation.tail)
        )
        if head in kept and tail in kept and head != tail:
            yield Triple(head, relation.relation, tail)
