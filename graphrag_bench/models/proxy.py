"""A run's own models behind the OpenAI protocol on this machine, for programs that only speak it.

Every call goes through the models that a run would ask itself: stored replies, ledger, budget,
limits and faults count alike. What the run's layers could not answer is told as an error that no
client repeats: they have made their own attempts.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from graphrag_bench.errors import UserError, caught
from graphrag_bench.fingerprint import digest
from graphrag_bench.models.embedder import Embedder, Kind
from graphrag_bench.models.fan_out import FanOut, Request
from graphrag_bench.models.llm import LLM, Metered
from graphrag_bench.models.outcomes import CallFailed, Completion, RunStopped
from graphrag_bench.models.served_bodies import (
    Refused,
    chat_answer,
    chat_request,
    chat_stream,
    embedding_answer,
    embedding_texts,
)

_MOST_BYTES = 64 * 1024 * 1024
_AT_ONCE = 128
EMBEDDER = "embedder"
"""The name under which the embedder is asked."""


@dataclass
class Served:
    """What a piece of work may ask, and what came of it.

    `models` has the language models by the names that clients use; `kind` says what texts are
    embedded as; more than `max_calls` calls of language models are refused. `max_tokens` bounds a
    reply where the client does not. A request that is in `earlier` costs nothing: it was answered
    in an earlier piece of the same work. `stopped` is the first error after which nothing further
    can succeed.
    """

    models: Mapping[str, LLM]
    embedder: Embedder
    kind: Kind
    max_calls: int | None = None
    max_tokens: int = 4096
    earlier: dict[str, Completion] = field(default_factory=dict)
    n_calls: int = 0
    stopped: RunStopped | None = None
    failed: list[CallFailed] = field(default_factory=list)
    too_many: bool = False
    over: bool = False
    _changed: threading.Condition = field(default_factory=threading.Condition, repr=False)
    _n_under_way: int = field(default=0, repr=False)

    def reply(self, model: str, request: Request) -> Completion:
        """The reply of a model; raises Refused for an unknown one, and for what it could not do."""
        key = digest(model, repr(request))
        with self._changed:
            if key in self.earlier:
                return self.earlier[key]
        with self._under_way(model):
            try:
                outcome = _asked(self.models[model], request, self._changed)
            except RunStopped as error:
                self.stopped = self.stopped or error
                raise Refused(402, "run_stopped", str(error)) from error
            if isinstance(outcome, CallFailed):
                self.failed.append(outcome)
                raise Refused(422, outcome.reason, str(outcome)) from outcome
            self.earlier[key] = outcome
            return outcome

    def refuse_late(self) -> None:
        """Raise Refused when the work has ended."""
        if self.over:
            raise Refused(410, "over", "The work that this call belongs to has ended.")

    def end(self) -> None:
        """Refuse calls that come, and wait for those under way: they are paid for, and stored."""
        with self._changed:
            self.over = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._n_under_way == 0)

    @contextmanager
    def _under_way(self, model: str) -> Iterator[None]:
        """A call, one of as many as the models take at once; raises Refused."""
        at_once = max(map(_calls_at_once, self.models.values()), default=1)
        with self._changed:
            self._changed.wait_for(lambda: self.over or self._n_under_way < at_once)
            self._refuse(model)
            self.n_calls += 1
            self._n_under_way += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_under_way -= 1
                self._changed.notify_all()

    def _refuse(self, model: str) -> None:
        if model not in self.models:
            there = ", ".join(sorted(self.models)) or "none"
            raise Refused(404, "model_not_found", f"No model '{model}'; there are: {there}.")
        self.refuse_late()
        if self.stopped is not None:
            raise Refused(402, "run_stopped", str(self.stopped))
        if self.max_calls is not None and self.n_calls >= self.max_calls:
            self.too_many = True
            said = f"{self.max_calls} calls were allowed for one question, and all are made."
            raise Refused(403, "max_calls", said)


def _calls_at_once(llm: LLM) -> int:
    model = llm.llm if isinstance(llm, Metered) else llm
    return model.concurrency if isinstance(model, FanOut) else 1


def _asked(llm: LLM, request: Request, lock: threading.Condition) -> Completion | CallFailed:
    """What becomes of one call; counted in the meter of the whole, which many threads share."""
    meter = llm if isinstance(llm, Metered) else None
    own = Metered(llm) if meter is None else Metered(meter.llm, log=meter.log, gate=meter.gate)
    try:
        outcome = own.complete(
            [request.prompt],
            max_tokens=request.max_tokens,
            stop=request.stop,
            schema=request.schema,
        )[0]
        if isinstance(outcome, Completion) and request.schema is not None:
            own.judge(outcome, "valid" if _is_json(outcome.text) else "unreadable")
        return outcome
    finally:
        if meter is not None:
            with lock:
                meter.include(own)


def _is_json(text: str) -> bool:
    with suppress(ValueError, RecursionError):
        json.loads(text)
        return True
    return False


class Proxy:
    """A server on 127.0.0.1, on a free port, that asks for its key; it serves one work at a time.

    `/v1/chat/completions` and `/v1/embeddings` as OpenAI describes them; `n`, audio and images are
    refused. Outside of `serving` every call is refused.
    """

    def __init__(self) -> None:
        """Listen; threads of the server end with the process."""
        self.key = f"local-{secrets.token_urlsafe(24)}"
        self._now: Served | None = None
        self._embedding = threading.Lock()
        self._server = _Server(self)
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        ).start()

    @property
    def base_url(self) -> str:
        """The address, as clients of OpenAI take it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def serving(self, served: Served) -> Iterator[Served]:
        """Let clients ask these models until the work ends; calls that come later are refused.

        Calls under way are waited for, as a run waits for its own: who gives the models up while
        one of them is at work may end the process.
        """
        served.over, self._now = False, served
        try:
            yield served
        finally:
            self._now = None
            served.end()
            with self._embedding:
                pass  # what is being embedded is waited for as well

    def answer(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of the answer to a call; raises Refused.

        An error of ours ends the work: the client is told of it, and so is who asked for the work.
        """
        served = self._now
        if served is None:
            raise Refused(410, "over", "No question is being asked and nothing is being built.")
        try:
            found = caught(lambda: self._answered(served, path, body))
        except UserError as error:
            found = error
        if isinstance(found, Refused):
            raise found
        if isinstance(found, Exception):
            said = f"{type(found).__name__}: {found}"
            served.stopped = served.stopped or RunStopped(said)
            raise Refused(402, "run_stopped", said) from found
        return found

    def _answered(self, served: Served, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if path.endswith("/chat/completions"):
            model, request = chat_request(body, served.max_tokens)
            return chat_answer(body, served.reply(model, request))
        if path.endswith("/embeddings"):
            return self._embedded(served, body)
        raise Refused(404, "not_found", f"There is no {path}.")

    def _embedded(self, served: Served, body: Mapping[str, Any]) -> dict[str, Any]:
        texts = embedding_texts(body)
        try:
            with self._embedding:
                served.refuse_late()
                rows = served.embedder.encode(texts, kind=served.kind)
        except RunStopped as error:
            served.stopped = served.stopped or error
            raise Refused(402, "run_stopped", str(error)) from error
        except CallFailed as error:
            served.failed.append(error)
            raise Refused(422, error.reason, str(error)) from error
        return embedding_answer(body, texts, rows)

    def listed(self) -> dict[str, Any]:
        """The models that there are now."""
        served = self._now
        names = [] if served is None else [*sorted(served.models), EMBEDDER]
        return {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = _AT_ONCE

    def __init__(self, proxy: Proxy) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.proxy = proxy

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing of a client that was ended meanwhile; the trace of any other error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:  # noqa: N802 (the name is the protocol's)
        """Answer a call."""
        try:
            body = self._body()
            self._refuse_strangers()
            answer = self.server.proxy.answer(self.path.partition("?")[0].rstrip("/"), body)
            if body.get("stream") is True and "choices" in answer:
                self._send(200, chat_stream(answer), "text/event-stream")
            else:
                self._send(200, json.dumps(answer).encode())
        except Refused as refused:
            self._send(refused.status, json.dumps(refused.body).encode())

    def do_GET(self) -> None:  # noqa: N802
        """List the models."""
        try:
            self._refuse_strangers()
            if not self.path.rstrip("/").endswith("/models"):
                raise Refused(404, "not_found", f"There is no {self.path}.")
            self._send(200, json.dumps(self.server.proxy.listed()).encode())
        except Refused as refused:
            self._send(refused.status, json.dumps(refused.body).encode())

    def _refuse_strangers(self) -> None:
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not secrets.compare_digest(given.encode(), self.server.proxy.key.encode()):
            raise Refused(401, "invalid_api_key", "The key is not the one of this run.")

    def _body(self) -> dict[str, Any]:
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal() or int(size) > _MOST_BYTES:
            self.close_connection = True
            raise Refused(413, "too_large", "A body of known, bounded length was expected.")
        try:
            body = json.loads(self.rfile.read(int(size)))
        except (ValueError, RecursionError):
            raise Refused(400, "invalid_json", "The body is not JSON.") from None
        if not isinstance(body, dict):
            raise Refused(400, "invalid_json", "The body is not a JSON object.")
        return body

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        with suppress(ConnectionError):  # of a client that was ended meanwhile
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if status >= 400:
                self.send_header("x-should-retry", "false")
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing: the ledger has every call."""
