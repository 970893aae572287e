"""KGP: ask a language model for missing evidence, and visit the neighbours that match the reply."""

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.indices.words import Tfidf
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import Node, Question, Ranked


@operator(
    "node.evidence_walk", calls=lambda settings: settings["n_seeds"],
    supplies={"question", "passage"}, order="each seed followed by the neighbours found for it",
)  # fmt: skip
def evidence_walk(
    question: Question,
    nodes: Ranked[Node],
    *,
    graph: Graph,
    tfidf: Tfidf,
    llm: ChatModel,
    prompt: Prompt = Prompt("methods:kgp/prompts/next_evidence.j2"),
    n_seeds: PositiveInt = 10,
    n_neighbours: PositiveInt = 3,
) -> Ranked[Node]:
    """Ask a language model for missing evidence, and add matching neighbours to the given nodes.

    For each of the first `n_seeds` given nodes, one call asks the language model which evidence is
    still missing. The unvisited neighbours of the node are ranked by TF-IDF similarity to the
    question and the reply. Up to `n_neighbours` neighbours with a similarity above 0 are returned
    after the node. The score of a neighbour is this similarity, and a given node keeps its score.
    Source: KGP (Wang et al. 2024), Section 4; Zhou et al. (2025), Section 6.1 and Table 3.
    """
    seeds = nodes.head(n_seeds)
    passages = [graph.descriptions[row] if graph.descriptions else "" for row, _ in seeds.items()]
    chats = [prompt.render({"question": question.text, "passage": text}) for text in passages]
    replies = llm.complete(chats, max_tokens=64)
    visited: dict[int, float] = {}
    for (seed, score), reply in zip(seeds.items(), replies, strict=True):
        if isinstance(reply, CallFailed):
            raise reply
        visited.setdefault(seed, score)
        scores = tfidf.scores(f"{question.text}\n{reply.text}")
        near = np.setdiff1d(row_ids(graph.adjacency, seed), list(visited))
        best = Ranked[Node].top(scores, n_neighbours, among=near[scores[near] > 0])
        visited.update(best.items())
    return Ranked.of(visited)
