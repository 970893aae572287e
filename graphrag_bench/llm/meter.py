"""The meter that counts one step's calls, and the gate that stops a run when too many fail."""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import astuple, dataclass

from graphrag_bench.fingerprint import digest
from graphrag_bench.llm.calls import (
    CallFailed,
    CallOutcome,
    Completion,
    Request,
    RunStopped,
    ServerFailed,
)
from graphrag_bench.llm.chat import Arrivals, ChatModel

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
class Calls:
    """What some calls add up to, cached ones as if they were not; `failed` ended without a reply.

    Tokens of replies that were paid for and useless count; `truncated` were cut at `max_tokens` or
    at the end of the window.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failed: int = 0
    truncated: int = 0
    unreadable: int = 0
    corrected: int = 0
    fallbacks: int = 0

    @classmethod
    def of(cls, meters: "Iterable[Metered]") -> "Calls":
        """Return the sums over some meters."""
        rows = [astuple(meter.usage) for meter in meters]
        return cls(*map(sum, zip(*rows, strict=True)))


class Metered(ChatModel):
    """A model that keeps what its calls returned; one for each question and step, never shared.

    `log` gets every outcome the moment it arrives, in whichever thread, with the item (chunk or
    question id) it was for: `ledger.at(stage, step)` makes one. `gate` may be shared: it watches
    the step's failure rate. `structured.ask` counts what it put right or replaced by a fallback.
    `lost` holds a digest of every prompt without a reply because the server failed; with `whole`
    that raises ServerFailed once the other calls of the list have ended.
    """

    def __init__(
        self,
        llm: ChatModel,
        log: Callable[[CallOutcome, str], None] | None = None,
        gate: FailureGate | None = None,
        *,
        whole: bool = False,
    ) -> None:
        vars(self).update(vars(llm))  # its cache, budget, limits and threads
        self.llm = llm
        self.replies: list[CallOutcome] = []
        self.unreadable = self.corrected = self.fallbacks = 0
        self.lost: list[str] = []
        self.n_asked = 0
        self.log = log
        self.gate = gate
        self._whole = whole
        self._arrived: list[bool] = []

    @classmethod
    def of(cls, llm: ChatModel) -> "Metered":
        """Return the meter that a model is, or one for it that nobody else looks at."""
        return llm if isinstance(llm, Metered) else cls(llm)

    @property
    def identity(self) -> str:
        """The identity of the model inside."""
        return self.llm.identity

    def call(self, request: Request) -> Completion:
        """Return the reply of the model inside."""
        return self.llm.call(request)

    def call_threads(self) -> ThreadPoolExecutor:
        """Return those of the model inside."""
        return self.llm.call_threads()

    @property
    def n_missing(self) -> int:
        """How many prompts of the last list are without a reply."""
        return self.n_asked - sum(self._arrived)

    @property
    def usage(self) -> Calls:
        """What the calls so far add up to."""
        paid = [one if isinstance(one, Completion) else one.paid for one in self.replies]
        replies = [reply for reply in paid if reply is not None]
        return Calls(
            len(self.replies),
            sum(reply.prompt_tokens for reply in replies),
            sum(reply.completion_tokens for reply in replies),
            sum(isinstance(outcome, CallFailed) for outcome in self.replies),
            sum(reply.finish == "length" for reply in replies),
            self.unreadable,
            self.corrected,
            self.fallbacks,
        )

    def _arrivals(self, requests: Sequence[Request], items: Sequence[str]) -> Arrivals:
        """Yield replies in order of arrival; `replies` keeps them in prompt order."""
        outcomes: dict[int, CallOutcome] = {}
        self.n_asked, self._arrived = len(requests), []
        arriving = super()._arrivals(requests, items)
        try:
            with closing(arriving):
                for position, outcome in arriving:
                    outcomes[position] = outcome
                    yield position, outcome
        finally:
            self.replies.extend(outcomes[position] for position in sorted(outcomes))
            lost = [position for position in sorted(outcomes) if outcomes[position].of_server]
            self.lost += [
                digest([[message.role, message.content] for message in requests[position].prompt])
                for position in lost
            ]
        if lost and self._whole:
            raise ServerFailed(f"The server failed. The last of its failures: {outcomes[lost[-1]]}")

    def enter(self, outcome: CallOutcome, item: str) -> None:
        """Count and log how a call ended, in its thread."""
        self._arrived.append(isinstance(outcome, Completion))
        super().enter(outcome, item)
