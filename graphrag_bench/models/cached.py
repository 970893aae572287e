"""A disk cache around a language model: a paid call is never paid again."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from graphrag_bench.models.fan_out import FanOut, Layer, Request
from graphrag_bench.models.outcomes import CallFailed, Completion
from graphrag_bench.models.reply_store import REUSABLE, ReplyStore, StoredReply, reply_key

Mode = Literal["off", "read", "write", "refresh"]


class Cached(Layer):
    """The model inside, asked only for what the store does not hold.

    `mode`: `write` reuses and stores; `read` reuses and stores nothing; `refresh` asks again for
    what was stored before this object was made, and stores; `off` does neither.

    A reply is committed before `call` returns. A reply to a schema is stored as not yet read;
    `judge` says later what it was worth, and an unreadable one is asked for again next time. A
    plain reply counts as read when it is not empty; one cut at `max_tokens` is kept as such,
    because asking again with the same limit would only be paid for again. The same prompt asked
    twice at once is called once.
    """

    def __init__(self, inner: FanOut, store: ReplyStore, mode: Mode = "write") -> None:
        super().__init__(inner)
        self.store = store
        self.mode: Mode = mode
        self._since = time.time()
        self._lock = threading.Lock()
        self._under_way: dict[str, tuple[threading.Lock, list[None]]] = {}
        self._unread: set[str] = set()
        self._paid_now: set[str] = set()

    def call(self, request: Request) -> Completion:
        """The stored reply, or the reply of the model inside, stored."""
        if self.mode == "off":
            return self.inner.call(request)
        key, prompt = reply_key(self.identity, request)
        with self._alone(key):
            stored = self.store.get(key)
            if stored is not None and self._reusable(stored):
                self._expect(key, stored.verdict)
                return stored.completion
            row = StoredReply(key, self.identity, prompt, "new", created=time.time())
            return self._paid(request, row)

    def judge(self, reply: Completion, verdict: str) -> None:
        """Note what a reply was worth: `valid`, `corrected` or `unreadable`."""
        with self._lock:
            expected = reply.key in self._unread
            self._unread.discard(reply.key)
        if reply.key and self.mode != "read" and (expected or verdict != "valid"):
            self.store.judge(reply.key, verdict)

    def _reusable(self, stored: StoredReply) -> bool:
        own = stored.key in self._paid_now  # whatever the clock of the machine says
        fresh = self.mode != "refresh" or own or stored.created >= self._since
        return fresh and stored.verdict in REUSABLE

    def _paid(self, request: Request, row: StoredReply) -> Completion:
        refresh = self.mode == "refresh"
        try:
            reply = self.inner.call(request)
        except CallFailed as failure:
            if self.mode != "read":
                noted = StoredReply.of(row, failure.paid, "failed") if failure.paid else row
                noted = replace(noted, verdict="failed", text=str(failure), reason=failure.reason)
                self.store.put(noted, replace=refresh)
            raise
        if self.mode == "read":
            return reply
        verdict = "valid" if request.schema is None else "new"
        stored = self.store.put(StoredReply.of(row, reply, verdict), replace=refresh)
        self._paid_now.add(row.key)
        self._expect(row.key, verdict)
        return replace(
            stored.completion,
            cached=False,
            usd=reply.usd,
            seconds=reply.seconds,
            retries=reply.retries,
        )

    def _expect(self, key: str, verdict: str) -> None:
        if verdict != "valid":
            with self._lock:
                self._unread.add(key)

    @contextmanager
    def _alone(self, key: str) -> Iterator[None]:
        """Hold the key, so that a prompt that is under way is waited for and not sent again."""
        with self._lock:
            lock, users = self._under_way.setdefault(key, (threading.Lock(), []))
            users.append(None)
        try:
            with lock:
                yield
        finally:
            with self._lock:
                users.pop()
                if not users:
                    del self._under_way[key]
