"""HopRAG's search: start at edges similar to the question, follow edges, and rank passages."""

import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import FloatArray, IntArray, best_first, unique
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex, products
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ReplyFormat, ask_about
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Chunk, Mentions, Node, Question, Ranked, Relationship
from methods.hoprag.hop_graph import SEPARATOR, PseudoQuestions


@operator("relationship.hybrid", batched=True, requires={"relationship.keywords"})
def hybrid(
    question: Sequence[Question],
    mentions: Sequence[Mentions],
    *,
    graph: Graph,
    relationship_index: VectorIndex,
    embedder: Embedder,
    n_candidates: PositiveInt = 200,
    top_k: PositiveInt = 20,
) -> list[Ranked[Relationship]]:
    """Rank relationships by vector similarity and by overlap of names with the question.

    The score (-0.5..1) is the mean of two values: the cosine between question and relationship, and
    the Jaccard index between the names in the question and the keywords of the relationship. Only
    the `n_candidates` relationships with the highest cosine are scored.
    Source: HopRAG (Liu et al. 2025), hybrid search of edges.
    """
    vectors = embedder.encode([one.text for one in question], kind="question")
    rankings = []
    for asked, near in zip(mentions, relationship_index.search(vectors, n_candidates), strict=True):
        words = graph.keywords.take(near.ids) if graph.keywords else [""] * len(near)
        overlap = _overlap([set(text.split(SEPARATOR)) - {""} for text in words], asked)
        rankings.append(Ranked[Relationship].best(near.ids, (near.scores + overlap) / 2, top_k))
    return rankings


def _overlap(names: Sequence[set[str]], mentions: Mentions) -> FloatArray:
    """Return the Jaccard index of the mentions with each set of names, (n_sets,)."""
    asked = {normalise_name(name) for name in mentions.names} - {""}
    return np.array([len(one & asked) / max(len(one | asked), 1) for one in names])


@operator("chunk.helpful", batched=True)
def helpful(
    question: Sequence[Question],
    chunks: Sequence[Ranked[Chunk]],
    *,
    chunk_index: VectorIndex,
    embedder: Embedder,
    top_k: PositiveInt = 10,
) -> list[Ranked[Chunk]]:
    """Rank the given chunks by the mean of their score and their cosine with the question.

    If the scores are fractions of visits, as from `node.hops.nearest`, the mean is in -0.5..1.
    Source: HopRAG (Liu et al. 2025), helpfulness.
    Deviation: The similarity is the cosine. In the paper, it includes the overlap of names.
    """
    vectors = embedder.encode([one.text for one in question], kind="question")
    rankings = []
    for vector, visited in zip(vectors, chunks, strict=True):
        cosine = products(vector[None, :], chunk_index.vectors, visited.ids[None, :])[0]
        rankings.append(Ranked[Chunk].best(visited.ids, (visited.scores + cosine) / 2, top_k))
    return rankings


CHOOSING, JUDGING = "choose a follow-up question", "judge a passage"
REPLY_TOKENS = 8
"""The token limit of a reply, which is a number, "yes" or "no"."""
LEAST_COSINE = 0.7
"""Without a model, a passage with a higher cosine is helpful, as in the authors' code a6e425b."""
NONE = -1
"""The choice of no relationship."""


@operator("node.hops.nearest", requires={"relationship.description"})
def hops_nearest(
    question: Question,
    relationships: Ranked[Relationship],
    *,
    graph: Graph,
    relationship_index: VectorIndex,
    embedder: Embedder,
    n_hops: PositiveInt = 4,
    width: PositiveInt = 20,
) -> Ranked[Node]:
    """Follow the relationships most similar to the question, and rank nodes by number of visits.

    The hops start at the first `width` distinct targets of the given relationships. From each node
    that is visited for the first time, the next hop follows the outgoing relationship most similar
    to the question. There are at most `n_hops` hops. The score is the node's share of all visits.
    Source: HopRAG (Liu et al. 2025), traversal by similarity.
    """
    vector = embedder.encode([question.text], kind="question")

    def nearest(rows: IntArray) -> int:
        cosine = products(vector, relationship_index.vectors, rows[None, :])[0]
        return int(rows[best_first(cosine, rows)[0]])

    return _follow(relationships, graph, n_hops, width, lambda rows: list(map(nearest, rows)))


