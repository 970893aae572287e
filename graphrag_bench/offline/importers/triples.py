"""Graphs from lists of triples: JSON lines or CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.records import json_line_objects
from graphrag_bench.data.rows import read_text
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.importers.rows import (
    ChunksBy,
    ImportedRelationship,
    chunks_of_documents,
    imported_graph,
    weight_of,
)
from graphrag_bench.offline.knowledge_graph import KG_ATTRIBUTES
from graphrag_bench.text import normalise_name

ENDS = (("head", "source", "subject"), ("relation", "predicate"), ("tail", "target", "object"))
"""The names that the three columns may have."""
_MOST_CELL = 10_000_000


@artifact("graph.triples", provides=KG_ATTRIBUTES)
def triples(*, import_from: Path, chunk_table: ChunkTable, chunks_by: ChunksBy = "auto") -> Graph:
    """The knowledge graph of a file of triples, one on each line.

    JSON lines hold objects with `head`, `relation` and `tail` (or source/subject, predicate,
    target/object), or lists of three; CSV has these columns, or three columns without a header.
    Further fields are read where they are: `weight` (a number, 1 when missing) and `document`,
    the id of the document that says so. Without documents a fact belongs to the chunks that name
    both its ends (`chunks_by`). Rows are distinct (head, relation, tail), normalised, their
    weights summed; triples with an empty part or equal ends are dropped. Raises UserError, with
    the line, for a file that cannot be read.
    """
    documents = chunks_of_documents(chunk_table)
    rows = [_row(fields, place, documents) for place, fields in _lines(import_from)]
    kept = [row for row in rows if row.relation]
    return imported_graph(import_from, (), kept, chunk_table, chunks_by, columns=())


def _row(
    fields: Mapping[str, Any], place: str, documents: Mapping[str, tuple[int, ...]]
) -> ImportedRelationship:
    head, relation, tail = (_part(fields, names, place) for names in ENDS)
    document = fields.get("document")
    if document not in (None, "") and str(document) not in documents:
        raise UserError(f"{place}: the corpus has no document '{document}'.")
    return ImportedRelationship(
        head,
        tail,
        normalise_name(relation),
        weight=weight_of(fields.get("weight"), place),
        chunks=documents[str(document)] if document not in (None, "") else None,
    )


def _part(fields: Mapping[str, Any], names: tuple[str, ...], place: str) -> str:
    for name in names:
        if isinstance(fields.get(name), str | int | float):
            return str(fields[name])
    raise UserError(f"{place}: the field '{names[0]}' is missing or no text.")


def _lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if path.suffix.lower() == ".csv":
        yield from _csv(path, read_text(path))
        return
    for place, found in json_line_objects(path):
        if isinstance(found, list) and len(found) == 3:
            found = dict(zip(("head", "relation", "tail"), found, strict=True))
        if not isinstance(found, dict):
            raise UserError(f"{place}: an object or a list of three texts was expected.")
        yield place, found


def _csv(path: Path, text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    csv.field_size_limit(_MOST_CELL)
    reader = csv.reader(text.splitlines(keepends=True))
    header: list[str] = []
    try:
        for cells in reader:
            place = f"{path}, line {reader.line_num}"
            if not any(cells):
                continue
            if not header:
                lowered = [cell.strip().lower() for cell in cells]
                if any(name in lowered for name in ENDS[0]):
                    header = lowered
                    continue
                header = ["head", "relation", "tail"]
            if len(cells) != len(header):
                raise UserError(f"{place}: {len(cells)} cells, not {len(header)}.")
            yield place, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: not CSV ({error}).") from None
