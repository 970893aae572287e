"""The gate that stops a run when too many calls of one step fail."""

from __future__ import annotations

import threading

from graphrag_bench.models.llm import RunStopped


class FailureGate:
    """Counts the calls of one step, from all threads, and stops the run above a failure rate.

    A call has failed when it ended without a reply, or with one that could not be read even after
    the corrective retry; whether a fallback then took its place makes no difference.
    """

    def __init__(self, step: str, limit: float = 0.2, after: int = 50) -> None:
        """`limit` is a share in 0-1; nothing is stopped before `after` calls."""
        self.step = step
        self.limit = limit
        self.after = after
        self.calls = 0
        self.failures = 0
        self._lock = threading.Lock()

    @property
    def rate(self) -> float:
        """The share of calls that failed, 0 before the first."""
        return self.failures / self.calls if self.calls else 0.0

    def note(self, ok: bool, sample: str) -> None:
        """Count one call, `sample` being its reply or error; raises RunStopped at too many."""
        with self._lock:
            self.calls += 1
            self.failures += not ok
            if ok or self.calls < self.after or self.rate <= self.limit:
                return
            rate, failures, calls = self.rate, self.failures, self.calls
        raise RunStopped(
            f"Step {self.step}: {failures} of {calls} calls failed ({rate:.0%}, the limit is "
            f"{self.limit:.0%}). The last one: {sample[:300]!r}. Try a larger model, a larger "
            "max_tokens, or raise failures.limit if you accept this."
        )
