"""Client of an OpenAI-compatible server: API key, rate limits and errors."""

import json
import math
import os
import re
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from graphrag_bench.errors import UserError
from graphrag_bench.files import read_cache, write_cache
from graphrag_bench.llm.calls import CallFailed, NotAccepted, RunStopped, ServerFailed
from graphrag_bench.llm.settings import Limits, check_variable, provider_facts
from graphrag_bench.terminal import check_server, pause
from graphrag_bench.text import encodable
from graphrag_bench.version import __version__

Body = Mapping[str, Any]
Response = tuple[Body, int, float]
"""Body of a response, number of retries, and seconds of the last attempt."""
OPENAI = "https://api.openai.com/v1"
_FIRST_RETRIES, _SECONDS_OF_A_STOP = 2, 5.0
OVERFLOW = re.compile(
    r"context.{0,20}(length|size|window)|maximum context|exceed_context|too many tokens|"
    r"(prompt|input|request) (is|was) too (long|large)|reduce the length",
    re.IGNORECASE,
)
FILTERED = re.compile(r"content.?(filter|policy|management)|safety system|moderation", re.I)
_NO_QUOTA = re.compile(r"""["'](code|type)["']:\s*["']insufficient_quota["']""")
_NOT_SUPPORTED = re.compile(
    r"support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|extra|deprecated", re.I
)
_SETTINGS = {
    "max_tokens": "dialect.length=max_completion_tokens",
    "max_completion_tokens": "dialect.length=max_tokens",
    "response_format": "dialect.schema_as=json_object or words",
    "temperature": "dialect.temperature=false",
    "seed": "dialect.seed=false",
    "stop": "dialect.stop=false",
    "top_p": "decoding.top_p=null",
    "dimensions": "shorten=false",
}
"""For each field of a request, the setting that omits or replaces the field."""


class RateLimiter:
    """Limiter of requests and tokens per minute."""

    minute = 61.2
    """Length of a minute in seconds, plus a margin for delays."""

    def __init__(self, requests: int | None, tokens: int | None) -> None:
        self.requests, self.tokens = requests or math.inf, tokens or math.inf
        self._turn = threading.Lock()
        self._admitted: deque[tuple[float, int]] = deque()

    def admit(self, n_tokens: int) -> None:
        """Wait until a request of `n_tokens` is allowed. Raises CallFailed for too many tokens."""
        if n_tokens > self.tokens:
            problem = f"{n_tokens} tokens are more than limits.tokens_per_minute={self.tokens}."
            raise CallFailed("refused", f"Prompt and max_tokens: {problem}")
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


