"""Chunks to typed entities, triples and attributes by a language model, bound by a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, PositiveInt, ValidationError

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.expected import Sizes, template_tokens
from graphrag_bench.graph.extraction import (
    AttributeRecord,
    EntityRecord,
    SchemaExtraction,
    SchemaRecords,
    Triple,
)
from graphrag_bench.llm.chat import LLM
from graphrag_bench.llm.json_replies import read_cut_list, read_json, schema_of
from graphrag_bench.llm.structured import Reading
from graphrag_bench.offline.asking import documents_of_chunks, records_of
from graphrag_bench.offline.parts import MOST_TOKENS, Extractor
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import normalise_name

EXTRACT = Prompt("graphrag_bench.offline:prompts/schema_facts.j2")
STEP = "extract facts by a schema"
ADVICE = (
    "The model may be too small to extract, or its window may cut the prompt; "
    "build.schema_extraction=nlp reads facts without a model."
)
NODE_TYPES = (
    "person", "location", "organization", "event", "object", "concept", "time period",
    "creative work", "biological entity", "natural phenomenon",
)  # fmt: skip
RELATION_TYPES = (
    "is a", "part of", "located in", "created by", "used by", "participates in", "related to",
    "belongs to", "influences", "precedes", "arrives in", "comparable to",
)  # fmt: skip
ATTRIBUTE_TYPES = (
    "name", "date", "size", "type", "description", "status", "quantity", "value", "position",
    "duration", "time",
)  # fmt: skip
"""The seed schema for general texts, as the released code has it."""


class Value(BaseModel):
    """A named value."""

    name: str
    value: str


class Entity(BaseModel):
    """An entity with its type and its named values."""

    name: str
    type: str = ""
    attributes: list[Value] = []


class NewTypes(BaseModel):
    """The types that the model adds to the schema."""

    nodes: list[str] = []
    relations: list[str] = []
    attributes: list[str] = []


class Facts(BaseModel):
    """What the prompt returns; a triple is [head, relation, tail]."""

    entities: list[Entity]
    triples: list[list[str]] = []
    new_types: NewTypes = NewTypes()


@dataclass(frozen=True)
class Read:
    """A reply's facts; `cut` says that it ended before it was whole."""

    facts: Facts
    cut: bool = False


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    schema = 2.0 * sum(len(settings[f"{kind}_types"]) for kind in ("node", "relation", "attribute"))
    prompt = template_tokens(settings["extract_prompt"]) + schema + sizes.chunk
    return prompt, min(settings["max_tokens"] or MOST_TOKENS, sizes.chunk)


@artifact("schema_extraction.llm", calls=1, tokens=_tokens)
def llm_schema_extraction(
    *,
    chunk_table: ChunkTable,
    llm_build: LLM,
    progress: Progress,
    node_types: tuple[str, ...] = NODE_TYPES,
    relation_types: tuple[str, ...] = RELATION_TYPES,
    attribute_types: tuple[str, ...] = ATTRIBUTE_TYPES,
    agentic: bool = True,
    max_tokens: PositiveInt | None = None,
    extract_prompt: Prompt = EXTRACT,
) -> SchemaExtraction:
    """The typed entities, triples and attributes that the build model reads out of each chunk.

    One call for each chunk, whose prompt holds the schema. With `agentic` the model may add types
    for important facts that fit none, and what it writes is kept; `new_types` counts those that it
    announced. Without, what is not of the schema is left out and counted: an entity's type becomes
    "", triples of other relations and attributes of other names go. Types are compared as
    normalised names. Triples that are not three non-empty texts are skipped and counted. A reply
    has `max_tokens` at most, by default 4,096 or what the model's window leaves; one that was cut
    gives its complete items and is counted. A chunk whose replies cannot be read contributes
    nothing and is counted; raises UserError when that happens to every chunk.
    Source: Youtu-GraphRAG (Dong et al. 2025), schema-bound extraction and its expansion; the seed
    schema of its released code; the prompt is ours.
    Deviation: a type that is announced in one chunk is not in the prompts of others, so that
    chunks do not depend on their order.
    """
    schema = {
        "node_types": node_types,
        "relation_types": relation_types,
        "attribute_types": attribute_types,
        "agentic": agentic,
    }
    passages = chunk_table.passages
    chats = [extract_prompt.render({**schema, "passage": passage}) for passage in passages]
    reading = Reading(STEP, read_facts, schema_of(Facts))
    extractor = Extractor(llm_build, max_tokens)
    items = documents_of_chunks(chunk_table)
    replies = records_of(extractor, chats, reading, items, progress, ADVICE)
    bound = None if agentic else (node_types, relation_types, attribute_types)
    found = [one if isinstance(one, Read) else None for one in replies]
    return _extraction(found, bound, extractor)


