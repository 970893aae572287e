"""Builders that extract entities, relationships and facts with spaCy or with a language model."""

from collections.abc import Mapping, Sequence, Set
from functools import partial
from typing import Any, TypeVar

from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.extraction import (
    ChunkFacts,
    ChunkRecords,
    EntityRecord,
    FactExtraction,
    FactRecord,
    RelationshipRecord,
    TextExtraction,
)
from graphrag_bench.contract import Sizes, artifact, template_tokens
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.nlp import NUMERIC, Nlp
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.graphs import build_calls, records, sentences
from graphrag_bench.graphs.build_calls import Extractor
from graphrag_bench.graphs.records import RecordReply
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import Failure, ListReply, ReplyFormat
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Message, Prompt
from graphrag_bench.text import normalise_name

EXTRACT = Prompt("graphrag_bench.graphs:prompts/text_records.j2")
CONTINUE = Prompt("graphrag_bench.graphs:prompts/text_continue.j2")
MORE = Prompt("graphrag_bench.graphs:prompts/text_more.j2")
STEP = "extract descriptions"
EXTRACT_FACTS = Prompt("graphrag_bench.graphs:prompts/facts.j2")
CONTINUE_FACTS = Prompt("graphrag_bench.graphs:prompts/facts_continue.j2")
MORE_FACTS = Prompt("graphrag_bench.graphs:prompts/facts_more.j2")
FACT_STEP = "extract facts"
_TOO_SMALL = "The model may be too small for this format, or its context window for the prompt."
T = TypeVar("T")


@artifact("text_extraction.nlp")
def nlp_text_extraction(
    *, chunk_table: ChunkTable, nlp: Nlp, progress: Progress, keywords: bool = True
) -> TextExtraction:
    """Extract entities and relationships from each sentence with spaCy.

    Relationships are found as in `extraction.nlp`. Dates, amounts and counts are not entities. The
    description of an entity or relationship is its sentence, and the type of an entity is its NER
    label. The keywords of a relationship are the lemmas of its sentence, and its strength is 1. The
    title of a passage is also an entity. Its type is "" unless spaCy finds the title as a named
    entity. Its description is the sentences that contain the title, or else the first sentence.
    """
    rows = []
    for title, tagged in sentences.read_chunks(chunk_table, nlp, progress):
        entities: list[EntityRecord] = []
        relationships: list[RelationshipRecord] = []
        if title:
            wanted = f" {normalise_name(title)} "
            naming = [one.text for one in tagged if wanted in f" {normalise_name(one.text)} "]
            texts = naming or [one.text for one in tagged[:1]] or [""]
            entities += [EntityRecord(title, "", text) for text in texts]
        for sentence in tagged:
            named = dict.fromkeys(one for one in sentence.entities if one[1] not in NUMERIC)
            entities += [EntityRecord(name, label.lower(), sentence.text) for name, label in named]
            names = list(dict.fromkeys(name for name, _ in named))
            facts = sentences.relations_between(sentence, title, {*names, title} - {""})
            stated = [(one.head, one.tail) for one in facts]
            known = set[frozenset[str]]()
            for head, tail in (*stated, *sentences.co_occurring(names, title)):
                pair = frozenset(map(normalise_name, (head, tail)))
                if len(pair) == 2 and pair not in known:
                    known.add(pair)
                    themes = sentence.lemmas if keywords else ()
                    relationships.append(RelationshipRecord(head, tail, sentence.text, themes))
        rows.append(ChunkRecords(tuple(entities), tuple(relationships)))
    return TextExtraction.of(rows, {})


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    """Assume that the records of a chunk are twice as long as the chunk."""
    prompt = template_tokens(settings["extract_prompt"]) + sizes.chunk
    reply = min((settings["max_tokens"] or build_calls.MOST_TOKENS) / 2, 2 * sizes.chunk)
    n_rounds = 1 + settings["max_gleaning"]
    prompts = sum(prompt + number * reply for number in range(n_rounds))
    return prompts / 2, n_rounds * reply / 2


