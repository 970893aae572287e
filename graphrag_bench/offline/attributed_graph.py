"""Facts by a schema to an attributed knowledge graph: typed nodes, named facts, named values."""

from __future__ import annotations

from dataclasses import replace

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.extraction import SchemaExtraction
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.knowledge_graph import KG_ATTRIBUTES
from graphrag_bench.offline.merging import Merger
from graphrag_bench.text import normalise_name

ATTRIBUTED = KG_ATTRIBUTES | {"node.type", "node.attributes"}


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
            "The graph has no entities. Likely causes: the model is too small to extract, its "
            "context window cuts the prompt, or the texts name nothing. "
            "build.schema_extraction=nlp reads entities without a language model."
        )
    graph = merger.graph(len(chunk_table), described=False, typed=True, attributes=True)
    assert graph.node_attributes is not None
    return replace(graph, statistics={"attributes": len(graph.node_attributes)})
