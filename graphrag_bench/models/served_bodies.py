"""The OpenAI protocol from the server's side: bodies to requests, replies to bodies."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphrag_bench.fingerprint import digest
from graphrag_bench.models.embedder import Vectors
from graphrag_bench.models.fan_out import Request
from graphrag_bench.models.llm import Chat, Schema
from graphrag_bench.models.outcomes import Completion
from graphrag_bench.prompts import Message
from graphrag_bench.text import count_tokens

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_ANY_OBJECT: Schema = {"type": "object"}


class Refused(Exception):
    """A call that is answered with an HTTP status and a reason."""

    def __init__(self, status: int, code: str, message: str) -> None:
        """Keep what the body says."""
        super().__init__(message)
        self.status, self.code = status, code

    @property
    def body(self) -> dict[str, Any]:
        """The error as OpenAI writes one."""
        return {"error": {"message": str(self), "type": "invalid_request_error", "code": self.code}}


def chat_request(body: Mapping[str, Any], max_tokens: int) -> tuple[str, Request]:
    """The name of the model and the request of a chat body; raises Refused.

    Temperature, top_p, seed and penalties are those of the model that is asked, and not the
    client's. `max_tokens` bounds the reply where the body does not.
    """
    if body.get("n") not in (None, 1):
        raise Refused(400, "unsupported", "One reply is given to a prompt, n=1.")
    asked = body.get("max_completion_tokens") or body.get("max_tokens")
    if asked is not None and (isinstance(asked, bool) or not isinstance(asked, int) or asked < 1):
        raise Refused(400, "invalid_value", f"max_tokens is {asked!r}; a number was expected.")
    stop = body.get("stop") or ()
    stops = (stop,) if isinstance(stop, str) else tuple(stop)
    request = Request(_chat(body), asked or max_tokens, stops, _schema(body))
    return str(body.get("model")), request


def _chat(body: Mapping[str, Any]) -> Chat:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused(400, "invalid_value", "messages: a list of messages was expected.")
    return tuple(_message(one) for one in messages)


def _message(held: object) -> Message:
    role = _ROLES.get(str(held.get("role"))) if isinstance(held, Mapping) else None
    if role is None or not isinstance(held, Mapping):
        raise Refused(400, "unsupported", f"A message of {sorted(_ROLES)} was expected.")
    content = held.get("content")
    if isinstance(content, list):
        kinds = {str(part.get("type")) if isinstance(part, Mapping) else "?" for part in content}
        if kinds - {"text"}:
            raise Refused(400, "unsupported", "Messages of text alone are read.")
        content = "\n".join(str(part.get("text") or "") for part in content)
    return Message(role, content if isinstance(content, str) else "")


def _schema(body: Mapping[str, Any]) -> Schema | None:
    """The JSON schema that the reply has to fit: of the response format, or of a forced tool."""
    if (tool := _tool(body)) is not None:
        found = tool.get("parameters")
        return found if isinstance(found, Mapping) else _ANY_OBJECT
    form = body.get("response_format")
    kind = form.get("type") if isinstance(form, Mapping) else None
    if kind == "json_schema" and isinstance(form, Mapping):
        held = form.get("json_schema")
        found = held.get("schema") if isinstance(held, Mapping) else None
        if not isinstance(found, Mapping):
            raise Refused(400, "invalid_value", "response_format.json_schema has no schema.")
        return found
    if kind == "json_object":
        return _ANY_OBJECT
    if kind not in (None, "text"):
        raise Refused(400, "unsupported", f"response_format of type {kind} is not supported.")
    return None


def _tool(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The one function that the client has called for; None where it offers none."""
    tools, choice = body.get("tools"), body.get("tool_choice")
    if not tools or choice == "none":
        return None
    functions: list[Mapping[str, Any]] = [
        one["function"]
        for one in tools
        if isinstance(one, Mapping) and isinstance(one.get("function"), Mapping)
    ]
    if isinstance(choice, Mapping) and isinstance(choice.get("function"), Mapping):
        name = choice["function"].get("name")
        functions = [one for one in functions if one.get("name") == name]
    if len(functions) != 1 or choice in (None, "auto"):
        raise Refused(400, "unsupported", "One tool that must be called is supported, no choice.")
    return functions[0]


def chat_answer(body: Mapping[str, Any], reply: Completion) -> dict[str, Any]:
    """The body that answers a chat; the same for the same prompt and reply."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    finish = reply.finish
    if (tool := _tool(body)) is not None:
        called = {"name": tool.get("name"), "arguments": reply.text}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call-0", "type": "function", "function": called}],
        }
        finish = "tool_calls" if finish == "stop" else finish
    return {
        "id": f"chatcmpl-{digest(body.get('messages'), reply.text)}",
        "object": "chat.completion",
        "created": 0,
        "model": str(body.get("model")),
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "total_tokens": reply.prompt_tokens + reply.completion_tokens,
        },
    }


def chat_stream(answer: Mapping[str, Any]) -> bytes:
    """An answer as the events of a stream: all of it in one piece, then its end."""
    choice = answer["choices"][0]
    head = {
        "id": answer["id"],
        "object": "chat.completion.chunk",
        "created": 0,
        "model": answer["model"],
    }
    first = {"index": 0, "delta": choice["message"], "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    events = [
        {**head, "choices": [first]},
        {**head, "choices": [last]},
        {**head, "choices": [], "usage": answer["usage"]},
    ]
    lines = [json.dumps(event) for event in events]
    return "".join(f"data: {line}\n\n" for line in (*lines, "[DONE]")).encode()


def embedding_texts(body: Mapping[str, Any]) -> list[str]:
    """The texts that are to be embedded; raises Refused for tokens in their place."""
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        raise Refused(400, "unsupported", "input: a text or a list of texts was expected.")
    return texts


def embedding_answer(
    body: Mapping[str, Any], texts: Sequence[str], rows: Vectors
) -> dict[str, Any]:
    """The body that answers with one vector for each text, as numbers or in base64."""
    coded = body.get("encoding_format") == "base64"
    held = np.asarray(rows, "<f4")
    vectors = [base64.b64encode(row.tobytes()).decode() if coded else row.tolist() for row in held]
    n_tokens = sum(count_tokens(text) for text in texts)
    return {
        "object": "list",
        "model": str(body.get("model")),
        "data": [
            {"object": "embedding", "index": at, "embedding": vector}
            for at, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": n_tokens, "total_tokens": n_tokens},
    }
