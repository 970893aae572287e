"""One call with all its tries: limits, retries with back-off, and a bounded total wait."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from graphrag_bench.models.faults import Again
from graphrag_bench.models.limits import GUARD, MINUTE, Pace, Width
from graphrag_bench.models.outcomes import CallFailed, RunStopped, ServerFailed
from graphrag_bench.models.settings import Limits, Patience

T = TypeVar("T")
_TRIES_OF_NO_SERVER = 2
_SECONDS_OF_A_STOP = 5.0


@dataclass(frozen=True)
class Reached(Generic[T]):
    """What came back, after how many failed tries, and the seconds of the try that succeeded."""

    value: T
    retries: int
    seconds: float


@dataclass(frozen=True)
class Clock:
    """Time and chance, to be replaced in tests; `jitter` gives numbers in 0-1."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    minute: float = MINUTE
    guard: float = GUARD


class Until(threading.local):
    """When the call of this thread must have ended, and the seconds it has left before it begins.

    A read timeout alone starts again with every byte that a server drips.
    """

    at: float = math.inf
    left: float = math.inf


class Attempts:
    """The way to one server, shared by all threads: its limits, and patience with its faults.

    Until the server has taken a call, tries go one at a time, so that a bad key or an unknown
    field is found by one call and not by as many as there are threads.
    """

    def __init__(self, limits: Limits, patience: Patience, clock: Clock) -> None:
        self.limits = limits
        self.patience = patience
        self.clock = clock
        self.width = Width(limits.concurrency, clock.now)
        self.pace = Pace(
            limits.requests_per_minute,
            limits.tokens_per_minute,
            minute=clock.minute,
            guard=clock.guard,
            clock=clock.now,
            sleep=clock.sleep,
        )
        self.until = Until()
        self.proven = False
        self._first = threading.Lock()
        self._stopped: RunStopped | None = None
        self._stopped_until = 0.0

    def run(
        self,
        send: Callable[[], T],
        n_tokens: int,
        used: Callable[[T], int],
        lost: Callable[[], None] | None = None,
    ) -> Reached[T]:
        """What `send` returns, tried again for as long as patience lasts.

        `n_tokens` is the most the call may use, `used(value)` what it used; `lost` is told of a
        try that the server may have worked on though no reply came. Raises CallFailed when patience
        is at an end and RunStopped when no server is there.
        """
        if not self.pace.fits(n_tokens):
            raise CallFailed(
                "refused",
                f"Prompt and max_tokens are {n_tokens} tokens, more than "
                f"limits.tokens_per_minute={self.limits.tokens_per_minute} lets through at all.",
            )
        waited = 0.0
        retries = 0
        said: Again | None = None
        while True:
            self.until.left = self.patience.total - waited
            try:
                value, seconds = self._try(send, n_tokens, used)
            except Again as fault:
                waited += fault.seconds
                retries += 1
                if fault.worked and lost is not None:
                    lost()
                if said is None or waited < self.patience.total:
                    said = fault  # a try that patience cut off tells less than the one before it
                waited += self._hold(said, retries, waited)
            except CallFailed as failure:
                failure.retries = retries
                raise
            else:
                return Reached(value, retries, seconds)

    def _try(
        self, send: Callable[[], T], n_tokens: int, used: Callable[[T], int]
    ) -> tuple[T, float]:
        if self.proven:
            return self._one(send, n_tokens, used)
        with self._first:
            if self._stopped is not None and self.clock.now() < self._stopped_until:
                raise RunStopped(str(self._stopped))
            if not self.proven:
                try:
                    found = self._one(send, n_tokens, used)
                except CallFailed:
                    self.proven = True
                    raise
                except RunStopped as stop:
                    self._stopped = stop
                    self._stopped_until = self.clock.now() + _SECONDS_OF_A_STOP
                    raise
                self.proven = True
                return found
        return self._one(send, n_tokens, used)

    def _one(
        self, send: Callable[[], T], n_tokens: int, used: Callable[[T], int]
    ) -> tuple[T, float]:
        with self.width.slot():
            stamp = self.pace.admit(n_tokens)
            sent = self.clock.now()
            self.until.at = sent + self.until.left
            try:
                value = send()
            except Again as fault:
                fault.seconds = self.clock.now() - sent
                self.pace.settle(stamp)
                if fault.too_much:
                    self.width.cut(sent)
                raise
            except CallFailed as failure:
                failure.seconds = self.clock.now() - sent
                self.pace.settle(stamp)
                raise
            seconds = self.clock.now() - sent
            total = used(value)
            reserved = self.limits.count_tokens == "reserved"
            self.pace.settle(stamp, max(total, n_tokens) if reserved else total)
            self.width.grow()
            return value, seconds

    def _hold(self, fault: Again, retries: int, waited: float) -> float:
        if fault.unreachable and not self.proven and retries >= _TRIES_OF_NO_SERVER:
            raise RunStopped(f"{fault}. Start the server, or correct llm.base_url.")
        most = min(
            self.patience.longest_pause, self.patience.first_pause * 2.0 ** min(retries - 1, 30)
        )
        seconds = most * self.clock.jitter()
        if fault.after is not None:
            if fault.after > self.patience.total:
                raise RunStopped(
                    f"The server asks to wait {fault.after:.0f} s, longer than "
                    f"patience.total={self.patience.total:.0f}: {fault}"
                )
            seconds = fault.after + min(1.0, 0.1 * fault.after) * self.clock.jitter()
            self.pace.pause(fault.after)
        if waited + seconds > self.patience.total:
            if fault.unreachable:
                raise ServerFailed(f"{fault}. It was there before; start it again and resume.")
            if not self.proven:
                raise ServerFailed(f"The server has taken no call in {waited:.0f} s: {fault}")
            raise CallFailed(
                "retries_exhausted",
                f"{retries} tries failed, the last with: {fault}",
                retries,
                waited,
            )
        self.clock.sleep(seconds)
        return seconds
