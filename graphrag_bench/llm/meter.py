"""Counts of model calls, and a limit on the failure rate of a pipeline step."""

import threading
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field

from graphrag_bench.llm.calls import CallFailed, CallOutcome, Completion, RunStopped, ServerFailed

OUTAGE_FAILURES = 5
"""The run stops after this many consecutive server failures."""


class FailureGate:
    """Limit on the failure rate of the calls of one pipeline step, for all threads.

    A call fails if there is no readable reply, even if a fallback is used. The run stops after more
    than `limit * max(calls, after)` failures, or after `OUTAGE_FAILURES` consecutive server
    failures.
    """

    def __init__(self, step: str, limit: float = 0.2, after: int = 50) -> None:
        self.step, self.limit, self.after = step, limit, after
        self.calls = self.failures = self._n_of_server = 0
        self._lock = threading.Lock()

    def count(self, ok: bool, outcome: CallOutcome) -> None:
        """Count one call as successful or failed.

        After too many failures, this raises ServerFailed if the server caused the last failure, and
        RunStopped otherwise. The message quotes the last reply or failure.
        """
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
        raise RunStopped(
            f"{problem}Use a larger model or max_tokens, or accept more failures with "
            "failures.limit."
        )


@dataclass(frozen=True)
class Usage:
    """Numbers of calls, tokens and failures, including calls that were answered from the cache.

    `failed` calls have no reply. `truncated` replies reached `max_tokens` or the end of the window.
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
    def of(cls, meters: "Iterable[Meter]") -> "Usage":
        """Return the numbers summed over the calls of several meters."""
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