@artifact("text_extraction.llm", calls=2, tokens=_tokens)
def llm_text_extraction(
    *,
    chunk_table: ChunkTable,
    llm_build: ChatModel,
    progress: Progress,
    entity_types: tuple[str, ...] = ("organization", "person", "geo", "event"),
    keywords: bool = False,
    max_gleaning: NonNegativeInt = 1,
    max_tokens: PositiveInt | None = None,
    extract_prompt: Prompt = EXTRACT,
    continue_prompt: Prompt = CONTINUE,
    more_prompt: Prompt = MORE,
) -> TextExtraction:
    """Extract the entities and relationships of each chunk with the build model.

    After the first reply, the model is asked up to `max_gleaning` times for missed records, in the
    same conversation. Before the second and each later request, the model is asked whether records
    are missing, and only the reply "yes" continues the conversation. A chunk needs at most 2
    `max_gleaning` calls, or 1 call if `max_gleaning` is 0. If `keywords` is true, relationships
    also have themes. Raises UserError if no chunk has a readable reply.
    Source: Zhou et al. 2025, section 4; GraphRAG (Edge et al. 2024), section 3.1; nano-graphrag.
    """
    read = partial(records.read_records, keywords=keywords, purpose=STEP)
    replies, counts = _glean(
        Extractor(llm_build, max_tokens, progress), chunk_table, max_gleaning,
        (extract_prompt, continue_prompt, more_prompt),
        {"entity_types": entity_types, "keywords": keywords},
        ReplyFormat(STEP, read, denies=records.drops_records), "text_extraction",
    )  # fmt: skip
    rows = []
    for of_chunk in replies:
        every = [record for reply in of_chunk for record in reply.records]
        entities = tuple(one for one in every if isinstance(one, EntityRecord))
        relationships = tuple(one for one in every if isinstance(one, RelationshipRecord))
        rows.append(ChunkRecords(entities, relationships))
    n_negative = sum(reply.negative for of_chunk in replies for reply in of_chunk)
    return TextExtraction.of(rows, {"negative_strengths": n_negative, **counts})


@artifact("fact_extraction.nlp")
def nlp_facts(*, chunk_table: ChunkTable, nlp: Nlp, progress: Progress) -> FactExtraction:
    """Make a fact of each sentence. Its entities are the named entities that spaCy finds.

    The sentence is also the description of its entities. Dates, amounts and counts are not
    entities. The title of the passage is the first entity of every fact. If a sentence does not
    contain the title, the title is prepended. Sentences without entities are left out.
    Source: this project.
    """
    rows = []
    for title, tagged in sentences.read_chunks(chunk_table, nlp, progress):
        facts = []
        for sentence in tagged:
            text, own = " ".join(sentence.text.split()), normalise_name(title)
            if own and f" {own} " not in f" {normalise_name(text)} ":
                text = f"{title}: {text}"
            names: dict[str, str] = {}
            for name in (title, *sentences.named_entities(sentence)):
                names.setdefault(normalise_name(name), name)
            entities = tuple(EntityRecord(name, "", text) for key, name in names.items() if key)
            facts += [FactRecord(text, entities)] if entities else []
        rows.append(ChunkFacts(tuple(facts)))
    return FactExtraction.of(rows, {})


@artifact("fact_extraction.llm", calls=2, tokens=_tokens)
def llm_facts(
    *,
    chunk_table: ChunkTable,
    llm_build: ChatModel,
    progress: Progress,
    max_gleaning: NonNegativeInt = 1,
    max_tokens: PositiveInt | None = None,
    extract_prompt: Prompt = EXTRACT_FACTS,
    continue_prompt: Prompt = CONTINUE_FACTS,
    more_prompt: Prompt = MORE_FACTS,
) -> FactExtraction:
    """Use the build model to extract the facts of each chunk, and the entities of each fact.

    The model is called as in `text_extraction.llm`. It rates the completeness of each fact from 0
    to 10. Facts without entities are dropped and counted. This project wrote the prompts.
    Source: HyperGraphRAG (Luo et al. 2025), n-ary relation extraction, and the authors' code.
    """
    read = partial(records.read_facts, purpose=FACT_STEP)
    replies, counts = _glean(
        Extractor(llm_build, max_tokens, progress), chunk_table, max_gleaning,
        (extract_prompt, continue_prompt, more_prompt), {},
        ReplyFormat(FACT_STEP, read, denies=records.drops_records), "fact_extraction",
    )  # fmt: skip
    facts = [[one for reply in of_chunk for one in reply.records] for of_chunk in replies]
    rows = [
        ChunkFacts(tuple(one for one in some if isinstance(one, FactRecord) and one.entities))
        for some in facts
    ]
    n_without = sum(map(len, facts)) - sum(len(row.facts) for row in rows)
    return FactExtraction.of(rows, {"facts_without_entities": n_without, **counts})


