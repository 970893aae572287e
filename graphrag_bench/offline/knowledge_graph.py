"""Extraction to knowledge graph: normalised nodes and distinct facts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np

from graphrag_bench.columns import Texts, cells
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.extraction import Extraction
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.titles import Titles, titled
from graphrag_bench.text import normalise_name
from graphrag_bench.values import FloatArray, IntArray

Counted = Literal["read", "chunk"]
"""Whether a fact that a chunk states twice counts each time it is read, or once for the chunk."""
KG_ATTRIBUTES = frozenset({"node.name", "relationship.name", "relationship.weight"})


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


def fact_graph(extraction: Extraction, n_chunks: int, *, counted: Counted = "read") -> Graph:
    """The graph of an extraction; raises UserError when it has no node.

    A fact that is read again in the same chunk counts again, or not with `counted="chunk"`.
    """
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
    weight = np.array(told.weight)
    if counted == "chunk":
        once = np.zeros(len(fact), bool)
        once[np.unique(fact * n_chunks + told.chunk, return_index=True)[1]] = True
        weight[~once] = 0.0
    return Graph(
        names=Texts.of(told.names),
        source=told.head[first],
        target=told.tail[first],
        weight=np.bincount(fact, weight, len(first)).astype(np.float64),
        synonym=np.zeros(len(first), bool),
        relations=Texts.of(relations),
        node_chunk=cells(told.node, told.node_chunk, (len(told.names), n_chunks)),
        relationship_chunk=cells(fact, told.chunk, (len(first), n_chunks)),
    )
