"""The tables that a report on a community is written from, within a budget of tokens."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from graphrag_bench.offline.told import Told
from graphrag_bench.text import count_tokens
from graphrag_bench.values import IntArray

_HEADS = {
    "Reports": "id,report,rating,importance",
    "Entities": "id,entity,type,description,degree",
    "Relationships": "id,source,target,description,rank",
}


@dataclass(frozen=True, eq=False)
class Part:
    """A report on a part of a community; `occurrence` is 0..1, `nodes` its members.

    The occurrence is the share of the community's chunks that the part is in.
    """

    text: str
    rating: float
    occurrence: float
    nodes: IntArray


def report_tables(told: Told, community: int, parts: Sequence[Part], budget: int) -> str:
    """Entities by degree and relationships by rank, half of the budget each; ties by name.

    Where that cuts rows off and there are reports on parts, those come first, the largest
    occurrence first (ties by text), as many as fit; entities and relationships that they do not
    cover go before the others and share what is left. Rows are cut at their boundaries. The tables
    are told by the members alone: the same ones give the same text wherever their rows are.
    Source: GraphRAG (Edge et al. 2024), section 3.1.5, as nano-graphrag packs it.
    Deviation: nano-graphrag numbers reports by community and divides occurrence by the largest of
    all communities, and a rank counts the neighbours of ends outside the community too; each of
    these would change with what the community does not hold.
    """
    nodes, rows = told.members(community), told.relationships(community)
    entities, relationships = _tables(told, community, nodes, rows, budget)
    reports: list[str] = []
    if parts and (len(entities) < len(nodes) or len(relationships) < len(rows)):
        ordered = sorted(parts, key=lambda part: (-part.occurrence, part.text))
        reports = _fitting(
            (
                _line(position, part.text, part.rating, round(part.occurrence, 3))
                for position, part in enumerate(ordered)
            ),
            budget,
        )
        covered = np.zeros(told.graph.n_nodes, bool)
        for part in ordered[: len(reports)]:
            covered[part.nodes] = True
        ends = covered[told.graph.source[rows]] & covered[told.graph.target[rows]]
        nodes = nodes[np.argsort(covered[nodes], kind="stable")]
        rows = rows[np.argsort(ends, kind="stable")]
        left = max(budget - sum(map(count_tokens, reports)), 0)
        entities, relationships = _tables(told, community, nodes, rows, left)
    tables = {"Reports": reports, "Entities": entities, "Relationships": relationships}
    shown = (
        f"-----{name}-----\n{_HEADS[name]}\n" + "\n".join(lines)
        for name, lines in tables.items()
        if lines
    )
    return "\n\n".join(shown)


def _tables(
    told: Told, community: int, nodes: IntArray, rows: IntArray, budget: int
) -> tuple[list[str], list[str]]:
    half = budget // 2
    relationships = _relationships(told, rows, told.rank(community, rows))
    return _fitting(_entities(told, nodes), half), _fitting(relationships, half)


def _entities(told: Told, nodes: IntArray) -> Iterator[str]:
    graph = told.graph
    for position, node in enumerate(map(int, nodes)):
        kind = graph.types[node] if graph.types else ""
        degree = int(graph.degree[node])
        yield _line(position, graph.names[node], kind, told.description(node), degree)


def _relationships(told: Told, rows: IntArray, rank: IntArray) -> Iterator[str]:
    graph = told.graph
    for position, row in enumerate(map(int, rows)):
        head, tail = (graph.names[int(ends[row])] for ends in (graph.source, graph.target))
        yield _line(position, head, tail, told.fact(row), int(rank[position]))


def _line(*cells: object) -> str:
    held = io.StringIO()
    flat = [" ".join(cell.split()) if isinstance(cell, str) else cell for cell in cells]
    csv.writer(held, lineterminator="").writerow(flat)
    return held.getvalue()


def _fitting(lines: Iterable[str], budget: int) -> list[str]:
    kept, left = [], budget
    for line in lines:
        left -= count_tokens(line) + 1
        if left < 0:
            break
        kept.append(line)
    return kept
