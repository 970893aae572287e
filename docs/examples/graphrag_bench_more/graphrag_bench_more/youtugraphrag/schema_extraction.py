"""Extraction of typed entities, triples and attributes, by spaCy or by a language model."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import BaseModel, PositiveInt

from graphrag_bench.algorithms.extraction import EntityRecord, Extracted, Triple
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import Sizes, artifact, template_tokens
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.nlp import NUMERIC, Nlp, Sentence
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.build_calls import MOST_TOKENS, Extractor, chunk_names, list_faults
from graphrag_bench.graphs.extraction import CO_OCCURS, TripleRow, valid_triples
from graphrag_bench.graphs.knowledge_graph import KG_ATTRIBUTES
from graphrag_bench.graphs.merging import NO_ENTITIES, Merger
from graphrag_bench.graphs.sentences import co_occurring, read_chunks, relations_between
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ListReply, list_format
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import is_placeholder_name, normalise_name

EXTRACT = Prompt("graphrag_bench_more:youtugraphrag/prompts/schema_facts.j2")
STEP = "extract facts by a schema"
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
"""The seed schema for general texts, as in Youtu-GraphRAG's code."""


COPULA, IS = "be", "is"
"""The relation of "X was a Y", and the name of its attribute."""
INFORMATIVE = ("DATE", "TIME", "PERCENT", "MONEY", "QUANTITY")
"""Labels of numbers that are informative on their own."""
COUNT = "CARDINAL"
"""Label of bare numbers. Only a relation other than `COPULA` makes them attributes."""


@dataclass(frozen=True)
class AttributeRecord:
    """A named value of an entity, as stated in a chunk."""

    entity: str
    name: str
    value: str


@dataclass(frozen=True)
class SchemaRecords:
    """Typed entities, triples and attributes of one chunk. Names are not normalised."""

    entities: tuple[EntityRecord, ...] = ()
    triples: tuple[Triple, ...] = ()
    attributes: tuple[AttributeRecord, ...] = ()


@dataclass(frozen=True)
class SchemaExtraction(Extracted[SchemaRecords]):
    """Records of all chunks that were extracted by a schema."""

    kind = SchemaRecords
    counted: ClassVar[Mapping[str, str]] = {
        "entity_records": "entities",
        "triples": "triples",
        "attribute_records": "attributes",
    }


class StatedValue(BaseModel):
    """An attribute: its name and its value."""

    name: str
    value: str


class TypedEntity(BaseModel):
    """An entity with its type and its attributes."""

    name: str
    type: str = ""
    attributes: list[StatedValue] = []


class NewTypes(BaseModel):
    """Types that the model adds to the schema."""

    nodes: list[str] = []
    relations: list[str] = []
    attributes: list[str] = []


class SchemaReply(BaseModel):
    """Reply to the extraction prompt; a triple is [head, relation, tail]."""

    entities: list[TypedEntity]
    triples: list[TripleRow] = []
    new_types: NewTypes = NewTypes()


@artifact("schema_extraction.nlp")
def nlp_schema_extraction(
    *, chunk_table: ChunkTable, nlp: Nlp, progress: Progress
) -> SchemaExtraction:
    """Extract typed entities, triples and attributes with spaCy, sentence by sentence.

    Entities are the tagger's named entities with their NER label as type, the title of the chunk,
    and phrases that a relation other than a copula joins to an entity. The title and phrases have
    the type "" unless they have a label. Numbers, amounts and dates are values. Triples are
    subject-verb-object relations. Two named entities of a sentence co-occur if no relation joins
    them and the sentence has at most 8 named entities. The title co-occurs with all of them. It
    replaces he, she, it and they, and is the entity of sentences without a name.

    There are three kinds of attributes. A relation to a number or date is an attribute with the
    words of the relation as name ("be born in: 1867"). A copula with a noun phrase, "X was a Y", is
    an attribute with the name `is`. If a sentence has exactly one entity, each date, time,
    percentage, amount or quantity without a relation is an attribute with the label as name ("date:
    1867"). Ordinals and bare numbers without a relation or with a copula are ignored.
    Source: this project.
    """
    read = read_chunks(chunk_table, nlp, progress)
    return SchemaExtraction.of([_records(title, sentences) for title, sentences in read], {})


