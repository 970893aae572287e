"""HTTP that ends: no reply takes longer than the patience left, or unpacks without a limit.

The client of `openai` is made of `httpx` or of a package of another name with the same parts; both
are asked for their own classes, and told apart nowhere.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

from graphrag_bench.models.attempts import Until
from graphrag_bench.unpacking import TooLarge, inflated

MOST_BYTES = 1 << 30
"""Of a reply as it comes; a thousand embeddings are some twenty million."""
_ENCODINGS = ("gzip", "deflate")


def bound(client: Any, until: Until, now: Callable[[], float]) -> Any:
    """The client, whose reads end at `until.at` and whose replies are limited in size.

    A read timeout alone starts again with every byte: a server that drips would hold a call for
    ever. Proxies of the environment are kept.
    """
    client.headers["Accept-Encoding"] = ", ".join(_ENCODINGS)
    for transport in (client._transport, *client._mounts.values()):
        pool = getattr(transport, "_pool", None)
        if pool is not None:
            pool._network_backend = _Backend(pool._network_backend, _package(pool), until, now)
    client._transport = _Whole(client._transport)
    client._mounts = {
        pattern: None if transport is None else _Whole(transport)
        for pattern, transport in client._mounts.items()
    }
    return client


def _package(made: object) -> Any:
    return import_module(type(made).__module__.partition(".")[0])


class _Backend:
    def __init__(self, inner: Any, core: Any, until: Until, now: Callable[[], float]) -> None:
        self._inner, self._told = inner, (core, until, now)

    def connect_tcp(self, *given: Any, **more: Any) -> _Stream:
        return _Stream(self._inner.connect_tcp(*given, **more), *self._told)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Stream:
    def __init__(self, inner: Any, core: Any, until: Until, now: Callable[[], float]) -> None:
        self._inner, self._core, self._until, self._now = inner, core, until, now

    def _left(self, timeout: float | None, over: type[Exception]) -> float | None:
        left = self._until.at - self._now()
        if left <= 0:
            raise over("patience.total is over")
        return timeout if left == math.inf else min(left, math.inf if timeout is None else timeout)

    def read(self, max_bytes: int, timeout: float | None = None) -> Any:
        return self._inner.read(max_bytes, self._left(timeout, self._core.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._left(timeout, self._core.WriteTimeout))

    def start_tls(self, *given: Any, **more: Any) -> _Stream:
        inner = self._inner.start_tls(*given, **more)
        return _Stream(inner, self._core, self._until, self._now)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Whole:
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def handle_request(self, request: Any) -> Any:
        package = _package(self._inner)
        reply = self._inner.handle_request(request)
        parts: list[bytes] = []
        n_bytes = 0
        try:
            for part in reply.stream:
                parts.append(part)
                n_bytes += len(part)
                if n_bytes > MOST_BYTES:
                    raise package.DecodingError(f"the reply has more than {MOST_BYTES:,} bytes")
        finally:
            reply.stream.close()
        kind = reply.headers.get("Content-Encoding", "identity").strip().lower()
        try:
            body = _unpacked(b"".join(parts), kind)
        except (TooLarge, zlib.error) as error:
            raise package.DecodingError(str(error)) from None
        dropped = (b"content-encoding", b"content-length", b"transfer-encoding")
        headers = [(k, v) for k, v in reply.headers.raw if k.lower() not in dropped]
        return package.Response(
            reply.status_code, headers=headers, content=body, extensions=reply.extensions
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _unpacked(body: bytes, kind: str) -> bytes:
    if kind in ("", "identity"):
        return body
    if kind not in _ENCODINGS:
        raise zlib.error(f"the reply is encoded as '{kind}', which was not asked for")
    return inflated(body, kind, "the reply")
