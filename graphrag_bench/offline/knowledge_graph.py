"""Extraction to knowledge graph: normalised nodes, distinct facts, synonymy edges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.columns import Texts, cells
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.extraction import Extraction
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.titles import Titles, titled
from graphrag_bench.text import normalise_name
from graphrag_bench.values import FloatArray, IntArray

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
    return {name: row for row, name in enumerate(_Facts.of(extraction).names)}


@dataclass(frozen=True, eq=False)
class _Facts:
    """What an extraction says of nodes and facts, by columns, each mention in the order it is read.

    `names` are those of the nodes in order of first appearance; `node` and `node_chunk` int64
    (n_mentions,). A fact has `head`, `relation` (a place in `relations`), `tail` and `chunk` int64
    and `weight` float64 (n_triples,).
    """

    names: list[str]
    node: IntArray
    node_chunk: IntArray
    relations: list[str]
    head: IntArray
    relation: IntArray
    tail: IntArray
    chunk: IntArray
    weight: FloatArray

    @classmethod
    def of(cls, extraction: Extraction) -> _Facts:
        """The columns; names without letters, and triples with such a part or equal ends, apart."""
        rows = extraction.rows
        triples = [triple for row in rows for triple in row.triples]
        entities, heads, relations, tails, normal = _coded(
            [name for row in rows for name in row.entities],
            [triple.head for triple in triples],
            [triple.relation for triple in triples],
            [triple.tail for triple in triples],
        )
        entity_chunk = np.repeat(np.arange(len(rows)), [len(row.entities) for row in rows])
        triple_chunk = np.repeat(np.arange(len(rows)), [len(row.triples) for row in rows])
        empty = np.array([not name for name in normal], bool)
        named = ~empty[entities]
        whole = ~(empty[heads] | empty[relations] | empty[tails]) & (heads != tails)
        chunk = triple_chunk[whole]
        node = np.concatenate(
            [entities[named], np.stack([heads[whole], tails[whole]], axis=1).ravel()]
        )
        node_chunk = np.concatenate([entity_chunk[named], np.repeat(chunk, 2)])
        order = np.argsort(node_chunk, kind="stable")  # of a chunk its entities come first
        first, row_of = _in_order_of_appearance(node[order])
        rows_of = np.zeros(len(normal), np.int64)
        rows_of[node[order]] = row_of
        return cls(
            names=[normal[code] for code in first.tolist()],
            node=row_of,
            node_chunk=node_chunk[order],
            relations=normal,
            head=rows_of[heads[whole]],
            relation=relations[whole],
            tail=rows_of[tails[whole]],
            chunk=chunk,
            weight=np.array([triple.weight for triple in triples], np.float64)[whole],
        )


def _coded(*columns: list[str]) -> tuple[Any, ...]:
    """Each column of texts as numbers of their normalised forms, int64, and last these forms."""
    raw = dict.fromkeys(chain(*columns))
    normal: dict[str, int] = {}
    codes = {text: normal.setdefault(normalise_name(text), len(normal)) for text in raw}
    coded = [np.fromiter(map(codes.__getitem__, part), np.int64, len(part)) for part in columns]
    return (*coded, list(normal))


def _in_order_of_appearance(codes: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct codes in the order in which they first come, and the place there of each code.

    Both int64, of the lengths of the distinct codes and of `codes`.
    """
    distinct, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return distinct[order], place[inverse]


def fact_graph(extraction: Extraction, n_chunks: int) -> Graph:
    """The graph of an extraction; raises UserError when it has no node."""
    told = _Facts.of(extraction)
    if not told.names:
        raise UserError(
            "The graph has no entities. Likely causes: the model is too small to extract, its "
            "context window cuts the prompt, the texts are in another language than the model's, "
            "the OpenIE file is empty, or the texts name nothing. build.extraction=nlp reads "
            "entities without a model; llm, nlp and openie_file are the ways there are."
        )
    _, ends = _in_order_of_appearance(told.head * len(told.names) + told.tail)
    _, fact = _in_order_of_appearance(ends * max(len(told.relations), 1) + told.relation)
    first = np.unique(fact, return_index=True)[1]  # in order of appearance, as the facts are
    relations = [told.relations[code] for code in told.relation[first].tolist()]
    return Graph(
        names=Texts.of(told.names),
        source=told.head[first],
        target=told.tail[first],
        weight=np.bincount(fact, told.weight, len(first)).astype(np.float64),
        synonym=np.zeros(len(first), bool),
        relations=Texts.of(relations),
        node_chunk=cells(told.node, told.node_chunk, (len(told.names), n_chunks)),
        relationship_chunk=cells(fact, told.chunk, (len(first), n_chunks)),
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
