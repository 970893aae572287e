"""Imported rows of nodes and relationships, and the graph they make over our chunks.

Where a file names none of our chunks, those that contain its names or texts are found.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.readers.passages import squash
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.merging import Merger
from graphrag_bench.text import normalise_name

ChunksBy = Literal["auto", "source", "mentions"]
Column = Literal["described", "keywords", "attributes"]
ATTRIBUTES = "node_attributes"
"""The field of a file, or column of a table, that holds the attributes of nodes."""


@dataclass(frozen=True)
class ImportedAttribute:
    """A named value of a node of a file; `chunks` as of a node."""

    name: str
    value: str
    chunks: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ImportedNode:
    """A node of a file; `chunks` are rows of the chunk table, None where the file names none."""

    name: str
    type: str = ""
    description: str = ""
    chunks: tuple[int, ...] | None = None
    attributes: tuple[ImportedAttribute, ...] = ()


@dataclass(frozen=True)
class ImportedRelationship:
    """A relationship of a file; `chunks` as of a node."""

    source: str
    target: str
    relation: str = ""
    description: str = ""
    keywords: tuple[str, ...] = ()
    weight: float = 1.0
    chunks: tuple[int, ...] | None = None


def weight_of(value: Any, place: str) -> float:
    """The weight that a field or cell holds, 1 for none; raises UserError for no number from 0."""
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
    """The graph of what the file `where` holds, with columns as of `Merger`.

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
        chunks = named_in.get(node.name, ()) if by_mention else node.chunks or ()
        merger.node(node.name, node.type, node.description, chunks)
        for one in node.attributes if attributes else ():
            stating = chunks if by_mention else one.chunks or ()
            merger.attribute(node.name, one.name, one.value, stating)
    for name in dict.fromkeys(ends) if by_mention else ():
        merger.node(name, chunks=named_in.get(name, ()))
    _relate(merger, relationships, named_in if by_mention else None)
    if not merger.nodes:
        raise UserError(f"{where}: it holds no node with a name.")
    return merger.graph(
        len(chunk_table),
        described=described,
        typed=attributes,
        keywords="keywords" in columns,
        attributes=attributes,
    )


def _relate(
    merger: Merger,
    relationships: Sequence[ImportedRelationship],
    named_in: Mapping[str, Sequence[int]] | None,
) -> None:
    for row in relationships:
        chunks = row.chunks or ()
        if named_in is not None:
            both = set(named_in.get(row.target, ()))
            chunks = tuple(c for c in named_in.get(row.source, ()) if c in both)
        merger.relationship(
            row.source,
            row.target,
            relation=row.relation,
            description=row.description,
            keywords=row.keywords,
            weight=row.weight,
            chunks=chunks,
        )


def chunks_of_texts(
    texts: Mapping[str, str], chunk_table: ChunkTable
) -> dict[str, tuple[int, ...]]:
    """The chunks of each foreign text unit, by its id: the chunk of the same text, spaces aside.

    Where no chunk is the same, the chunks that hold the unit or are held in it; none where even
    that fails.
    """
    same: defaultdict[str, list[int]] = defaultdict(list)
    squashed = [squash(text) for text in chunk_table.texts]
    for row, text in enumerate(squashed):
        same[text].append(row)
    found = {}
    for unit, text in texts.items():
        wanted = squash(text)
        rows = same.get(wanted) or [
            row for row, own in enumerate(squashed) if wanted and (wanted in own or own in wanted)
        ]
        found[unit] = tuple(rows)
    return found


def chunks_by_digest(chunk_table: ChunkTable) -> dict[str, tuple[int, ...]]:
    """The chunks by LightRAG's id of their text: `chunk-` and its md5."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for row, text in enumerate(chunk_table.texts):
        found[chunk_id(text)].append(row)
    return {name: tuple(rows) for name, rows in found.items()}


def chunk_id(text: str) -> str:
    """The id that LightRAG and nano-graphrag give a chunk: `chunk-` and the md5 of its text."""
    digest = hashlib.md5(text.strip().encode("utf-8", "replace"), usedforsecurity=False)
    return f"chunk-{digest.hexdigest()}"


def chunks_of_documents(chunk_table: ChunkTable) -> dict[str, tuple[int, ...]]:
    """The chunks of each document, by its id."""
    return {name: tuple(chunk_table.chunks_of(name)) for name in chunk_table.documents}


def mentions(names: Iterable[str], chunk_table: ChunkTable) -> dict[str, tuple[int, ...]]:
    """The chunks that name each of `names`, as whole words after normalisation, titles included.

    Time grows with the words of the corpus times the words of the longest name.
    """
    wanted: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        wanted[tuple(normalise_name(name).split())].append(name)
    wanted.pop((), None)
    lengths = sorted({len(words) for words in wanted})
    found: defaultdict[str, list[int]] = defaultdict(list)
    for row, passage in enumerate(chunk_table.passages):
        words = normalise_name(passage).split()
        for name in _in_words(words, wanted, lengths):
            found[name].append(row)
    return {name: tuple(rows) for name, rows in found.items()}


def _in_words(
    words: Sequence[str], wanted: Mapping[tuple[str, ...], list[str]], lengths: Sequence[int]
) -> list[str]:
    found: dict[str, None] = {}
    for start in range(len(words)):
        for length in lengths:
            for name in wanted.get(tuple(words[start : start + length]), ()):
                found[name] = None
    return list(found)