@dataclass(eq=False)
class Server:
    """Client of one server. Until a call succeeds, calls run one by one: the key may be wrong."""

    model: str
    address: str
    api_key_env: str | None
    limits: Limits
    timeout: float
    retries: int
    group: str = "llm"
    """Group of settings that is named in error messages."""
    windows_file: Path | None = None
    """File with the context window that a server reported for each model."""

    def __post_init__(self) -> None:
        check_server(f"{self.group}.base_url", self.address)
        check_variable(self.api_key_env)
        limits = self.limits
        self.limiter = RateLimiter(limits.requests_per_minute, limits.tokens_per_minute)
        self._slots = threading.BoundedSemaphore(limits.concurrency)
        self._first, self._proven = threading.Lock(), False
        self._stop: RunStopped | None = None
        self._stopped_at = 0.0

    @cached_property
    def key(self) -> SecretStr:
        """API key from the environment, hidden in a repr. Raises UserError if it is not set."""
        name = self.api_key_env or ""
        key = os.environ.get(name, "").strip() if name else "no-key-needed"
        if not key:
            raise UserError(
                f"The environment variable {name} is not set. Set it to the API key: export "
                f"{name}=... If the server needs no key, set {self.group}.api_key_env=null."
            )
        if not (key.isascii() and key.isprintable()):
            problem = "because it contains characters that are not allowed in a header"
            raise UserError(f"The environment variable {name} does not hold an API key, {problem}.")
        return SecretStr(key)

    @cached_property
    def _connections(self) -> Any:
        from graphrag_bench.llm.http import connection_pool

        n_connections = self.limits.concurrency + 1  # one to list models
        return connection_pool(self.address, self.timeout, n_connections)

    def _request(self, method: str, path: str, body: Body | None = None, **how: Any) -> Any:
        """Return the response to a request. Raises urllib3's HTTPError if there is none."""
        headers = {
            "accept": "application/json", "accept-encoding": "gzip, deflate",
            "content-type": "application/json", "user-agent": f"graphrag-bench/{__version__}",
        }  # fmt: skip
        if self.api_key_env is not None:
            headers["authorization"] = f"Bearer {self.key.get_secret_value()}"
        sent = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        url = self.address.rstrip("/") + path
        return self._connections.request(method, url, body=sent, headers=headers, **how)

    @cached_property
    def window(self) -> int | None:
        """Context window in tokens, from a list of known models or the server. None if unknown."""
        window, _ = provider_facts(self.model, self.address)
        if window is not None or self.address == OPENAI:
            return window
        row, file = self._listed, self.windows_file
        # fields of vLLM and SGLang, of OpenRouter and Together, and of llama.cpp
        places = ((row, "max_model_len"), (row, "context_length"), (row.get("meta"), "n_ctx"))
        stated = next((n for place in places if (n := token_count(*place))), None)
        before = read_cache(file).get(self.model) if file else None  # keys need a constant window
        if file and stated not in (None, before):
            write_cache(file, self.model, stated)
        return stated or before

    @property
    def runs_few(self) -> bool:
        """Whether the server is Ollama or llama.cpp, which answer only a few calls at a time."""
        return self._listed.get("owned_by") in ("library", "llamacpp")

    @cached_property
    def _listed(self) -> Body:
        from urllib3.exceptions import HTTPError

        try:
            response = self._request("GET", "/models", timeout=3.0, retries=False)
            answer = response.json() if response.status == 200 else None
        except (HTTPError, ValueError, UserError):
            return {}
        models = answer.get("data") if isinstance(answer, dict) else None
        rows = [row for row in models or () if isinstance(row, dict)]
        named = [row for row in rows if row.get("id") == self.model]
        return (named or rows)[0] if named or len(rows) == 1 else {}

    def post(self, path: str, body: Body, *, n_tokens: int = 0) -> Response:
        """Return the response. Raises CallFailed, or RunStopped if no call can succeed."""
        with self._slots:
            if not self._proven:
                with self._first:
                    if not self._proven:
                        return self._first_call(path, body, n_tokens)
            return self._send(path, body, n_tokens, self.retries)

    def _first_call(self, path: str, body: Body, n_tokens: int) -> Response:
        """Send the first request with few retries, so that a missing server is reported soon."""
        if self._stop and time.monotonic() < self._stopped_at + _SECONDS_OF_A_STOP:
            raise type(self._stop)(str(self._stop))
        try:
            answer = self._send(path, body, n_tokens, min(_FIRST_RETRIES, self.retries))
        except CallFailed as failure:
            self._proven = not failure.of_server
            if self._proven:
                raise
            problem = f"The server at {self.address} accepted no call: {failure}"
            self._stop = ServerFailed(f"{problem}. Start it, or correct {self.group}.base_url.")
        except RunStopped as stop:
            self._stop = stop
        else:
            self._proven = True
            return answer
        self._stopped_at = time.monotonic()
        raise self._stop

    def _send(self, path: str, body: Body, n_tokens: int, n_retries: int) -> Response:
        from urllib3.exceptions import HTTPError, MaxRetryError

        from graphrag_bench.llm.http import Retries

        self.limiter.admit(n_tokens)
        retries = Retries.up_to(n_retries)
        n = 0
        try:
            try:
                response = self._request("POST", path, body, retries=retries)
            except HTTPError as error:
                cause = error.reason if isinstance(error, MaxRetryError) else error
                n = 0 if cause is error else n_retries
                problem = self._hidden(f"no answer: {type(cause).__name__}: {cause}")
                raise _no_answer(n, problem) from None
            retries = response.retries
            n, text = len(retries.history), response.data.decode("utf-8", "replace")
            return self._answer(response.status, text, body, n), n, time.monotonic() - retries.began
        except CallFailed as failure:
            failure.retries, failure.seconds = n, time.monotonic() - retries.began
            raise

    def _answer(self, status: int, text: str, sent: Body, n_retries: int) -> Body:
        if 200 <= status < 300:
            try:
                parsed: Any = json.loads(text)
                if self.group != "embedder":  # the server may echo the key; vectors hold no text
                    parsed = json.loads(self._hidden(json.dumps(parsed, ensure_ascii=False)))
            except (ValueError, RecursionError):
                parsed = None
            if not isinstance(parsed, dict):
                shown = self._hidden(text)[:200]
                if text.lstrip()[:1] == "<" and not self._proven:
                    problem = f"answers with a web page, so it is not an OpenAI API: {shown!r}"
                    how = f"{self.group}.base_url usually ends in /v1"
                    raise NotAccepted(f"{self.address} {problem}. {how}.")
                raise CallFailed("malformed", f"The response is not a JSON object: {shown!r}")
            if not (error := parsed.get("error")):
                return parsed
            code = error.get("code") if isinstance(error, Mapping) else None
            status = code if isinstance(code, int) else 502
        raise self._error_for(status, self._hidden(text), sent, n_retries)

    def _error_for(self, status: int, text: str, sent: Body, n_retries: int) -> Exception:
        message = text[:500]
        at_fault = f"{message} (HTTP {status})"
        what = "text" if self.group == "embedder" else "prompt"
        if status == 402 or (status == 429 and _NO_QUOTA.search(text)):
            return RunStopped(f"The account at {self.address} has no quota left: {message}")
        if status == 413 or OVERFLOW.search(message):
            return CallFailed("context_overflow", f"The {what} does not fit the window: {message}")
        if status in (408, 409, 429) or status >= 500:
            return _no_answer(n_retries, f"HTTP {status}: {message}")
        if FILTERED.search(message):
            return CallFailed("content_filter", f"The server filtered the {what}: {message}")
        if status in (401, 403):
            key = f"the key in {self.api_key_env}" if self.api_key_env else "a call without a key"
            advice = f"Set {self.group}.api_key_env to the variable that holds a valid key."
            return NotAccepted(f"{self.address} refuses {key}: {at_fault}. {advice}")
        if status in (404, 405):
            return NotAccepted(
                f"{self.address} has no model '{self.model}', or no API at this path: {at_fault}. "
                f"Check {self.group}.model and {self.group}.base_url, which usually ends in /v1."
            )
        if (field := unsupported_field(message, sent)) is not None:
            setting = _SETTINGS.get(field, f"decoding.extra without '{field}'")
            problem = f"{self.address} does not support the field '{field}': {at_fault}"
            return NotAccepted(f"{problem}. Set {self.group}.{setting}.")
        return CallFailed("refused", at_fault)

    def _hidden(self, text: str) -> str:
        if self.api_key_env is not None:
            text = text.replace(self.key.get_secret_value(), "<api key>")
        return encodable(text)


def _no_answer(n: int, problem: str) -> CallFailed:
    return CallFailed("retries_exhausted", f"{n + 1} attempts failed; the last error: {problem}")


def unsupported_field(message: str, sent: Body) -> str | None:
    """Return the field that an error message calls unsupported, or None if it names no field."""
    if not _NOT_SUPPORTED.search(message):
        return None
    names = sorted(set(sent) - {"model", "messages", "input"}, key=len, reverse=True)
    for form in (r'"param": ?"{}"', r"[\'\"`]{}[\'\"`]", r"\b{}\b"):
        for name in names:
            if re.search(form.format(re.escape(name)), message):
                return name
    schema = "response_format" in sent and re.search("json_schema|json_object", message)
    return "response_format" if schema else None


def token_count(usage: object, name: str) -> int | None:
    """Return the count called `name` in a server's `usage`. If it is not valid, return None."""
    count = usage.get(name) if isinstance(usage, Mapping) else None
    return count if type(count) is int and count >= 0 else None
