"""Delimited records of passages, read from replies, and rounds that ask for what was missed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from graphrag_bench.algorithms.extraction import EntityRecord, FactRecord, RelationshipRecord
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.expected import Sizes, template_tokens
from graphrag_bench.graphs.asking import MOST_TOKENS, Extractor, Result, failures
from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.structured import ReplyFormat
from graphrag_bench.prompts import Message, Prompt
from graphrag_bench.text import normalise_name
from graphrag_bench.values import unique

RECORD, FIELD, COMPLETE = "##", "<|>", "<|COMPLETE|>"
_COMPLETE = 10.0
"""The highest completeness of a fact, that of one without a score."""
_BETWEEN_RECORDS = re.compile(rf"{RECORD}|{re.escape(COMPLETE)}|\n(?=\s*\(\s*[\"']?[a-z_]+[\"']?<)")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_YES_TOKENS = 8

Record = EntityRecord | RelationshipRecord | FactRecord


@dataclass(frozen=True)
class RecordReply:
    """A reply with its records, and how many were malformed or of negative strength."""

    text: str
    records: tuple[Record, ...] = ()
    malformed: int = 0
    negative: int = 0


def _checked(reply: RecordReply, purpose: str) -> RecordReply:
    if not reply.records and (COMPLETE not in reply.text or reply.malformed):
        raise UnreadableReply(purpose, reply.text)
    return reply


def read_records(text: str, cut: bool, *, keywords: bool, purpose: str) -> RecordReply:
    """Return the records of a reply; raises UnreadableReply for none where it does not say so.

    Records are separated by `##`, their fields by `<|>`; what counts is the text between a
    record's first `(` and last `)`. An entity has at least 4 fields, a relationship at least 5;
    more is ignored. With `keywords` a relationship of 6 fields or more holds them in the fifth,
    and one of 5 has none. The last field is the strength where it is a signed decimal number,
    which is taken as 0 when negative (and counted), and otherwise the strength is 1. The last
    record of a `cut` reply is left out. A reply that is only `<|COMPLETE|>` has no records.
    Source: the released code of Zhou et al. 2025 (4e87938) and nano-graphrag; names in quotes are
    accepted with and without them.
    """
    records: list[Record] = []
    malformed = negative = 0
    for kind, *fields in _records(text, cut):
        n_names = {"entity": 1, "relationship": 2}.get(kind, 0)
        named = n_names and all(map(normalise_name, fields[:n_names]))
        if kind == "content_keywords":
            continue
        if not named or len(fields) < 2 + n_names:
            malformed += 1
        elif kind == "entity":
            records.append(EntityRecord(fields[0], fields[1].lower(), fields[2]))
        else:
            strength = _number(fields[-1], 1.0)
            negative += strength < 0
            themes = re.split(r"[,;]", fields[3]) if keywords and len(fields) >= 5 else []
            distinct = unique([theme.strip() for theme in themes if theme.strip()])
            source, target, description = fields[:3]
            weight = max(strength, 0.0)
            records.append(RelationshipRecord(source, target, description, distinct, weight))
    return _checked(RecordReply(text, tuple(records), malformed, negative), purpose)


def read_facts(text: str, cut: bool, *, purpose: str) -> RecordReply:
    """Return the facts of a reply; raises UnreadableReply for none where it does not say so.

    Records are told apart as `read_records` says. A fact has a text and, in its last field, a
    completeness, which is moved into 0..10 and is 10 where it is no number. Entities, of a name and
    a description at least, belong to the fact before them; one that stands before every fact is
    malformed. More fields are ignored.
    Source: HyperGraphRAG (Luo et al. 2025), the layout of its released prompt.
    """
    facts: list[FactRecord] = []
    malformed = 0
    for kind, *fields in _records(text, cut):
        if kind == "fact" and fields and fields[0]:
            complete = _number(fields[-1], _COMPLETE) if len(fields) > 1 else _COMPLETE
            facts.append(FactRecord(fields[0], (), min(max(complete, 0.0), _COMPLETE)))
        elif kind == "entity" and len(fields) > 1 and normalise_name(fields[0]) and facts:
            entity = EntityRecord(fields[0], "", fields[1])
            facts[-1] = replace(facts[-1], entities=(*facts[-1].entities, entity))
        else:
            malformed += 1
    return _checked(RecordReply(text, tuple(facts), malformed), purpose)


def _records(text: str, cut: bool) -> Iterator[list[str]]:
    parts = _BETWEEN_RECORDS.split(text)
    for part in parts[:-1] if cut else parts:
        if FIELD in part:
            start, end = part.find("("), part.rfind(")")
            kind, *fields = part[start + 1 : end].split(FIELD) if end > start else [""]
            yield [_bare(kind).lower(), *map(_bare, fields)]


def _bare(text: str) -> str:
    text = text.strip()
    for quote in "\"'":
        if len(text) > 1 and text[0] == text[-1] == quote:
            text = text[1:-1].strip()
    return text


def _number(field: str, otherwise: float) -> float:
    return float(field) if _NUMBER.fullmatch(field) else otherwise


def gleaned_tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    """Return the tokens of a chunk's first call and gleaning rounds, with all before them, halved.

    Half, because two calls are announced for each chunk. The records of a chunk are taken to be
    twice as long as it is.
    """
    prompt = template_tokens(settings["extract_prompt"]) + sizes.chunk
    reply = min((settings["max_tokens"] or MOST_TOKENS) / 2, 2 * sizes.chunk)
    n_rounds = 1 + settings["max_gleaning"]
    prompts = sum(prompt + number * reply for number in range(n_rounds))
    return prompts / 2, n_rounds * reply / 2


def gleaned(
    extractor: Extractor,
    chats: Sequence[Chat],
    items: Sequence[str],
    reading: ReplyFormat[RecordReply],
    advice: str,
    rounds: int,
    continue_prompt: Prompt,
    more_prompt: Prompt,
    keywords: bool = False,
) -> tuple[list[list[RecordReply]], dict[str, float]]:
    """Return the replies with records of each chat, and how many could not be read.

    At most `rounds` rounds of `continue_prompt` ask in the same conversation for what was missed,
    and `more_prompt` between them whether there is more; both may use `keywords`. A reply without
    records ends a conversation, and so does a window without room for one: `failed_gleanings`
    counts these rounds and failed calls. Raises UserError when no first reply can be read.
    """
    talks, asking = list(chats), Extractor(extractor.llm, _YES_TOKENS, extractor.progress)
    replies: list[list[RecordReply]] = [[] for _ in chats]
    n_lost = 0

    def going_on(rows: Sequence[int], results: Sequence[Result[RecordReply]]) -> list[int]:
        going = []
        for row, reply in zip(rows, results, strict=True):
            if isinstance(reply, RecordReply):
                replies[row].append(reply)
                if reply.records:
                    talks[row] = (*talks[row], Message("assistant", reply.text))
                    going.append(row)
        return going

    def say(rows: Sequence[int], prompt: Prompt) -> list[Chat]:
        messages = prompt.render({"keywords": keywords})
        for row in rows:
            talks[row] = (*talks[row], *messages)
        return [talks[row] for row in rows]

    first = extractor.ask(chats, reading, items, advice)
    going = going_on(range(len(chats)), first)
    gleaning = ReplyFormat("gleaning", partial(_missed, reading))
    for number in range(rounds):
        if number:
            about = [items[row] for row in going]
            answers = asking.ask(say(going, more_prompt), _MORE, about, retry=False)
            going = [row for row, yes in zip(going, answers, strict=True) if yes is True]
            for row in going:
                talks[row] = (*talks[row], Message("assistant", "YES"))
        say(going, continue_prompt)
        fitting = [row for row in going if extractor.fits(talks[row])]
        prompts, about = [talks[row] for row in fitting], [items[row] for row in fitting]
        results = extractor.ask(prompts, gleaning, about, retry=False)
        n_lost += len(going) - len(fitting) + len(failures(results))
        going = going_on(fitting, results)
    return replies, {
        "malformed_records": sum(reply.malformed for some in replies for reply in some),
        **extractor.statistics,
        "failed_chunks": replies.count([]),
        "failed_gleanings": n_lost,
    }


def _missed(reading: ReplyFormat[RecordReply], text: str, cut: bool) -> RecordReply:
    try:
        return reading.read(text, cut)
    except UnreadableReply:  # says that nothing was missed
        return RecordReply(text)


def _is_yes(text: str, cut: bool) -> bool:
    return text.strip().strip(".!\"'*").lower() == "yes"


_MORE = ReplyFormat("anything left", _is_yes)
