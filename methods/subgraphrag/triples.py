"""SubgraphRAG: rank relationships as triples, list the triples in the prompt, and answer."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.tokenizer import Tokenizer
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.prompts import ContextBudget, Prompt
from graphrag_bench.text import n_fitting
from graphrag_bench.values import (
    Answer,
    Context,
    Node,
    Piece,
    Question,
    Ranked,
    Relationship,
    best_first,
    best_rows,
)
from methods.subgraphrag.mlp_scorer import MlpTripleScorer
from operators.answer.direct import READER_VARIABLES, answer_of, reader_values

TripleScorer = VectorIndex | MlpTripleScorer
"""A trained scorer, or a vector index of triple texts that scores triples by cosine."""


@operator("relationship.triple_scores", batched=True)
def triple_scores(
    question: Sequence[Question],
    relationships: Sequence[Ranked[Relationship] | None],
    nodes: Sequence[Ranked[Node] | None],
    *,
    triple_scorer: TripleScorer,
    graph: Graph,
    embedder: Embedder,
    top_k: PositiveInt = 100,
) -> list[Ranked[Relationship]]:
    """Rank relationships by how much their triples help to answer the question.

    By default the score (0..1) is (1 + c) / 2, where c is the cosine of the question and the text
    "head relation tail". With `build.triple_scorer=mlp`, as in SubgraphRAG, it is the probability
    predicted by the trained scorer. This probability also depends on the distances to the
    question's entities, which are given as `nodes`. If the step uses `relationships`, only the
    given relationships are ranked.
    Source: SubgraphRAG (Li et al. 2025), Section 3.1.
    """
    vectors = embedder.encode([one.text for one in question], kind="question")
    rankings = []
    for vector, ranked, linked in zip(vectors, relationships, nodes, strict=True):
        rows = np.arange(graph.n_relationships) if ranked is None else np.unique(ranked.ids)
        if isinstance(triple_scorer, VectorIndex):
            index = triple_scorer.vectors
            cosine = (index if len(rows) == len(index) else index[rows]) @ vector
            values = np.clip((1 + cosine.astype(np.float64)) / 2, 0, 1)
        else:
            topics = np.empty(0, np.int64) if linked is None else linked.ids
            values = triple_scorer.scores(graph.source, graph.target, vector, rows, topics)
        rankings.append(best_rows(rows, values, top_k))
    return rankings


@operator("relationship.in_scope")
def in_scope(question: Question, *, graph: Graph, chunk_table: ChunkTable) -> Ranked[Relationship]:
    """Return the relationships of the document to which the question is restricted (its scope).

    The relationships are sorted by id and have the score 1. If the question has no scope or no
    document has the name of the scope, all relationships are returned.
    Source: RoG (Luo et al. 2024), data, one subgraph per question of CWQ and WebQSP.
    """
    chunks = [] if question.scope is None else chunk_table.chunks_of(question.scope)
    rows = np.arange(graph.n_relationships)
    if chunks:
        rows = np.unique(np.concatenate([row_ids(graph.chunk_relationship, c) for c in chunks]))
    return Ranked(rows, np.ones(len(rows)))


TripleForm = Literal["triplets", "paths"]
ARROW = "->"
_MARK = "ans:"


@operator("relationship.placed", order="lowest score first with recency")
def placed(
    relationships: Ranked[Relationship], *, order: Literal["recency", "best_first"] = "recency"
) -> Ranked[Relationship]:
    """Sort relationships for the prompt by score, with the best relationship last or first.

    With `order="best_first"`, as in SubgraphRAG's code, the best relationship is first.
    `order="recency"`, as in path pooling, is the reverse order.
    Source: path pooling (Wang et al. 2025), Appendix A.4; SubgraphRAG's code.
    """
    best = best_first(relationships.scores, relationships.ids)
    return relationships.take(best[::-1] if order == "recency" else best)


@operator("context.triples")
def triples_context(
    relationships: Ranked[Relationship],
    *,
    graph: Graph,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    form: TripleForm = "triplets",
) -> Context:
    """Build a context of the given triples, one triple per line or chained into paths.

    A line has the form "(head, relation, tail)". With `form="paths"`, successive triples form one
    line, "head->relation->tail->relation->tail", as long as the tail of a triple is the head of the
    next triple. If the triples exceed the budget, the triples with the lowest scores are cut. The
    id of a line joins the row numbers of its relationships with "+".
    Source: SubgraphRAG (Li et al. 2025); path pooling (Wang et al. 2025), Appendix A.4.
    """
    best = best_first(relationships.scores, relationships.ids)
    rows = relationships.ids.tolist()
    n_fits = len(rows)
    if context_budget.tokens is not None:
        lines = (_line(graph, [rows[at]], form) for at in best.tolist())
        n_fits = n_fitting([tokenizer.count(line) for line in lines], context_budget.tokens)
    cut = tuple(("relationship", str(rows[at])) for at in best[n_fits:].tolist())
    paths: list[list[tuple[int, float]]] = []
    for row, score in relationships.take(np.sort(best[:n_fits])).items():
        last = paths[-1][-1][0] if paths and form == "paths" else None
        if last is None or graph.target[last] != graph.source[row]:
            paths.append([])
        paths[-1].append((row, score))
    pieces = []
    for path in paths:
        on_path = [row for row, _ in path]
        text, name = _line(graph, on_path, form), "+".join(map(str, on_path))
        score, chunks = max(score for _, score in path), graph.chunks_of_triples(on_path)
        n_tokens = tokenizer.count(text)
        pieces.append(Piece("relationship", name, text, score, n_tokens, chunks=chunks))
    return Context(tuple(pieces), cut, 1.0)


def _line(graph: Graph, rows: Sequence[int], form: TripleForm) -> str:
    head = graph.names[int(graph.source[rows[0]])]
    hops = [(graph.relations[row], graph.names[int(graph.target[row])]) for row in rows]
    if form == "triplets":
        return f"({head}, {', '.join(part for hop in hops for part in hop)})"
    return ARROW.join([head, *(part for hop in hops for part in hop)])


@operator("answer.listed", calls=1, supplies=READER_VARIABLES)
def listed(
    question: Question,
    context: Context,
    *,
    llm: ChatModel,
    prompt: Prompt,
    max_tokens: PositiveInt | None = None,
    keep: Literal["reply", "answers"] = "reply",
) -> Answer:
    """Answer the question, with one `ans:` line per answer if the question asks for a list.

    The answer form of the question says whether it asks for a list. With `keep="answers"`, the
    answer consists of the texts after `ans:`, joined by ", ". This is useful for data sets whose
    answers are scored as texts. A reply without `ans:` is kept.
    Source: SubgraphRAG (Li et al. 2025); path pooling (Wang et al. 2025), Appendix A.4.
    """
    chat = prompt.render(reader_values(question, context.pieces))
    whole = answer_of(llm, chat, question, max_tokens)
    marked = (part.partition(_MARK)[2].strip() for part in whole.text.splitlines())
    answers = ", ".join(dict.fromkeys(filter(None, marked)))
    return replace(whole, text=answers) if keep == "answers" and answers else whole
