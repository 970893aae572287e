"""Chunks to described entities and relationships by a language model, with gleaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.expected import Sizes, template_tokens
from graphrag_bench.graph.extraction import ChunkRecords, TextExtraction
from graphrag_bench.models.llm import LLM, Chat
from graphrag_bench.models.outcomes import CallFailed
from graphrag_bench.models.structured import Reading, ask_each
from graphrag_bench.offline.parts import refuse_all_failed, window_of
from graphrag_bench.offline.records import RecordReply, read_records
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Message, Prompt
from graphrag_bench.text import count_tokens

EXTRACT = Prompt("graphrag_bench.offline:prompts/text_records.j2")
CONTINUE = Prompt("graphrag_bench.offline:prompts/text_continue.j2")
MORE = Prompt("graphrag_bench.offline:prompts/text_more.j2")
STEP = "extract descriptions"
_YES_TOKENS = 8

T = TypeVar("T")


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    """A chunk's first call and its gleaning rounds, each with all that was said, halved.

    Half, because two calls are announced for each chunk. The records of a chunk are taken to be
    twice as long as it is.
    """
    prompt = template_tokens(settings["extract_prompt"]) + sizes.chunk
    reply = min(settings["max_tokens"] / 2, 2 * sizes.chunk)
    n_rounds = 1 + settings["max_gleaning"]
    said = sum(prompt + number * reply for number in range(n_rounds))
    return said / 2, n_rounds * reply / 2


@artifact("text_extraction.llm", calls=2, tokens=_tokens)
def llm_text_extraction(
    *,
    chunk_table: ChunkTable,
    llm_build: LLM,
    progress: Progress,
    entity_types: tuple[str, ...] = ("organization", "person", "geo", "event"),
    keywords: bool = False,
    max_gleaning: NonNegativeInt = 1,
    max_tokens: PositiveInt = 1024,
    extract_prompt: Prompt = EXTRACT,
    continue_prompt: Prompt = CONTINUE,
    more_prompt: Prompt = MORE,
) -> TextExtraction:
    """The described entities and relationships that the build model reads out of each chunk.

    One call for each chunk, then `max_gleaning` rounds that ask, in the same conversation, for
    what was missed; between rounds the model is asked whether anything is left, and the chunk is
    done unless it says yes: at most 2 calls for one round, 2 n for n. `keywords` asks for the
    themes of each relationship too, as a rich knowledge graph needs them. A reply that was cut
    gives its whole records and is counted. A chunk whose replies
    hold no readable record contributes nothing and is counted; raises UserError when that happens
    to every chunk.
    Source: Zhou et al. 2025, section 4; GraphRAG (Edge et al. 2024), section 3.1; the rounds as
    in nano-graphrag.
    """
    passages = chunk_table.passages
    asked = {"entity_types": entity_types, "keywords": keywords}
    conversation = _Conversation(
        llm_build,
        [extract_prompt.render({**asked, "passage": passage}) for passage in passages],
        [chunk_table.documents_of(row)[0] for row in range(len(chunk_table))],
        max_tokens,
        keywords,
        progress,
    )
    conversation.extract()
    for number in range(max_gleaning):
        conversation.say(continue_prompt)
        conversation.glean(last=number + 1 == max_gleaning)
        if number + 1 < max_gleaning:
            conversation.say(more_prompt)
            conversation.keep_those_that_want_more()
    return conversation.result()


@dataclass
class _Conversation:
    """One chat for each chunk, and the rows whose chats go on."""

    llm: LLM
    chats: list[Chat]
    items: Sequence[str]
    max_tokens: int
    keywords: bool
    progress: Progress
    going: list[int] = field(default_factory=list)
    replies: dict[int, list[RecordReply]] = field(default_factory=dict)
    failed_gleanings: int = 0

    def extract(self) -> None:
        """Ask for the records of every chunk; raises UserError when no reply can be read."""
        self.going = list(range(len(self.chats)))
        results = self._asked(Reading(STEP, self._read), STEP, self.max_tokens, retry=True)
        failures = [one for one in results.values() if not isinstance(one, RecordReply)]
        refuse_all_failed(
            f"Step '{STEP}' (text_extraction.llm)", failures, len(results),
            "The model may be too small to keep to the format, or its window may cut the prompt; "
            "build.text_extraction=nlp reads descriptions without a model.",
        )  # fmt: skip
        self._keep(results)

    def glean(self, last: bool) -> None:
        """Ask for what was missed; a reply without records ends a chunk's conversation.

        A conversation that has no room left in the model's window ends as if the call had failed.
        """
        fitting = [row for row in self.going if self._fits(self.chats[row])]
        self.failed_gleanings += len(self.going) - len(fitting)
        self.going = fitting
        results = self._asked(Reading("glean", self._read_more), "gleaning", self.max_tokens)
        self.failed_gleanings += sum(isinstance(one, CallFailed) for one in results.values())
        self._keep(results)
        if last:
            self.going = []

    def keep_those_that_want_more(self) -> None:
        """Go on with the chunks of which the model says that there is more."""
        results = self._asked(Reading("anything left", _is_yes), "asking for more", _YES_TOKENS)
        self.going = [row for row in self.going if results[row] is True]
        for row in self.going:
            self.chats[row] = (*self.chats[row], Message("assistant", "YES"))

    def say(self, prompt: Prompt) -> None:
        """Add the user's next message to the chats that go on."""
        said = prompt.render({"keywords": self.keywords})
        for row in self.going:
            self.chats[row] = (*self.chats[row], *said)

    def result(self) -> TextExtraction:
        """The records of all rounds of each chunk, and the counts."""
        replies = [self.replies.get(row, []) for row in range(len(self.chats))]
        rows = [_joined([reply.records for reply in of]) for of in replies]
        every = [reply for of in replies for reply in of]
        return TextExtraction.of(
            rows,
            {
                "malformed_records": sum(reply.malformed for reply in every),
                "negative_strengths": sum(reply.negative for reply in every),
                "truncated_replies": sum(reply.cut for reply in every),
                "failed_chunks": len(rows) - len(self.replies),
                "failed_gleanings": self.failed_gleanings,
            },
        )

    def _fits(self, chat: Chat) -> bool:
        """Whether chat and reply fit the window, as far as it is known."""
        if (window := window_of(self.llm)) is None:
            return True
        return sum(count_tokens(one.content) for one in chat) + self.max_tokens <= window

    def _read(self, text: str, cut: bool) -> RecordReply:
        return read_records(text, cut, keywords=self.keywords, purpose=STEP)

    def _read_more(self, text: str, cut: bool) -> RecordReply:
        """As `_read`, but a reply without records says that nothing was missed."""
        try:
            return self._read(text, cut)
        except UnreadableReply:
            return RecordReply(text, ChunkRecords())

    def _keep(self, results: Mapping[int, RecordReply | UnreadableReply | CallFailed]) -> None:
        """Note the records; a chat whose reply had some goes on, the reply being its next turn."""
        self.going = []
        for row, reply in results.items():
            if isinstance(reply, RecordReply):
                self.replies.setdefault(row, []).append(reply)
                if reply.records != ChunkRecords():
                    self.chats[row] = (*self.chats[row], Message("assistant", reply.text))
                    self.going.append(row)

    def _asked(
        self, reading: Reading[T], label: str, max_tokens: int, retry: bool = False
    ) -> dict[int, T | UnreadableReply | CallFailed]:
        with self.progress.task(label, len(self.going)) as advance:
            results = ask_each(
                self.llm,
                [self.chats[row] for row in self.going],
                reading,
                max_tokens=max_tokens,
                items=[self.items[row] for row in self.going],
                retry=retry,
                advance=advance,
            )
        return dict(zip(self.going, results, strict=True))


def _is_yes(text: str, cut: bool) -> bool:
    return text.strip().strip(".!\"'*").lower() == "yes"


def _joined(rounds: Sequence[ChunkRecords]) -> ChunkRecords:
    return ChunkRecords(
        tuple(record for records in rounds for record in records.entities),
        tuple(record for records in rounds for record in records.relationships),
    )
