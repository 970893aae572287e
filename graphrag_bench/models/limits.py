"""Requests and tokens per minute that apply jointly, and concurrency that follows the server."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MINUTE = 60.0
GUARD = 5.0
_LONGEST_NAP = 0.5


@dataclass
class Stamp:
    """One admitted request; it counts until `ends` on the client's clock."""

    n_tokens: int
    ends: float


class Pace:
    """Admits requests so that no sliding minute on the SERVER's clock holds too many.

    The server counts a request somewhere between its sending and its reply. So a request counts
    here from its sending until one minute after its reply, or after `guard` seconds when the reply
    takes longer: whatever the delay on the way (up to the guard), the server sees no more.
    Requests are admitted in the order in which they came, one at a time.
    """

    def __init__(
        self,
        requests: int | None,
        tokens: int | None,
        *,
        minute: float = MINUTE,
        guard: float = GUARD,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self.requests = requests
        self.tokens = tokens
        self._minute = minute * 1.0005
        self._guard = guard
        self._clock = clock
        self._sleep = sleep
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._counted: deque[Stamp] = deque()
        self._n_tokens = 0
        self._paused_until = 0.0

    def fits(self, n_tokens: int) -> bool:
        """Whether a request of this many tokens can ever be admitted."""
        return self.tokens is None or n_tokens <= self.tokens

    def admit(self, n_tokens: int) -> Stamp:
        """Wait until the request fits into the minute and no pause holds, then count it."""
        with self._turn:
            while (seconds := self._wait_for(n_tokens)) > 0:
                self._sleep(min(seconds, _LONGEST_NAP))
            with self._lock:
                stamp = Stamp(n_tokens, self._clock() + self._guard + self._minute)
                self._counted.append(stamp)
                self._n_tokens += n_tokens
                return stamp

    def settle(self, stamp: Stamp, n_tokens: int | None = None) -> None:
        """The reply is here: the minute ends one minute from now; the tokens are corrected."""
        with self._lock:
            stamp.ends = min(stamp.ends, self._clock() + self._minute)
            if n_tokens is not None:
                self._n_tokens += n_tokens - stamp.n_tokens
                stamp.n_tokens = n_tokens

    def pause(self, seconds: float) -> None:
        """Admit nothing for this long: the server said so (`Retry-After`)."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)

    def _wait_for(self, n_tokens: int) -> float:
        with self._lock:
            now = self._clock()
            while self._counted and self._counted[0].ends <= now:
                self._n_tokens -= self._counted.popleft().n_tokens
            if now < self._paused_until:
                return self._paused_until - now
            full = self.requests is not None and len(self._counted) >= self.requests
            heavy = self.tokens is not None and self._n_tokens + n_tokens > self.tokens
            if (full or heavy) and self._counted:
                return max(self._counted[0].ends - now, 1e-4)
            return 0.0


class Width:
    """How many calls may be under way: one more for each full round, half as many after a 429."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self.most = most
        self._clock = clock
        self._allowed = float(most)
        self._active = 0
        self._last_cut = float("-inf")
        self._changed = threading.Condition()

    @property
    def allowed(self) -> int:
        """How many calls may be under way now; at least one."""
        return max(1, int(self._allowed))

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Hold one of the places; waits for a free one."""
        with self._changed:
            self._changed.wait_for(lambda: self._active < self.allowed)
            self._active += 1
        try:
            yield
        finally:
            with self._changed:
                self._active -= 1
                self._changed.notify()

    def grow(self) -> None:
        """A call went well."""
        if self._allowed >= self.most:
            return
        with self._changed:
            self._allowed = min(self.most, self._allowed + 1 / self._allowed)
            self._changed.notify()

    def cut(self, sent: float) -> None:
        """The server had too much; calls sent before the last cut do not cut again."""
        with self._changed:
            if sent > self._last_cut:
                self._allowed = max(1.0, self._allowed / 2)
                self._last_cut = self._clock()
