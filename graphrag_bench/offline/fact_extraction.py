"""Chunks to n-ary facts: sentences with the entities that they name, or facts told by a model."""

from __future__ import annotations

from functools import partial

from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.extraction import ChunkFacts, EntityRecord, FactExtraction, FactRecord
from graphrag_bench.llm.chat import LLM
from graphrag_bench.models.nlp import NUMERIC, Nlp, Sentence
from graphrag_bench.offline.asking import documents_of_chunks
from graphrag_bench.offline.gleaning import Conversations, Gleaning
from graphrag_bench.offline.parts import Extractor
from graphrag_bench.offline.records import read_facts
from graphrag_bench.offline.tagging import TitleUse, read_chunks
from graphrag_bench.offline.text_llm_extraction import gleaned_tokens
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import normalise_name

EXTRACT = Prompt("graphrag_bench.offline:prompts/facts.j2")
CONTINUE = Prompt("graphrag_bench.offline:prompts/facts_continue.j2")
MORE = Prompt("graphrag_bench.offline:prompts/facts_more.j2")
STEP = "extract facts"
ADVICE = (
    "The model may be too small to keep to the format, or its window may cut the prompt; "
    "build.fact_extraction=nlp takes sentences as facts, without a model."
)


@artifact("fact_extraction.nlp")
def nlp_facts(
    *,
    chunk_table: ChunkTable,
    nlp: Nlp,
    progress: Progress,
    numbers: bool = False,
    title: TitleUse = "about",
) -> FactExtraction:
    """The sentences of each chunk as facts, each with the named entities in it, read by spaCy.

    An entity is described by the sentence; `numbers` keeps dates, amounts and counts. With
    `title="about"` a passage is about its title: every sentence has the title as its first entity,
    and begins with it, before a colon, where it does not name it. With `entity` the title is an
    entity of the sentences that name it, `off` does not read it. A sentence without an entity is no
    fact.
    Source: ours, so that hypergraphs of facts can be made without a language model.
    """
    rows = []
    for name, sentences in read_chunks(chunk_table, nlp, progress, title):
        told = (_fact(one, name, about=title == "about", numbers=numbers) for one in sentences)
        rows.append(ChunkFacts(tuple(fact for fact in told if fact.entities)))
    return FactExtraction.of(rows, {})


def _fact(sentence: Sentence, title: str, *, about: bool, numbers: bool) -> FactRecord:
    own = normalise_name(title)
    text = " ".join(sentence.text.split())
    names_it = bool(own) and f" {own} " in f" {normalise_name(text)} "
    if own and about and not names_it:
        text = f"{title}: {text}"
    first = [title] if names_it or (own and about) else []
    found = [name for name, label in sentence.entities if numbers or label not in NUMERIC]
    distinct: dict[str, str] = {}
    for name in (*first, *found):
        distinct.setdefault(normalise_name(name), name)
    distinct.pop("", None)
    return FactRecord(text, tuple(EntityRecord(name, "", text) for name in distinct.values()))


@artifact("fact_extraction.llm", calls=2, tokens=gleaned_tokens)
def llm_facts(
    *,
    chunk_table: ChunkTable,
    llm_build: LLM,
    progress: Progress,
    max_gleaning: NonNegativeInt = 1,
    max_tokens: PositiveInt | None = None,
    extract_prompt: Prompt = EXTRACT,
    continue_prompt: Prompt = CONTINUE,
    more_prompt: Prompt = MORE,
) -> FactExtraction:
    """The facts that the build model tells of each chunk, each with the entities that it joins.

    One call for each chunk, then `max_gleaning` rounds that ask, in the same conversation, for
    what was missed, as `text_extraction.llm` does: at most 2 calls for one round, 2 n for n. A
    fact has a completeness of 0 to 10. A fact without an entity is left out and counted. A reply
    has `max_tokens` at most, by default 4,096 or what the model's window leaves; one that was cut
    gives its whole records and is counted. A chunk whose replies hold no readable fact
    contributes nothing and is counted; raises UserError when that happens to every chunk.
    Source: HyperGraphRAG (Luo et al. 2025), n-ary relation extraction; the rounds as in its
    release; prompts are ours.
    """
    gleaning = Gleaning(
        step=STEP,
        builder="fact_extraction.llm",
        advice=ADVICE,
        read=partial(read_facts, purpose=STEP),
        nothing=ChunkFacts(),
        rounds=max_gleaning,
        continue_prompt=continue_prompt,
        more_prompt=more_prompt,
    )
    held = Conversations(
        Extractor(llm_build, max_tokens),
        gleaning,
        [extract_prompt.render({"passage": passage}) for passage in chunk_table.passages],
        documents_of_chunks(chunk_table),
        progress,
    )
    told = [[fact for reply in of for fact in reply.records.facts] for of in held.hold()]
    rows = [ChunkFacts(tuple(fact for fact in facts if fact.entities)) for facts in told]
    n_without = sum(map(len, told)) - sum(len(row.facts) for row in rows)
    return FactExtraction.of(rows, {"facts_without_entities": n_without, **held.statistics})
