"""Make a graph from imported nodes and relationships, and link it to the chunks of the corpus."""

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.merging import Merger
from graphrag_bench.text import normalise_name, without_spaces

Column = Literal["described", "keywords"]
Chunks = tuple[int, ...]
"""Rows of the chunk table."""
ImportedNode = tuple[str, str, str, Chunks]
"""Name, type, description and chunks of a node of an imported graph."""


class ImportedRelationship(NamedTuple):
    """A relationship of an imported graph."""

    source: str
    target: str
    relation: str = ""
    description: str = ""
    keywords: tuple[str, ...] = ()
    weight: float = 1.0
    chunks: Chunks = ()


def weight_of(value: Any, place: str) -> float:
    """Return a weight, which must be a number >= 0. A missing weight is 1. Errors name `place`."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return 1.0
    try:
        weight = float(value)
    except (TypeError, ValueError, OverflowError):
        weight = math.nan
    if not (math.isfinite(weight) and weight >= 0):
        raise UserError(f"{place}: weight is {value!r}; expected a number >= 0.")
    return weight


def imported_graph(
    where: object, nodes: Sequence[ImportedNode], relationships: Sequence[ImportedRelationship],
    chunk_table: ChunkTable, columns: tuple[Column, ...],
) -> Graph:  # fmt: skip
    """Return the graph of imported nodes and relationships. `where` names the source in errors.

    If no imported row lists a chunk of the corpus, nodes belong to the chunks that contain their
    names, and relationships to the chunks that contain the names of both nodes.
    """
    if not any(one[-1] for one in (*nodes, *relationships)):  # the last column is `chunks`
        ends = dict.fromkeys(name for row in relationships for name in (row.source, row.target))
        every = [*(node[:3] for node in nodes), *((name, "", "") for name in ends)]
        named_in = mentions([name for name, *_ in every], chunk_table)
        nodes = [(*about, named_in.get(about[0], ())) for about in every]
        both = [set(named_in.get(row.target, ())) for row in relationships]
        relationships = [
            row._replace(chunks=tuple(one for one in named_in.get(row.source, ()) if one in tail))
            for row, tail in zip(relationships, both, strict=True)
        ]
    merger = Merger(named="described" not in columns)
    for node in nodes:
        merger.node(*node)
    for row in relationships:
        merger.relationship(**row._asdict())
    if not merger.nodes:
        raise UserError(f"{where} has no node with a name.")
    return merger.graph(len(chunk_table), keywords="keywords" in columns)


def chunks_of(ids: Iterable[str], units: Mapping[str, Chunks]) -> Chunks:
    """Return the distinct chunks of some imported text units."""
    return tuple(dict.fromkeys(row for one in ids for row in units.get(one, ())))


def chunks_of_texts(texts: Mapping[str, str], chunk_table: ChunkTable) -> dict[str, Chunks]:
    """Map the id of each imported text to the chunks with the same text, ignoring white space.

    Without such a chunk, the id is mapped to the chunks that contain the text or are part of it.
    """
    squashed = [without_spaces(text) for text in chunk_table.texts]
    same = chunks_by_id(squashed)

    def parts(wanted: str) -> Chunks:
        either = (wanted and (wanted in own or own in wanted) for own in squashed)
        return tuple(row for row, is_part in enumerate(either) if is_part)

    wanted = {unit: without_spaces(text) for unit, text in texts.items()}
    return {unit: same.get(text) or parts(text) for unit, text in wanted.items()}


def chunk_id(text: str) -> str:
    """Return the id that LightRAG and nano-graphrag give to a chunk, from the md5 of its text."""
    digest = hashlib.md5(text.strip().encode("utf-8", "replace"), usedforsecurity=False)
    return f"chunk-{digest.hexdigest()}"


def chunks_by_id(ids: Iterable[str]) -> dict[str, Chunks]:
    """Map each id to its rows in the chunk table. `ids` has the id of each row, in order."""
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for row, one in enumerate(ids):
        rows[one].append(row)
    return {one: tuple(own) for one, own in rows.items()}


def mentions(names: Iterable[str], chunk_table: ChunkTable) -> dict[str, Chunks]:
    """Map each name to the chunks whose title or text contains the words of the name."""
    wanted: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        wanted[tuple(normalise_name(name).split())].append(name)
    wanted.pop((), None)
    lengths = {len(words) for words in wanted}
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for row, passage in enumerate(chunk_table.passages):
        words = normalise_name(passage).split()
        spans = {tuple(words[at : at + n]) for at in range(len(words)) for n in lengths}
        for name in (name for span in spans & wanted.keys() for name in wanted[span]):
            rows[name].append(row)
    return {name: tuple(own) for name, own in rows.items()}
