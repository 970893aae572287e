"""The meter that counts one step's calls, and the gate that stops a run when too many fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from graphrag_bench.fingerprint import digest
from graphrag_bench.llm.calls import (
    CallFailed,
    Chat,
    Completion,
    Outcome,
    RunStopped,
    Schema,
    ServerFailed,
)
from graphrag_bench.llm.chat import LLM, Arrivals, ChatModel

IN_A_ROW = 5
"""So many calls without a reply, one after the other, are an outage of the server."""


class FailureGate:
    """Counts the calls of one step, from all threads, and stops the run above a failure rate.

    A call has failed when it ended without a reply, or with one that could not be read even after
    the corrective retry; whether a fallback then took its place makes no difference. The gate works
    from the first call on: it stops as soon as there are more failures than `after` calls may have.
    `in_a_row` calls that the server failed, with no success between them, stop at once.
    """

    def __init__(
        self, step: str, limit: float = 0.2, after: int = 50, in_a_row: int = IN_A_ROW
    ) -> None:
        self.step = step
        self.limit = limit
        self.after = after
        self.in_a_row = in_a_row
        self.calls = 0
        self.failures = 0
        self._of_server = 0
        self._lock = threading.Lock()

    @property
    def rate(self) -> float:
        """The share of calls that failed, 0 before the first."""
        return self.failures / self.calls if self.calls else 0.0

    def note(self, ok: bool, sample: str, *, of_server: bool = False) -> None:
        """Count one call, `sample` being its reply or error; raises RunStopped at too many.

        Raises ServerFailed where it was the server that failed.
        """
        with self._lock:
            self.calls += 1
            self.failures += not ok
            self._of_server = self._of_server + 1 if of_server else 0
            outage = self._of_server >= self.in_a_row and self.limit < 1
            too_many = self.failures > self.limit * max(self.calls, self.after)
            if ok or not (outage or too_many):
                return
            rate, failures, calls, row = self.rate, self.failures, self.calls, self._of_server
        if outage:
            raise ServerFailed(
                f"Step {self.step}: the server failed {row} calls in a row. The last of them: "
                f"{sample[:300]!r}. Start it again or wait, and run the same command."
            )
        counts = (
            f"Step {self.step}: {failures} of {calls} calls failed ({rate:.0%}, the limit is "
            f"{self.limit:.0%} of {max(calls, self.after)}). The last one: {sample[:300]!r}. "
        )
        if of_server:
            raise ServerFailed(f"{counts}Run the same command again when the server is well.")
        raise RunStopped(
            f"{counts}Try a larger model, a larger max_tokens, or raise failures.limit if you "
            "accept this."
        )


@dataclass(frozen=True)
class Usage:
    """Calls and tokens of some calls together, cached ones counted as if they were not."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass
class Metered:
    """A model that keeps what its calls returned; one for each question and step, never shared.

    `log` gets every outcome the moment it arrives, in whichever thread, with the item (chunk or
    question id) it was for: `ledger.at(stage, step)` makes one. `gate` may be shared: it watches
    the step's failure rate. `structured.ask` counts what it put right or replaced by a fallback.
    `lost` holds a digest of every prompt without a reply because the server failed; with `whole`
    that raises ServerFailed once the other calls of the list have ended.
    """

    llm: ChatModel
    replies: list[Completion | CallFailed] = field(default_factory=list)
    log: Callable[[Outcome, str], None] | None = None
    gate: FailureGate | None = None
    unreadable: int = 0
    corrected: int = 0
    fallbacks: int = 0
    whole: bool = False
    lost: list[str] = field(default_factory=list, init=False)
    n_asked: int = field(default=0, init=False)
    _arrived: list[bool] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def of(cls, llm: LLM) -> Metered:
        """Return the meter that a model is, or one for it that nobody else looks at."""
        if isinstance(llm, Metered):
            return llm
        if isinstance(llm, ChatModel):
            return cls(llm)
        raise TypeError(f"{type(llm).__name__} is no ChatModel")

    @property
    def n_missing(self) -> int:
        """How many prompts of the last list are without a reply."""
        return self.n_asked - sum(self._arrived)

    @property
    def identity(self) -> str:
        """The identity of the model inside."""
        return self.llm.identity

    @property
    def window(self) -> int | None:
        """The context window of the model inside, in tokens; None when it is not known."""
        return self.llm.window

    @property
    def usage(self) -> Usage:
        """What the calls so far add up to, replies that were paid for and useless among them."""
        paid = self._paid
        return Usage(
            len(self.replies),
            sum(reply.prompt_tokens for reply in paid),
            sum(reply.completion_tokens for reply in paid),
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
        paid = [one if isinstance(one, Completion) else one.paid for one in self.replies]
        return [reply for reply in paid if reply is not None]

    def complete(
        self,
        prompts: Sequence[Chat],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Schema | None = None,
        items: Sequence[str] = (),
    ) -> list[Completion | CallFailed]:
        """Return the replies of the model inside; `items` names what each prompt is about."""
        outcomes: dict[int, Outcome] = {}
        arriving = self.arrivals(
            prompts, max_tokens=max_tokens, stop=stop, schema=schema, items=items
        )
        with closing(arriving):
            for position, outcome in arriving:
                outcomes[position] = outcome
                self.note(isinstance(outcome, Completion), outcome)
        return [outcomes[position] for position in range(len(prompts))]

    def arrivals(
        self,
        prompts: Sequence[Chat],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Schema | None = None,
        items: Sequence[str] = (),
    ) -> Arrivals:
        """Yield position and reply in order of arrival; `replies` keeps them in prompt order.

        The caller tells the gate what each reply was worth: `note`.
        """
        outcomes: dict[int, Outcome] = {}
        self.n_asked, self._arrived = len(prompts), []
        arriving = self.llm.arrivals(
            prompts,
            max_tokens=max_tokens,
            stop=stop,
            schema=schema,
            log=lambda position, outcome: self._enter(outcome, items[position] if items else ""),
        )
        try:
            with closing(arriving):
                for position, outcome in arriving:
                    outcomes[position] = outcome
                    yield position, outcome
        finally:
            self.replies.extend(outcomes[position] for position in sorted(outcomes))
            lost = [position for position in sorted(outcomes) if outcomes[position].of_server]
            self.lost += [_digest(prompts[position]) for position in lost]
        if lost and self.whole:
            raise ServerFailed(f"The server failed. The last of its failures: {outcomes[lost[-1]]}")

    def note(self, ok: bool, outcome: Outcome) -> None:
        """Tell the gate whether a call has ended well; raises RunStopped at too many failures."""
        if self.gate is not None:
            sample = outcome.text if isinstance(outcome, Completion) else str(outcome)
            self.gate.note(ok, sample, of_server=outcome.of_server)

    def judge(self, reply: Completion, verdict: str) -> None:
        """Pass a verdict on a reply on to the cache of the model inside."""
        self.llm.judge(reply, verdict)

    def _enter(self, outcome: Outcome, item: str) -> None:
        self._arrived.append(isinstance(outcome, Completion))
        if self.log is not None:
            self.log(outcome, item)


def _digest(prompt: Chat) -> str:
    return digest([[message.role, message.content] for message in prompt])
