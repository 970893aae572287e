"""Path pooling: rerank relationships by the scores of the paths that contain them."""

from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import operator
from graphrag_bench.values import Node, Ranked, Relationship, best_first, best_score_by_id


def _not_zero(a: float) -> float:
    if not a:
        raise ValueError("must not be 0")
    return a


@operator("path.pool", order="pooled score, lowest first; lost_in_middle: highest at both ends")
def pool(
    relationships: Ranked[Relationship],
    entities: Ranked[Node],
    *,
    graph: Graph,
    search: Literal["dijkstra", "bfs", "random_walk"] = "dijkstra",
    pooling: Literal["mean", "max"] = "mean",
    a: Annotated[float, AfterValidator(_not_zero)] = 1.0,
    sources: Literal["set", "per_entity"] = "set",
    mode: Literal["rerank", "reselect"] = "rerank",
    order: Literal["recency", "lost_in_middle", "best_first"] = "recency",
    scores: Literal["as_given", "cosine"] = "as_given",
    coarse_k: PositiveInt = 500,
    top_k: PositiveInt | None = None,
    seed: int = 0,
) -> Ranked[Relationship]:
    """Rerank relationships by scores pooled over the paths that start at entities of the question.

    Paths consist of given relationships and follow their direction. The base score of a
    relationship is its given score. With `scores="cosine"`, it is (1 + score) / 2. Negative scores
    count as 0. If a relationship is given twice, its best score counts.
    `algorithms.path_pooling.pool_scores` computes the pooled scores from the base scores.
    `mode="rerank"` keeps the `top_k` relationships with the best base scores and sorts them by
    pooled score. `mode="reselect"` pools the scores of the `coarse_k` relationships with the best
    base scores, then keeps the `top_k` with the best pooled scores. Ties are broken by base score,
    then by lower id. The best relationships come last with `order="recency"`, first with
    `order="best_first"`, and at both ends with `order="lost_in_middle"` (1 3 5 4 2).
    Source: path pooling (Wang et al. 2025), Sections 3.3, 3.4 and 4.3.
    """
    from graphrag_bench.algorithms.path_pooling import pool_scores, prompt_order

    base = relationships.scores if scores == "as_given" else (1 + relationships.scores) / 2
    rows, base = best_score_by_id(relationships.ids, base, least=0.0)
    most = best_first(base)[: coarse_k if mode == "reselect" else top_k]
    rows, base = rows[most], base[most]
    pooled_scores = pool_scores(
        graph.source[rows], graph.target[rows], base, entities.ids, search=search, a=a,
        pooling=pooling, sources=sources, rng=np.random.default_rng(seed),
    )  # fmt: skip
    places = prompt_order(best_first(pooled_scores)[:top_k], order)
    return Ranked(rows[places], pooled_scores[places])
