"""The records of the core chunks alone: what KET-RAG's skeleton graph is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.columns import Texts
from graphrag_bench.contract import artifact, builders
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.expected import Sizes
from graphrag_bench.graph.extraction import ChunkRecords, TextExtraction
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.llm import LLM
from graphrag_bench.models.nlp import Nlp
from graphrag_bench.offline.chunk_graph import core_chunks, n_core
from graphrag_bench.offline.extraction import TitleUse
from graphrag_bench.offline.text_extraction import nlp_text_extraction
from graphrag_bench.offline.text_llm_extraction import CONTINUE, EXTRACT, MORE, llm_text_extraction
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt

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
    title: TitleUse = "about",
    co_occurrence: NonNegativeInt = 8,
    keywords: bool = True,
) -> TextExtraction:
    """As `text_extraction.nlp`, of the core chunks alone; the other chunks have no record.

    Core chunks are the `share` of all with the highest PageRank in `chunk_graph`; `damping` is the
    chance that its walk goes on. How many there are is in the statistics.
    Source: KET-RAG (Huang et al. 2025), the skeleton; its share and damping as in released code.
    """
    return _of_core(
        chunk_table, chunk_graph, share, damping,
        lambda some: nlp_text_extraction(
            chunk_table=some, nlp=nlp, progress=progress,
            title=title, co_occurrence=co_occurrence, keywords=keywords,
        ),
    )  # fmt: skip


def _calls(settings: Mapping[str, Any], sizes: Sizes) -> int:
    return 2 * n_core(settings["share"], sizes.n_chunks)


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    """Those of a call of `text_extraction.llm`."""
    whole = builders.get("text_extraction.llm").tokens
    assert whole is not None
    return whole(settings, sizes)


@artifact("text_extraction.core_llm", calls=_calls, tokens=_tokens)
def core_llm(
    *,
    chunk_table: ChunkTable,
    chunk_graph: Graph,
    llm_build: LLM,
    progress: Progress,
    share: CoreShare = 0.8,
    damping: Damping = 0.85,
    entity_types: tuple[str, ...] = ("organization", "person", "geo", "event"),
    keywords: bool = False,
    max_gleaning: NonNegativeInt = 1,
    max_tokens: PositiveInt = 1024,
    extract_prompt: Prompt = EXTRACT,
    continue_prompt: Prompt = CONTINUE,
    more_prompt: Prompt = MORE,
) -> TextExtraction:
    """As `text_extraction.llm`, of the core chunks alone, which `text_extraction.core_nlp` names.

    Raises UserError when no reply about any core chunk can be read.
    Source: KET-RAG (Huang et al. 2025), the skeleton; its share and damping as in released code.
    """
    return _of_core(
        chunk_table, chunk_graph, share, damping,
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
    extract: Callable[[ChunkTable], TextExtraction],
) -> TextExtraction:
    """One row for each chunk, that of a chunk outside the core empty."""
    core = core_chunks(chunk_graph, share, damping)
    some = replace(
        chunk_table,
        titles=Texts.of(chunk_table.titles.take(core)),
        texts=Texts.of(chunk_table.texts.take(core)),
        chunk_document=chunk_table.chunk_document[core],
    )
    found = extract(some)
    rows = [ChunkRecords()] * len(chunk_table)
    for chunk, records in zip(core.tolist(), found.rows, strict=True):
        rows[chunk] = records
    return TextExtraction(tuple(rows), {**found.statistics, "core_chunks": len(core)})
