"""`graphrag-bench artifacts sources`: where a node, a relationship or a report comes from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.graph.communities import Communities, Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline import sharing
from graphrag_bench.offline.manifest import verify
from graphrag_bench.offline.sources import (
    documents,
    node_sources,
    relationship_sources,
)
from graphrag_bench.offline.store import loaded
from graphrag_bench.report.rendering import Table
from graphrag_bench.text import short

_MOST = 20
"""Documents that are named in a row; the others are counted."""


def sources_table(folder: Path, key: str, name: str) -> Table:
    """A row for the node or report of that name, and one for each relationship of the node.

    Raises UserError for another artifact, and for a name that it does not have, with the nearest.
    """
    load_plugins(["operators", "methods"])
    one = sharing.find(folder, key)
    items = sharing.with_inputs(folder, one)
    if one.resource not in ("graph", "reports"):
        raise UserError(f"{one.key} is a {one.resource}; a graph or reports were expected.")
    for item in items:
        verify(item.folder)
    chunks = loaded(ChunkTable, sharing.one_of(items, "chunk_table").folder)
    if one.resource == "reports":
        made = loaded(Reports, one.folder)
        communities = loaded(Communities, sharing.one_of(items, "communities").folder)
        rows = list(_reports(made, communities, chunks, name))
    else:
        rows = list(_node(loaded(Graph, one.folder), chunks, name))
    heads = ("what", "documents", "from")
    return Table(f"{one.place}: {name}", heads, tuple(rows), (), texts=("what", "from"))


def _node(graph: Graph, chunks: ChunkTable, name: str) -> Iterator[tuple[str, str, str]]:
    names = list(graph.names)
    row = _row(name, names, "node")
    yield ("node", *_told(documents(node_sources(graph), row, chunks)))
    from_chunks = relationship_sources(graph)
    for place in np.flatnonzero((graph.source == row) | (graph.target == row)).tolist():
        ends = names[int(graph.source[place])], names[int(graph.target[place])]
        what = short(f"{ends[0]} - {graph.relations[place]} - {ends[1]}", 80)
        yield (what, *_told(documents(from_chunks, place, chunks)))


def _reports(
    reports: Reports, communities: Communities, chunks: ChunkTable, name: str
) -> Iterator[tuple[str, str, str]]:
    row = _row(name, list(reports.titles), "report")
    yield ("report", *_told(documents(communities.chunks, row, chunks)))


def _row(name: str, names: list[str], what: str) -> int:
    if name not in names:
        raise UserError(f"There is no {what} '{name}'. {did_you_mean(name, names[:20000])}")
    return names.index(name)


def _told(found: list[str]) -> tuple[str, str]:
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return str(len(found)), ", ".join(found[:_MOST]) + more
