"""SubgraphRAG: rank relationships as triples, list the triples in the prompt, and answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.views import inverse
from graphrag_bench.arrays import BoolArray, FloatArray, IntArray, best_first
from graphrag_bench.columns import NOT_STORED, Columns, row_ids, sorted_csr
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.embedding.tokenizer import Tokenizer
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.prompts import ContextBudget, Prompt
from graphrag_bench.text import n_fitting
from graphrag_bench.values import Answer, Context, Node, Piece, Question, Ranked, Relationship
from operators.answer.generation import READER_VARIABLES, answer_of, reader_values

RowIds = NDArray[np.integer[Any]]
Means = tuple[Any, Any]
ROUNDS = 2
"""The number of propagation rounds in each direction: along the triples and against them."""
N_DISTANCES = 2 * (1 + 2 * ROUNDS)
"""The number of distance features of a node."""
_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class MlpWeights(Columns):
    """Weights of SubgraphRAG's network with one ReLU layer and a sigmoid output, float32.

    `hidden` is (4 d + 20, h), `bias` and `out` are (h,), and `out_bias` is (1,). The input consists
    of the vectors of question, head, relation and tail, which have length d. The distance features
    of the head and of the tail follow, 10 numbers each. `unreadable` (d,) is the vector of nodes
    without readable text. `statistics` describe the training.
    """

    hidden: Vectors
    bias: Vectors
    out: Vectors
    out_bias: Vectors
    unreadable: Vectors
    statistics: Mapping[str, Any] = field(default_factory=dict, metadata=NOT_STORED)

    @property
    def dimension(self) -> int:
        """The length of the vectors used in training."""
        return len(self.unreadable)


@dataclass(frozen=True, eq=False)
class MlpTripleScorer(Columns):
    """Trained weights together with the vectors of node names and relation names of one graph.

    `names` is float32 (n_nodes, d), and `readable` (bool, n_nodes) marks names with readable text.
    `relations` is float32 (n_relation_names, d). For each relationship, `relation` (int64) holds
    the row of its name in `relations`.
    """

    weights: MlpWeights
    names: Vectors
    readable: BoolArray
    relations: Vectors
    relation: IntArray

    def scores(
        self, source: IntArray, target: IntArray, vector: Vectors, rows: IntArray, topics: IntArray
    ) -> FloatArray:
        """Return the probability (0..1) that each relationship in `rows` helps to answer.

        `source` and `target` are the nodes of all relationships of the graph. `vector` (d,) is the
        vector of the question, and `topics` are the nodes of its topic entities.
        """
        from scipy.special import expit

        weights, d = self.weights, self.weights.dimension
        bounds = [d, 2 * d, 3 * d, 4 * d, 4 * d + N_DISTANCES]
        question, *parts, head_near, tail_near = np.split(weights.hidden, bounds)
        nodes, place = np.unique(np.stack([source[rows], target[rows]]), return_inverse=True)
        head, tail = place.reshape(2, -1)
        near = distances(means_of(head, tail, len(nodes)), np.isin(nodes, topics))
        names = np.where(self.readable[nodes, None], self.names[nodes], weights.unreadable)
        heads = names @ parts[0] + near @ head_near
        tails = names @ parts[2] + near @ tail_near
        kinds, kind = np.unique(self.relation[rows], return_inverse=True)
        relations = self.relations[kinds] @ parts[1] + (vector @ question + weights.bias)
        scores: FloatArray = np.zeros(len(rows))
        for at in range(0, len(rows), _BLOCK):
            part = slice(at, at + _BLOCK)
            inner = heads[head[part]] + relations[kind[part]] + tails[tail[part]]
            scores[part] = np.maximum(inner, 0) @ weights.out + weights.out_bias
        return np.asarray(expit(scores), np.float64)


def means_of(source: RowIds, target: RowIds, n_nodes: int) -> Means:
    """Return the matrices that average over the incoming and the outgoing triples of each node."""
    from scipy.sparse import csr_matrix, diags

    def mean(to: RowIds, of: RowIds) -> Any:
        sums = csr_matrix((np.ones(len(to), np.float32), (to, of)), shape=(n_nodes, n_nodes))
        shares = inverse(np.bincount(to, minlength=n_nodes)).astype(np.float32)
        return sorted_csr(diags(shares) @ sums)

    return mean(target, source), mean(source, target)


def distances(means: Means, is_topic: BoolArray) -> Vectors:
    """Return the distance features of each node to the topic entities, float32 (n, 10).

    Features 0 and 1 are the one-hot code of `is_topic` (n,). Features 2 and 3 are the average of
    features 0 and 1 over the heads of incoming triples. Features 4 and 5 are the same average of
    features 2 and 3. Features 6 to 9 are computed in the same way as 2 to 5, over the tails of
    outgoing triples. The average over no triples is 0.
    Source: SubgraphRAG (Li et al. 2025), Section 3.1, directional distance encoding.
    """
    hot = np.stack([~is_topic, is_topic], axis=1).astype(np.float32)
    rounds = [hot]
    for mean in means:
        values = hot
        for _ in range(ROUNDS):
            values = np.asarray(mean @ values, np.float32)
            rounds.append(values)
    return np.concatenate(rounds, axis=1)


@operator("relationship.triple_scores", batched=True)
def triple_scores(
    question: Sequence[Question],
    relationships: Sequence[Ranked[Relationship] | None],
    nodes: Sequence[Ranked[Node] | None],
    *,
    triple_scorer: VectorIndex | MlpTripleScorer,
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
            topics = (linked or Ranked[Node].empty()).ids
            values = triple_scorer.scores(graph.source, graph.target, vector, rows, topics)
        rankings.append(Ranked[Relationship].best(rows, values, top_k))
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
    n_fits, rows = len(best), relationships.ids[best].tolist()
    if context_budget.tokens is not None:
        sizes = [tokenizer.count(_line(graph, [row], form)) for row in rows]
        n_fits = n_fitting(sizes, context_budget.tokens)
    cut = tuple(("relationship", str(row)) for row in rows[n_fits:])
    fitting = relationships.take(np.sort(best[:n_fits]))
    paths: list[list[int]] = []
    for row in fitting.ids.tolist():
        last = paths[-1][-1] if paths and form == "paths" else None
        if last is None or graph.target[last] != graph.source[row]:
            paths.append([])
        paths[-1].append(row)
    score_of, pieces = dict(fitting.items()), []
    for path in paths:
        text, name = _line(graph, path, form), "+".join(map(str, path))
        score, chunks = max(score_of[row] for row in path), graph.chunks_of_triples(path)
        n_tokens = tokenizer.count(text)
        pieces.append(Piece("relationship", name, text, score, n_tokens, chunks=chunks))
    return Context(tuple(pieces), cut, 1.0)


def _line(graph: Graph, rows: Sequence[int], form: TripleForm) -> str:
    head = graph.names[int(graph.source[rows[0]])]
    hops = [(graph.relations[row], graph.names[int(graph.target[row])]) for row in rows]
    parts = [head, *(part for hop in hops for part in hop)]
    return f"({', '.join(parts)})" if form == "triplets" else "->".join(parts)


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
    marked = (part.partition("ans:")[2].strip() for part in whole.text.splitlines())
    answers = ", ".join(dict.fromkeys(filter(None, marked)))
    return replace(whole, text=answers) if keep == "answers" and answers else whole
