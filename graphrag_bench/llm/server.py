"""A server that speaks the OpenAI protocol: client, key, rate limits, and what errors mean."""

import json
import logging
import math
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any, TypeVar

from pydantic import SecretStr

from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed, NotAccepted, RunStopped, ServerFailed
from graphrag_bench.llm.settings import Limits, check_variable
from graphrag_bench.terminal import check_server, check_stop, pause
from graphrag_bench.text import encodable

T = TypeVar("T")
Body = Mapping[str, Any]
CONNECT_SECONDS = 10.0
LIST_SECONDS = 3.0
"""How long the list of a server's models may take."""
_FIRST_RETRIES = 2
_SECONDS_OF_A_STOP = 5.0
_OVERFLOW = re.compile(
    r"context.{0,20}(length|size|window)|maximum context|exceed_context|too many tokens|"
    r"(prompt|input|request) (is|was) too (long|large)|reduce the length",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content.?(filter|policy|management)|safety system|moderation", re.I)
_NO_QUOTA = re.compile(r"""["'](code|type)["']:\s*["']insufficient_quota["']""")
_UNITS = {"ms": 0.001, "milli": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|milli|h|m|s)?", re.IGNORECASE)
_RETRY_TIME = re.compile(
    r"(?:try again|retry|wait|available|reset)[^\d{}\[\]]{0,40}?((?:\d+(?:\.\d+)?\s*"
    r"(?:ms|milliseconds?|h(?:ours?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])[\s,]*)+)"
    r"|retry[ _-]?after\W{1,5}(\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
_MOST_OF_CLIENT = 60.0
"""Seconds that every version of `openai` waits where a server says so; more is waited for here."""
_NOT_SUPPORTED = re.compile(
    r"support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|extra|deprecated", re.I
)


_log = logging.getLogger(__name__)


class Malformed(Exception):
    """An answer came that holds no reply; another try may get one."""


class Rejected(Exception):
    """The server answered with an HTTP error; `text` is its body with the key hidden.

    `wait` is the seconds after which the server wants to be asked again; None where it says none.
    """

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text[:200])
        self.status = status
        self.text = text
        self.wait = retry_time(headers or {}, text[:2000]) if status == 429 else None

    @property
    def is_final(self) -> bool:
        """Whether the same request would fail again."""
        if pattern := {429: _NO_QUOTA, 500: _OVERFLOW}.get(self.status):
            return self.wait is None and bool(pattern.search(self.text[:2000]))
        return self.status < 500 and self.status not in (408, 409)

    def unsupported(self, sent: Body) -> str | None:
        """Return the field of the request that the server does not know, as far as its words tell.

        The error's own `param` counts most, then a name in quotes, then a name.
        """
        if self.status not in (400, 422) or not _NOT_SUPPORTED.search(self.text):
            return None
        names = sorted(set(sent) - {"model", "messages", "input"}, key=len, reverse=True)
        for form in (r'"param": ?"{}"', r"[\'\"`]{}[\'\"`]", r"\b{}\b"):
            for name in names:
                if re.search(form.format(re.escape(name)), self.text):
                    return name
        return (
            "response_format" if "response_format" in sent and "json_schema" in self.text else None
        )


def retry_time(headers: Mapping[str, str], text: str) -> float | None:
    """Return the seconds after which a server wants to be asked again; None where it says none.

    The header `Retry-After` (seconds or a date) counts before words such as "try again in 1m2.5s"
    and fields such as `"retryDelay": "34s"`.

    >>> retry_time({}, "Rate limit reached. Please try again in 1m2.5s. Visit billing.")
    62.5
    """
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "")
        with suppress(ValueError):
            if math.isfinite(seconds := float(value)):
                return max(0.0, seconds * factor)
        with suppress(ValueError):
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    if not (found := _RETRY_TIME.search(text)):
        return None
    parts = _TIME.findall(found[1] or found[2])
    return sum(float(n) * _UNITS[unit.lower()] for n, unit in parts)


class RateLimiter:
    """Lets requests through while no minute holds more of them, or of their tokens, than it may.

    A minute is taken a little longer, for the way to the server.
    """

    def __init__(self, requests: int | None, tokens: int | None, minute: float = 60.0) -> None:
        self.requests = requests or math.inf
        self.tokens = tokens or math.inf
        self.minute = minute * 1.02
        self._turn = threading.Lock()
        self._admitted: deque[tuple[float, int]] = deque()

    def admit(self, n_tokens: int) -> None:
        """Wait until the request fits into the minute, then count it.

        Raises CallFailed for a request that never fits.
        """
        if n_tokens > self.tokens:
            raise CallFailed(
                "refused",
                f"Prompt and max_tokens are {n_tokens} tokens, more than "
                f"limits.tokens_per_minute={self.tokens} lets through at all.",
            )
        if self.requests == self.tokens == math.inf:
            return
        with self._turn:
            while (
                len(self._admitted) >= self.requests
                or sum(n for _, n in self._admitted) + n_tokens > self.tokens
            ):
                pause(self._admitted[0][0] + self.minute - time.monotonic())
                self._admitted.popleft()
            self._admitted.append((time.monotonic(), n_tokens))


