"""Base class of language models, with a cache, a budget and several calls at the same time."""

import copy
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from itertools import starmap
from typing import Any, Self

from graphrag_bench.errors import UserError
from graphrag_bench.llm import calls
from graphrag_bench.llm.cache import Cache, StoredReply, Verdict, reply_key
from graphrag_bench.llm.calls import CallFailed, CallOutcome, Chat, Completion, Request
from graphrag_bench.llm.ledger import Budget, Spending
from graphrag_bench.llm.settings import Prices
from graphrag_bench.terminal import check_stop
from graphrag_bench.text import count_tokens

Completed = Generator[tuple[int, CallOutcome], None, None]
TOKENS_PER_MESSAGE = 8
ESTIMATE_RATIO = 1.2
"""Assumed number of model tokens per cl100k token, to estimate the cost of a call."""
TOKENIZER_RATIO = 1.15
"""Assumed number of model tokens per cl100k token, to estimate the length of a prompt."""
MIN_REPLY = 512
_MIN_SHARE, _STEP = 16, 256


class ChatModel(ABC):
    """Base class of language models. A subclass defines `identity` and `call`."""

    window: int | None = None
    """Context window in tokens, shared by prompt and reply, or None if the window is unknown."""
    concurrency: int = 1
    """Maximum number of calls that run at the same time, each in a thread."""
    prices: Prices = Prices()
    trial: int = 0
    cache: Cache | None = None
    budget: Budget | None = None
    log: calls.Log | None = None
    batch: "Callable[[ChatModel, Sequence[Request]], None] | None" = None
    """Function that writes the requests without a stored reply to a batch file. It raises
    RequestsWritten if it has written a request."""
    gate: calls.FailureGate | None = None
    stop_on_outage: bool = False
    _original: "ChatModel | None" = None

    @property
    @abstractmethod
    def identity(self) -> str:
        """Identifier that covers everything that affects a reply, e.g. model and decoding."""

    @abstractmethod
    def call(self, request: Request) -> Completion:
        """Return the reply. Raises CallFailed, or RunStopped if no further call can succeed."""

    @cached_property
    def meter(self) -> calls.Meter:
        """Replies and failures of the calls that were made with this object."""
        return calls.Meter()

    @property
    def _root(self) -> "ChatModel":
        return self._original or self  # copies share the weights of the original

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.concurrency, "llm-call")

    def attached(
        self, *, store: Cache | None = None, budget: Budget | None = None, trial: int = 0,
        log: calls.Log | None = None, gate: calls.FailureGate | None = None,
        stop_on_outage: bool = False,
    ) -> Self:  # fmt: skip
        """Return a copy of the model with a new meter. Given arguments replace the model's values.

        `trial` is the number of the repetition. Each repetition has its own cache rows and seed,
        but the same identity. `log` may be called from any thread. If `stop_on_outage` is true and
        the server failed for a prompt, ServerFailed is raised when all calls have ended. Raises
        UserError if the budget is in dollars and the model has no prices.
        """
        other = copy.copy(self)
        other._original, other.meter = self._root, calls.Meter()
        if budget is not None:
            if budget.usd is not None and self.prices == Prices():
                setting = "llm.prices={prompt: ..., completion: ...}, dollars per million tokens"
                usd, name = f"budget.usd={budget.usd:g}", self.identity
                raise UserError(f"{usd} needs the prices of {name}: {setting}.")
            other.budget = budget
        other.cache, other.trial = store or self.cache, trial or self.trial
        other.log, other.gate = log or self.log, gate or self.gate
        other.stop_on_outage = stop_on_outage or self.stop_on_outage
        return other

    def complete(
        self, prompts: Sequence[Chat], *,
        max_tokens: int, stop: Sequence[str] = (), schema: calls.Schema | None = None,
    ) -> list[Completion | CallFailed]:  # fmt: skip
        """Return the reply or failure for each prompt. Raises RunStopped if no call can succeed."""
        outcomes: dict[int, CallOutcome] = {}
        requests = [Request(prompt, max_tokens, tuple(stop), schema) for prompt in prompts]
        with closing(self.as_completed(requests)) as completed:
            for position, outcome in completed:
                outcomes[position] = outcome
                self.report(isinstance(outcome, Completion), outcome)
        return [outcomes[position] for position in range(len(prompts))]

    def as_completed(self, requests: Sequence[Request], items: Sequence[str] = ()) -> Completed:
        """Yield (position of the request, reply or failure) in the order in which replies arrive.

        `items` names the subject of each request in the ledger. The caller must pass each outcome
        to `report`. Closing the generator cancels waiting calls, and waits for running calls.
        """
        requests = [replace(request, trial=self.trial) for request in requests]
        if self.batch is not None:
            self.batch(self, requests)
        outcomes: dict[int, CallOutcome] = {}
        completed = self._as_completed(requests, items or [""] * len(requests))
        try:
            with closing(completed):
                for position, outcome in completed:
                    outcomes[position] = outcome
                    yield position, outcome
        finally:
            in_order = [outcomes[position] for position in sorted(outcomes)]
            self.meter.replies += in_order
        lost = [outcome for outcome in in_order if outcome.of_server]
        if lost and self.stop_on_outage:
            raise calls.ServerFailed(f"The server failed. Last failure: {lost[-1]}")

    def _as_completed(self, requests: Sequence[Request], items: Sequence[str]) -> Completed:
        if len(requests) == 1 or self.concurrency == 1:
            yield from enumerate(starmap(self._outcome, zip(requests, items, strict=True)))
            return
        positions: dict[Future[CallOutcome], int] = {}
        begun: list[threading.Lock] = []

        def work(request: Request, item: str) -> CallOutcome:
            with (running := threading.Lock()):
                begun.append(running)
                return self._outcome(request, item)

        try:
            for position, call in enumerate(zip(requests, items, strict=True)):
                positions[self._root._threads.submit(work, *call)] = position
            for future in as_completed(positions):
                yield positions[future], future.result()
        finally:
            wait([future for future in reversed(positions) if not future.cancel()])
            for running in begun:  # also wait for calls whose future was lost by a signal
                with running:
                    pass

    def report(self, ok: bool, outcome: CallOutcome) -> None:
        """Count a call as successful or failed. Raises RunStopped after too many failures."""
        if self.gate is not None:
            self.gate.count(ok, outcome)

    def set_verdict(self, reply: Completion, verdict: Verdict) -> None:
        """Store in the cache whether a reply is readable, for example as the verdict `valid`."""
        if self.cache is not None and reply.key:
            self.cache.set_verdict(reply.key, verdict)

    def _outcome(self, request: Request, item: str) -> CallOutcome:
        check_stop()
        try:
            outcome: CallOutcome = self._reply(request)
        except CallFailed as failure:
            outcome = failure
        if self.log is not None:
            self.log(outcome, item)
        return outcome

    def _reply(self, request: Request) -> Completion:
        """Return the stored reply to a request. If there is none, request a reply and store it.

        Failed and unreadable replies are requested again. Truncated, readable replies are kept.
        """
        if (store := self.cache) is None:
            return self._within_budget(request)
        key, prompt = reply_key(self._root.identity, request)
        with store.lock(key):
            stored = store.get(key)
            again = stored is None or stored.verdict in ("unreadable", "failed")
            if stored is not None and (self.batch is not None or not again):
                return stored.completion
            about: dict[str, Any] = {"key": key, "identity": self._root.identity, "prompt": prompt,
                                     "created": time.time()}  # fmt: skip
            try:
                reply = self._within_budget(request)
            except CallFailed as failure:
                paid = vars(failure.paid or Completion(""))
                about |= {"verdict": "failed", "text": str(failure), "reason": failure.reason}
                store.put(StoredReply(**paid | about))
                raise
            if store.reading:
                return reply
            about["verdict"] = "valid" if request.schema is None else "new"
            row = StoredReply(**vars(reply) | about)
            stored = row if store.put(row) else store.get(key) or row  # a process was faster
            return replace(
                stored.completion,
                cached=False, usd=reply.usd, seconds=reply.seconds, retries=reply.retries,
            )  # fmt: skip

    def _within_budget(self, request: Request) -> Completion:
        if self.budget is None or not self.budget.limited:
            return self._root.call(request)
        n_prompt = round(estimated_tokens(request.prompt) * ESTIMATE_RATIO)
        usd = self.prices.usd(n_prompt, request.max_tokens)
        with self.budget.reserve(Spending(n_prompt + request.max_tokens, usd)) as spend:
            reply = self._root.call(request)
            spend(reply)
        return reply


