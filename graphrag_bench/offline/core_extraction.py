"""The records of the core chunks alone: what KET-RAG's skeleton graph is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.columns import Texts
from graphrag_bench.contract import artifact, builders
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.expected import Sizes
from graphrag_bench.graph.extraction import (
    ChunkRecords,
    EntityRecord,
    RelationshipRecord,
    TextExtraction,
)
from graphrag_bench.graph.graph import Graph
from graphrag_bench.llm.chat import LLM
from graphrag_bench.models.nlp import Nlp
from graphrag_bench.offline.chunk_graph import core_chunks, n_core
from graphrag_bench.offline.tagging import TitleUse
from graphrag_bench.offline.text_extraction import nlp_text_extraction
from graphrag_bench.offline.text_llm_extraction import CONTINUE, EXTRACT, MORE, llm_text_extraction
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens

CoreShare = Annotated[float, Field(gt=0, le=1)]
Damping = Annotated[float, Field(ge=0, lt=1)]


@artifact("text_extraction.core_nlp")
def core_nlp(
    *,
    chunk_table: ChunkTable,
    chunk_graph: Graph,
    nlp: Nlp,
    progress: Progress,
    share: CoreShare = 0.8,
    damping: Damping = 0.85,
    join_tokens: PositiveInt | None = None,
    title: TitleUse = "about",
    co_occurrence: NonNegativeInt = 8,
    keywords: bool = True,
) -> TextExtraction:
    """As `text_extraction.nlp`, of the core chunks alone; the other chunks have no record.

    Core chunks are the `share` of all with the highest PageRank in `chunk_graph`; `damping` is the
    chance that its walk goes on. How many there are is in the statistics. With `join_tokens` core
    chunks are read together, in their order, as many as have so many tokens; what is read is told
    by the first of them, and its names and pairs are in the others too.
    Source: KET-RAG (Huang et al. 2025), the skeleton; its share and damping as in released code.
    """
    return _of_core(
        chunk_table, chunk_graph, share, damping, join_tokens,
        lambda some: nlp_text_extraction(
            chunk_table=some, nlp=nlp, progress=progress,
            title=title, co_occurrence=co_occurrence, keywords=keywords,
        ),
    )  # fmt: skip


def _calls(settings: Mapping[str, Any], sizes: Sizes) -> int:
    n, most = n_core(settings["share"], sizes.n_chunks), settings.get("join_tokens")
    return 2 * (n if most is None else max(1, math.ceil(n * min(sizes.chunk / most, 1))))


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    whole = builders.get("text_extraction.llm").tokens
    assert whole is not None
    return whole(settings, replace(sizes, chunk=max(sizes.chunk, settings["join_tokens"] or 0)))


@artifact("text_extraction.core_llm", calls=_calls, tokens=_tokens)
def core_llm(
    *,
    chunk_table: ChunkTable,
    chunk_graph: Graph,
    llm_build: LLM,
    progress: Progress,
    share: CoreShare = 0.8,
    damping: Damping = 0.85,
    join_tokens: PositiveInt | None = None,
    entity_types: tuple[str, ...] = ("organization", "person", "geo", "event"),
    keywords: bool = False,
    max_gleaning: NonNegativeInt = 1,
    max_tokens: PositiveInt | None = None,
    extract_prompt: Prompt = EXTRACT,
    continue_prompt: Prompt = CONTINUE,
    more_prompt: Prompt = MORE,
) -> TextExtraction:
    """As `text_extraction.llm`, of the core chunks alone, which `text_extraction.core_nlp` names.

    Raises UserError when no reply about any core chunk can be read.
    Source: KET-RAG (Huang et al. 2025), the skeleton; its share and damping as in released code.
    """
    return _of_core(
        chunk_table, chunk_graph, share, damping, join_tokens,
        lambda some: llm_text_extraction(
            chunk_table=some, llm_build=llm_build, progress=progress,
            entity_types=entity_types, keywords=keywords, max_gleaning=max_gleaning,
            max_tokens=max_tokens, extract_prompt=extract_prompt,
            continue_prompt=continue_prompt, more_prompt=more_prompt,
        ),
    )  # fmt: skip


def _of_core(
    chunk_table: ChunkTable,
    chunk_graph: Graph,
    share: float,
    damping: float,
    join_tokens: int | None,
    extract: Callable[[ChunkTable], TextExtraction],
) -> TextExtraction:
    core = core_chunks(chunk_graph, share, damping).tolist()
    groups = [[chunk] for chunk in core]
    if join_tokens is not None:
        groups = _groups(chunk_table, core, join_tokens)
    first = [group[0] for group in groups]
    titles, texts = zip(*(_read_together(chunk_table, group) for group in groups), strict=True)
    some = replace(
        chunk_table,
        titles=Texts.of(titles),
        texts=Texts.of(texts),
        chunk_document=chunk_table.chunk_document[first],
    )
    found = extract(some)
    rows = [ChunkRecords()] * len(chunk_table)
    for group, records in zip(groups, found.rows, strict=True):
        names = _names_alone(records)
        for chunk in group:
            rows[chunk] = records if chunk == group[0] else names
    return TextExtraction(tuple(rows), {**found.statistics, "core_chunks": len(core)})


def _groups(table: ChunkTable, core: list[int], most: int) -> list[list[int]]:
    groups: list[list[int]] = []
    used = 0
    for chunk in core:
        n_tokens = count_tokens(table.texts[chunk])
        if not groups or used + n_tokens > most:
            groups.append([])
            used = 0
        groups[-1].append(chunk)
        used += n_tokens
    return groups


def _read_together(table: ChunkTable, group: list[int]) -> tuple[str, str]:
    runs = [
        (title, " ".join(table.texts.take(np.array(list(run)))))
        for title, run in groupby(group, key=table.titles.__getitem__)
    ]
    if len(runs) == 1:
        return runs[0]
    return "", "\n\n".join(f"{title}\n{text}" if title else text for title, text in runs)


def _names_alone(records: ChunkRecords) -> ChunkRecords:
    names = dict.fromkeys(entity.name for entity in records.entities)
    pairs = dict.fromkeys((one.source, one.target) for one in records.relationships)
    return ChunkRecords(
        tuple(EntityRecord(name) for name in names),
        tuple(RelationshipRecord(*pair, strength=0.0) for pair in pairs),
    )