def read_facts(text: str, cut: bool) -> Read:
    """The facts of a reply, of a cut one its complete entities and triples.

    Raises UnreadableReply where there is none.
    """
    try:
        return Read(read_json(text, Facts, purpose=STEP, repair=not cut))
    except UnreadableReply:
        entities = [one for one in read_cut_list(text, "entities") if _fits({"entities": [one]})]
        triples = [
            one
            for one in read_cut_list(text, "triples")
            if _fits({"entities": [], "triples": [one]})
        ]
        if not cut or not (entities or triples):
            raise
        return Read(Facts.model_validate({"entities": entities, "triples": triples}), cut=True)


def _fits(values: Mapping[str, object]) -> bool:
    try:
        Facts.model_validate(values)
    except ValidationError:
        return False
    return True


Schema = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""Types of nodes, of relations and of attributes."""


def _extraction(
    replies: Sequence[Read | None], bound: Schema | None, extractor: Extractor
) -> SchemaExtraction:
    rows, skipped, outside = [], 0, 0
    new: dict[tuple[str, str], None] = {}
    for reply in replies:
        facts = reply.facts if reply is not None else Facts(entities=[])
        row, n_skipped = _row(facts)
        skipped += n_skipped
        if bound is not None:
            row, n_outside = _within(row, bound)
            outside += n_outside
        rows.append(row)
        for kind, names in facts.new_types.model_dump().items():
            new.update({(kind, name): None for name in map(normalise_name, names) if name})
    counts: dict[str, float] = {
        "skipped_triples": skipped,
        "outside_schema": outside,
        "new_types": len(new),
        **extractor.statistics,
        "failed_chunks": sum(one is None for one in replies),
    }
    return SchemaExtraction.of(rows, counts)


def _row(facts: Facts) -> tuple[SchemaRecords, int]:
    whole = [one for one in facts.triples if len(one) == 3 and all(part.strip() for part in one)]
    entities = tuple(EntityRecord(one.name, normalise_name(one.type)) for one in facts.entities)
    triples = tuple(Triple(head, relation, tail) for head, relation, tail in whole)
    attributes = tuple(
        AttributeRecord(one.name, value.name, value.value)
        for one in facts.entities
        for value in one.attributes
    )
    return SchemaRecords(entities, triples, attributes), len(facts.triples) - len(whole)


def _within(row: SchemaRecords, schema: Schema) -> tuple[SchemaRecords, int]:
    nodes, relations, names = ({normalise_name(one) for one in types} for types in schema)
    entities = tuple(one if one.type in nodes else replace(one, type="") for one in row.entities)
    triples = tuple(one for one in row.triples if normalise_name(one.relation) in relations)
    attributes = tuple(one for one in row.attributes if normalise_name(one.name) in names)
    n_types = sum(bool(one.type) and one.type not in nodes for one in row.entities)
    gone = len(row.triples) - len(triples) + len(row.attributes) - len(attributes)
    return SchemaRecords(entities, triples, attributes), n_types + gone
