"""Extraction to knowledge graphs: normalised nodes and distinct facts, titles, attributes."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.extraction import ChunkExtraction, Extraction, SchemaExtraction, Triple
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.extraction import CO_OCCURS
from graphrag_bench.offline.merging import Merger
from graphrag_bench.text import normalise_name

Counted = Literal["read", "chunk"]
"""Whether a fact that a chunk states twice counts each time it is read, or once for the chunk."""
Titles = Literal["off", "entity", "about"]
"""A title is not an entity, is one of its passage, or is joined with all entities there as well."""
KG_ATTRIBUTES = frozenset({"node.name", "relationship.name", "relationship.weight"})
ATTRIBUTED = KG_ATTRIBUTES | {"node.type", "node.attributes"}
_NO_ENTITIES = "The graph has no entities. Likely causes: the model is too small to extract, its "


@artifact("graph.kg", provides=KG_ATTRIBUTES)
def kg(*, extraction: Extraction, chunk_table: ChunkTable, titles: Titles = "off") -> Graph:
    """The knowledge graph of the extracted facts.

    Nodes are normalised entity names and triple ends, in order of first appearance; a relationship
    row is one distinct (head, relation, tail), its weight the number of times it was read. Triples
    with an empty part or equal ends are dropped. `titles="entity"` makes the title of a passage one
    of its entities, `about` joins it with the others there as well. Raises UserError when nothing
    was extracted.
    Source: Zhou et al. 2025, section 4; HippoRAG (Gutierrez et al. 2024), section 2.2 (titles are
    ours).
    """
    return fact_graph(titled(extraction, chunk_table, titles), len(chunk_table))


def node_rows(extraction: Extraction) -> dict[str, int]:
    """Normalised node names in order of first appearance, with their rows."""
    return _merged(extraction, "read").nodes


def fact_graph(extraction: Extraction, n_chunks: int, *, counted: Counted = "read") -> Graph:
    """The graph of an extraction; raises UserError when it has no node.

    A fact that is read again in the same chunk counts again, or not with `counted="chunk"`.
    """
    merger = _merged(extraction, counted)
    if not merger.nodes:
        raise UserError(
            f"{_NO_ENTITIES}context window cuts the prompt, the texts are in another language than "
            "the model's, the OpenIE file is empty, or the texts name nothing. "
            "build.extraction=nlp reads entities without a model; llm, nlp and openie_file are the "
            "ways there are."
        )
    return merger.graph(n_chunks, described=False)


def _merged(extraction: Extraction, counted: Counted) -> Merger:
    merger = Merger(named=True)
    for chunk, row in enumerate(extraction.rows):
        for name in row.entities:
            merger.node(name, chunks=(chunk,))
        seen: set[tuple[str, str, str]] = set()
        for one in row.triples:
            head, tail = merger.normalised(one.head), merger.normalised(one.tail)
            relation = merger.normalised(one.relation)
            if not (head and relation and tail) or head == tail:
                continue
            weight = 0.0 if counted == "chunk" and (head, relation, tail) in seen else one.weight
            seen.add((head, relation, tail))
            merger.relationship(
                one.head, one.tail, relation=relation, weight=weight, chunks=(chunk,)
            )
    return merger


def titled(extraction: Extraction, chunk_table: ChunkTable, titles: Titles) -> Extraction:
    """The extraction with the title of each chunk as the first of its entities.

    With `about` a chunk is about its title: the title co-occurs with every entity of the chunk
    that no triple there joins with it. Chunks without a title are left as they are, and so is an
    extraction that found nothing at all, so that titles do not hide it.
    """
    if titles == "off" or not any(row.entities or row.triples for row in extraction.rows):
        return extraction
    rows = [
        _titled(row, chunk_table.titles[number], about=titles == "about")
        for number, row in enumerate(extraction.rows)
    ]
    return Extraction(tuple(rows), extraction.statistics)


def _titled(row: ChunkExtraction, title: str, *, about: bool) -> ChunkExtraction:
    own = normalise_name(title)
    if not own:
        return row
    joined = {own}
    for triple in row.triples:
        ends = {normalise_name(triple.head), normalise_name(triple.tail)}
        joined |= ends if own in ends else set()
    triples = []
    for entity in row.entities if about else ():
        name = normalise_name(entity)
        if name and name not in joined:
            joined.add(name)
            triples.append(Triple(title, CO_OCCURS, entity))
    return ChunkExtraction((title, *row.entities), (*row.triples, *triples))


@artifact("graph.attributed", provides=ATTRIBUTED)
def attributed(*, schema_extraction: SchemaExtraction, chunk_table: ChunkTable) -> Graph:
    """The knowledge graph of facts by a schema, whose nodes have types and attributes.

    Nodes are normalised names of entities, of ends of triples and of what attributes are stated
    of, in order of first appearance; a node's type is the most frequent one (ties: seen first; ""
    does not count). A relationship row is one distinct (head, relation, tail), its weight the
    number of times it was read; triples with an empty part or equal ends are dropped. An attribute
    is one distinct (node, name, value) with the chunks that state it. Raises UserError when
    nothing was extracted.
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
        raise UserError(
            f"{_NO_ENTITIES}context window cuts the prompt, or the texts name nothing. "
            "build.schema_extraction=nlp reads entities without a language model."
        )
    graph = merger.graph(len(chunk_table), described=False, typed=True, attributes=True)
    assert graph.node_attributes is not None
    return replace(graph, statistics={"attributes": len(graph.node_attributes)})
