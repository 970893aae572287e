"""The language-model protocol, and the meter that counts one step's calls."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from graphrag_bench.fingerprint import digest
from graphrag_bench.models.outcomes import (
    CallFailed,
    Completion,
    Outcome,
    ServerFailed,
    is_of_server,
    paid_reply,
    seen,
)
from graphrag_bench.prompts import Message

Chat = tuple[Message, ...]
Schema = Mapping[str, Any]


Arrivals = Generator[tuple[int, Outcome], None, None]


class LLM(Protocol):
    """A language model. Lists in, lists out, in the same order."""

    @property
    def identity(self) -> str:
        """Name, revision and decoding settings: what can change a reply. No address, no key."""
        ...

    def complete(
        self,
        prompts: Sequence[Chat],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Schema | None = None,
    ) -> list[Completion | CallFailed]:
        """One reply, or the failure that took its place, for every prompt; raises RunStopped."""
        ...


@runtime_checkable
class Arriving(Protocol):
    """A language model that hands out each reply at the moment it arrives."""

    def arrivals(
        self,
        prompts: Sequence[Chat],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Schema | None = None,
        log: Callable[[int, Outcome], None] | None = None,
    ) -> Arrivals:
        """Position of the prompt and its reply, in order of arrival; raises RunStopped.

        `log` hears, in the thread of the call, even of calls that end after the run was stopped.
        """
        ...


@runtime_checkable
class Judged(Protocol):
    """A language model that keeps verdicts on its replies."""

    def judge(self, reply: Completion, verdict: str) -> None:
        """Take note: `valid`, `unreadable`, or `corrected` (unreadable, then put right)."""
        ...


class Gate(Protocol):
    """What watches the failure rate of one step."""

    def note(self, ok: bool, sample: str, *, of_server: bool = False) -> None:
        """Count one call, `sample` being its reply or error; raises RunStopped at too many.

        `of_server` says that the server failed, and not the model.
        """
        ...


@dataclass(frozen=True)
class Usage:
    """Calls and tokens of some calls together, cached ones counted as if they were not."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )


@dataclass
class Metered:
    """An LLM that keeps what its calls returned; one for each question and step, never shared.

    `log` gets every outcome the moment it arrives, in whichever thread, with the item (chunk or
    question id) it was for: `ledger.at(stage, step)` makes one. `gate` may be shared: it watches
    the step's failure rate. `structured.ask` counts what it put right or replaced by a fallback.
    `lost` holds a digest of every prompt without a reply because the server failed; with `whole`
    that raises ServerFailed once the other calls of the list have ended.
    """

    llm: LLM
    replies: list[Completion | CallFailed] = field(default_factory=list)
    log: Callable[[Outcome, str], None] | None = None
    gate: Gate | None = None
    unreadable: int = 0
    corrected: int = 0
    fallbacks: int = 0
    whole: bool = False
    lost: list[str] = field(default_factory=list, init=False)
    n_asked: int = field(default=0, init=False)
    _heard: list[bool] = field(default_factory=list, init=False, repr=False)

    @property
    def n_missing(self) -> int:
        """How many prompts of the last list are without a reply."""
        return self.n_asked - sum(self._heard)

    @property
    def identity(self) -> str:
        """The identity of the model inside."""
        return self.llm.identity

    @property
    def window(self) -> int | None:
        """The context window of the model inside, in tokens; None when it is not known."""
        return window if isinstance(window := getattr(self.llm, "window", None), int) else None

    @property
    def usage(self) -> Usage:
        """What the calls so far add up to, replies that were paid for and useless among them."""
        done = self._paid
        return Usage(
            len(self.replies),
            sum(reply.prompt_tokens for reply in done),
            sum(reply.completion_tokens for reply in done),
        )

    @property
    def failed(self) -> int:
        """How many calls ended without a reply."""
        return sum(isinstance(outcome, CallFailed) for outcome in self.replies)

    @property
    def truncated(self) -> int:
        """How many replies were cut at `max_tokens` or at the end of the window."""
        return sum(reply.finish == "length" for reply in self._paid)

    @property
    def _paid(self) -> list[Completion]:
        return [paid for outcome in self.replies if (paid := paid_reply(outcome)) is not None]

    def complete(
        self,
        prompts: Sequence[Chat],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Schema | None = None,
        items: Sequence[str] = (),
    ) -> list[Completion | CallFailed]:
        """The replies of the model inside, counted; `items` names what each prompt is about."""
        found = dict(
            self.arrivals(prompts, max_tokens=max_tokens, stop=stop, schema=schema, items=items)
        )
        return [found[position] for position in range(len(prompts))]

    def arrivals(
        self,
        prompts: Sequence[Chat],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Schema | None = None,
        items: Sequence[str] = (),
        read_later: bool = False,
    ) -> Arrivals:
        """Position and reply in order of arrival; `replies` keeps them in prompt order.

        The gate is told of every outcome here, unless a reader will tell it later what the reply
        was (`read_later`).
        """
        found: dict[int, Outcome] = {}
        self.n_asked, self._heard = len(prompts), []
        arriving = arrivals(
            self.llm,
            prompts,
            max_tokens=max_tokens,
            stop=stop,
            schema=schema,
            log=lambda position, outcome: self._enter(outcome, items[position] if items else ""),
        )
        try:
            with closing(arriving):
                for position, outcome in arriving:
                    found[position] = outcome
                    if self.gate is not None and not read_later:
                        self.gate.note(*seen(outcome), of_server=is_of_server(outcome))
                    yield position, outcome
        finally:
            self.replies.extend(found[position] for position in sorted(found))
            lost = [position for position in sorted(found) if is_of_server(found[position])]
            self.lost += [_digest(prompts[position]) for position in lost]
        if lost and self.whole:
            raise ServerFailed(f"The server failed. The last of its failures: {found[lost[-1]]}")

    def _enter(self, outcome: Outcome, item: str) -> None:
        self._heard.append(isinstance(outcome, Completion))
        if self.log is not None:
            self.log(outcome, item)

    def judge(self, reply: Completion, verdict: str) -> None:
        """Pass a verdict on to the model inside, where it keeps one."""
        if isinstance(self.llm, Judged):
            self.llm.judge(reply, verdict)


def arrivals(
    llm: LLM,
    prompts: Sequence[Chat],
    *,
    max_tokens: int,
    stop: Sequence[str] = (),
    schema: Schema | None = None,
    log: Callable[[int, Outcome], None] | None = None,
) -> Arrivals:
    """Position and reply in order of arrival, or all at the end from a model that cannot."""
    if isinstance(llm, Arriving):
        yield from llm.arrivals(prompts, max_tokens=max_tokens, stop=stop, schema=schema, log=log)
        return
    outcomes = llm.complete(prompts, max_tokens=max_tokens, stop=stop, schema=schema)
    for position, outcome in enumerate(outcomes):
        if log is not None:
            log(position, outcome)
        yield position, outcome


def _digest(prompt: Chat) -> str:
    return digest([[message.role, message.content] for message in prompt])


def reply(
    llm: LLM,
    prompt: Chat,
    *,
    max_tokens: int,
    stop: Sequence[str] = (),
    schema: Schema | None = None,
) -> Completion:
    """The reply to one prompt; raises CallFailed when the call ended without one."""
    one = llm.complete([prompt], max_tokens=max_tokens, stop=stop, schema=schema)[0]
    if isinstance(one, CallFailed):
        raise one
    return one
