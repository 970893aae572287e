"""What an error of the client means: try again, give this call up, or stop the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

from graphrag_bench.models.outcomes import CallFailed, RunStopped

_OVERFLOW = re.compile(
    r"context.{0,20}(length|size|window)|maximum context|exceed_context|too many tokens|"
    r"(prompt|input|request) (is|was) too (long|large)|reduce the length",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content.?(filter|policy|management)|safety system|moderation", re.I)
_NO_QUOTA = re.compile(r"insufficient_quota|billing|exceeded your current quota|credit", re.I)
_NOT_SUPPORTED = re.compile(
    r"support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|extra|deprecated", re.I
)
_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
_TOO_MUCH = {429, 503, 529}
_NOT_SENT = ("PoolTimeout", "WriteTimeout", "WriteError", "LocalProtocolError")


class NotAccepted(RunStopped):
    """The server does not take what it was given: a key, a model, an address. To be corrected."""

    exit_code = 2


class Again(Exception):
    """The try failed and another may succeed; `after` is what the server asked us to wait."""

    def __init__(
        self,
        message: str,
        *,
        after: float | None = None,
        too_much: bool = False,
        unreachable: bool = False,
        worked: bool = False,
    ) -> None:
        """Keep whether the server was overloaded (`too_much`) or never there (`unreachable`).

        `worked` says that the server may have worked on the try all the same, and counted its
        tokens: it took the request, and no reply came that can be read. `seconds` is filled in by
        the caller that timed the try.
        """
        super().__init__(message)
        self.after = after
        self.too_much = too_much
        self.unreachable = unreachable
        self.worked = worked
        self.seconds = 0.0


@dataclass(frozen=True)
class Answer:
    """An HTTP answer that was not a success: status, text of the body (key hidden), headers."""

    status: int
    text: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Server:
    """Who was asked, for messages: address without secrets, model, name of the key's variable."""

    address: str
    model: str
    variable: str | None


def of_status(answer: Answer, server: Server) -> Again | CallFailed | RunStopped:
    """The meaning of an HTTP status."""
    said = answer.text[:500]
    if answer.status == 429 and _NO_QUOTA.search(said):
        return RunStopped(f"The account at {server.address} has no quota left: {said}")
    if answer.status == 500 and _OVERFLOW.search(said):
        return CallFailed("context_overflow", f"The prompt does not fit: {said}")
    if answer.status in _AGAIN:
        after = retry_after(answer.headers)
        return Again(
            f"HTTP {answer.status}: {said}", after=after, too_much=answer.status in _TOO_MUCH
        )
    if answer.status == 413 or _OVERFLOW.search(said):
        return CallFailed("context_overflow", f"The prompt does not fit: {said}")
    if _FILTERED.search(said):
        return CallFailed("content_filter", f"The server filtered the prompt: {said}")
    if answer.status in (401, 403):
        key = f"the key in {server.variable}" if server.variable else "a call without a key"
        return NotAccepted(
            f"{server.address} refuses {key} (HTTP {answer.status}): {said}. "
            "Set the variable to a valid key, or llm.api_key_env to the variable that holds one."
        )
    if answer.status == 402:
        return NotAccepted(f"{server.address} wants to be paid first (HTTP 402): {said}")
    if answer.status in (404, 405):
        return NotAccepted(
            f"{server.address} has no model '{server.model}', or no API at this path "
            f"(HTTP {answer.status}): {said}. Check llm.model and llm.base_url (it ends in /v1)."
        )
    return CallFailed("refused", f"HTTP {answer.status}: {said}")


def of_connection(kind: str, message: str, server: Server) -> Again:
    """The meaning of a connection that failed; `kind` is the name of the transport's error."""
    if kind in ("ConnectError", "ConnectTimeout", "UnsupportedProtocol", "ProxyError"):
        return Again(f"No server answers at {server.address}: {message}", unreachable=True)
    return Again(f"{kind or 'connection lost'}: {message}", worked=kind not in _NOT_SENT)


def unsupported(answer: Answer, sent: Mapping[str, Any]) -> str | None:
    """The field of a request that the server does not know, as far as its words tell.

    The error's own `param` counts most, then a name in quotes, then a name.
    """
    if answer.status not in (400, 422) or not _NOT_SUPPORTED.search(answer.text):
        return None
    names = sorted(set(sent) - {"model", "messages", "input"}, key=len, reverse=True)
    for form in (r'"param": ?"{}"', r"[\'\"`]{}[\'\"`]", r"\b{}\b"):
        for name in names:
            if re.search(form.format(re.escape(name)), answer.text):
                return name
    if "response_format" in sent and "json_schema" in answer.text:
        return "response_format"
    return None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks us to wait, from `retry-after-ms` or `retry-after`; else None."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return max(0.0, milliseconds / 1000)
    given = headers.get("retry-after")
    if given is None or (seconds := _number(given)) is not None:
        return None if given is None or seconds is None else max(0.0, seconds)
    try:
        until = parsedate_to_datetime(given).timestamp()
        now = headers.get("date")  # by the server's own clock, where it tells the time
        return max(0.0, until - (parsedate_to_datetime(now).timestamp() if now else time()))
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
