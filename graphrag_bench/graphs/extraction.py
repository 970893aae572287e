"""Builders that extract entities and triples with spaCy or a model, or read them from a file."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, PositiveInt

from graphrag_bench.algorithms.extraction import ChunkExtraction, Extraction, Triple
from graphrag_bench.contract import Sizes, artifact, template_tokens
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.rows import json_file
from graphrag_bench.embedding.nlp import Nlp
from graphrag_bench.errors import UserError
from graphrag_bench.graphs import sentences
from graphrag_bench.graphs.build_calls import MOST_TOKENS, Extractor, chunk_names, list_faults
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ListReply, list_format
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import is_placeholder_name, without_spaces

ENTITIES = Prompt("graphrag_bench.graphs:prompts/entities.j2")
TRIPLES = Prompt("graphrag_bench.graphs:prompts/triples.j2")
CO_OCCURS = "occurs with"
_ADVICE = (
    "The model may be too small for extraction, or its context window may be too short for the "
    "prompt. To build without a model, set build.extraction=nlp."
)
_FIELDS = (
    ("head", "subject", "source"),
    ("relation", "predicate", "relationship"),
    ("tail", "object", "target"),
)


def _name(value: object) -> object:
    return value.get("name", value) if isinstance(value, Mapping) else value


def _row(value: object) -> object:
    """Convert a triple from a JSON object to [head, relation, tail]. Keep other values."""
    if not isinstance(value, Mapping):
        return value
    named = {str(name).lower(): part for name, part in value.items()}
    row = [next((named[name] for name in names if name in named), None) for names in _FIELDS]
    return [str(part) if type(part) in (int, float) else part for part in row]


TripleRow = Annotated[list[str], BeforeValidator(_row)]
"""A triple in a model's reply: a list [head, relation, tail], or an object with these fields."""


class Entities(BaseModel):
    """The model's reply to the prompt that asks for entities."""

    named_entities: list[Annotated[str, BeforeValidator(_name)]]


class Triples(BaseModel):
    """The model's reply to the prompt that asks for triples."""

    triples: list[TripleRow]


@artifact("extraction.openie_file")
def openie_file(*, chunk_table: ChunkTable, openie: Path) -> Extraction:
    """Read entities and triples from a file in HippoRAG's OpenIE format.

    A chunk gets the entities and triples of the passage that has the same title and text. White
    space is ignored in this comparison. Items that are not lists of three texts are skipped and
    counted. If the first element of an item is itself a list, this inner list is used. Raises
    UserError if the file lacks the passage of a chunk.
    """
    content = json_file(openie)
    every = content.get("docs") if isinstance(content, dict) else None
    if not isinstance(every, list):
        raise UserError(f"{openie}: the field 'docs' with a list of passages is missing.")
    by_passage: dict[str, Any] = {}
    for number, document in enumerate(every):
        if not isinstance(document, dict) or "passage" not in document:
            raise UserError(f"{openie}, docs {number}: the field 'passage' is missing.")
        for name in ("extracted_entities", "extracted_triples"):
            if not isinstance(document.get(name, []), list):
                raise UserError(f"{openie}, docs {number}: the field '{name}' is not a list.")
        by_passage.setdefault(without_spaces(str(document["passage"])), document)
    documents = [by_passage.get(without_spaces(passage)) for passage in chunk_table.passages]
    if None in documents:
        example = chunk_table.passages[documents.index(None)][:80].replace("\n", " / ")
        raise UserError(
            f"{openie} lacks {documents.count(None)} of {len(documents)} passages of the "
            f"corpus. The first missing passage is {example!r}. Set chunking=presplit, and use a "
            "file for this corpus. To build without a file, set build.extraction=nlp."
        )
    rows, skipped = [], 0
    for document in filter(None, documents):
        triples = [_triple(item) for item in document.get("extracted_triples", [])]
        skipped += triples.count(None)
        entities = tuple(map(str, document.get("extracted_entities", [])))
        rows.append(ChunkExtraction(entities, tuple(filter(None, triples))))
    return Extraction.of(rows, {"skipped_triples": skipped})


def _triple(item: Any) -> Triple | None:
    if isinstance(item, list) and item and isinstance(item[0], list):
        item = item[0]
    if isinstance(item, list) and len(item) == 3 and all(isinstance(part, str) for part in item):
        return Triple(*item)
    return None


