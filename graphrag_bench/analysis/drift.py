"""How far what was built or found over one version of a corpus is from that over another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from graphrag_bench.graph.communities import Communities, Reports
from graphrag_bench.graph.graph import Graph

Members = frozenset[str]


def members(graph: Graph, communities: Communities) -> list[Members]:
    """The names of the members of each community, by row."""
    names = list(graph.names)
    held = communities.nodes
    starts = zip(held.indptr, held.indptr[1:], strict=False)
    return [frozenset(names[node] for node in held.indices[start:end]) for start, end in starts]


def share_kept(before: Iterable[object], after: Iterable[object]) -> float:
    """The share of what was there before, each distinct one once, that is there after; 0..1.

    1 where nothing was there before.
    """
    first = dict.fromkeys(before)
    kept = first.keys() & set(after)
    return len(kept) / len(first) if first else 1.0


def reports_kept(before: Reports, after: Reports) -> float:
    """The share of the reports before, title and text, that are there after, word for word."""
    return share_kept(
        zip(before.titles, before.texts, strict=True), zip(after.titles, after.texts, strict=True)
    )


def jaccard(before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> float:
    """The mean over the questions of both of what both lists hold by what either holds; 0..1.

    Two empty lists are the same. Raises ValueError where no question is in both.
    """
    shares = []
    for question in before.keys() & after.keys():
        first, second = frozenset(before[question]), frozenset(after[question])
        either = len(first | second)
        shares.append(len(first & second) / either if either else 1.0)
    if not shares:
        raise ValueError("no question is in both runs")
    return fmean(shares)
