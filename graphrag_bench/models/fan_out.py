"""Lists of prompts answered by single calls in a bounded number of threads."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cached_property
from queue import SimpleQueue

from graphrag_bench.models.llm import Arrivals, Chat, Schema
from graphrag_bench.models.outcomes import CallFailed, Completion, Outcome
from graphrag_bench.models.settings import Prices

Log = Callable[[int, Outcome], None]
Lost = Callable[[], None]


@dataclass(frozen=True)
class Request:
    """One call as the layers of a model hand it on; `trial` tells repeats of a prompt apart.

    `lost` is told of every try that the server may have worked on and whose reply never arrived,
    before another is made; what it raises ends the call.
    """

    prompt: Chat
    max_tokens: int
    stop: tuple[str, ...] = ()
    schema: Schema | None = None
    trial: int = 0
    lost: Lost | None = field(default=None, compare=False, repr=False)


class FanOut(ABC):
    """A model made of single calls. Every layer (cache, budget, client) is one.

    A layer says what one `call` does; lists, threads and order of arrival are settled here. The
    threads belong to the object that is asked (the outermost layer) and are shared by all who ask
    it. A single prompt is called in the asker's own thread; the client inside bounds both.
    """

    window: int | None = None
    """The context window in tokens, prompt and reply together; None when it is not known."""
    concurrency: int = 1
    """How many calls may be under way at once."""
    prices: Prices = Prices()
    """What tokens cost; nothing, where nothing else is said."""
    _pool: ThreadPoolExecutor | None = None
    _pool_lock = threading.Lock()

    @property
    @abstractmethod
    def identity(self) -> str:
        """Name, revision and decoding settings: what can change a reply. No address, no key."""

    @abstractmethod
    def call(self, request: Request) -> Completion:
        """The reply to one request; raises CallFailed, or RunStopped when all would fail."""

    def complete(
        self,
        prompts: Sequence[Chat],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Schema | None = None,
    ) -> list[Completion | CallFailed]:
        """One reply, or the failure that took its place, for every prompt; raises RunStopped."""
        found = dict(self.arrivals(prompts, max_tokens=max_tokens, stop=stop, schema=schema))
        return [found[position] for position in range(len(prompts))]

    def arrivals(
        self,
        prompts: Sequence[Chat],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Schema | None = None,
        log: Log | None = None,
    ) -> Arrivals:
        """Position of the prompt and its reply, in order of arrival.

        When a call raises RunStopped, or the caller looks no further, calls not yet begun are
        left out; those under way are waited for (they are paid for: a cache keeps them, and `log`
        is told of them).
        """
        requests = [Request(prompt, max_tokens, tuple(stop), schema) for prompt in prompts]
        if len(requests) == 1 or self.concurrency == 1:
            for position, request in enumerate(requests):
                yield position, self._outcome(position, request, log)
            return
        yield from self._threaded(requests, log)

    def _threaded(self, requests: Sequence[Request], log: Log | None) -> Arrivals:
        arrived: SimpleQueue[Future[Outcome]] = SimpleQueue()
        pool = self._threads()
        positions: dict[Future[Outcome], int] = {}
        try:
            for position, request in enumerate(requests):
                positions[pool.submit(self._outcome, position, request, log)] = position
            for future in positions:
                future.add_done_callback(arrived.put)
            for _ in requests:
                future = arrived.get()
                yield positions[future], future.result()
        finally:
            for future in reversed(positions):
                future.cancel()
            wait(positions)

    def _outcome(self, position: int, request: Request, log: Log | None) -> Outcome:
        outcome: Outcome
        try:
            outcome = self.call(request)
        except CallFailed as failure:
            outcome = failure
        if log is not None:
            log(position, outcome)
        return outcome

    def _threads(self) -> ThreadPoolExecutor:
        with self._pool_lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.concurrency, "llm-call")
            return self._pool


class Layer(FanOut):
    """A model around another, `inner`, which it is like in all but what a call does."""

    def __init__(self, inner: FanOut) -> None:
        self.inner = inner
        self.window, self.concurrency = inner.window, inner.concurrency
        self.prices = inner.prices

    @cached_property
    def identity(self) -> str:
        """The identity of the model inside."""
        return self.inner.identity