@operator(
    "node.hops.llm", requires={"relationship.description"},
    calls=lambda settings: int(settings["n_hops"] * settings["width"]),
    supplies={"question", "passage", "questions"},
)  # fmt: skip
def hops_llm(
    question: Question,
    relationships: Ranked[Relationship],
    *,
    graph: Graph,
    llm: ChatModel,
    prompt: Prompt = Prompt("methods:hoprag/prompts/next_question.j2"),
    n_hops: PositiveInt = 4,
    width: PositiveInt = 20,
) -> Ranked[Node]:
    """Follow relationships that the language model chooses, and rank nodes by number of visits.

    This is `node.hops.nearest`, except that the model chooses at most one of the outgoing
    relationships of a node. There is one call for each node that is visited for the first time, and
    at most `width` calls per hop. If the reply has no valid number, no relationship is followed,
    which counts as a fallback.
    Source: HopRAG (Liu et al. 2025), retrieve, reason, prune.
    """

    def chat(rows: IntArray) -> Chat:
        here = int(graph.source[rows[0]])
        passage = graph.descriptions[here] if graph.descriptions else graph.names[here]
        questions = graph.facts.take(rows) if graph.facts else []
        values = {"question": question.text, "passage": passage, "questions": questions}
        return prompt.render(values)

    def row(number: str, rows: IntArray) -> int:
        if int(number) > len(rows):
            raise UnreadableReply(CHOOSING, number)
        return int(rows[int(number) - 1]) if int(number) else NONE

    def choose(choices: Sequence[IntArray]) -> list[int]:
        return ask_about(
            llm, choices, chat, _first_match(r"\d+", CHOOSING), row,
            fallback=lambda _: NONE, max_tokens=REPLY_TOKENS, retry=False,
        )  # fmt: skip

    return _follow(relationships, graph, n_hops, width, choose)


def _follow(
    relationships: Ranked[Relationship], graph: Graph, n_hops: int, width: int,
    choose: Callable[[Sequence[IntArray]], list[int]],
) -> Ranked[Node]:  # fmt: skip
    """Rank passages by visits. `choose` picks a relationship from each passage, or `NONE`."""
    new = list(unique(graph.target[relationships.ids].tolist())[:width])
    visits = Counter(new)
    out = graph.out_neighbours
    for _ in range(n_hops):
        outgoing = (out.rows[out.starts[node] : out.starts[node + 1]] for node in new)
        choices = [rows.astype(np.int64) for rows in outgoing if len(rows)]
        rows = choose(choices) if choices else []
        reached = [int(graph.target[row]) for row in rows if row != NONE]
        new = [node for node in unique(reached) if node not in visits]
        visits.update(reached)
    n_visits = np.array(list(visits.values()), np.float64)
    return Ranked.best(np.array(list(visits), np.int64), n_visits / n_visits.sum())


def _first_match(pattern: str, purpose: str) -> ReplyFormat[str]:
    def read(text: str, cut: bool) -> str:
        if (match := re.search(pattern, text.lower())) is None:
            raise UnreadableReply(purpose, text)
        return match[0]

    return ReplyFormat(purpose, read)


