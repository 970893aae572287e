"""Extraction to knowledge graph: normalised nodes, distinct facts, synonymy edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.columns import Texts, incidence
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.extraction import Extraction
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.titles import Titles, titled
from graphrag_bench.text import normalise_name

SYNONYM = "synonym of"
KG_ATTRIBUTES = frozenset({"node.name", "relationship.name", "relationship.weight"})
_BLOCK = 1024


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


@artifact("graph.kg_synonymy", provides=KG_ATTRIBUTES)
def kg_synonymy(
    *,
    extraction: Extraction,
    chunk_table: ChunkTable,
    name_index: VectorIndex,
    synonyms_per_node: PositiveInt = 10,
    synonymy_threshold: Annotated[float, Field(gt=0, le=1)] = 0.8,
    synonymy: Literal["skip", "overwrite", "add"] = "skip",
    titles: Titles = "off",
) -> Graph:
    """The knowledge graph with edges between nodes of similar names.

    Each node is compared with its `synonyms_per_node` nearest names; a pair at or above the
    threshold gets one edge with its cosine as weight and no chunk. A pair that a fact already
    joins is left alone (`skip`), loses its facts' weight to it (`overwrite`) or has it added.
    `titles` as of `graph.kg`.
    Source: HippoRAG (Gutierrez et al. 2024), section 2.2 and appendix B (threshold 0.8).
    """
    graph = fact_graph(titled(extraction, chunk_table, titles), len(chunk_table))
    source, target, cosine = _synonym_pairs(name_index, synonyms_per_node, synonymy_threshold)
    known = set(zip(graph.pairs.source.tolist(), graph.pairs.target.tolist(), strict=True))
    joined = np.array([pair in known for pair in zip(source, target, strict=True)], bool)
    weight = np.array(graph.weight)
    if synonymy == "skip":
        source, target, cosine = source[~joined], target[~joined], cosine[~joined]
    elif synonymy == "overwrite" and joined.any():
        gone = set(zip(source[joined].tolist(), target[joined].tolist(), strict=True))
        ends = zip(graph.pairs.source.tolist(), graph.pairs.target.tolist(), strict=True)
        lost = np.array([pair in gone for pair in ends], bool)
        weight[lost[graph.pairs.of]] = 0.0
    return _with_synonyms(replace(graph, weight=weight), source, target, cosine)


def node_rows(extraction: Extraction) -> dict[str, int]:
    """Normalised node names in order of first appearance, with their rows."""
    rows: dict[str, int] = {}
    for chunk in extraction.rows:
        for name in chunk.entities:
            if normal := normalise_name(name):
                rows.setdefault(normal, len(rows))
        for triple in chunk.triples:
            for name in _normal_triple(triple.head, triple.relation, triple.tail)[::2]:
                rows.setdefault(name, len(rows))
    return rows


def _normal_triple(head: str, relation: str, tail: str) -> tuple[str, ...]:
    """The three parts normalised; empty when one of them is, or when the ends are equal."""
    parts = tuple(normalise_name(part) for part in (head, relation, tail))
    return parts if all(parts) and parts[0] != parts[2] else ()


def fact_graph(extraction: Extraction, n_chunks: int) -> Graph:
    """The graph of an extraction; raises UserError when it has no node."""
    nodes = node_rows(extraction)
    if not nodes:
        raise UserError(
            "The graph has no entities. Likely causes: the model is too small to extract, its "
            "context window cuts the prompt, the texts are in another language than the model's, "
            "the OpenIE file is empty, or the texts name nothing. build.extraction=nlp reads "
            "entities without a model; llm, nlp and openie_file are the ways there are."
        )
    weight: dict[tuple[str, ...], float] = {}
    in_chunk: dict[str, dict[int, None]] = {name: {} for name in nodes}
    fact_in_chunk: dict[tuple[str, ...], dict[int, None]] = {}
    for number, chunk in enumerate(extraction.rows):
        for name in chunk.entities:
            if normal := normalise_name(name):
                in_chunk[normal][number] = None
        for triple in chunk.triples:
            parts = _normal_triple(triple.head, triple.relation, triple.tail)
            if not parts:
                continue
            weight[parts] = weight.get(parts, 0.0) + triple.weight
            fact_in_chunk.setdefault(parts, {})[number] = None
            in_chunk[parts[0]][number] = in_chunk[parts[2]][number] = None
    return Graph(
        names=Texts.of(list(nodes)),
        source=np.array([nodes[parts[0]] for parts in weight], np.int64),
        target=np.array([nodes[parts[2]] for parts in weight], np.int64),
        weight=np.array(list(weight.values()), np.float64),
        synonym=np.zeros(len(weight), bool),
        relations=Texts.of([parts[1] for parts in weight]),
        node_chunk=incidence(in_chunk.values(), n_chunks),
        relationship_chunk=incidence(fact_in_chunk.values(), n_chunks),
    )


def _synonym_pairs(index: VectorIndex, k: int, threshold: float) -> tuple[Any, Any, Any]:
    """Ends (lower first) and cosine of every pair at or above the threshold, sorted by ends."""
    import faiss

    found: dict[tuple[int, int], float] = {}
    vectors = np.ascontiguousarray(index.vectors)
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        cosines, ids = faiss.knn(
            block, vectors, min(k + 1, len(vectors)), metric=faiss.METRIC_INNER_PRODUCT
        )
        for offset, column in np.argwhere(np.round(cosines, 6) >= threshold):
            row, other = start + int(offset), int(ids[offset, column])
            if row != other:
                pair = (min(row, other), max(row, other))
                cosine = float(np.round(cosines[offset, column], 6))
                found[pair] = max(found.get(pair, -1.0), cosine)
    ordered = sorted(found)
    ends = np.array(ordered, np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1], np.array([found[pair] for pair in ordered], np.float64)


def _with_synonyms(graph: Graph, source: Any, target: Any, cosine: Any) -> Graph:
    """The graph with synonymy rows after its facts; their chunk rows are empty."""
    from scipy.sparse import csr_matrix, vstack

    empty = csr_matrix((len(source), graph.n_chunks), dtype=bool)
    return replace(
        graph,
        source=np.concatenate([graph.source, source]),
        target=np.concatenate([graph.target, target]),
        weight=np.concatenate([graph.weight, cosine]),
        synonym=np.concatenate([graph.synonym, np.ones(len(source), bool)]),
        relations=Texts.of([*graph.relations, *([SYNONYM] * len(source))]),
        relationship_chunk=vstack([graph.relationship_chunk, empty]).tocsr(),
    )
