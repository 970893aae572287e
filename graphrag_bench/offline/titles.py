"""Passage titles as entities of their passages, whatever the entities were read by."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.extraction import ChunkExtraction, Extraction, Triple
from graphrag_bench.offline.extraction import CO_OCCURS
from graphrag_bench.text import normalise_name

Titles = Literal["off", "entity", "about"]
"""A title is not an entity, is one of its passage, or is joined with all entities there as well."""


def titled(extraction: Extraction, chunk_table: ChunkTable, titles: Titles) -> Extraction:
    """The extraction with the title of each chunk as the first of its entities.

    With `about` a chunk is about its title: the title co-occurs with every entity of the chunk
    that no triple there joins with it. Chunks without a title are left as they are, and so is an
    extraction that found nothing at all, so that titles do not hide it.
    """
    if titles == "off" or not any(row.entities or row.triples for row in extraction.rows):
        return extraction
    rows = [
        _titled(row, chunk_table.titles[number], about=titles == "about")
        for number, row in enumerate(extraction.rows)
    ]
    return replace(extraction, rows=tuple(rows))


def _titled(row: ChunkExtraction, title: str, *, about: bool) -> ChunkExtraction:
    own = normalise_name(title)
    if not own:
        return row
    joined = {own}
    for triple in row.triples:
        ends = {normalise_name(triple.head), normalise_name(triple.tail)}
        joined |= ends if own in ends else set()
    told = []
    for entity in row.entities if about else ():
        name = normalise_name(entity)
        if name and name not in joined:
            joined.add(name)
            told.append(Triple(title, CO_OCCURS, entity))
    return ChunkExtraction((title, *row.entities), (*row.triples, *told))
