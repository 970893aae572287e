"""The tables that a report on a community is written from, within a budget of tokens."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from graphrag_bench.offline.reports import Told
from graphrag_bench.text import count_tokens, fit

_HEADS = {
    "Reports": "id,report,rating,importance",
    "Entities": "id,entity,type,description,degree",
    "Relationships": "id,source,target,description,rank",
}


@dataclass(frozen=True)
class Part:
    """A report on a part of a community; `occurrence` is 0..1, `nodes` its members."""

    id: int
    text: str
    rating: float
    occurrence: float
    nodes: frozenset[int]


def report_tables(told: Told, community: int, parts: Sequence[Part], budget: int) -> str:
    """Entities by degree and relationships by rank, half of the budget each; ties by name.

    Where that cuts rows off and there are reports on parts, those come first, the largest
    occurrence first (ties by id), as many as fit; entities and relationships that they do not cover
    go before the others and share what is left. Rows are cut at their boundaries.
    Source: GraphRAG (Edge et al. 2024), section 3.1.5, as nano-graphrag packs it.
    """
    nodes, rows = told.members(community), told.relationships(community)
    entities, relationships = _entities(told, nodes), _relationships(told, rows)
    half = budget // 2
    n_kept, m_kept = _fitting(entities, half), _fitting(relationships, half)
    reports: list[str] = []
    if parts and (n_kept < len(entities) or m_kept < len(relationships)):
        ordered = sorted(parts, key=lambda part: (-part.occurrence, part.id))
        lines = [_line(p.id, p.text, p.rating, round(p.occurrence, 3)) for p in ordered]
        reports = lines[: _fitting(lines, budget)]
        covered = frozenset[int]().union(*(part.nodes for part in ordered[: len(reports)]))
        nodes = sorted(nodes, key=lambda node: node in covered)  # stable: the order inside stays
        rows = sorted(rows, key=lambda row: _ends(told, row) <= covered)
        entities, relationships = _entities(told, nodes), _relationships(told, rows)
        half = max(budget - sum(map(count_tokens, reports)), 0) // 2
        n_kept, m_kept = _fitting(entities, half), _fitting(relationships, half)
    tables = {
        "Reports": reports,
        "Entities": entities[:n_kept],
        "Relationships": relationships[:m_kept],
    }
    shown = (
        f"-----{name}-----\n{_HEADS[name]}\n" + "\n".join(lines)
        for name, lines in tables.items()
        if lines
    )
    return "\n\n".join(shown)


def _ends(told: Told, row: int) -> frozenset[int]:
    return frozenset((int(told.graph.source[row]), int(told.graph.target[row])))


def _entities(told: Told, nodes: Sequence[int]) -> list[str]:
    types = told.graph.types
    degree = told.graph.degree
    return [
        _line(
            position,
            told.names[node],
            types[node] if types else "",
            told.descriptions[node],
            int(degree[node]),
        )
        for position, node in enumerate(nodes)
    ]


def _relationships(told: Told, rows: Sequence[int]) -> list[str]:
    return [
        _line(
            position,
            told.names[int(told.graph.source[row])],
            told.names[int(told.graph.target[row])],
            told.facts[row],
            int(told.rank[row]),
        )
        for position, row in enumerate(rows)
    ]


def _line(*cells: object) -> str:
    """One CSV row without its line end; line breaks in cells become spaces."""
    held = io.StringIO()
    flat = [" ".join(cell.split()) if isinstance(cell, str) else cell for cell in cells]
    csv.writer(held, lineterminator="").writerow(flat)
    return held.getvalue()


def _fitting(lines: Sequence[str], budget: int) -> int:
    return fit([count_tokens(line) + 1 for line in lines], budget)
