"""Merge several values of a slot into one value, and split a value into its items.

A slot is a named value that the steps of a pipeline exchange, e.g. the ranked nodes.
"""

from collections.abc import Sequence
from dataclasses import fields
from itertools import chain, zip_longest
from typing import Any, Literal

import numpy as np

from graphrag_bench.algorithms.path_values import Exploration, RankedPaths
from graphrag_bench.arrays import unique
from graphrag_bench.pipeline.steps import Failure, Outcome
from graphrag_bench.values import (
    Keywords,
    Mentions,
    Query,
    Ranked,
    RetrievalState,
    RowScores,
    Subgraph,
    interleave,
)

Rule = Literal["interleave", "reciprocal_rank_fusion", "sum", "sum_of_normalised", "union", "max"]
MERGEABLE = {
    "nodes", "relationships", "chunks", "communities",
    "node_scores", "relationship_scores", "chunk_scores", "mentions", "query", "keywords",
    "subgraph", "exploration", "paths",
}  # fmt: skip
SPLITTABLE = {"nodes", "relationships", "chunks", "communities", "mentions", "query"}
_RRF_K = 60


def merged_state(start: RetrievalState, outcomes: Sequence[Outcome], rule: str) -> Outcome:
    """Merge the values that the outcomes wrote since `start`, or return the first failure.

    A slot whose values cannot be merged gets the last value.
    """
    values: dict[str, list[Any]] = {}
    for outcome in outcomes:
        if isinstance(outcome, Failure):
            return outcome
        for slot in outcome:
            if outcome.get(slot) is not start.get(slot):
                values.setdefault(slot, []).append(outcome.get(slot))
    pairs = values.items()
    return start.write({s: merge(v, rule) if s in MERGEABLE else v[-1] for s, v in pairs})


def merge(values: Sequence[Any], rule: str) -> Any:
    """Merge values of the same type into one value. Raises TypeError if the type cannot be merged.

    Names, texts, subgraphs and paths are joined without duplicates. Explorations are joined round
    by round. Score vectors are added under the rule `sum`, and their maximum is used under the rule
    `max`. Under all other rules, the vectors are divided by their sums and then added. Rankings are
    merged by one of the following rules. Ties are broken by the lower id.

    * `interleave`: The first rows of all lists come first, then the second rows, and so on. A row
      keeps the score of its first occurrence.
    * `union`: Rows are in order of first appearance.
    * `reciprocal_rank_fusion`: Rows are sorted by the sum of 1 / (60 + rank) (Cormack et al. 2009).
    * `sum` and `max`: Rows are sorted by the sum or the maximum of their scores.
    * `sum_of_normalised`: Scores are divided by the sum of all scores in the same list. Rows are
      sorted by the sum of the results.

    >>> left, right = Ranked([7, 3], [0.9, 0.6]), Ranked([3, 9], [0.8, 0.2])
    >>> merge([left, right], "interleave").items()
    [(7, 0.9), (3, 0.8), (9, 0.2)]
    >>> merge([left, right], "sum").items()
    [(3, 1.4), (7, 0.9), (9, 0.2)]
    """
    first, *others = values
    if not others:
        return first
    if isinstance(first, Ranked):
        return _merged_rankings(values, rule)
    if isinstance(first, RowScores):
        vectors = [value.values for value in values]
        if rule == "max":
            return type(first)(np.max(vectors, axis=0))
        return type(first)(sum(vectors if rule == "sum" else map(_normalised, vectors)))
    if isinstance(first, Mentions | Query | Keywords | Subgraph | RankedPaths):
        return type(first)(*(_union(values, one.name) for one in fields(first)))
    if isinstance(first, Exploration):
        rounds = zip_longest(*(value.rounds for value in values), fillvalue=())
        hops = (unique(list(chain(*parts))) for parts in rounds)
        return Exploration(_union(values, "chosen"), tuple(hops))
    raise TypeError(f"{type(first).__name__} cannot be merged")


def _union(values: Sequence[Any], part: str) -> tuple[Any, ...]:
    return unique([item for value in values for item in getattr(value, part)])


def _normalised(scores: Any) -> Any:
    clipped = np.clip(scores, 0.0, None)
    total = clipped.sum()
    return clipped / total if total > 0 else clipped


def _merged_rankings(values: Sequence[Ranked[Any]], rule: str) -> Ranked[Any]:
    if rule == "interleave":
        return interleave(values)
    scores = [value.scores for value in values]
    if rule == "sum_of_normalised":
        scores = list(map(_normalised, scores))
    elif rule == "reciprocal_rank_fusion":
        scores = [1.0 / (_RRF_K + 1 + np.arange(len(value))) for value in values]
    every = Ranked[Any](np.concatenate([one.ids for one in values]), np.concatenate(scores))
    if rule == "union":
        return every.distinct()
    rows, places = np.unique(every.ids, return_inverse=True)
    points = np.full(len(rows), -np.inf if rule == "max" else 0.0)
    (np.maximum if rule == "max" else np.add).at(points, places, every.scores)
    return Ranked.best(rows, points)


def empty(slot: str) -> Any:
    """Return the value of a slot that means "no items", or None if there is no such value."""
    if slot in ("nodes", "relationships", "chunks", "communities"):
        return Ranked.empty()
    return {"mentions": Mentions(()), "query": Query(()), "keywords": Keywords((), ())}.get(slot)


def split(value: Any) -> list[Any]:
    """Split a value into items of its own type. Raises TypeError for a type without items."""
    if isinstance(value, Ranked):
        return [value.take([place]) for place in range(len(value))]
    if isinstance(value, Mentions | Query):
        (texts,) = vars(value).values()
        return [type(value)((text,)) for text in texts]
    raise TypeError(f"{type(value).__name__} has no items")
