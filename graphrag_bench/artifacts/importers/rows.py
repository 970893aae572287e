"""Imported rows of nodes and relationships, and the graph they make over our chunks.

Where a file names none of our chunks, those that contain its names or texts are found.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.merging import Merger
from graphrag_bench.text import normalise_name, squash

ChunksBy = Literal["auto", "source", "mentions"]
Column = Literal["described", "keywords", "attributes"]
Chunks = tuple[int, ...]
"""Rows of the chunk table; none where the file names none."""
ATTRIBUTES = "node_attributes"
"""The field of a file, or column of a table, that holds the attributes of nodes."""


class ImportedNode(NamedTuple):
    """A node of a file; an attribute is a name, a value and the chunks that state it."""

    name: str
    type: str = ""
    description: str = ""
    chunks: Chunks = ()
    attributes: Sequence[tuple[str, str, Chunks]] = ()


class ImportedRelationship(NamedTuple):
    """A relationship of a file."""

    source: str
    target: str
    relation: str = ""
    description: str = ""
    keywords: tuple[str, ...] = ()
    weight: float = 1.0
    chunks: Chunks = ()


def weight_of(value: Any, place: str) -> float:
    """Return the weight of a field or cell, 1 for none; raises UserError for no number from 0."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return 1.0
    try:
        weight = float(value)
    except (TypeError, ValueError, OverflowError):
        weight = math.nan
    if not (math.isfinite(weight) and weight >= 0):
        raise UserError(f"{place}: weight is {value!r}; a number of at least 0 was expected.")
    return weight


def imported_graph(
    where: object,
    nodes: Sequence[ImportedNode],
    relationships: Sequence[ImportedRelationship],
    chunk_table: ChunkTable,
    chunks_by: ChunksBy,
    columns: Collection[Column],
) -> Graph:
    """Return the graph of what the file `where` holds, with columns as of `Merger`.

    Relationships have names, and are told apart by them, where nothing is described.

    `source` puts nodes and relationships into the chunks that the file names, `mentions` into
    those that name the node, or both ends; `auto` takes mentions where the file names no
    chunk at all; an attribute is then in the chunks that name its node. With `attributes` nodes
    have types and attributes. Raises UserError for a file without nodes, and when `source` finds
    no chunk.
    """
    sourced = any(row.chunks for row in nodes) or any(row.chunks for row in relationships)
    if chunks_by == "source" and not sourced:
        raise UserError(
            f"{where}: no chunk that it names is one of the corpus; the corpus and its "
            "chunking must be those of the file, or set build.graph.chunks_by=mentions."
        )
    by_mention = chunks_by == "mentions" or not sourced
    ends = [name for row in relationships for name in (row.source, row.target)]
    names = [*(node.name for node in nodes), *ends]
    named_in = mentions(names, chunk_table) if by_mention else {}
    attributes, described = "attributes" in columns, "described" in columns
    merger = Merger(named=not described)
    for node in nodes:
        chunks = named_in.get(node.name, ()) if by_mention else node.chunks
        merger.node(node.name, node.type, node.description, chunks)
        for name, value, stating in node.attributes if attributes else ():
            merger.attribute(node.name, name, value, chunks if by_mention else stating)
    for name in dict.fromkeys(ends) if by_mention else ():
        merger.node(name, chunks=named_in.get(name, ()))
    for row in relationships:
        chunks = row.chunks
        if by_mention:
            both = set(named_in.get(row.target, ()))
            chunks = tuple(chunk for chunk in named_in.get(row.source, ()) if chunk in both)
        merger.relationship(**row._replace(chunks=chunks)._asdict())
    if not merger.nodes:
        raise UserError(f"{where}: it holds no node with a name.")
    return merger.graph(
        len(chunk_table),
        described=described,
        typed=attributes,
        keywords="keywords" in columns,
        attributes=attributes,
    )


def chunks_of_texts(texts: Mapping[str, str], chunk_table: ChunkTable) -> dict[str, Chunks]:
    """Return the chunks of each foreign text unit, by its id: those of the same text, spaces aside.

    Where no chunk is the same, the chunks that hold the unit or are held in it; none where even
    that fails.
    """
    squashed = [squash(text) for text in chunk_table.texts]
    same = _rows_of(squashed)
    found = {}
    for unit, text in texts.items():
        wanted = squash(text)
        found[unit] = same.get(wanted) or tuple(
            row for row, own in enumerate(squashed) if wanted and (wanted in own or own in wanted)
        )
    return found


def chunks_by_digest(chunk_table: ChunkTable) -> dict[str, Chunks]:
    """Return the chunks by LightRAG's id of their text: `chunk-` and its md5."""
    return _rows_of(map(chunk_id, chunk_table.texts))


def chunk_id(text: str) -> str:
    """Return LightRAG's and nano-graphrag's id of a chunk: `chunk-` and the md5 of its text."""
    digest = hashlib.md5(text.strip().encode("utf-8", "replace"), usedforsecurity=False)
    return f"chunk-{digest.hexdigest()}"


def _rows_of(keys: Iterable[str]) -> dict[str, Chunks]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        found[key].append(row)
    return {key: tuple(rows) for key, rows in found.items()}


def mentions(names: Iterable[str], chunk_table: ChunkTable) -> dict[str, Chunks]:
    """Return the chunks that name each of `names`: whole words, normalised, titles included.

    Time grows with the words of the corpus times the words of the longest name.
    """
    wanted: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        wanted[tuple(normalise_name(name).split())].append(name)
    wanted.pop((), None)
    lengths = sorted({len(words) for words in wanted})
    found: defaultdict[str, dict[int, None]] = defaultdict(dict)
    for row, passage in enumerate(chunk_table.passages):
        words = normalise_name(passage).split()
        for start in range(len(words)):
            for length in lengths:
                for name in wanted.get(tuple(words[start : start + length]), ()):
                    found[name][row] = None
    return {name: tuple(rows) for name, rows in found.items()}
