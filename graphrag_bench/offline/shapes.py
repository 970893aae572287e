"""Whether the columns of an artifact fit each other: lengths, offsets, rows and ranges of ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.columns import TextRows, Texts
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.communities import Communities, Reports
from graphrag_bench.graph.fragments import Fragments
from graphrag_bench.graph.graph import FRAGMENTS, Graph
from graphrag_bench.graph.keyword_graph import KeywordGraph
from graphrag_bench.graph.node_attributes import NodeAttributes
from graphrag_bench.graph.pseudo_questions import PseudoQuestions
from graphrag_bench.graph.query_gnn import EntityScorer, GnnWeights
from graphrag_bench.graph.tri_graph import TriGraph
from graphrag_bench.graph.triple_scorer import N_DISTANCES, MlpTripleScorer, MlpWeights
from graphrag_bench.graph.views import Pairs
from graphrag_bench.models.bm25 import Bm25
from graphrag_bench.models.tfidf import Tfidf
from graphrag_bench.models.vector_index import VectorIndex

_ROWS_OF = {
    "attribute_index": "attributes of graph",
    "chunk_index": "chunk_table",
    "bm25": "chunk_table",
    "name_index": "graph",
    "node_index": "graph",
    "tfidf": "graph",
    "chunk_graph": "chunk_table",
    "entity_scorer": "graph",
    "keyword_index": "keyword_graph",
    "question_index": "pseudo_questions",
    "community_index": "reports",
    "reports": "communities",
}
"""Artifacts whose rows are those of another, or of a part of it."""


def misfits(made: object) -> Iterator[str]:
    """What does not fit in an artifact that was loaded, column by column; nothing when all does."""
    if is_dataclass(made):
        for field in fields(made):
            column = getattr(made, field.name)
            if isinstance(column, Texts):
                yield from _of_texts(field.name, column)
            elif hasattr(column, "indptr"):
                yield from _of_sparse(field.name, column)
    if (wrong := next(_misfits(made), None)) is not None:
        yield wrong


def misfits_together(held: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The resources whose rows are not those of the artifact that they index, and the reason."""
    n_rows = {name: n for name, made in held.items() if (n := _n_rows(made)) is not None}
    if isinstance(graph := held.get("graph"), Graph) and graph.node_attributes is not None:
        n_rows["attributes of graph"] = len(graph.node_attributes)
    for name, other in _ROWS_OF.items():
        if name in n_rows and other in n_rows and n_rows[name] != n_rows[other]:
            yield name, f"{n_rows[name]} rows for {n_rows[other]} of {other}"


def _n_rows(made: object) -> int | None:
    if isinstance(made, Graph | EntityScorer):
        return made.n_nodes
    if isinstance(made, Bm25):
        return int(made.retriever.scores["num_docs"])
    counted = ChunkTable | VectorIndex | Reports | Communities | KeywordGraph | PseudoQuestions
    return len(made) if isinstance(made, counted) else None


def _of_texts(name: str, texts: Texts) -> Iterator[str]:
    ends = texts.offsets
    if texts.blob.dtype != np.uint8 or texts.blob.ndim != 1 or not _ids(ends) or not len(ends):
        yield f"{name}: the texts have other types than were written"
    elif ends[0] != 0 or ends[-1] != len(texts.blob) or np.any(ends[1:] < ends[:-1]):
        yield f"{name}: the offsets do not fit the texts"


def _of_sparse(name: str, matrix: Any) -> Iterator[str]:
    n_rows, n_columns = matrix.shape
    starts, ids = matrix.indptr, matrix.indices
    if len(starts) != n_rows + 1 or len(ids) != len(matrix.data):
        yield f"{name}: {len(starts)} starts of {n_rows} rows, {len(ids)} ids"
    elif starts[0] != 0 or starts[-1] != len(ids) or np.any(starts[1:] < starts[:-1]):
        yield f"{name}: the starts of the rows do not fit the ids"
    elif not _within(ids, n_columns):
        yield f"{name}: an id is not one of the {n_columns} columns"


def _ids(column: NDArray[Any]) -> bool:
    return column.ndim == 1 and column.dtype.kind in "iu"


def _within(ids: NDArray[Any], n: int, low: int = 0) -> bool:
    return _ids(ids) and (not len(ids) or (int(ids.min()) >= low and int(ids.max()) < n))


def _lengths(n: int, **columns: Any) -> Iterator[str]:
    for name, column in columns.items():
        if column is not None:
            found = int(column.shape[0]) if hasattr(column, "shape") else len(column)
            if found != n:
                yield f"{name} has {found} rows, and {n} were expected"


