"""Import an index of Microsoft GraphRAG: text units, graph, communities and reports."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench.algorithms.communities import Communities, Reports
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.artifacts.importers import rows as imported
from graphrag_bench.artifacts.importers.rows import Chunks
from graphrag_bench.columns import Texts, incidence, row_ids
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.rows import parquet_objects
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.text_graph import TKG_ATTRIBUTES
from graphrag_bench.text import normalise_name, without_spaces

ParquetRow = Mapping[str, Any]


@artifact("chunk_table.msgraphrag")
def text_units(*, import_from: Path, corpus: Dataset) -> ChunkTable:
    """Import the text units of a Microsoft GraphRAG index as chunks, in order and without titles.

    Imported documents are matched to the corpus by text, ignoring spaces, or else by an id or title
    that equals the imported title. Without a match, the imported title becomes the document id.
    """
    units = read_parquet(import_from, "text_units", ("id", "text"))
    if all(unit.get("human_readable_id") is not None for unit in units):
        units = sorted(units, key=lambda unit: int(unit["human_readable_id"]))
    names: dict[str, str] = {}
    if (import_from / "documents.parquet").is_file():
        documents = corpus.documents[::-1]  # of several documents with the same text, the first
        by_text = {without_spaces(document.text): document.id for document in documents}
        by_title = {document.title: document.id for document in documents}
        by_title |= {document.id: document.id for document in documents}
        for row in read_parquet(import_from, "documents", ("id", "title")):
            title, text = _text(row["title"]), without_spaces(_text(row.get("text")))
            known = by_text.get(text) or by_title.get(title)
            names[str(row["id"])] = known or title or str(row["id"])
    rows = [
        (names.get(document, document), "", text)
        for unit in units
        for document in _list(unit.get("document_ids"))
        or [str(unit.get("document_id") or "unknown")]
        if (text := _text(unit["text"]).strip())
    ]
    if not rows:
        raise UserError(f"{import_from}/text_units.parquet: all text units are blank.")
    return ChunkTable.of(rows)


@artifact("graph.msgraphrag", provides=TKG_ATTRIBUTES)
def graph(*, import_from: Path, chunk_table: ChunkTable) -> Graph:
    """Import the graph of a Microsoft GraphRAG index, with types, descriptions and weights.

    Nodes and relationships keep their order. Entities with the same normalised name are merged.
    """
    chunks_of = _chunks_of_rows(import_from, chunk_table)
    nodes = [
        (_text(row["title"]), _text(row.get("type")).lower(), _text(row.get("description")),
         chunks_of(row))
        for row in read_parquet(import_from, "entities", ("id", "title"))
    ]  # fmt: skip
    table = import_from / "relationships.parquet"
    relationships = [
        imported.ImportedRelationship(
            _text(row["source"]), _text(row["target"]), description=_text(row.get("description")),
            weight=imported.weight_of(row.get("weight"), f"{table}, row {number}"),
            chunks=chunks_of(row),
        )
        for number, row in enumerate(read_parquet(import_from, table.stem, ("source", "target")), 1)
    ]  # fmt: skip
    return imported.imported_graph(import_from, nodes, relationships, chunk_table, ("described",))


@artifact("communities.msgraphrag")
def communities(*, import_from: Path, graph: Graph, chunk_table: ChunkTable) -> Communities:
    """Import the communities of a Microsoft GraphRAG index, sorted by level and number.

    If a community has no text unit that matches a chunk, the chunks of its nodes are used.
    Raises UserError if the graph contains none of the entities.
    """
    rows = _communities(import_from)
    entities = read_parquet(import_from, "entities", ("id", "title"))
    names = {str(row["id"]): normalise_name(_text(row["title"])) for row in entities}
    node_of = {one: graph.row_of[name] for one, name in names.items() if name in graph.row_of}
    members = [
        dict.fromkeys(node_of[one] for one in _list(row["entity_ids"]) if one in node_of)
        for row in rows
    ]
    if rows and not any(members):
        hint = "Set build.graph=msgraphrag."
        raise UserError(f"The graph contains none of the entities of {import_from}. {hint}")
    chunks_of = _chunks_of_rows(import_from, chunk_table)
    chunks = [
        chunks_of(row)
        or {chunk for node in nodes for chunk in row_ids(graph.node_chunk, node).tolist()}
        for row, nodes in zip(rows, members, strict=True)
    ]
    place = {int(row["community"]): number for number, row in enumerate(rows)}
    return Communities(
        level=np.array([int(row["level"]) for row in rows], np.int64),
        parent=np.array([place.get(row.get("parent", -1), -1) for row in rows], np.int64),
        nodes=incidence(members, graph.n_nodes),
        chunks=incidence(chunks, graph.n_chunks),
    )


@artifact("reports.msgraphrag")
def reports(*, import_from: Path, communities: Communities) -> Reports:
    """Import the community reports of a Microsoft GraphRAG index. The rank becomes the rating.

    A community without a report gets empty texts and the rating 0. Raises UserError if the run and
    the index have different numbers of communities.
    """
    rows = _communities(import_from)
    if len(rows) != len(communities):
        counts = f"reports of {len(rows)} communities, but the run has {len(communities)}"
        raise UserError(f"{import_from} has {counts}. Set build.communities=msgraphrag.")
    table = read_parquet(import_from, "community_reports", ("community", "full_content"))
    by_community = {int(row["community"]): row for row in table}
    reports = [by_community.get(int(row["community"]), {}) for row in rows]
    return Reports(
        Texts.of([_text(row.get("title")) for row in reports]),
        Texts.of([_text(row.get("full_content")) for row in reports]),
        np.array([float(row.get("rank") or 0.0) for row in reports], np.float64),
    )


def _communities(folder: Path) -> list[ParquetRow]:
    rows = read_parquet(folder, "communities", ("community", "level", "entity_ids"))
    for number, row in enumerate(rows):
        for name in ("community", "level"):
            if not (isinstance(row[name], int) and 0 <= row[name] < 1 << 31):
                place = f"{folder}/communities.parquet, row {number}"
                raise UserError(f"{place}: {name} is {row[name]!r}; expected an integer >= 0.")
    return sorted(rows, key=lambda row: (int(row["level"]), int(row["community"])))


def _chunks_of_rows(folder: Path, chunk_table: ChunkTable) -> Callable[[ParquetRow], Chunks]:
    rows = read_parquet(folder, "text_units", ("id", "text"))
    texts = {str(row["id"]): _text(row["text"]) for row in rows}
    units = imported.chunks_of_texts(texts, chunk_table)
    return lambda row: imported.chunks_of(_list(row.get("text_unit_ids")), units)


def read_parquet(folder: Path, name: str, columns: Sequence[str]) -> list[ParquetRow]:
    """Return the rows of `name.parquet`. Raises UserError if the file or a column is missing."""
    path = folder / f"{name}.parquet"
    if not path.is_file():
        raise UserError(f"The file {path} does not exist.")
    rows = [row for _, row in parquet_objects(path)]
    if missing := sorted({*columns} - {*rows[0]} if rows else ()):
        raise UserError(f"{path} lacks columns of graphrag 1.0: {', '.join(missing)}.")
    return rows


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
