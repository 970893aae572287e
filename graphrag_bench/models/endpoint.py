"""One server behind the `openai` client: bodies in, bodies out, errors told apart, key hidden."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from graphrag_bench.addresses import check_server, public_address
from graphrag_bench.models.api_key import ApiKey, check_variable
from graphrag_bench.models.attempts import Attempts, Clock, Reached
from graphrag_bench.models.faults import Again, Answer, Server, of_connection, of_status
from graphrag_bench.models.outcomes import RunStopped
from graphrag_bench.models.settings import Limits, Patience
from graphrag_bench.text import encodable

T = TypeVar("T")
Body = Mapping[str, Any]


class Rejected(Exception):
    """The server did not accept the request; `answer` says why."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.text[:200])
        self.answer = answer


class Endpoint:
    """A server's address, key and limits. Connections are opened with the first call and kept."""

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key_env: str | None,
        *,
        limits: Limits,
        patience: Patience,
        clock: Clock | None = None,
        group: str = "llm",
    ) -> None:
        """The environment is read and the client made when the first call comes.

        `group` is that of the settings. Raises UserError for an address that names no server.
        """
        check_server(f"{group}.base_url", base_url)
        check_variable(api_key_env)
        self.base_url = base_url
        self.api_key_env = api_key_env
        self.patience = patience
        self.server = Server(public_address(base_url), model, api_key_env)
        self.attempts = Attempts(limits, patience, clock or Clock())

    @cached_property
    def key(self) -> ApiKey:
        """The API key, from the environment."""
        return ApiKey.from_environment(self.api_key_env)

    @cached_property
    def _client(self) -> Any:
        import openai

        from graphrag_bench.models.bounded_http import bound

        timeout = openai.Timeout(
            self.patience.read, connect=self.patience.connect, pool=self.patience.total
        )
        return openai.OpenAI(
            api_key=self.key.value,
            base_url=self.base_url,
            max_retries=0,
            timeout=timeout,
            http_client=bound(
                openai.DefaultHttpxClient(timeout=timeout),
                self.attempts.until,
                self.attempts.clock.now,
            ),
        )

    def run(
        self,
        send: Callable[[], T],
        n_tokens: int,
        used: Callable[[T], int],
        lost: Callable[[], None] | None = None,
    ) -> Reached[T]:
        """What `Attempts.run` returns, under the limits and the patience of this server.

        The client is made before a call is counted: importing it can take longer than the time that
        a call may be on its way.
        """
        _ = self._client
        return self.attempts.run(send, n_tokens, used, lost)

    def post(self, path: str, body: Body) -> Body:
        """The server's answer at a path below its address, key hidden."""
        return self._parsed(self._sent(lambda: self._client.post(path, cast_to=str, body=body)))

    def listed(self) -> dict[str, int | None]:
        """The models that the server lists, and the window of each in tokens where it tells.

        Raises what a try raises: Rejected, Again, RunStopped.
        """
        answer = self._parsed(self._sent(lambda: self._client.get("/models", cast_to=str)))
        rows = answer.get("data")
        named = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
        return {str(row.get("id")): _window(row) for row in named}

    def meaning(self, rejected: Rejected) -> Exception:
        """The error for a rejection: try again, give the call up, or stop."""
        return of_status(rejected.answer, self.server)

    def _sent(self, send: Callable[[], object]) -> str:
        """The answer of one try, key hidden.

        Raises Rejected on an HTTP status, Again on a fault of the connection.

        The client's typed methods rebuild body and answer field by field, a quarter of the time of
        a call; the answer is checked here in any case, so it is asked for as text. Errors are
        raised outside of the handlers: the client's own errors hold the key, and so would the
        context of ours.
        """
        import openai

        fault: Exception
        try:
            return encodable(self.key.hide(str(send())))
        except openai.APIStatusError as error:
            said = encodable(self.key.hide(error.response.text))
            fault = Rejected(Answer(error.status_code, said, dict(error.response.headers)))
        except openai.APIConnectionError as error:
            cause = error.__cause__
            kind = type(cause).__name__ if cause else type(error).__name__
            message = self.key.hide(str(cause or error))
            fault = of_connection(kind, message, self.server)
        raise fault

    def _unescaped(self, parsed: dict[str, Any]) -> dict[str, Any]:
        plain = self.key.hide(json.dumps(parsed, ensure_ascii=False))
        found: dict[str, Any] = json.loads(encodable(plain))
        return found

    def _parsed(self, text: str) -> Body:
        try:
            parsed: object = json.loads(text)
        except ValueError:
            if text.lstrip()[:1] == "<" and not self.attempts.proven:
                raise RunStopped(
                    f"{self.server.address} answers with a web page, so it is not an OpenAI API. "
                    "llm.base_url mostly ends in /v1."
                ) from None
            raise Again(f"The answer is not JSON: {text[:200]!r}", worked=True) from None
        except RecursionError:
            raise Again(f"The answer is nested too deeply: {text[:200]!r}", worked=True) from None
        if not isinstance(parsed, dict):
            raise Again(f"The answer is not a JSON object: {text[:200]!r}", worked=True)
        if "\\u" in text or "\\/" in text:
            try:
                parsed = self._unescaped(parsed)
            except RecursionError:
                said = f"The answer is nested too deeply: {text[:200]!r}"
                raise Again(said, worked=True) from None
        if parsed.get("error"):
            raise Rejected(Answer(_code(parsed["error"]), text, {}))
        return parsed


def _window(row: Mapping[str, Any]) -> int | None:
    meta = row.get("meta")
    places = [row, meta] if isinstance(meta, Mapping) else [row]
    for place in places:
        for name in ("max_model_len", "context_length", "context_window", "n_ctx"):
            if isinstance(place.get(name), int):
                return int(place[name])
    return None


def _code(error: object) -> int:
    code = error.get("code") if isinstance(error, Mapping) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500
