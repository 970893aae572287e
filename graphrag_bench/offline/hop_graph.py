"""Pseudo-questions to a directed passage graph: what a passage raises leads to what answers it."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.columns import Texts, cells
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.pseudo_questions import SEPARATOR, PseudoQuestions
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.progress import Progress
from graphrag_bench.values import FloatArray, IntArray, best_first

HOP_ATTRIBUTES = frozenset(
    {"node.description", "relationship.name", "relationship.description"}
    | {"relationship.keywords", "relationship.weight"}
)
LEADS_TO = "leads to"
_BLOCK = 64


@artifact("graph.hop", provides=HOP_ATTRIBUTES)
def hop(
    *,
    pseudo_questions: PseudoQuestions,
    question_index: VectorIndex,
    chunk_table: ChunkTable,
    progress: Progress,
    edges_per_chunk: Annotated[float, Field(gt=0)] | None = None,
    max_df: PositiveInt | None = 500,
) -> Graph:
    """The passages as nodes, with an edge from each that raises a question to one that answers it.

    Node i is chunk i, its description the passage. A question that a passage raises is matched
    with the most similar question that another passage answers; similarity is the mean of the
    Jaccard index of their names, 0..1, and the cosine of their vectors, ties by lower question.
    Of several edges from one passage to another the most similar is kept, and of all the most
    similar `edges_per_chunk` for each chunk (None: the natural logarithm of the number of chunks,
    one at least), rounded down. An edge is described by the question that is answered, its
    keywords are the names of both, its weight is the similarity. A name in more than `max_df` of
    the questions that are answered proposes none of them (None: no limit); apart from that the
    match is the best of all. Raises UserError when no passage leads to another.
    Source: HopRAG (Liu et al. 2025), edges between passages; released code 23898fa.
    """
    raised, answering, similarity = _matched(pseudo_questions, question_index, max_df, progress)
    n = len(chunk_table)
    of = pseudo_questions.chunk
    pairs = of[raised] * n + of[answering]
    order = np.lexsort((answering, -np.round(similarity, 6), pairs))
    order = order[np.diff(pairs[order], prepend=-1) > 0]
    per_chunk = max(1.0, float(np.log(n))) if edges_per_chunk is None else edges_per_chunk
    kept = order[best_first(similarity[order])][: max(1, int(n * per_chunk))]
    kept = kept[np.argsort(pairs[kept])]
    if not len(kept):
        raise UserError(
            "No passage leads to another: the corpus has one passage, or none raises a question."
        )
    return _graph(pseudo_questions, chunk_table, raised[kept], answering[kept], similarity[kept])


def _matched(
    questions: PseudoQuestions, index: VectorIndex, max_df: int | None, progress: Progress
) -> tuple[IntArray, IntArray, FloatArray]:
    raised, answering = np.flatnonzero(~questions.answered), np.flatnonzero(questions.answered)
    of, vectors = questions.chunk, np.asarray(index.vectors, np.float32)
    answered = VectorIndex(np.ascontiguousarray(vectors[answering]))
    own = int(np.bincount(of[answering]).max())  # so many may be of the passage itself
    named = questions.question_name.astype(np.int32).tocsr()
    frequent = named[answering].getnnz(axis=0) > (len(answering) if max_df is None else max_df)
    proposing = named[:, np.flatnonzero(~frequent)]
    turned = proposing[answering].T.tocsr()
    found: list[tuple[IntArray, IntArray, FloatArray]] = []
    with progress.task("matching questions", len(raised)) as advance:
        for first in range(0, len(raised), _BLOCK):
            rows = raised[first : first + _BLOCK]
            near = answered.search(vectors[rows], own + 1)
            sharing = (proposing[rows] @ turned).tocoo()
            row = np.concatenate([np.repeat(np.arange(len(rows)), len(near[0])), sharing.row])
            other = np.concatenate([*(hit.ids for hit in near), sharing.col])
            codes = np.unique(row.astype(np.int64) * len(answering) + other)
            head, tail = rows[codes // len(answering)], answering[codes % len(answering)]
            elsewhere = of[head] != of[tail]
            head, tail = head[elsewhere], tail[elsewhere]
            similarity = _similarity(head, tail, named, vectors)
            order = np.lexsort((tail, -np.round(similarity, 6), head))
            order = order[np.diff(head[order], prepend=-1) > 0]
            found.append((head[order], tail[order], similarity[order]))
            advance(len(rows))
    none = np.zeros(0, np.int64)
    found.append((none, none, np.zeros(0)))
    heads, tails, similarities = zip(*found, strict=True)
    return np.concatenate(heads), np.concatenate(tails), np.concatenate(similarities)


def _similarity(head: IntArray, tail: IntArray, named: Any, vectors: Any) -> FloatArray:
    shared = np.asarray(named[head].multiply(named[tail]).sum(axis=1), np.float64).ravel()
    sizes = np.diff(named.indptr)
    joined = sizes[head] + sizes[tail] - shared
    jaccard = shared / np.maximum(joined, 1)
    cosine = np.einsum("ij,ij->i", vectors[head], vectors[tail]).astype(np.float64)
    return np.asarray((jaccard + cosine) / 2)


def _graph(
    questions: PseudoQuestions,
    chunk_table: ChunkTable,
    raised: IntArray,
    answering: IntArray,
    similarity: FloatArray,
) -> Graph:
    n, every = len(chunk_table), np.arange(len(chunk_table))
    ends = np.stack([questions.chunk[raised], questions.chunk[answering]])
    both = (questions.question_name[raised] + questions.question_name[answering]).tocsr()
    both.sort_indices()
    return Graph(
        names=Texts.of([f"chunk {row}" for row in range(n)]),
        descriptions=Texts.of(chunk_table.passages),
        source=ends[0],
        target=ends[1],
        weight=similarity,
        synonym=np.zeros(len(raised), bool),
        relations=Texts.of([LEADS_TO] * len(raised)),
        facts=Texts.of(questions.texts.take(answering)),
        keywords=Texts.of(list(questions.names)).joined(both, SEPARATOR),
        node_chunk=cells(every, every, (n, n)),
        relationship_chunk=cells(
            np.repeat(np.arange(len(raised)), 2), ends.T.ravel(), (len(raised), n)
        ),
        statistics={"questions_raised": int((~questions.answered).sum())},
    )