@artifact("extraction.nlp")
def nlp_extraction(*, chunk_table: ChunkTable, nlp: Nlp, progress: Progress) -> Extraction:
    """Extract entities, noun phrases and triples from each sentence with spaCy.

    A triple is the subject, verb and object of a clause. The title of a passage replaces he, she,
    it and they as a subject. Two named entities without such a triple get a co-occurrence triple,
    unless their sentence has more than 8 named entities. The title and a named entity without such
    a triple get a co-occurrence triple in any sentence. `statistics["relation_share"]` is the
    fraction (0..1) of sentences with a subject, a verb and an object.
    """
    rows, n_sentences, n_related = [], 0, 0
    for title, tagged in sentences.read_chunks(chunk_table, nlp, progress):
        entities, triples = [title] if title else [], list[Triple]()
        for sentence in tagged:
            names = [*(entity for entity, _ in sentence.entities), *sentence.phrases]
            entities += names
            related = list(sentences.relations_between(sentence, title, {*names, title} - {""}))
            known = {frozenset((fact.head, fact.tail)) for fact in related}
            pairs = sentences.co_occurring(dict.fromkeys(sentences.named_entities(sentence)), title)
            triples += related
            triples += [Triple(a, CO_OCCURS, b) for a, b in pairs if frozenset((a, b)) not in known]
        rows.append(ChunkExtraction(tuple(dict.fromkeys(entities)), tuple(triples)))
        n_sentences += len(tagged)
        n_related += sum(bool(sentence.relations) for sentence in tagged)
    share = n_related / n_sentences if n_sentences else 0.0
    return Extraction.of(rows, {"relation_share": round(share, 4)})


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    """Assume that the two replies about a chunk together are 0.75 times as long as the chunk."""
    prompts = settings["entities_prompt"], settings["triples_prompt"]
    prompt = sum(map(template_tokens, prompts)) / 2 + sizes.chunk
    return prompt, min(0.75 * sizes.chunk / 2, settings["max_tokens"] or MOST_TOKENS)


@artifact("extraction.llm", calls=2, tokens=_tokens)
def llm_extraction(
    *,
    chunk_table: ChunkTable,
    llm_build: ChatModel,
    progress: Progress,
    entities_prompt: Prompt = ENTITIES,
    triples_prompt: Prompt = TRIPLES,
    max_tokens: PositiveInt | None = None,
) -> Extraction:
    """Extract the entities and triples of each chunk with the build model, in two calls.

    The first call asks for the named entities of a passage. The second call asks for triples, given
    the passage and these entities. Invalid triples, and items in a wrong format, are skipped and
    counted. Raises UserError if no reply can be parsed.
    Source: HippoRAG (Gutierrez et al. 2024), section 2.2; Zhou et al. 2025, section 4.
    """
    passages, items = chunk_table.passages, chunk_names(chunk_table)
    extractor, n = Extractor(llm_build, max_tokens, progress), len(passages)
    chats = [entities_prompt.render({"passage": passage}) for passage in passages]
    reading = list_format(Entities, "named_entities", "extract entities")
    replies = extractor.ask(chats, reading, items, _ADVICE)
    named = {row: one for row, one in enumerate(replies) if isinstance(one, ListReply)}
    names = {
        row: [name for name in one.value.named_entities if not is_placeholder_name(name)]
        for row, one in named.items()
    }
    about = [(passages[row], json.dumps(some, ensure_ascii=False)) for row, some in names.items()]
    chats = [triples_prompt.render({"passage": one, "entities": some}) for one, some in about]
    of_triples = list_format(Triples, "triples", "extract triples")
    stated = extractor.ask(chats, of_triples, [items[row] for row in names], _ADVICE)
    read = {row: one for row, one in zip(names, stated, strict=True) if isinstance(one, ListReply)}
    triples = {row: valid_triples(one.value.triples) for row, one in read.items()}
    lost = {row: len(one.value.triples) - len(triples[row]) for row, one in read.items()}
    n_skipped = sum(lost.values()) + sum(one.skipped for one in read.values())
    faults = list_faults(n, named, read, malformed={row for row in lost if lost[row]})
    rows = [ChunkExtraction(tuple(names.get(row, ())), triples.get(row, ())) for row in range(n)]
    return Extraction.of(rows, {"skipped_triples": n_skipped, **extractor.statistics, **faults})


def valid_triples(written: Sequence[Sequence[str]]) -> tuple[Triple, ...]:
    """Return the triples without blank parts, and without placeholders such as "N/A"."""
    rows = (row for row in written if len(row) == 3 and all(map(str.strip, row)))
    named = (row for row in rows if not any(map(is_placeholder_name, row[::2])))
    return tuple(Triple(row[0], row[1], row[2]) for row in named)