@singledispatch
def _misfits(made: object) -> Iterator[str]:
    yield from ()


@_misfits.register
def _(made: ChunkTable) -> Iterator[str]:
    yield from _lengths(len(made), titles=made.titles, chunk_document=made.chunk_document)
    yield from _lengths(made.chunk_document.shape[1], documents=made.documents)


@_misfits.register
def _(made: Graph) -> Iterator[str]:
    nodes = {"types": made.types, "descriptions": made.descriptions, "node_chunk": made.node_chunk}
    yield from _lengths(made.n_nodes, **nodes)
    named = ("target", "weight", "synonym", "relations", "facts", "keywords", "relationship_chunk")
    yield from _lengths(made.n_relationships, **{name: getattr(made, name) for name in named})
    for name in ("source", "target"):
        if not _within(getattr(made, name), made.n_nodes):
            yield f"{name}: an end is not one of the {made.n_nodes} nodes"
    if made.relationship_chunk.shape[1] != made.n_chunks:
        yield "relationship_chunk: other chunks than those of node_chunk"
    if made.weight.dtype != np.float64 or made.synonym.dtype != np.bool_:
        yield "weight: the columns have other types than were written"
    if (held := made.node_attributes) is not None:
        yield from (f"attributes: {wrong}" for wrong in misfits(held))
        if not _within(held.node, made.n_nodes):
            yield f"attributes: a node is not one of the {made.n_nodes}"
        if held.chunk.shape[1] != made.n_chunks:
            yield "attributes: other chunks than those of node_chunk"
    for name in FRAGMENTS:
        if (read := getattr(made, name)) is not None:
            yield from (f"{name}: {wrong}" for wrong in misfits(read))
            if not _within(read.chunk, made.n_chunks):
                yield f"{name}: a chunk is not one of the {made.n_chunks}"
    if "pairs" in vars(made):  # the views were stored
        yield from _of_views(made)


@_misfits.register
def _(made: Fragments) -> Iterator[str]:
    yield from _lengths(len(made.text), chunk=made.chunk)
    ends = made.starts
    if not len(ends) or ends[0] != 0 or ends[-1] != len(made.text) or np.any(np.diff(ends) < 0):
        yield "starts: the starts of the rows do not fit the fragments"
    if not _within(made.text, len(made.texts)):
        yield f"text: a text is not one of the {len(made.texts)}"


def _of_views(graph: Graph) -> Iterator[str]:
    n, n_rows, n_pairs = graph.n_nodes, graph.n_relationships, len(graph.pairs.source)
    shapes = {
        "adjacency": (n, n),
        "pair_chunk": (n_pairs, graph.n_chunks),
        "chunk_relationship": (graph.n_chunks, n_rows),
        "node_relationship": (n, n_rows),
    }
    for name, shape in shapes.items():
        view = getattr(graph, name)
        yield from _of_sparse(name, view)
        if view.shape != shape:
            yield f"{name} has the shape {view.shape}, and {shape} was expected"
    yield from _lengths(len(graph.adjacency.data), transition=graph.transition.data)
    yield from _lengths(n, chunks_per_node=graph.chunks_per_node)
    yield from _misfits(graph.pairs)
    yield from _lengths(n_rows, of=graph.pairs.of)
    for name, rows, top in (("of", graph.pairs.of, n_pairs), ("first", graph.pairs.first, n_rows)):
        if not _within(rows, top):
            yield f"{name}: a row is not one of {top}"
    for by_name in (graph.row_of, graph.dictionary.row_of, graph.dictionary.longest):
        yield from _misfits(by_name)
    if isinstance(keys := graph.dictionary.row_of, TextRows) and not _within(keys.numbers, n):
        yield f"keys: a row is not one of the {n} nodes"


@_misfits.register
def _(made: NodeAttributes) -> Iterator[str]:
    yield from _lengths(len(made), names=made.names, values=made.values, chunk=made.chunk)
    if not _ids(made.node) or np.any(made.node[1:] < made.node[:-1]):
        yield "node: the rows are not in the order of their nodes"


@_misfits.register
def _(made: Pairs) -> Iterator[str]:
    n_pairs = len(made.source)
    yield from _lengths(n_pairs, target=made.target, weight=made.weight, first=made.first)


@_misfits.register
def _(made: TextRows) -> Iterator[str]:
    yield from _of_texts("texts", made.texts)
    n = len(made.texts)
    yield from _lengths(n, numbers=made.numbers, sums=made.sums, order=made.order)
    if made.sums.dtype != np.uint32 or not _within(made.order, n) or not _ids(made.numbers):
        yield "order: the texts cannot be looked up"


