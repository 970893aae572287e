"""The OpenAI chat protocol: a request as a body, a body as a completion."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.models.fan_out import Request
from graphrag_bench.models.faults import Again
from graphrag_bench.models.llm import Chat
from graphrag_bench.models.outcomes import CallFailed, Completion
from graphrag_bench.models.settings import Decoding, Prices
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens, encodable

TOKENS_A_MESSAGE = 8
MOST_TOKENS = 10**9
"""A count of tokens above this is not a count: it is left out, and ours is taken."""
_LEAST_CUT = 256
_SCHEMA = Prompt("graphrag_bench.models:prompts/schema.j2")
_WHOLE = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPENED = re.compile(r"^\s*<(think|thinking|reasoning)>.*\Z", re.DOTALL | re.IGNORECASE)
_CLOSED = re.compile(r"\A.*</(think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)


class Dialect:
    """What a server takes: found out once, from its refusals, and remembered.

    `refused` names the fields it does not know. A schema is sent as `json_schema`, then as
    `json_object`, then only in words; the reply is validated in any case.
    """

    def __init__(self) -> None:
        self.refused: frozenset[str] = frozenset()
        self.length_field = "max_tokens"
        self.schema_form = "json_schema"

    def learn(self, field: str, sent: Mapping[str, Any]) -> bool:
        """Leave the field out from now on; False when the request was sent without it already."""
        if field in ("max_tokens", "max_completion_tokens"):
            if self.length_field == "max_tokens" == field:
                self.length_field = "max_completion_tokens"
            return field == "max_tokens"
        if field == "response_format":
            kind = sent["response_format"]["type"]
            if kind == self.schema_form:
                self.schema_form = "json_object" if kind == "json_schema" else "words"
            return True
        self.refused |= {field}
        return True

    def body(self, model: str, request: Request, decoding: Decoding) -> dict[str, Any]:
        """The request as the server takes it."""
        body: dict[str, Any] = {
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "seed": None if decoding.seed is None else decoding.seed + request.trial,
            "stop": list(request.stop) or None,
            **decoding.extra,
            self.length_field: request.max_tokens,
        }
        prompt = request.prompt
        if request.schema is not None:
            if self.schema_form != "json_schema":
                prompt = _with_schema(prompt, request.schema)
            body["response_format"] = self._response_format(request.schema)
        body = {
            name: value
            for name, value in body.items()
            if value is not None and name not in self.refused
        }
        body["model"] = model
        body["messages"] = [{"role": m.role, "content": encodable(m.content)} for m in prompt]
        return body

    def _response_format(self, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        if self.schema_form == "json_schema":
            return {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": dict(schema), "strict": True},
            }
        return {"type": "json_object"} if self.schema_form == "json_object" else None


def completion(body: Mapping[str, Any], request: Request, prices: Prices) -> Completion:
    """The answer of the server as a completion, thinking taken out.

    Raises Again when the answer has no choice in it, and CallFailed when the reply was filtered,
    refused or empty, or when the server read only a part of the prompt.
    """
    choice, message = _choice(body)
    whole = message.get("content") or ""
    reasoning = _text(message, "reasoning_content") or _text(message, "reasoning")
    text = _until(_without_thinking(whole), request.stop)
    n_prompt, n_completion, n_reasoning = _usage(body, request.prompt, whole, reasoning)
    reply = Completion(
        text,
        n_prompt,
        n_completion,
        finish="length" if choice.get("finish_reason") == "length" else "stop",
        model=_text(body, "model"),
        fingerprint=_text(body, "system_fingerprint"),
        reasoning_tokens=n_reasoning,
        usd=prices.usd(n_prompt, n_completion),
    )
    if choice.get("finish_reason") == "content_filter":
        raise CallFailed("content_filter", "The server filtered its reply.", paid=reply)
    if message.get("refusal"):
        said = _text(message, "refusal")[:500]
        raise CallFailed("refused", f"The model refused: {said}", paid=reply)
    if (n_words := count_words(request.prompt)) * 0.9 > n_prompt > _LEAST_CUT:
        raise CallFailed(
            "context_overflow",
            f"The server read {n_prompt} tokens of a prompt of {n_words} words: it cuts prompts "
            "to its window without saying so. Give it a larger window (Ollama: num_ctx).",
            paid=reply,
        )
    if not text:
        raise CallFailed("empty", _why_empty(reply, bool(whole or reasoning)), paid=reply)
    return reply


def count_words(prompt: Chat) -> int:
    """Words divided by white space: fewer than the tokens of any tokenizer in common use."""
    return sum(len(message.content.split()) for message in prompt)


def estimated_tokens(prompt: Chat) -> int:
    """About how many tokens a prompt has (cl100k, and eight per message)."""
    return sum(count_tokens(message.content) + TOKENS_A_MESSAGE for message in prompt)


def _choice(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise Again(f"The answer holds no reply: {sorted(body)}"[:300], worked=True)
    if not isinstance(message.get("content"), str | None):
        raise Again("The reply's content is not text.", worked=True)
    return choice, message


def _text(held: Mapping[str, Any], name: str) -> str:
    found = held.get(name)
    return found if isinstance(found, str) else ""


def _usage(
    body: Mapping[str, Any], prompt: Chat, whole: str, reasoning: str
) -> tuple[int, int, int]:
    usage = body.get("usage")
    n_prompt, n_completion = counted(usage, "prompt_tokens"), counted(usage, "completion_tokens")
    if n_prompt is None or n_completion is None:
        n_prompt, n_completion = estimated_tokens(prompt), count_tokens(whole + reasoning)
    details = usage.get("completion_tokens_details") if isinstance(usage, Mapping) else None
    n_reasoning = counted(details, "reasoning_tokens") or 0
    if n_reasoning == 0 and (reasoning or "</think" in whole or "<think" in whole):
        share = _thinking_share(_without_thinking(whole), whole, reasoning)
        n_reasoning = round(n_completion * share)
    return n_prompt, n_completion, n_reasoning


def counted(usage: object, name: str) -> int | None:
    """The count of that name, 0 to `MOST_TOKENS`; None where a server states none or nonsense."""
    held = usage.get(name) if isinstance(usage, Mapping) else None
    if isinstance(held, bool) or not isinstance(held, int) or not 0 <= held <= MOST_TOKENS:
        return None
    return held


def _until(text: str, stop: Sequence[str]) -> str:
    ends = [at for sequence in stop if (at := text.find(sequence)) >= 0]
    return text[: min(ends)].strip() if ends else text


def _why_empty(reply: Completion, thought: bool) -> str:
    if thought and reply.finish == "length":
        return (
            f"The model spent all its {reply.completion_tokens} tokens on thinking. "
            "Raise max_tokens, or switch thinking off."
        )
    return "The reply is empty."


def _with_schema(prompt: Chat, schema: Mapping[str, Any]) -> Chat:
    written = json.dumps(schema, ensure_ascii=False)
    return (*prompt, *_SCHEMA.render({"schema": written}))


def _without_thinking(text: str) -> str:
    """The answer alone; "" when the reply ended before the thinking did.

    Some chat templates open the block themselves, so that a reply holds only its end.
    """
    if "<" not in text:
        return text.strip()
    answer = _WHOLE.sub("", text)
    answer = _CLOSED.sub("", answer)
    return _OPENED.sub("", answer).strip()


def _thinking_share(answer: str, whole: str, reasoning: str) -> float:
    n_all = len(whole) + len(reasoning)
    return 0.0 if n_all == 0 else max(0.0, 1 - len(answer) / n_all)
