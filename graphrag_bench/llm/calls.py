"""Requests to language models, their replies, the errors of calls, and counts of calls."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, field
from typing import Any, ClassVar

from graphrag_bench.errors import UserError
from graphrag_bench.prompts import Message

Chat = tuple[Message, ...]
Schema = Mapping[str, Any]
OUTAGE_FAILURES = 5
"""The run stops after this many consecutive server failures."""


@dataclass(frozen=True)
class Request:
    """Request to a model. The cache key covers all fields. `trial` counts repetitions."""

    prompt: Chat
    max_tokens: int
    stop: tuple[str, ...] = ()
    schema: Schema | None = None
    trial: int = 0


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """Tokens, price and time of a call to a model. Tokens are counted by the server.

    `seconds` is the time of the last attempt, or 0 for a cached reply. `fingerprint` identifies the
    server's configuration. `completion_tokens` include `reasoning_tokens`. `key` is the cache key,
    or "" without a cache.
    """

    model: str = ""
    fingerprint: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    seconds: float = 0.0
    retries: int = 0
    usd: float = 0.0
    cached: bool = False
    key: str = ""


@dataclass(frozen=True)
class Completion(ModelCall):
    """Reply of a model. `finish` is `length` if the reply was truncated, and `stop` otherwise."""

    text: str
    finish: str = "stop"
    of_server: ClassVar[bool] = False


class CallFailed(Exception):
    """A call to a model failed, but the run can continue.

    `reason` is `content_filter`, `context_overflow`, `unreadable`, `retries_exhausted`,
    `malformed`, `refused` or `empty`. `paid` is an unusable reply for which the server charged.
    `of_server` is true if the server or the network failed, so that a later call may succeed.
    """

    retries = 0
    seconds = 0.0

    def __init__(self, reason: str, message: str, paid: Completion | None = None) -> None:
        super().__init__(reason, message, paid)
        self.reason = reason
        self.paid = paid
        self.of_server = reason in ("retries_exhausted", "malformed")

    def __str__(self) -> str:
        return str(self.args[1])


class RunStopped(UserError):
    """The run stops, because no further call to the model can succeed."""

    exit_code = 1


class NotAccepted(RunStopped):
    """The server rejects the API key, the model, the address, or a field of the request."""

    exit_code = 2


class ServerFailed(RunStopped):
    """The run stops, because the server or the network failed. A later run may succeed."""


class RequestsWritten(RunStopped):
    """The run stops, because requests were written to a batch file instead of being sent."""


CallOutcome = Completion | CallFailed
Log = Callable[[CallOutcome, str], None]
"""Function that receives the reply or failure of a call, and the item, e.g. the id of a chunk."""


class FailureGate:
    """Limit on the failure rate of the calls of one pipeline step, shared by all threads.

    A call without a readable reply has failed, even if a fallback is used. The run stops if
    failures exceed the fraction `limit` of the calls, where at least `after` calls are assumed. If
    `limit` is below 1, the run also stops after `OUTAGE_FAILURES` consecutive server failures.
    """

    def __init__(self, step: str, limit: float = 0.2, after: int = 50) -> None:
        self.step, self.limit, self.after = step, limit, after
        self.calls = self.failures = self._n_of_server = 0
        self._lock = threading.Lock()

    def count(self, ok: bool, outcome: CallOutcome) -> None:
        """Count one call. Raises ServerFailed or RunStopped after too many failures."""
        sample = outcome.text if isinstance(outcome, Completion) else str(outcome)
        with self._lock:
            self.calls += 1
            self.failures += not ok
            self._n_of_server = self._n_of_server + 1 if outcome.of_server else 0
            least = max(self.calls, self.after)
            outage = self._n_of_server >= OUTAGE_FAILURES and self.limit < 1
            if ok or not (outage or self.failures > self.limit * least):
                return
            problem = (
                f"Step {self.step}: {self.failures} of {self.calls} calls failed "
                f"({self.failures / self.calls:.0%}), and the limit is {self.limit:.0%} of {least} "
                f"calls. Consecutive server failures: {self._n_of_server}. Last failure: "
                f"{sample[:300]!r}. "
            )
        if outcome.of_server:
            raise ServerFailed(f"{problem}Run the same command again when the server is available.")
        advice = "Use a larger model or max_tokens, or accept more failures with failures.limit."
        raise RunStopped(problem + advice)


@dataclass(frozen=True)
class Usage:
    """Numbers of calls, tokens and failures, including calls that were answered from the cache."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failed: int = 0
    truncated: int = 0
    unreadable: int = 0
    corrected: int = 0
    fallbacks: int = 0

    @classmethod
    def of(cls, meters: "Iterable[Meter]") -> "Usage":
        """Return the total usage of several meters."""
        return cls(*map(sum, zip(*(astuple(meter.usage) for meter in meters), strict=True)))


@dataclass
class Meter:
    """Replies and failures of the calls of a pipeline step for one question, in prompt order."""

    replies: list[CallOutcome] = field(default_factory=list)
    unreadable: int = 0
    corrected: int = 0
    fallbacks: int = 0

    @property
    def usage(self) -> Usage:
        """Numbers of calls, tokens and failures so far."""
        replies = [one if isinstance(one, Completion) else one.paid for one in self.replies]
        paid = [reply for reply in replies if reply is not None]
        return Usage(
            calls=len(self.replies),
            prompt_tokens=sum(reply.prompt_tokens for reply in paid),
            completion_tokens=sum(reply.completion_tokens for reply in paid),
            failed=sum(isinstance(outcome, CallFailed) for outcome in self.replies),
            truncated=sum(reply.finish == "length" for reply in paid),
            unreadable=self.unreadable, corrected=self.corrected, fallbacks=self.fallbacks,
        )  # fmt: skip
