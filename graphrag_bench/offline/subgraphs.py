"""Graphs of the triples that a data set comes with: names as they are, one graph of all."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphrag_bench.columns import Texts, cells
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.subgraphs import Subgraphs
from graphrag_bench.errors import UserError
from graphrag_bench.graph.extraction import ChunkExtraction, Extraction, Triple
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.knowledge_graph import KG_ATTRIBUTES
from graphrag_bench.values import IntArray


@artifact("graph.subgraphs", provides=KG_ATTRIBUTES)
def subgraph_graph(*, corpus: Dataset, chunk_table: ChunkTable) -> Graph:
    """One knowledge graph of the triples of all documents, names and relations as written.

    Nodes are the names, and rows the distinct (head, relation, tail), both in order of first
    appearance; the chunks of a row are those of the documents whose subgraph holds it, and its
    weight is their number. Triples with a blank part are left out; a triple may have equal ends.
    Raises UserError for a set without triples, and unless each document is one chunk.
    """
    held = _held(corpus)
    chunk = _chunks(corpus, chunk_table)
    taken, of_chunk = _rows(corpus, held, chunk)
    head, relation, tail = held.head[taken], held.relation[taken], held.tail[taken]
    if not len(head):
        raise UserError(f"Data set '{corpus.name}': every subgraph is empty.")
    used, ends = _first_seen(np.stack([head, tail], axis=1).ravel().astype(np.int64))
    n_relations = len(held.relations)
    codes = (ends[0::2] * n_relations + relation) * len(used) + ends[1::2]
    distinct, row = _first_seen(codes)
    pairs, tails = np.divmod(distinct, len(used))
    heads, relations = np.divmod(pairs, n_relations)
    of_rows = cells(row, of_chunk, (len(distinct), len(chunk_table)))
    of_nodes = cells(ends, np.repeat(of_chunk, 2), (len(used), len(chunk_table)))
    return Graph(
        names=Texts.of([held.names[at] for at in used.tolist()]),
        source=heads,
        target=tails,
        weight=np.diff(of_rows.indptr).astype(np.float64),
        synonym=np.zeros(len(distinct), bool),
        relations=Texts.of([held.relations[at] for at in relations.tolist()]),
        node_chunk=of_nodes,
        relationship_chunk=of_rows,
    )


@artifact("extraction.subgraphs")
def subgraph_extraction(*, corpus: Dataset, chunk_table: ChunkTable) -> Extraction:
    """The triples that the data set comes with, chunk by chunk, for graphs of normalised names.

    Raises UserError for a set without triples, and unless each document is one chunk.
    """
    held = _held(corpus)
    triples: dict[int, dict[tuple[str, str, str], None]] = {}
    for document, row in _chunks(corpus, chunk_table).items():
        triples.setdefault(row, {}).update(dict.fromkeys(held.triples(document)))
    rows = [tuple(Triple(*one) for one in triples.get(row, ())) for row in range(len(chunk_table))]
    counts = {"triples": sum(map(len, rows))}
    return Extraction(tuple(ChunkExtraction((), row) for row in rows), counts)


def _held(corpus: Dataset) -> Subgraphs:
    if corpus.subgraphs is None:
        raise UserError(
            f"Data set '{corpus.name}' comes without triples: build.graph=kg makes a graph of its "
            "texts, graph.import_from=FILE reads one."
        )
    return corpus.subgraphs


def _chunks(corpus: Dataset, chunk_table: ChunkTable) -> dict[str, int]:
    found = {row.id: chunk_table.chunks_of(row.id) for row in corpus.documents}
    for name, chunks in found.items():
        if len(chunks) != 1:
            raise UserError(
                f"Document '{name}' is {len(chunks)} chunks; a subgraph belongs to one: "
                "chunking=presplit."
            )
    return {name: chunks[0] for name, chunks in found.items()}


def _rows(corpus: Dataset, held: Subgraphs, chunk: Mapping[str, int]) -> tuple[IntArray, IntArray]:
    slices = [held.rows(document.id) for document in corpus.documents]
    chunks = [chunk[document.id] for document in corpus.documents]
    rows = np.concatenate([np.arange(one.start, one.stop) for one in slices])
    of_chunk = np.repeat(np.array(chunks, np.int64), [one.stop - one.start for one in slices])
    named = np.array([bool(name.strip()) for name in held.names], bool)
    related = np.array([bool(name.strip()) for name in held.relations], bool)
    whole = named[held.head[rows]] & related[held.relation[rows]] & named[held.tail[rows]]
    return rows[whole], of_chunk[whole]


def _first_seen(codes: IntArray) -> tuple[IntArray, IntArray]:
    distinct, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return distinct[order], place[inverse]
