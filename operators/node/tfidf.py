"""Nodes by TF-IDF."""

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.indices.tfidf import Tfidf
from graphrag_bench.values import Node, Query, Question, Ranked


@operator("node.tfidf", table3="TF-IDF")
def tfidf(
    question: Question,
    query: Query | None = None,
    nodes: Ranked[Node] | None = None,
    *,
    tfidf: Tfidf,
    top_k: PositiveInt = 4,
) -> Ranked[Node]:
    """The nodes whose texts share the rarest words with the question, or with a query used instead.

    Score: cosine of TF-IDF vectors, 0..1; of several query texts the best one counts. A step that
    uses `nodes` ranks those alone. Nodes that share no word are left out. Ties by lower id.
    Source: Zhou et al. 2025, section 6.1, node "TF-IDF"; KGP (Wang et al. 2024), section 3.
    """
    texts = (question.text,) if query is None else query.texts
    if not texts:
        return Ranked.empty()
    scores = np.max([tfidf.scores(text) for text in texts], axis=0)
    candidates = np.arange(len(scores)) if nodes is None else nodes.ids
    return Ranked.top(scores, top_k, among=candidates[scores[candidates] > 0])
