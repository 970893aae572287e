"""What the calls of one step add up to, and the gate that stops a run when too many fail."""

import threading
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field

from graphrag_bench.llm.calls import CallFailed, CallOutcome, Completion, RunStopped, ServerFailed

IN_A_ROW = 5
"""So many calls without a reply, one after the other, are an outage of the server."""


class FailureGate:
    """Counts the calls of one step, from all threads, and stops the run above a failure rate.

    A call has failed when it ended without a reply, or with one that could not be read even after
    the corrective retry; whether a fallback then took its place makes no difference. The gate works
    from the first call on: it stops as soon as there are more failures than `after` calls may have.
    `IN_A_ROW` calls that the server failed, with no success between them, stop at once.
    """

    def __init__(self, step: str, limit: float = 0.2, after: int = 50) -> None:
        self.step = step
        self.limit = limit
        self.after = after
        self.calls = self.failures = self._n_of_server = 0
        self._lock = threading.Lock()

    def note(self, ok: bool, sample: str, *, of_server: bool = False) -> None:
        """Count one call, `sample` being its reply or error; raises RunStopped at too many.

        Raises ServerFailed where it was the server that failed.
        """
        with self._lock:
            self.calls += 1
            self.failures += not ok
            self._n_of_server = self._n_of_server + 1 if of_server else 0
            least = max(self.calls, self.after)
            outage = self._n_of_server >= IN_A_ROW and self.limit < 1
            if ok or not (outage or self.failures > self.limit * least):
                return
            problem = (
                f"Step {self.step}: {self.failures} of {self.calls} calls failed "
                f"({self.failures / self.calls:.0%}, the limit is {self.limit:.0%} of {least}), "
                f"the last {self._n_of_server} of them by the server. The last one: "
                f"{sample[:300]!r}. "
            )
        if of_server:
            raise ServerFailed(f"{problem}Run the same command again when the server is well.")
        raise RunStopped(
            f"{problem}Try a larger model, a larger max_tokens, or raise failures.limit if you "
            "accept this."
        )


@dataclass(frozen=True)
class Usage:
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
    def of(cls, meters: "Iterable[Meter]") -> "Usage":
        """Return the sums over some meters."""
        return cls(*map(sum, zip(*(astuple(meter.usage) for meter in meters), strict=True)))


@dataclass
class Meter:
    """What the calls of one question and step returned, in the order of their prompts.

    `structured.ask` counts what it put right or replaced by a fallback. `arrived` are the replies
    to the last list of `n_prompts` prompts, in whichever order.
    """

    replies: list[CallOutcome] = field(default_factory=list)
    unreadable: int = 0
    corrected: int = 0
    fallbacks: int = 0
    n_prompts: int = 0
    arrived: list[Completion] = field(default_factory=list)

    @property
    def n_missing(self) -> int:
        """How many prompts of the last list are without a reply."""
        return self.n_prompts - len(self.arrived)

    @property
    def usage(self) -> Usage:
        """What the calls so far add up to."""
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