def _glean(
    extractor: Extractor, table: ChunkTable, rounds: int, prompts: tuple[Prompt, Prompt, Prompt],
    values: Mapping[str, Any], reading: ReplyFormat[RecordReply], resource: str,
) -> tuple[list[list[RecordReply]], dict[str, float]]:  # fmt: skip
    """Return the replies about each chunk, and their statistics.

    Conversations end after a reply without records or at a full window. Failed rounds are counted.
    """
    (extract, missed, more), items = prompts, build_calls.chunk_names(table)
    talks = [extract.render({**values, "passage": text}) for text in table.passages]
    replies: list[list[RecordReply]] = [[] for _ in items]
    n_failed, malformed = 0, set[int]()

    def say(rows: Sequence[int], *messages: Message) -> None:
        for row in rows:
            talks[row] = (*talks[row], *messages)

    def ask(rows: Sequence[int], client: Extractor, form: ReplyFormat[T]) -> list[T | Failure]:
        chats, about = [talks[row] for row in rows], [items[row] for row in rows]
        return client.ask(chats, form, about, retry=False)

    def keep(rows: Sequence[int], results: Sequence[object]) -> list[int]:
        """Store the replies, and return the rows of the replies with records."""
        pairs = zip(rows, results, strict=True)
        read = [(row, reply) for row, reply in pairs if isinstance(reply, RecordReply)]
        for row, reply in read:
            replies[row].append(reply)
            say([row], Message("assistant", reply.text))
        return [row for row, reply in read if reply.records]

    def read_missed(text: str, cut: bool) -> RecordReply:
        try:
            return reading.read(text, cut)
        except UnreadableReply:
            if cut or not records.resembles_no_record(text):
                raise
            return RecordReply(text)

    advice = f"{_TOO_SMALL} To build without a model, set build.{resource}=nlp."
    first = extractor.ask(talks, reading, items, advice)
    going = keep(range(len(items)), first)
    yes_or_no = ReplyFormat("records left", lambda text, _: text.strip().strip(".!\"'*").lower())
    for number in range(rounds):
        if number:
            say(going, *more.render(values))
            answers = ask(going, Extractor(extractor.llm, 8, extractor.progress), yes_or_no)
            going = [row for row, one in zip(going, answers, strict=True) if one == "yes"]
            say(going, Message("assistant", "YES"))
        say(going, *missed.render(values))
        fitting = [row for row in going if extractor.fits(talks[row])]
        results = ask(fitting, extractor, ReplyFormat("gleaning", read_missed))
        failed = [at for at, one in zip(fitting, results, strict=True) if isinstance(one, Failure)]
        n_failed += len(going) - len(fitting) + len(failed)
        malformed.update(failed)
        going = keep(fitting, results)
    faults = _faults(replies, malformed)
    return replies, {**faults, **extractor.statistics, "failed_gleanings": n_failed}


def _faults(replies: Sequence[Sequence[RecordReply]], malformed: Set[int]) -> dict[str, float]:
    read = {
        row: ListReply[Any](some, any(one.cut for one in some), sum(one.malformed for one in some))
        for row, some in enumerate(replies)
        if some
    }
    faults = build_calls.list_faults(len(replies), read, malformed=malformed)
    return {"malformed_records": sum(one.skipped for one in read.values()), **faults}