@_misfits.register
def _(made: TriGraph) -> Iterator[str]:
    n_entities, n_sentences = made.entity_sentence.shape
    yield from _lengths(len(made.names), entity_sentence=made.entity_sentence)
    yield from _lengths(n_entities, entity_chunk=made.entity_chunk)
    yield from _lengths(n_sentences, sentences=made.sentences)


@_misfits.register
def _(made: KeywordGraph) -> Iterator[str]:
    n_keywords, n_sentences = made.keyword_sentence.shape
    yield from _lengths(len(made), keyword_sentence=made.keyword_sentence)
    yield from _lengths(n_keywords, keyword_chunk=made.keyword_chunk)
    yield from _lengths(n_sentences, sentences=made.sentences)


@_misfits.register
def _(made: PseudoQuestions) -> Iterator[str]:
    n_questions, n_names = made.question_name.shape
    yield from _lengths(n_questions, texts=made.texts, chunk=made.chunk, answered=made.answered)
    yield from _lengths(n_names, names=made.names)
    if not _ids(made.chunk) or made.answered.dtype != np.bool_:
        yield "chunk: the columns have other types than were written"


@_misfits.register
def _(made: Communities) -> Iterator[str]:
    yield from _lengths(len(made), parent=made.parent, nodes=made.nodes, chunks=made.chunks)
    if not _ids(made.level) or not _within(made.parent, len(made), low=-1):
        yield f"parent: it is not one of the {len(made)} communities"


@_misfits.register
def _(made: Reports) -> Iterator[str]:
    yield from _lengths(len(made), titles=made.titles, ratings=made.ratings, fallback=made.fallback)


@_misfits.register
def _(made: VectorIndex) -> Iterator[str]:
    if len(made.vectors.shape) != 2 or made.vectors.dtype not in (np.float32, np.float16):
        yield f"vectors: {made.vectors.dtype} {made.vectors.shape}, not rows of float32 or float16"


@_misfits.register
def _(made: Tfidf) -> Iterator[str]:
    yield from _lengths(made.rows.shape[1], idf=made.idf, words=made.words)


@_misfits.register
def _(made: Bm25) -> Iterator[str]:
    held, words = made.retriever.scores, made.retriever.vocab_dict
    starts, ids = held["indptr"], held["indices"]
    if len(ids) != len(held["data"]) or starts[0] != 0 or starts[-1] != len(ids):
        yield "bm25: the starts of the words do not fit the ids"
    elif np.any(starts[1:] < starts[:-1]) or not _within(ids, int(held["num_docs"])):
        yield f"bm25: an id is not one of the {held['num_docs']} chunks"
    elif any(not 0 <= int(row) < len(starts) for row in words.values()):
        yield "bm25: a word has no column"


@_misfits.register
def _(made: MlpWeights) -> Iterator[str]:
    n_hidden = len(made.bias)
    if made.hidden.shape != (4 * made.dimension + 2 * N_DISTANCES, n_hidden):
        yield "weights: the layers do not fit each other"
    yield from _lengths(n_hidden, out=made.out.ravel())


@_misfits.register
def _(made: MlpTripleScorer) -> Iterator[str]:
    yield from _misfits(made.weights)
    yield from _lengths(len(made.names), readable=made.readable)
    if not _within(made.relation, len(made.relations)):
        yield f"relation: an id is not one of the {len(made.relations)} relations"
    if {made.names.shape[1:], made.relations.shape[1:]} != {(made.weights.dimension,)}:
        yield "names: vectors of another length than the weights were trained with"


@_misfits.register
def _(made: GnnWeights) -> Iterator[str]:
    if "question_mlp.weight" not in made.parameters:
        yield "weights: no map of the question"
        return
    expected = dict(made.shape.parameters())
    if {name: held.shape for name, held in made.parameters.items()} != expected:
        yield "weights: the layers do not fit each other"


@_misfits.register
def _(made: EntityScorer) -> Iterator[str]:
    yield from _misfits(made.weights)
    n_edges = len(made.source)
    yield from _lengths(n_edges, kind=made.kind)
    if made.starts[0] != 0 or made.starts[-1] != n_edges or np.any(np.diff(made.starts) < 0):
        yield "starts: the groups do not fit the edges"
    if not _within(made.source, made.n_nodes):
        yield f"source: an id is not one of the {made.n_nodes} nodes"
    if not _within(made.kind, len(made.relations)):
        yield f"kind: an id is not one of the {len(made.relations)} relations"
    if made.relations.shape[1:] != (made.weights.shape.text,):
        yield "relations: vectors of another length than the weights were trained with"
