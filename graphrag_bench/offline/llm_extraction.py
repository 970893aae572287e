"""Chunks to entities and triples by a language model: two calls for each chunk."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, PositiveInt

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.expected import Sizes, template_tokens
from graphrag_bench.graph.extraction import ChunkExtraction, Extraction, Triple
from graphrag_bench.llm.calls import CallFailed, Chat
from graphrag_bench.llm.chat import LLM
from graphrag_bench.llm.structured import Listed, list_reading
from graphrag_bench.offline.asking import documents_of_chunks, records_of
from graphrag_bench.offline.parts import CUT, MOST_TOKENS, REPLIES, Extractor
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt

ENTITIES = Prompt("graphrag_bench.offline:prompts/entities.j2")
TRIPLES = Prompt("graphrag_bench.offline:prompts/triples.j2")


class Entities(BaseModel):
    """What the entity prompt returns."""

    named_entities: list[str]


class Triples(BaseModel):
    """What the triple prompt returns: [head, relation, tail] each."""

    triples: list[list[str]]


M = TypeVar("M", Entities, Triples)
Reply = Listed[M] | UnreadableReply | CallFailed
ADVICE = (
    "The model may be too small to extract, or its window may cut the prompt; "
    "build.extraction=nlp reads entities without a model."
)
_SAID = 0.75
"""Tokens of both replies for a token of the chunk: 45 triples of a chunk of 1,200 take 670."""


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    prompts = settings["entities_prompt"], settings["triples_prompt"]
    prompt = sum(template_tokens(one) for one in prompts) / 2 + sizes.chunk
    most = sum(settings[f"max_{kind}_tokens"] or MOST_TOKENS for kind in ("entity", "triple"))
    return prompt, min(_SAID * sizes.chunk, most) / 2


@artifact("extraction.llm", calls=2, tokens=_tokens)
def llm_extraction(
    *,
    chunk_table: ChunkTable,
    llm_build: LLM,
    progress: Progress,
    entities_prompt: Prompt = ENTITIES,
    triples_prompt: Prompt = TRIPLES,
    max_entity_tokens: PositiveInt | None = None,
    max_triple_tokens: PositiveInt | None = None,
) -> Extraction:
    """The entities and triples that the build model reads out of each chunk.

    First the named entities as JSON, then, given the passage and them, the triples. Triples that
    are not three non-empty texts are skipped and counted. A reply has the tokens set, by default
    4,096 or what the model's window leaves; one that was cut gives its complete items and is
    counted. A chunk whose replies cannot be read
    contributes nothing and is counted; raises UserError when that happens to every chunk.
    Source: HippoRAG (Gutierrez et al. 2024), section 2.2 and its two prompts; Zhou et al. 2025,
    section 4.
    """
    passages = chunk_table.passages
    items = documents_of_chunks(chunk_table)
    chats = [entities_prompt.render({"passage": passage}) for passage in passages]
    of_entities = Extractor(llm_build, max_entity_tokens)
    named = _asked(of_entities, chats, Entities, "extract entities", items, progress)
    kept = [row for row, found in enumerate(named) if isinstance(found, Listed)]
    chats = [_second(triples_prompt, passages[row], named[row]) for row in kept]
    of_triples = Extractor(llm_build, max_triple_tokens)
    about = [items[row] for row in kept]
    found = _asked(of_triples, chats, Triples, "extract triples", about, progress)
    replies = Counter(of_entities.statistics) + Counter(of_triples.statistics)
    return _extraction(named, dict(zip(kept, found, strict=True)), replies)


def _second(prompt: Prompt, passage: str, named: Reply[Entities]) -> Chat:
    assert isinstance(named, Listed)
    entities = json.dumps(named.value.named_entities, ensure_ascii=False)
    return prompt.render({"passage": passage, "entities": entities})


def _asked(
    extractor: Extractor,
    chats: Sequence[Chat],
    model: type[M],
    purpose: str,
    items: Sequence[str],
    progress: Progress,
) -> list[Reply[M]]:
    (field,) = model.model_fields
    reading = list_reading(model, field, purpose)
    return records_of(extractor, chats, reading, items, progress, ADVICE)


def _extraction(
    named: Sequence[Reply[Entities]],
    triples: Mapping[int, Reply[Triples]],
    replies: Mapping[str, float],
) -> Extraction:
    rows, n_triples, n_skipped, n_failed = [], 0, 0, 0
    for row, entities in enumerate(named):
        names = tuple(entities.value.named_entities) if isinstance(entities, Listed) else ()
        read = triples.get(row)
        n_failed += not isinstance(read, Listed)
        facts = []
        for parts in read.value.triples if isinstance(read, Listed) else ():
            if len(parts) == 3 and all(part.strip() for part in parts):
                facts.append(Triple(parts[0], parts[1], parts[2]))
            else:
                n_skipped += 1
        n_triples += len(facts)
        rows.append(ChunkExtraction(names, tuple(facts)))
    counts = {
        "triples": n_triples,
        "skipped_triples": n_skipped,
        **{name: replies[name] for name in (REPLIES, CUT)},
        "failed_chunks": n_failed,
    }
    return Extraction(tuple(rows), counts)
