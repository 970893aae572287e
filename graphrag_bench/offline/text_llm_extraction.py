"""Chunks to described entities and relationships by a language model, with gleaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.expected import Sizes, template_tokens
from graphrag_bench.graph.extraction import ChunkRecords, TextExtraction
from graphrag_bench.llm.chat import LLM
from graphrag_bench.offline.asking import documents_of_chunks
from graphrag_bench.offline.gleaning import Conversations, Gleaning
from graphrag_bench.offline.parts import MOST_TOKENS, Extractor
from graphrag_bench.offline.records import read_records
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt

EXTRACT = Prompt("graphrag_bench.offline:prompts/text_records.j2")
CONTINUE = Prompt("graphrag_bench.offline:prompts/text_continue.j2")
MORE = Prompt("graphrag_bench.offline:prompts/text_more.j2")
STEP = "extract descriptions"
ADVICE = (
    "The model may be too small to keep to the format, or its window may cut the prompt; "
    "build.text_extraction=nlp reads descriptions without a model."
)


def gleaned_tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    """A chunk's first call and its gleaning rounds, each with all that was said, halved.

    Half, because two calls are announced for each chunk. The records of a chunk are taken to be
    twice as long as it is.
    """
    prompt = template_tokens(settings["extract_prompt"]) + sizes.chunk
    reply = min((settings["max_tokens"] or MOST_TOKENS) / 2, 2 * sizes.chunk)
    n_rounds = 1 + settings["max_gleaning"]
    said = sum(prompt + number * reply for number in range(n_rounds))
    return said / 2, n_rounds * reply / 2


@artifact("text_extraction.llm", calls=2, tokens=gleaned_tokens)
def llm_text_extraction(
    *,
    chunk_table: ChunkTable,
    llm_build: LLM,
    progress: Progress,
    entity_types: tuple[str, ...] = ("organization", "person", "geo", "event"),
    keywords: bool = False,
    max_gleaning: NonNegativeInt = 1,
    max_tokens: PositiveInt | None = None,
    extract_prompt: Prompt = EXTRACT,
    continue_prompt: Prompt = CONTINUE,
    more_prompt: Prompt = MORE,
) -> TextExtraction:
    """The described entities and relationships that the build model reads out of each chunk.

    One call for each chunk, then `max_gleaning` rounds that ask, in the same conversation, for
    what was missed; between rounds the model is asked whether anything is left, and the chunk is
    done unless it says yes: at most 2 calls for one round, 2 n for n. `keywords` asks for the
    themes of each relationship too, as a rich knowledge graph needs them. A reply has `max_tokens`
    at most, by default 4,096 or what the model's window leaves; one that was cut gives its whole
    records and is counted. A chunk whose replies hold no readable record contributes nothing and is
    counted; raises UserError when that happens to every chunk.
    Source: Zhou et al. 2025, section 4; GraphRAG (Edge et al. 2024), section 3.1; the rounds as
    in nano-graphrag.
    """
    passages = chunk_table.passages
    asked = {"entity_types": entity_types, "keywords": keywords}
    gleaning = Gleaning(
        step=STEP,
        builder="text_extraction.llm",
        advice=ADVICE,
        read=partial(read_records, keywords=keywords, purpose=STEP),
        nothing=ChunkRecords(),
        rounds=max_gleaning,
        continue_prompt=continue_prompt,
        more_prompt=more_prompt,
        told={"keywords": keywords},
    )
    held = Conversations(
        Extractor(llm_build, max_tokens),
        gleaning,
        [extract_prompt.render({**asked, "passage": passage}) for passage in passages],
        documents_of_chunks(chunk_table),
        progress,
    )
    replies = held.hold()
    strengths = {"negative_strengths": sum(one.negative for of in replies for one in of)}
    rows = [_joined([reply.records for reply in of]) for of in replies]
    return TextExtraction.of(rows, {**strengths, **held.statistics})


def _joined(rounds: Sequence[ChunkRecords]) -> ChunkRecords:
    return ChunkRecords(
        tuple(record for records in rounds for record in records.entities),
        tuple(record for records in rounds for record in records.relationships),
    )