def _records(title: str, sentences: list[Sentence]) -> SchemaRecords:
    entities = {EntityRecord(title): None} if title else {}
    triples: list[Triple] = []
    attributes: dict[AttributeRecord, None] = {}
    for sentence in sentences:
        named = {name: label for name, label in sentence.entities if label not in NUMERIC}
        entities |= {EntityRecord(name, label.lower()): None for name, label in named.items()}
        known = {*named, title} - {""}
        names = {name for name, _ in sentence.entities} | {*sentence.phrases}
        facts = list(relations_between(sentence, title, known | names))
        joining = [
            fact
            for fact in facts
            if {fact.head, fact.tail} <= known | {*sentence.phrases}
            and {fact.head, fact.tail} & known
            and (fact.tail in known or fact.relation != COPULA)
        ]
        triples += joining
        ends = (end for fact in joining for end in (fact.head, fact.tail))
        entities |= {EntityRecord(end): None for end in ends if end not in named}
        joined = {frozenset((fact.head, fact.tail)) for fact in joining}
        triples += (
            Triple(head, CO_OCCURS, tail)
            for head, tail in co_occurring(list(named), title)
            if frozenset((head, tail)) not in joined
        )
        only = list(named) or list(filter(None, [title]))
        attributes |= dict.fromkeys(_attributes(facts, sentence, known, only))
    return SchemaRecords(tuple(entities), tuple(triples), tuple(attributes))


def _attributes(
    facts: list[Triple], sentence: Sentence, known: set[str], only: list[str]
) -> Iterator[AttributeRecord]:
    numbers = {name: label for name, label in sentence.entities if label in NUMERIC}
    reached = set()
    for fact in facts:
        if fact.head not in known or fact.tail in known:
            continue
        copula, label = fact.relation == COPULA, numbers.get(fact.tail, "")
        states = label in (INFORMATIVE if copula else (*INFORMATIVE, COUNT)) if label else copula
        if states:
            reached.add(fact.tail)
            yield AttributeRecord(fact.head, IS if copula else fact.relation, fact.tail)
    for value, label in numbers.items():
        if len(only) == 1 and label in INFORMATIVE and value not in reached:
            yield AttributeRecord(only[0], label.lower(), value)


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    schema = 2.0 * sum(len(settings[f"{kind}_types"]) for kind in ("node", "relation", "attribute"))
    prompt = template_tokens(settings["extract_prompt"]) + schema + sizes.chunk
    return prompt, min(settings["max_tokens"] or MOST_TOKENS, sizes.chunk)


