"""HopRAG's released traversal: passages judged one by one, all their neighbours visited next."""

import re
from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.algorithms.bipartite import PseudoQuestions
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.indices.vector_index import VectorIndex, products
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ReplyFormat, ask_each, settled
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import Mentions, Node, Question, Ranked, Relationship, best_of, unique
from methods.hoprag.hops import jaccard, names_of

HELPFUL = Prompt("methods:hoprag/prompts/helpful.j2")
PURPOSE = "judge a passage"
Judge = Callable[[Sequence[int]], Sequence[bool]]
"""Whether each of some passages helps to answer the question."""


@operator("node.judged.nearest", unordered="the order of the relationships")
def nearest(
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
    least: Annotated[float, Field(ge=-1, le=1)] = 0.7,
) -> Ranked[Node]:
    """As `node.judged.llm`, where passages whose cosine with the question is above `least` help.

    A passage is the chunk that a node is in. No language model is asked.
    Source: HopRAG (Liu et al. 2025), released code a6e425b: its traversal, with the judge by
    similarity of its traversal `bfs_sim_node`.
    """
    vector = embedder.encode([question.text], kind="question")

    def judge(nodes: Sequence[int]) -> Sequence[bool]:
        chunks = (row_ids(graph.node_chunk, node) for node in nodes)
        near = (products(vector, chunk_index.vectors, rows[None, :])[0] for rows in chunks)
        return [bool((cosine > least).any()) for cosine in near]

    return _counted(mentions, relationships, graph, pseudo_questions, n_hops, width, judge)


@operator(
    "node.judged.llm",
    unordered="the order of the relationships",
    requires={"node.description"},
    calls=lambda settings: int(settings["width"] * (2 * settings["n_hops"] - 1)),
    supplies={"question", "passage"},
)
def judged(
    question: Question,
    mentions: Mentions,
    relationships: Ranked[Relationship],
    *,
    graph: Graph,
    pseudo_questions: PseudoQuestions,
    llm: ChatModel,
    prompt: Prompt = HELPFUL,
    n_hops: PositiveInt = 4,
    width: PositiveInt = 20,
    max_tokens: PositiveInt = 8,
) -> Ranked[Node]:
    """The passages that are visited from the ends of the relationships, the helpful ones first.

    The first `width` different ends begin, and count `width`, `width` - 1, ... visits (from how
    many they are). At each hop the model judges the passages that are new, all at once; each
    passage counts one visit more where it helps, and one less where not; then all that it is
    joined to, either way, are visited, the first 2 `width` of them. After `n_hops` hops, or one
    without a new passage, it ends. Score: the Jaccard index of the names in the question and in the
    passage's pseudo-questions, 0..1, with the count added where the passage helps; ties by lower
    id. A reply that is neither yes nor no takes the passage not to help, and counts as a fallback.
    Raises CallFailed when the model gives no reply.
    Source: HopRAG (Liu et al. 2025), released code a6e425b (`HopRetriever.py`, lines 439-467).
    """

    def judge(nodes: Sequence[int]) -> Sequence[bool]:
        assert graph.descriptions is not None
        shown = [{"question": question.text, "passage": graph.descriptions[row]} for row in nodes]
        chats = [prompt.render(one) for one in shown]
        replies = ask_each(
            llm, chats, ReplyFormat(PURPOSE, _yes), max_tokens=max_tokens, retry=False
        )
        return [
            settled(llm, reply, False if isinstance(reply, UnreadableReply) else None)
            for reply in replies
        ]

    return _counted(mentions, relationships, graph, pseudo_questions, n_hops, width, judge)


def _counted(
    mentions: Mentions,
    relationships: Ranked[Relationship],
    graph: Graph,
    questions: PseudoQuestions,
    n_hops: int,
    width: int,
    judge: Judge,
) -> Ranked[Node]:
    here = unique(graph.target[relationships.ids].tolist())[:width]
    visits = {node: len(here) - place for place, node in enumerate(here)}
    helps: dict[int, bool] = {}
    for _ in range(n_hops):
        new = [node for node in here if node not in helps]
        if new:
            helps |= zip(new, judge(new), strict=True)
        for node in here:
            visits[node] = visits.get(node, 0) + (1 if helps[node] else -1)
        if not new:
            break
        near = [row_ids(graph.adjacency, node).tolist() for node in here]
        here = unique([other for some in near for other in some])[: 2 * width]
    wanted = names_of(mentions)
    scores = {
        node: jaccard(questions.names_of(row_ids(graph.node_chunk, node)), wanted)
        + (visits[node] if helpful else 0)
        for node, helpful in helps.items()
    }
    ids = np.array(list(scores), np.int64)
    return best_of(ids, np.array(list(scores.values())), len(ids))


def _yes(text: str, cut: bool) -> bool:
    if (word := re.search(r"\b(yes|no)\b", text.lower())) is None:
        raise UnreadableReply(PURPOSE, text)
    return word[0] == "yes"
