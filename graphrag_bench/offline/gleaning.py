"""Records of chunks by a language model, and rounds that ask for what was missed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import CallFailed, Chat
from graphrag_bench.llm.structured import Reading, ask_each
from graphrag_bench.offline.asking import failures
from graphrag_bench.offline.parts import Extractor, refuse_all_failed, window_of
from graphrag_bench.offline.records import R, RecordReply
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Message, Prompt
from graphrag_bench.text import count_tokens

_YES_TOKENS = 8

T = TypeVar("T")
Replies = dict[int, RecordReply[R] | UnreadableReply | CallFailed]


@dataclass(frozen=True, kw_only=True)
class Gleaning(Generic[R]):
    """How often, by which prompts and with which reader the model is asked again.

    At most `rounds` rounds of `continue_prompt`, and `more_prompt` between them, both with the
    variables `told`. `read` raises UnreadableReply for a reply without records that does not say
    that there are none; in a round such a reply has the records `nothing`. `step` and `builder`
    name what is asked for in messages, `advice` says what to do when no chunk has a reply.
    """

    step: str
    builder: str
    advice: str
    read: Callable[[str, bool], RecordReply[R]]
    nothing: R
    rounds: int
    continue_prompt: Prompt
    more_prompt: Prompt
    told: Mapping[str, object] = field(default_factory=dict)


@dataclass
class Conversations(Generic[R]):
    """One chat for each chunk, and the rows whose chats go on.

    `replies` are those with records, in order, of each chunk that has a readable one;
    `failed_gleanings` counts the rounds that failed or had no room in the model's window.
    """

    extractor: Extractor
    gleaning: Gleaning[R]
    chats: list[Chat]
    items: Sequence[str]
    progress: Progress
    going: list[int] = field(default_factory=list)
    replies: dict[int, list[RecordReply[R]]] = field(default_factory=dict)
    failed_gleanings: int = 0

    def hold(self) -> list[list[RecordReply[R]]]:
        """The replies of each chunk, of all rounds; raises UserError when none can be read."""
        self._extract()
        rounds = self.gleaning.rounds
        for number in range(rounds):
            self._say(self.gleaning.continue_prompt)
            self._glean(last=number + 1 == rounds)
            if number + 1 < rounds:
                self._say(self.gleaning.more_prompt)
                self._keep_those_that_want_more()
        return [self.replies.get(row, []) for row in range(len(self.chats))]

    @property
    def statistics(self) -> dict[str, float]:
        """How replies were read, and in how many chunks and rounds none could be."""
        every = [reply for of in self.replies.values() for reply in of]
        return {
            "malformed_records": sum(reply.malformed for reply in every),
            **self.extractor.statistics,
            "failed_chunks": len(self.chats) - len(self.replies),
            "failed_gleanings": self.failed_gleanings,
        }

    def _extract(self) -> None:
        step, read = self.gleaning.step, self.gleaning.read
        self.going = list(range(len(self.chats)))
        results: Replies[R] = self._asked(Reading(step, read), step, retry=True)
        lost = failures([*results.values()])
        where = f"Step '{step}' ({self.gleaning.builder})"
        refuse_all_failed(where, lost, len(results), self.gleaning.advice)
        self._keep(results)

    def _glean(self, last: bool) -> None:
        """Ask for what was missed; a reply without records ends a chunk's conversation.

        A conversation that has no room left in the model's window ends as if the call had failed.
        """
        fitting = [row for row in self.going if self._fits(self.chats[row])]
        self.failed_gleanings += len(self.going) - len(fitting)
        self.going = fitting
        reading = Reading("glean", self._read_more)
        results: Replies[R] = self._asked(reading, "gleaning")
        self.failed_gleanings += sum(isinstance(one, CallFailed) for one in results.values())
        self._keep(results)
        if last:
            self.going = []

    def _keep_those_that_want_more(self) -> None:
        with self.progress.task("asking for more", len(self.going)) as advance:
            answers = ask_each(
                self.extractor.llm, [self.chats[row] for row in self.going],
                Reading("anything left", _is_yes), max_tokens=_YES_TOKENS,
                items=[self.items[row] for row in self.going], retry=False, advance=advance,
            )  # fmt: skip
        results = dict(zip(self.going, answers, strict=True))
        self.going = [row for row in self.going if results[row] is True]
        for row in self.going:
            self.chats[row] = (*self.chats[row], Message("assistant", "YES"))

    def _say(self, prompt: Prompt) -> None:
        said = prompt.render(self.gleaning.told)
        for row in self.going:
            self.chats[row] = (*self.chats[row], *said)

    def _fits(self, chat: Chat) -> bool:
        if (window := window_of(self.extractor.llm)) is None:
            return True
        n_tokens = sum(count_tokens(one.content) for one in chat)
        return n_tokens + self.extractor.limit(chat) <= window

    def _read_more(self, text: str, cut: bool) -> RecordReply[R]:
        try:
            return self.gleaning.read(text, cut)
        except UnreadableReply:
            return RecordReply(text, self.gleaning.nothing)

    def _keep(self, results: Replies[R]) -> None:
        self.going = []
        for row, reply in results.items():
            if not isinstance(reply, UnreadableReply | CallFailed):
                self.replies.setdefault(row, []).append(reply)
                if reply.has_records:
                    self.chats[row] = (*self.chats[row], Message("assistant", reply.text))
                    self.going.append(row)

    def _asked(
        self, reading: Reading[T], label: str, retry: bool = False
    ) -> dict[int, T | UnreadableReply | CallFailed]:
        with self.progress.task(label, len(self.going)) as advance:
            results = self.extractor.ask(
                [self.chats[row] for row in self.going],
                reading,
                items=[self.items[row] for row in self.going],
                retry=retry,
                advance=advance,
            )
        return dict(zip(self.going, results, strict=True))


def _is_yes(text: str, cut: bool) -> bool:
    return text.strip().strip(".!\"'*").lower() == "yes"
