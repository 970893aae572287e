"""The gate that stops a run when too many calls of one step fail."""

from __future__ import annotations

import threading

from graphrag_bench.models.outcomes import RunStopped, ServerFailed

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
        counted = (
            f"Step {self.step}: {failures} of {calls} calls failed ({rate:.0%}, the limit is "
            f"{self.limit:.0%} of {max(calls, self.after)}). The last one: {sample[:300]!r}. "
        )
        if of_server:
            raise ServerFailed(f"{counted}Run the same command again when the server is well.")
        raise RunStopped(
            f"{counted}Try a larger model, a larger max_tokens, or raise failures.limit if you "
            "accept this."
        )