@artifact("schema_extraction.llm", calls=1, tokens=_tokens)
def llm_schema_extraction(
    *,
    chunk_table: ChunkTable,
    llm_build: ChatModel,
    progress: Progress,
    node_types: tuple[str, ...] = NODE_TYPES,
    relation_types: tuple[str, ...] = RELATION_TYPES,
    attribute_types: tuple[str, ...] = ATTRIBUTE_TYPES,
    max_tokens: PositiveInt | None = None,
    extract_prompt: Prompt = EXTRACT,
) -> SchemaExtraction:
    """Ask the build model for the typed entities, triples and attributes of each chunk.

    There is one call per chunk, and the prompt contains the schema. The model may add types for
    important facts. `new_types` counts these types after normalisation. Triples that are not three
    non-empty texts are skipped and counted. A reply has at most `max_tokens` tokens, by default
    4,096 or the rest of the context window. If a reply is truncated, its complete items are used.
    Truncated replies and chunks without a readable reply are counted. Raises UserError if no reply
    is readable. The prompt is this project's.
    Source: Youtu-GraphRAG (Dong et al. 2025), schema-bound extraction, and its code (seed schema).
    Deviation: New types are not added to the prompts of other chunks, so that results do not depend
    on the order of chunks.
    """
    schema = {
        "node_types": node_types, "relation_types": relation_types,
        "attribute_types": attribute_types,
    }  # fmt: skip
    extractor = Extractor(llm_build, max_tokens, progress)
    replies = extractor.ask(
        [extract_prompt.render({**schema, "passage": text}) for text in chunk_table.passages],
        list_format(SchemaReply, "entities", STEP),
        chunk_names(chunk_table),
        "The model may be too small to extract, or its window may cut the prompt. "
        "To build without a model, set build.schema_extraction=nlp.",
    )
    read = {row: one for row, one in enumerate(replies) if isinstance(one, ListReply)}
    nothing = ListReply(SchemaReply(entities=[]))
    rows = [_row(read.get(row, nothing).value) for row in range(len(replies))]
    skipped = {
        row: one.skipped + len(one.value.triples) - len(rows[row].triples)
        for row, one in read.items()
    }
    statistics: dict[str, float] = {
        "skipped_triples": sum(skipped.values()),
        "new_types": len({kind for one in read.values() for kind in _new_types(one.value)}),
        **extractor.statistics,
        **list_faults(len(replies), read, malformed={row for row, n in skipped.items() if n}),
    }
    return SchemaExtraction.of(rows, statistics)


def _row(facts: SchemaReply) -> SchemaRecords:
    entities = [one for one in facts.entities if not is_placeholder_name(one.name)]
    return SchemaRecords(
        tuple(EntityRecord(one.name, normalise_name(one.type)) for one in entities),
        valid_triples(facts.triples),
        tuple(
            AttributeRecord(one.name, value.name, value.value)
            for one in entities
            for value in one.attributes
            if not is_placeholder_name(value.value)
        ),
    )


def _new_types(facts: SchemaReply) -> set[tuple[str, str]]:
    pairs = ((kind, normalise_name(name)) for kind, names in facts.new_types for name in names)
    return {(kind, name) for kind, name in pairs if name}


@artifact("graph.attributed", provides=KG_ATTRIBUTES | {"node.type", "node.attributes"})
def attributed(*, schema_extraction: SchemaExtraction, chunk_table: ChunkTable) -> Graph:
    """Build the knowledge graph of schema facts, with types and attributes of nodes.

    Nodes are normalised names of entities, ends of triples and owners of attributes, in order of
    first appearance. The type of a node is its most frequent type other than "" (ties: first). A
    relationship is a distinct (head, relation, tail), weighted by its number of mentions. Triples
    with an empty part or equal ends are dropped. An attribute is a distinct (node, name, value)
    with the chunks that state it. Raises UserError if nothing was extracted.
    Source: Youtu-GraphRAG (Dong et al. 2025), levels 1 and 2 of its knowledge tree.
    """
    merger = Merger(named=True)
    for chunk, row in enumerate(schema_extraction.rows):
        for entity in row.entities:
            merger.node(entity.name, entity.type.strip().lower(), chunks=(chunk,))
        for fact in row.triples:
            if relation := normalise_name(fact.relation):
                merger.relationship(
                    fact.head, fact.tail, relation=relation, weight=fact.weight, chunks=(chunk,)
                )
        for stated in row.attributes:
            merger.attribute(stated.entity, stated.name, stated.value, (chunk,))
    if not merger.nodes:
        raise UserError(f"{NO_ENTITIES}To build without a model, set build.schema_extraction=nlp.")
    graph = merger.graph(len(chunk_table), attributes=True)
    assert graph.node_attributes is not None
    return replace(graph, statistics={"attributes": len(graph.node_attributes)})