@operator("node.judged.nearest", order="the order of the relationships")
def judged_nearest(
    question: Question,
    mentions: Mentions,
    relationships: Ranked[Relationship],
    *,
    graph: Graph,
    pseudo_questions: PseudoQuestions,
    chunk_index: VectorIndex,
    embedder: Embedder,
    n_hops: PositiveInt = 4,
    width: PositiveInt = 20,
) -> Ranked[Node]:
    """Visit passages in hops and rank the visited passages. A cosine above 0.7 counts as helpful.

    This is `node.judged.llm`, except that the cosine of chunk and question replaces the model.
    Source: HopRAG (Liu et al. 2025), authors' code a6e425b, `bfs_sim_node`.
    """
    vector = embedder.encode([question.text], kind="question")

    def judge(nodes: list[int]) -> list[bool]:
        chunks = (row_ids(graph.node_chunk, node)[None, :] for node in nodes)
        near = (products(vector, chunk_index.vectors, rows) for rows in chunks)
        return [bool((cosine > LEAST_COSINE).any()) for cosine in near]

    return _count_visits(mentions, relationships, graph, pseudo_questions, n_hops, width, judge)


@operator(
    "node.judged.llm", order="the order of the relationships", requires={"node.description"},
    calls=lambda settings: int(settings["width"] * (2 * settings["n_hops"] - 1)),
    supplies={"question", "passage"},
)  # fmt: skip
def judged_llm(
    question: Question,
    mentions: Mentions,
    relationships: Ranked[Relationship],
    *,
    graph: Graph,
    pseudo_questions: PseudoQuestions,
    llm: ChatModel,
    prompt: Prompt = Prompt("methods:hoprag/prompts/helpful.j2"),
    n_hops: PositiveInt = 4,
    width: PositiveInt = 20,
) -> Ranked[Node]:
    """Visit passages in hops and rank the visited passages. A language model judges each passage.

    The first hop visits the first `width` distinct targets of the given relationships. If there are
    n targets, the first starts with n visits, the second with n - 1, and so on. At each hop, the
    model judges the passages that it has not judged before. Every passage of the hop gains a visit.
    The next hop visits the first 2 * `width` neighbours of the passages of this hop, along edges in
    both directions. The search ends after `n_hops` hops, or after a hop without a new passage.
    The score is the Jaccard index (0..1) of the names in the question and in the passage's
    pseudo-questions. If the passage is helpful, its visits are added. A reply that is neither yes
    nor no counts as no, and also as a fallback.
    Source: HopRAG (Liu et al. 2025), authors' code a6e425b, `HopRetriever.py`, lines 439-467.
    """

    def judge(nodes: list[int]) -> list[bool]:
        assert graph.descriptions is not None
        values = [{"question": question.text, "passage": graph.descriptions[row]} for row in nodes]
        verdict = _first_match(r"\b(yes|no)\b", JUDGING)
        return ask_about(
            llm, values, prompt.render, verdict, lambda word, _: word == "yes",
            fallback=lambda _: False, max_tokens=REPLY_TOKENS, retry=False,
        )  # fmt: skip

    return _count_visits(mentions, relationships, graph, pseudo_questions, n_hops, width, judge)


def _count_visits(
    mentions: Mentions, relationships: Ranked[Relationship], graph: Graph,
    questions: PseudoQuestions, n_hops: int, width: int, judge: Callable[[list[int]], list[bool]],
) -> Ranked[Node]:  # fmt: skip
    here = unique(graph.target[relationships.ids].tolist())[:width]
    visits = Counter({node: len(here) - place for place, node in enumerate(here)})
    helps: dict[int, bool] = {}
    for _ in range(n_hops):
        new = [node for node in here if node not in helps]
        helps |= zip(new, judge(new) if new else (), strict=True)
        visits.update(here)
        if not new:
            break
        near = [row_ids(graph.adjacency, node).tolist() for node in here]
        here = unique([other for some in near for other in some])[: 2 * width]
    named = [questions.names_of(row_ids(graph.node_chunk, node)) for node in helps]
    visited = [visits[node] if helpful else 0 for node, helpful in helps.items()]
    return Ranked.best(np.array(list(helps), np.int64), _overlap(named, mentions) + visited)