class _Call(threading.local):
    """What a thread's call is doing: its tries, when the last began, how its answer is read."""

    n_tries = n_tokens = 0
    began = 0.0
    read: Callable[[Body], Any]
    value: Any = None
    problem = ""


class Server:
    """A server's address, key and limits, behind the client of `openai`, which retries and waits.

    Connections are opened with the first call and kept. Until the server has taken a call, calls
    go one at a time, so that a bad key or an unknown field is found by one call and not by as many
    as there are threads.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key_env: str | None,
        *,
        limits: Limits,
        timeout: float,
        retries: int,
        group: str = "llm",
    ) -> None:
        """The environment is read and the client made when the first call comes.

        `group` is that of the settings. Raises UserError for an address that names no server.
        """
        check_server(f"{group}.base_url", base_url)
        check_variable(api_key_env)
        self.model = model
        self.group = group
        self.address = base_url
        self.api_key_env = api_key_env
        self.timeout = timeout
        self.retries = retries
        self.limiter = RateLimiter(limits.requests_per_minute, limits.tokens_per_minute)
        self._slots = threading.BoundedSemaphore(limits.concurrency)
        self._call = _Call()
        self._first = threading.Lock()
        self._proven = False
        self._stop: RunStopped | None = None
        self._stopped_at = 0.0

    @cached_property
    def key(self) -> SecretStr:
        """The API key, from the environment, which a repr does not show.

        Raises UserError when its variable is not set.
        """
        if self.api_key_env is None:
            return SecretStr("no-key-needed")
        if not (key := os.environ.get(self.api_key_env, "").strip()):
            raise UserError(
                f"The environment variable {self.api_key_env} is not set. It holds the API key: "
                f"export {self.api_key_env}=..., or {self.group}.api_key_env=null for a server "
                "that needs none."
            )
        return SecretStr(key)

    @cached_property
    def _client(self) -> Any:
        import openai

        timeout = openai.Timeout(self.timeout, connect=min(CONNECT_SECONDS, self.timeout))
        hooks: dict[str, list[Any]] = {"request": [self._before_try], "response": [self._after_try]}
        return openai.OpenAI(
            api_key=self.key.get_secret_value(),
            base_url=self.address,
            max_retries=self.retries,
            timeout=timeout,
            http_client=openai.DefaultHttpxClient(timeout=timeout, event_hooks=hooks),
        )

    @cached_property
    def window(self) -> int | None:
        """The context window in tokens that the server states; None where it states none.

        Source: `max_model_len` of vLLM and SGLang, `context_length` of OpenRouter and Together,
        `meta.n_ctx` of llama.cpp, in the answer of `/models`.
        """
        import openai

        try:
            client = openai.OpenAI(
                api_key=self.key.get_secret_value(),
                base_url=self.address,
                max_retries=0,
                timeout=LIST_SECONDS,
            )
            listed: Any = client.get("/models", cast_to=object)
        except (openai.OpenAIError, UserError):
            return None
        models = listed.get("data") if isinstance(listed, dict) else None
        rows = [row for row in models or () if isinstance(row, dict)]
        named = [row for row in rows if row.get("id") == self.model]
        row = (named or rows)[0] if named or len(rows) == 1 else {}
        places = ((row, "max_model_len"), (row, "context_length"), (row.get("meta"), "n_ctx"))
        return next((n for place in places if (n := count_in(*place))), None)

    def post(
        self,
        path: str,
        body: Callable[[], Body],
        read: Callable[[Body], T],
        *,
        n_tokens: int = 0,
        learn: Callable[[Rejected, Body], bool] = lambda *_: False,
    ) -> tuple[T, int, float]:
        """Return what `read` makes of the answer at a path below the address.

        With it come the retries, and the seconds of the try that succeeded. `n_tokens` is the most
        the call may use; `read` may raise Malformed. `learn` is shown what the server rejected, and
        says whether `body` is another one now. Raises CallFailed, which has the tries and seconds
        too, when the server does not take the request or the retries are used up; RunStopped when
        no call can succeed.
        """

        def send(client: Any) -> tuple[T, int, float]:
            call = self._call
            call.n_tries, call.n_tokens, call.began = 0, n_tokens, time.monotonic()
            call.read = read
            try:
                while (rejected := self._rejected(client, path, sent := body())) is not None:
                    if not learn(rejected, sent):
                        raise self.meaning(rejected)
            except CallFailed as failure:
                failure.retries = call.n_tries if failure.of_server else max(call.n_tries - 1, 0)
                failure.seconds = time.monotonic() - call.began
                raise
            return call.value, call.n_tries - 1, time.monotonic() - call.began

        with self._slots:
            if not self._proven:
                with self._first:
                    if not self._proven:
                        return self._first_call(send)
            return send(self._client)

    def _first_call(self, send: Callable[[Any], T]) -> T:
        """Send with few retries: where nobody listens, that is known soon."""
        if self._stop and time.monotonic() < self._stopped_at + _SECONDS_OF_A_STOP:
            raise type(self._stop)(str(self._stop))
        try:
            value = send(self._client.with_options(max_retries=min(_FIRST_RETRIES, self.retries)))
        except CallFailed as failure:
            self._proven = not failure.of_server
            if self._proven:
                raise
            self._stop = ServerFailed(
                f"The server at {self.address} has taken no call: {failure}. Start it, or "
                f"correct {self.group}.base_url."
            )
        except RunStopped as stop:
            self._stop = stop
        else:
            self._proven = True
            return value
        self._stopped_at = time.monotonic()
        raise self._stop

    def meaning(self, rejected: Rejected) -> CallFailed | RunStopped:
        """Return the error for a rejection that is final: of this call, or of the run."""
        status, message = rejected.status, rejected.text[:500]
        at_fault = f"{message} (HTTP {status})"
        sent = "text" if self.group == "embedder" else "prompt"
        if status in (402, 429):
            return RunStopped(f"The account at {self.address} has no quota left: {message}")
        if status == 413 or _OVERFLOW.search(message):
            return CallFailed("context_overflow", f"The {sent} does not fit: {message}")
        if _FILTERED.search(message):
            return CallFailed("content_filter", f"The server filtered the {sent}: {message}")
        if status in (401, 403):
            key = f"the key in {self.api_key_env}" if self.api_key_env else "a call without a key"
            return NotAccepted(
                f"{self.address} refuses {key}: {at_fault}. Set {self.group}.api_key_env to the "
                "variable that holds a valid key."
            )
        if status in (404, 405):
            return NotAccepted(
                f"{self.address} has no model '{self.model}', or no API at this path: {at_fault}. "
                f"Check {self.group}.model and {self.group}.base_url (it ends in /v1)."
            )
        return CallFailed("refused", at_fault)

    def _rejected(self, client: Any, path: str, sent: Body) -> Rejected | None:
        """Send, and return the rejection that is final; what the answer says is in the call."""
        import openai

        try:
            client.post(path, cast_to=str, body=sent)
            return None
        except Rejected as rejected:
            return rejected
        except openai.APIStatusError:
            problem = self._call.problem
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            problem = self._hidden(f"no answer: {type(cause).__name__}: {cause}")
        # outside: the errors of `openai` may hold the key
        problem = f"{self._call.n_tries} tries failed, the last with: {problem}"
        raise CallFailed("retries_exhausted", problem)

    def _before_try(self, _: object) -> None:
        check_stop()
        self.limiter.admit(self._call.n_tokens)
        self._call.n_tries += 1
        self._call.began = time.monotonic()

    def _after_try(self, response: Any) -> None:
        """Read the answer; one that holds no reply is made the server's error, to be retried."""
        response.read()
        text = self._hidden(response.text)
        try:
            if response.is_error:
                raise Rejected(response.status_code, text, response.headers)
            if response.is_success:
                self._call.value = self._call.read(self._parsed(text))
        except Malformed as fault:
            self._call.problem, response.status_code = str(fault), 502
        except Rejected as rejected:
            if rejected.is_final:
                raise
            self._call.problem = f"HTTP {rejected.status}: {text[:500]}"
            response.status_code = rejected.status
            if rejected.wait is not None:
                if (more := rejected.wait - _MOST_OF_CLIENT) > 0:
                    _log.warning("%s asks to wait %.0f s", self.address, rejected.wait)
                    pause(more)
                response.headers["retry-after"] = f"{min(rejected.wait, _MOST_OF_CLIENT):.3f}"
                response.headers.pop("retry-after-ms", None)

    def _hidden(self, text: str) -> str:
        if self.api_key_env is not None:
            text = text.replace(self.key.get_secret_value(), "<api key>")
        return encodable(text)

    def _parsed(self, text: str) -> Body:
        try:
            parsed: object = json.loads(text)
            if "\\u" in text or "\\/" in text:
                parsed = json.loads(self._hidden(json.dumps(parsed, ensure_ascii=False)))
        except (ValueError, RecursionError):
            if text.lstrip()[:1] == "<" and not self._proven:
                raise NotAccepted(
                    f"{self.address} answers with a web page, so it is not an OpenAI API. "
                    f"{self.group}.base_url mostly ends in /v1."
                ) from None
            parsed = None
        if not isinstance(parsed, dict):
            raise Malformed(f"The answer is no JSON object: {text[:200]!r}")
        if error := parsed.get("error"):
            code = error.get("code") if isinstance(error, Mapping) else None
            raise Rejected(code if isinstance(code, int) and 400 <= code < 600 else 502, text)
        return parsed


def count_in(usage: object, name: str) -> int | None:
    """Return the count of that name; None where a server states none or nonsense."""
    count = usage.get(name) if isinstance(usage, Mapping) else None
    return count if type(count) is int and count >= 0 else None
