"""The tables that a report on a community is written from, within a budget of tokens."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from graphrag_bench.offline.community_contents import Contents
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


def report_tables(contents: Contents, community: int, parts: Sequence[Part], budget: int) -> str:
    """Entities by degree and relationships by rank, half of the budget each; ties by name.

    Where that cuts rows off and there are reports on parts, those come first, the largest
    occurrence first (ties by text), as many as fit; entities and relationships that they do not
    cover go before the others and share what is left. Rows are cut at their boundaries. The tables
    depend on the members alone: the same ones give the same text wherever their rows are.
    Source: GraphRAG (Edge et al. 2024), section 3.1.5, as nano-graphrag packs it.
    Deviation: nano-graphrag numbers reports by community and divides occurrence by the largest of
    all communities, and a rank counts the neighbours of ends outside the community too; each of
    these would change with what the community does not hold.
    """
    nodes, rows = contents.members(community), contents.relationships(community)
    members = set(nodes)

    def tables(room: int) -> tuple[list[str], list[str]]:
        entities, relationships = _entities(contents, nodes), _rows(contents, rows, members)
        return _fitting(entities, room // 2), _fitting(relationships, room // 2)

    entities, relationships = tables(budget)
    reports: list[str] = []
    if parts and (len(entities) < len(nodes) or len(relationships) < len(rows)):
        ordered = sorted(parts, key=lambda part: (-part.occurrence, part.text))
        lines = (
            _line(place, part.text, part.rating, round(part.occurrence, 3))
            for place, part in enumerate(ordered)
        )
        reports = _fitting(lines, budget)
        covered = {node for part in ordered[: len(reports)] for node in part.nodes.tolist()}
        nodes.sort(key=covered.__contains__)
        rows.sort(key=lambda row: covered.issuperset(contents.ends[row]))
        entities, relationships = tables(max(budget - sum(map(count_tokens, reports)), 0))
    named = {"Reports": reports, "Entities": entities, "Relationships": relationships}
    shown = (
        f"-----{name}-----\n{_HEADS[name]}\n" + "\n".join(lines)
        for name, lines in named.items()
        if lines
    )
    return "\n\n".join(shown)


def _entities(contents: Contents, nodes: Sequence[int]) -> Iterator[str]:
    types = contents.graph.types
    for place, node in enumerate(nodes):
        yield _line(
            place, contents.names[node], types[node] if types else "",
            contents.descriptions[node], contents.degree[node],
        )  # fmt: skip


def _rows(contents: Contents, rows: Sequence[int], members: set[int]) -> Iterator[str]:
    for place, row in enumerate(rows):
        head, tail = (contents.names[end] for end in contents.ends[row])
        yield _line(place, head, tail, contents.facts[row], contents.rank(row, members))


def _line(*cells: object) -> str:
    text = io.StringIO()
    flat = [" ".join(cell.split()) if isinstance(cell, str) else cell for cell in cells]
    csv.writer(text, lineterminator="").writerow(flat)
    return text.getvalue()


def _fitting(lines: Iterable[str], budget: int) -> list[str]:
    kept, left = [], budget
    for line in lines:
        left -= count_tokens(line) + 1
        if left < 0:
            break
        kept.append(line)
    return kept
