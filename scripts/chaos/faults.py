"""The faults of a server: refusals, silence, answers that are broken, and answers that are odd."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable, Mapping
from typing import Any

Body = dict[str, Any]
REFUSED: Mapping[str, tuple[int, str, dict[str, str]]] = {
    "429": (429, "slow down", {}),
    "429-after": (429, "slow down", {"retry-after": "0.05"}),
    "429-odd-after": (429, "slow down", {"retry-after": "Thu, 99 Foo 20x6"}),
    "500": (500, "the server is out of order", {}),
    "502": (502, "bad gateway", {}),
    "503": (503, "overloaded", {}),
    "401": (401, "Incorrect API key provided", {}),
}
"""Status, words and headers in place of an answer."""
SILENT: Mapping[str, float] = {"close": 0.0, "hang": 2.5}
"""Seconds of silence before the connection is closed without a word."""
LATE = ("cut", "drip")
"""Answers that are cut in the middle, or come byte by byte."""
BROKEN = (
    "no-json", "empty-body", "list-body", "no-choices", "choices-null", "message-null",
    "content-number", "deep-json", "not-gzip", "nan-vectors", "zero-vectors", "short-vectors",
    "index-twice", "few-vectors", "gzip-bomb",
)  # fmt: skip
"""Answers of status 200 that hold no usable reply; asking again is right."""
ODD = (
    "usage-text", "usage-list", "usage-huge", "usage-negative", "usage-missing", "usage-nan",
    "details-list", "finish-odd", "extra-fields", "model-number", "gzip", "fingerprint-list",
)  # fmt: skip
"""Answers whose reply is whole and was paid for, with oddities around it: never asked again."""
PACKED = ("gzip", "not-gzip", "gzip-bomb")
"""Answers that say that they are packed."""
HEALING = ("429", "429-after", "429-odd-after", "500", "502", "503", "close", "hang", "cut", "drip")
"""Faults of the way, after which the same request is answered."""


def answer_with(fault: str, whole: Body) -> Body | bytes:
    """The answer with one fault of BROKEN or ODD; chat faults leave vectors alone, and so back."""
    body = copy.deepcopy(whole)
    made = _RAW[fault](body) if fault in _RAW else None
    if made is not None:
        return made
    change = _CHANGES.get(fault)
    if change is not None and ("choices" in body or fault.startswith("usage")):
        change(body)
    elif fault in _VECTORS and "data" in body:
        _VECTORS[fault](body)
    elif fault in BROKEN:
        return b"{}"
    return json.dumps(body).encode()


def _set(*path: str | int) -> Callable[[Any], Callable[[Body], None]]:
    def of(value: Any) -> Callable[[Body], None]:
        def change(body: Body) -> None:
            held: Any = body
            for part in path[:-1]:
                held = held[part]
            held[path[-1]] = value

        return change

    return of


_USAGE = _set("usage")
_CHANGES: Mapping[str, Callable[[Body], None]] = {
    "no-choices": _set("choices")([]),
    "choices-null": _set("choices")(None),
    "message-null": _set("choices", 0, "message")(None),
    "content-number": _set("choices", 0, "message", "content")(7),
    "usage-text": _USAGE("many"),
    "usage-list": _USAGE([1, 2, 3]),
    "usage-huge": _USAGE({"prompt_tokens": 10**30, "completion_tokens": 10**30}),
    "usage-negative": _USAGE({"prompt_tokens": -5, "completion_tokens": -5}),
    "usage-missing": _USAGE(None),
    "usage-nan": _USAGE({"prompt_tokens": float("nan"), "completion_tokens": float("inf")}),
    "details-list": lambda body: body["usage"].update(completion_tokens_details=[1]),
    "finish-odd": _set("choices", 0, "finish_reason")({"why": ["none"]}),
    "extra-fields": lambda body: body.update({"x" * 2000: [[[]]], "id": None, "object": 3}),
    "model-number": _set("model")(17),
    "fingerprint-list": _set("system_fingerprint")(["a", {"b": "\ud800"}]),
}
_RAW: Mapping[str, Callable[[Body], bytes]] = {
    "no-json": lambda body: b"<html>nginx</html>",
    "empty-body": lambda body: b"",
    "list-body": lambda body: b"[1, 2]",
    "deep-json": lambda body: b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "not-gzip": lambda body: b"\x1f\x8b" + json.dumps(body).encode(),
    "gzip": lambda body: gzip.compress(json.dumps(body).encode()),
    "gzip-bomb": lambda body: gzip.compress(b" " * (1 << 28), 1),
}
_VECTORS: Mapping[str, Callable[[Body], None]] = {
    "nan-vectors": lambda body: body["data"][0]["embedding"].__setitem__(0, float("nan")),
    "zero-vectors": lambda body: body["data"][0].update(embedding=[0.0] * 32),
    "short-vectors": lambda body: body["data"][0].update(embedding=[1.0]),
    "index-twice": lambda body: body["data"].append({**body["data"][-1], "index": 0}),
    "few-vectors": lambda body: body["data"].pop(),
}
