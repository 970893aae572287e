"""A server that drips, or whose reply unpacks to gigabytes, costs patience and no more."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from graphrag_bench.models.attempts import Clock
from graphrag_bench.models.cached import Cached
from graphrag_bench.models.faults import retry_after
from graphrag_bench.models.openai_compatible import OpenAICompatible
from graphrag_bench.models.outcomes import CallFailed, Completion, RunStopped
from graphrag_bench.models.reply_store import ReplyStore
from graphrag_bench.models.scripted import Scripted

pytestmark = pytest.mark.slow

REPLY = json.dumps(
    {
        "model": "m",
        "choices": [{"message": {"role": "assistant", "content": "Paris"},
                     "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
).encode()  # fmt: skip
Send = Callable[[socket.socket], None]


@contextmanager
def serving(send: Send) -> Iterator[str]:
    """A server that answers every request by `send`; its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(0.1)
    going = threading.Event()

    def one(connection: socket.socket) -> None:
        with connection:
            connection.settimeout(5)
            connection.recv(1 << 16)
            try:
                send(connection)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):  # a close with bytes unread would be a reset
                    pass
            except OSError:
                return

    def work() -> None:
        while not going.is_set():
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        going.set()
        thread.join()
        listening.close()


def head(body: bytes, *more: str, length: int | None = None) -> bytes:
    lines = ["HTTP/1.1 200 OK", "Content-Type: application/json", *more]
    lines.append(f"Content-Length: {len(body) if length is None else length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def model(url: str, total: float = 1.0) -> OpenAICompatible:
    patience = {"first_pause": 0.01, "longest_pause": 0.02, "total": total, "read": 30.0}
    return OpenAICompatible("m", url, None, patience=patience)


def asked(url: str, chat, total: float = 1.0) -> Completion | CallFailed:
    return model(url, total).complete([chat("x")], max_tokens=5)[0]


def asked_once(url: str, chat) -> Completion | CallFailed:
    """The reply of a model that waits longer after a first fault than its patience lasts."""
    patience = {"first_pause": 90.0, "longest_pause": 90.0, "total": 30.0}
    once = OpenAICompatible("m", url, None, patience=patience, clock=Clock(jitter=lambda: 1.0))
    return once.complete([chat("x")], max_tokens=5)[0]


A_BYTE = 0.1
"""Seconds that a dripping server waits after each byte."""


def drip(text: bytes) -> Send:
    def send(connection: socket.socket) -> None:
        for at in range(len(text)):
            connection.sendall(text[at : at + 1])
            time.sleep(A_BYTE)

    return send


@pytest.mark.parametrize("where", ["headers", "body"])
def test_total_patience_holds_against_a_server_that_drips(chat, where: str) -> None:
    whole = head(REPLY) + REPLY
    at = 0 if where == "headers" else len(head(REPLY))

    def send(connection: socket.socket) -> None:
        connection.sendall(whole[:at])
        drip(whole[at:])(connection)

    with serving(send) as url:
        began = time.monotonic()
        with pytest.raises(RunStopped, match="taken no call in"):
            asked(url, chat)
        assert time.monotonic() - began < A_BYTE * (len(whole) - at)


@pytest.mark.parametrize("kind", ["gzip", "deflate", "identity"])
def test_packed_replies_are_read(chat, kind: str) -> None:
    body = {"gzip": gzip.compress, "deflate": zlib.compress, "identity": bytes}[kind](REPLY)
    with serving(lambda c: c.sendall(head(body, f"Content-Encoding: {kind}") + body)) as url:
        found = asked(url, chat, 5.0)
    assert isinstance(found, Completion) and found.text == "Paris"


@pytest.mark.parametrize("kind", ["gzip", "deflate"])
def test_a_packed_reply_that_is_a_bomb_is_not_unpacked(chat, kind: str) -> None:
    pack = zlib.compressobj(9, zlib.DEFLATED, 31 if kind == "gzip" else 15)
    body = b"".join(pack.compress(bytes(1 << 20)) for _ in range(300)) + pack.flush()
    answer = head(body, f"Content-Encoding: {kind}") + body
    with (
        serving(lambda c: c.sendall(answer)) as url,
        pytest.raises(RunStopped, match="unpacks to more than"),
    ):
        asked_once(url, chat)


def test_an_encoding_that_nobody_asked_for_is_a_fault(chat) -> None:
    answer = head(REPLY, "Content-Encoding: br") + REPLY
    with (
        serving(lambda c: c.sendall(answer)) as url,
        pytest.raises(RunStopped, match="encoded as 'br'"),
    ):
        asked_once(url, chat)


# ---- clocks


def test_a_server_says_until_when_by_its_own_clock() -> None:
    told = {"retry-after": "Thu, 01 Jan 2015 00:00:30 GMT", "date": "Thu, 01 Jan 2015 00:00:00 GMT"}
    assert retry_after(told) == 30.0
    assert retry_after({"retry-after": "Thu, 01 Jan 2015 00:00:30 GMT"}) == 0.0


def test_a_clock_set_back_pays_for_nothing_twice(tmp_path, chat, monkeypatch) -> None:
    inner = Scripted({}, lambda _: "Paris")
    n_calls = []
    call = inner.call
    monkeypatch.setattr(inner, "call", lambda request: (n_calls.append(1), call(request))[1])
    cached = Cached(inner, ReplyStore(tmp_path / "replies.sqlite"), "refresh")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 86_400)
    for _ in range(3):
        cached.complete([chat("x")], max_tokens=5)
    assert len(n_calls) == 1
