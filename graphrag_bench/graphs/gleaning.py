"""Delimited records of passages, read from replies, and rounds that ask for what was missed."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from graphrag_bench.algorithms.extraction import (
    ChunkFacts,
    ChunkRecords,
    EntityRecord,
    FactRecord,
    RelationshipRecord,
)
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.expected import Sizes, template_tokens
from graphrag_bench.graphs.asking import (
    MOST_TOKENS,
    Extractor,
    failures,
    refuse_all_failed,
    window_of,
)
from graphrag_bench.llm.calls import CallFailed, Chat
from graphrag_bench.llm.structured import ReplyFormat, ask_each
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Message, Prompt
from graphrag_bench.text import count_tokens, normalise_name

RECORD, FIELD, COMPLETE = "##", "<|>", "<|COMPLETE|>"
_MOST, _LEAST = 10.0, 0.0
"""The range of completeness; the highest is that of a fact without a score."""
_BETWEEN_RECORDS = re.compile(rf"{RECORD}|{re.escape(COMPLETE)}|\n(?=\s*\(\s*[\"']?[a-z_]+[\"']?<)")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_YES_TOKENS = 8

R = TypeVar("R", bound=ChunkRecords | ChunkFacts)
T = TypeVar("T")


@dataclass(frozen=True)
class RecordReply(Generic[R]):
    """A reply with its records, and how many were malformed or of negative strength."""

    text: str
    records: R
    malformed: int = 0
    negative: int = 0

    @property
    def has_records(self) -> bool:
        """Whether a record was read."""
        return self.records != type(self.records)()

    def checked(self, purpose: str) -> "RecordReply[R]":
        """Return the reply; raises UnreadableReply for one without records that says not so."""
        if not self.has_records and (COMPLETE not in self.text or self.malformed):
            raise UnreadableReply(purpose, self.text)
        return self


def read_records(
    text: str, cut: bool, *, keywords: bool, purpose: str
) -> RecordReply[ChunkRecords]:
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
    entities: list[EntityRecord] = []
    relationships: list[RelationshipRecord] = []
    malformed = negative = 0
    for kind, *fields in _records(text, cut):
        if kind == "content_keywords":
            continue
        n_names = {"entity": 1, "relationship": 2}.get(kind, 0)
        if (
            not n_names
            or len(fields) < 2 + n_names
            or not all(map(normalise_name, fields[:n_names]))
        ):
            malformed += 1
        elif kind == "entity":
            entities.append(EntityRecord(fields[0], fields[1].lower(), fields[2]))
        else:
            strength = _number(fields[-1], 1.0)
            negative += strength < 0
            themes = re.split(r"[,;]", fields[3]) if keywords and len(fields) >= 5 else []
            distinct = tuple(dict.fromkeys(theme.strip() for theme in themes if theme.strip()))
            source, target, description = fields[:3]
            relationships.append(
                RelationshipRecord(source, target, description, distinct, max(strength, 0.0))
            )
    records = ChunkRecords(tuple(entities), tuple(relationships))
    return RecordReply(text, records, malformed, negative).checked(purpose)


def read_facts(text: str, cut: bool, *, purpose: str) -> RecordReply[ChunkFacts]:
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
            complete = _number(fields[-1], _MOST) if len(fields) > 1 else _MOST
            facts.append(FactRecord(fields[0], (), min(max(complete, _LEAST), _MOST)))
        elif kind == "entity" and len(fields) > 1 and normalise_name(fields[0]) and facts:
            entity = EntityRecord(fields[0], "", fields[1])
            facts[-1] = replace(facts[-1], entities=(*facts[-1].entities, entity))
        else:
            malformed += 1
    return RecordReply(text, ChunkFacts(tuple(facts)), malformed).checked(purpose)


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


@dataclass(kw_only=True)
class Gleaner(Generic[R]):
    """Conversations about chunks, in which the model is asked again for what it missed.

    At most `rounds` rounds of `continue_prompt`, and `more_prompt` between them, both with the
    `variables`. `read` raises UnreadableReply for a reply without records that does not say
    that there are none; in a round such a reply has the records `nothing`. `step` and `builder`
    name what is asked for in messages, `advice` says what to do when no chunk has a reply.
    `failed_gleanings` counts the rounds that failed or had no room in the model's window.
    """

    extractor: Extractor
    step: str
    builder: str
    advice: str
    read: Callable[[str, bool], RecordReply[R]]
    nothing: R
    rounds: int
    continue_prompt: Prompt
    more_prompt: Prompt
    variables: Mapping[str, object] = field(default_factory=dict)
    progress: Progress
    failed_gleanings: int = 0

    def replies(self, chats: Sequence[Chat], items: Sequence[str]) -> list[list[RecordReply[R]]]:
        """Return the replies with records of each chat; raises UserError when none can be read.

        `items` names what each is about. A reply without records ends a conversation, and so
        does one that has no room left in the model's window, as if the call had failed.
        """
        self.chats, self.items = list(chats), items
        self.found: dict[int, list[RecordReply[R]]] = {}
        results = self._ask(
            range(len(chats)), ReplyFormat(self.step, self.read), self.step, retry=True
        )
        where = f"Step '{self.step}' ({self.builder})"
        refuse_all_failed(where, failures([*results.values()]), len(results), self.advice)
        going = self._keep(results)
        for number in range(self.rounds):
            if number:
                self._say(going, self.more_prompt)
                going = self._wanting_more(going)
            self._say(going, self.continue_prompt)
            fitting = [row for row in going if self._fits(self.chats[row])]
            results = self._ask(fitting, ReplyFormat("glean", self._read_more), "gleaning")
            n_lost = sum(isinstance(one, CallFailed) for one in results.values())
            self.failed_gleanings += len(going) - len(fitting) + n_lost
            going = self._keep(results)
        return [self.found.get(row, []) for row in range(len(chats))]

    @property
    def statistics(self) -> dict[str, float]:
        """How replies were read, and in how many chunks and rounds none could be."""
        every = [reply for replies in self.found.values() for reply in replies]
        return {
            "malformed_records": sum(reply.malformed for reply in every),
            **self.extractor.statistics,
            "failed_chunks": len(self.chats) - len(self.found),
            "failed_gleanings": self.failed_gleanings,
        }

    def _wanting_more(self, going: Sequence[int]) -> list[int]:
        with self.progress.task("asking for more", len(going)) as advance:
            answers = ask_each(
                self.extractor.llm, [self.chats[row] for row in going],
                ReplyFormat("anything left", _is_yes), max_tokens=_YES_TOKENS,
                items=[self.items[row] for row in going], retry=False, advance=advance,
            )  # fmt: skip
        wanting = [row for row, answer in zip(going, answers, strict=True) if answer is True]
        for row in wanting:
            self.chats[row] = (*self.chats[row], Message("assistant", "YES"))
        return wanting

    def _say(self, rows: Sequence[int], prompt: Prompt) -> None:
        messages = prompt.render(self.variables)
        for row in rows:
            self.chats[row] = (*self.chats[row], *messages)

    def _fits(self, chat: Chat) -> bool:
        if (window := window_of(self.extractor.llm)) is None:
            return True
        n_tokens = sum(count_tokens(one.content) for one in chat)
        return n_tokens + self.extractor.limit(chat) <= window

    def _read_more(self, text: str, cut: bool) -> RecordReply[R]:
        try:
            return self.read(text, cut)
        except UnreadableReply:
            return RecordReply(text, self.nothing)

    def _keep(
        self, results: Mapping[int, RecordReply[R] | UnreadableReply | CallFailed]
    ) -> list[int]:
        going = []
        for row, reply in results.items():
            if not isinstance(reply, UnreadableReply | CallFailed):
                self.found.setdefault(row, []).append(reply)
                if reply.has_records:
                    self.chats[row] = (*self.chats[row], Message("assistant", reply.text))
                    going.append(row)
        return going

    def _ask(
        self, rows: Sequence[int], reading: ReplyFormat[T], label: str, retry: bool = False
    ) -> dict[int, T | UnreadableReply | CallFailed]:
        chats, items = [self.chats[row] for row in rows], [self.items[row] for row in rows]
        with self.progress.task(label, len(rows)) as advance:
            results = self.extractor.ask(chats, reading, items=items, retry=retry, advance=advance)
        return dict(zip(rows, results, strict=True))


def _is_yes(text: str, cut: bool) -> bool:
    return text.strip().strip(".!\"'*").lower() == "yes"