def estimated_tokens(prompt: Chat) -> int:
    """Estimate the number of tokens of a prompt as its cl100k tokens plus eight per message."""
    return sum(count_tokens(message.content) + TOKENS_PER_MESSAGE for message in prompt)


def reply(llm: ChatModel, prompt: Chat, *, max_tokens: int) -> Completion:
    """Return the reply of a model to one prompt. Raises CallFailed if the call fails."""
    (outcome,) = llm.complete([prompt], max_tokens=max_tokens)
    if isinstance(outcome, CallFailed):
        raise outcome
    return outcome


def reserved_tokens(most: int, window: int | None) -> int:
    """Return the tokens reserved for a reply: 1/16 of the window, at least 512, at most `most`."""
    return most if window is None else min(most, max(MIN_REPLY, window // _MIN_SHARE))


def reply_tokens(llm: ChatModel, chat: Chat, most: int) -> int:
    """Return the token limit of a reply: `most`, or the window minus the prompt if that is less.

    The rest of the window is rounded down to a multiple of 256. The minimum is `reserved_tokens`.
    """
    if (window := llm.window) is None:
        return most
    n_prompt = TOKENIZER_RATIO * sum(count_tokens(message.content) for message in chat)
    rest = int(window - n_prompt) // _STEP * _STEP
    return min(most, max(rest, reserved_tokens(most, window)))
