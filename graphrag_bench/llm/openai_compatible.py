"""Chat models on OpenAI-compatible servers. Settings: see configs/llm/openai_compatible.yaml."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from graphrag_bench.fingerprint import digest
from graphrag_bench.llm.calls import CallFailed, Completion, Request
from graphrag_bench.llm.chat import ChatModel, estimated_tokens
from graphrag_bench.llm.server import OPENAI, Server, token_count
from graphrag_bench.llm.settings import Decoding, Dialect, Limits, Prices, parse_settings, prices_of
from graphrag_bench.prompts import Prompt
from graphrag_bench.terminal import is_local
from graphrag_bench.text import count_tokens, encodable

TIMEOUT, RETRIES = 300.0, 10
"""Timeout of each attempt in seconds, and number of retries, which wait about a minute in all."""
LOCAL_CONCURRENCY = 256
_MIN_CUT = 256
_SCHEMA = Prompt("graphrag_bench.llm:prompts/schema.j2")
_TAG = r"(?:\w+:)?(?:ant)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratchpad|analysis)"
_BEGINS = re.compile(
    rf"\s*(?:<\|?{_TAG}(?:\s[^<>]*)?\|?>|[\[◁](?:THINK|think|THOUGHT|thought)(?:ing|ING)?[\]▷]"
    r"|<\|begin_of_thought\|>)",
    re.IGNORECASE,
)
_ENDS = re.compile(
    rf"<(?:\|?/|/\|){_TAG}\s*\|?>|[\[◁]/(?:think|thought)(?:ing)?[\]▷]|<\|end_of_thought\|>",
    re.IGNORECASE,
)
"""Tags of reasoning, e.g. `<think>`, `<seed:think>`, `[THINK]`, `◁think▷`,
`<|begin_of_thought|>`."""
_SPOKEN_BEFORE = re.compile(r"(?:\A|\n|[.!?…。！？)])[ \t]*\Z|[^\W_]\Z")
_SPEAKER = re.compile(r"\A\s*<\|(?:start|im_start)\|>\s*assistant\s*")
_CHANNEL = re.compile(
    r"\s*(?:<\|channel\|>\s*(?:analysis|commentary|final)|(?s:analysis(?=.*assistantfinal)))"
)
_FINAL = re.compile(r"(?s:.*)(?:<\|channel\|>\s*final[^<\n]*(?:<\|constrain\|>\w+\s*)?<\|message\|>"
                    r"|assistantfinal)")  # fmt: skip
"""Everything that gpt-oss writes before the final answer. Some servers omit the channel tags."""
_OUTER = re.compile(
    r"\A\s*<\|begin_of_solution\|>|(?:\s*<\|(?:return|end|im_end|eot_id|end_of_solution)\|>)+\s*\Z"
)
_FINISHES = {
    "length": "length max_tokens max_length max_new_tokens max_output_tokens model_length "
    "token_limit model_context_window_exceeded context_length_exceeded",
    "content_filter": "content_filter content_filtered safety recitation blocklist spii sensitive "
    "prohibited_content language image_safety guardrail_intervened",
    "refused": "refusal",
    "failed": "error network_error insufficient_system_resource malformed_function_call",
}
_MEANINGS = {name: meaning for meaning, names in _FINISHES.items() for name in names.split()}
"""Meanings of finish reasons. Any other finish reason means `stop`. Source: the API references of
OpenAI, Anthropic, Gemini, Cohere, Mistral, TGI, Bedrock, DeepSeek and Zhipu."""


class OpenAICompatible(ChatModel):
    """Model on a server with `/chat/completions`, such as OpenAI, vLLM, Ollama or llama.cpp."""

    def __init__(
        self, model: str, base_url: str = OPENAI, api_key_env: str | None = "OPENAI_API_KEY", *,
        window: int | None = None, timeout: float = TIMEOUT, retries: int = RETRIES,
        decoding: Decoding | Mapping[str, Any] | None = None,
        dialect: Dialect | Mapping[str, Any] | None = None,
        limits: Limits | Mapping[str, Any] | None = None,
        prices: Prices | Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.model, self._window, self._prices = model, window, prices
        self.decoding = parse_settings(Decoding, decoding)
        self.dialect = parse_settings(Dialect, dialect)
        self.limits = parse_settings(Limits, limits)
        self._many = is_local(base_url) and "concurrency" not in self.limits.model_fields_set
        if self._many:
            self.limits = self.limits.model_copy(update={"concurrency": LOCAL_CONCURRENCY})
        self.server = Server(
            model, base_url, api_key_env, limits=self.limits, timeout=timeout, retries=retries
        )

    @property
    def window(self) -> int | None:  # type: ignore[override]  # asked for when it is wanted
        """Context window in tokens, from the settings, a list of known models, or the server."""
        return self._window or self.server.window

    @cached_property
    def concurrency(self) -> int:  # type: ignore[override]
        """Limit on parallel calls, by default 256 if local (Ollama, llama.cpp: 16), else 16."""
        few = self._many and self.server.runs_few  # more calls would time out while they wait
        return (Limits() if few else self.limits).concurrency

    @cached_property
    def prices(self) -> Prices:  # type: ignore[override]
        """Prices from the settings or a list of known models. An unknown model costs 0."""
        return prices_of(self.model, self.server.address, self._prices)

    @cached_property
    def identity(self) -> str:
        """Name of the model and a digest of the decoding settings."""
        return f"{self.model}:{digest(self.decoding.model_dump())}"

    def call(self, request: Request) -> Completion:
        """Return the reply to a request. `Server.post` and `completion` describe the errors."""
        n_tokens = 0
        if self.limits.tokens_per_minute is not None:
            n_tokens = estimated_tokens(request.prompt) + request.max_tokens
        sent = body(self.model, request, self.decoding, self.dialect)
        answer, retries, seconds = self.server.post("/chat/completions", sent, n_tokens=n_tokens)
        try:
            reply = completion(answer, request, self.prices)
        except CallFailed as failure:
            failure.retries, failure.seconds = retries, seconds
            raise
        return replace(reply, retries=retries, seconds=seconds)


def body(model: str, request: Request, decoding: Decoding, dialect: Dialect) -> dict[str, Any]:
    """Return the JSON body of a request to a model."""
    prompt, seed = request.prompt, decoding.seed
    fields: dict[str, Any] = {
        "temperature": decoding.temperature if dialect.temperature else None,
        "top_p": decoding.top_p,
        "seed": seed + request.trial if dialect.seed and seed is not None else None,
        "stop": (list(request.stop) or None) if dialect.stop else None,
        **decoding.extra,
        dialect.length: request.max_tokens,
    }
    if request.schema is not None:
        if dialect.schema_as == "json_schema":
            schema = {"name": "reply", "schema": dict(request.schema), "strict": True}
            fields["response_format"] = {"type": "json_schema", "json_schema": schema}
        else:
            schema_text = json.dumps(request.schema, ensure_ascii=False)
            prompt = (*prompt, *_SCHEMA.render({"schema": schema_text}))
        if dialect.schema_as == "json_object":
            fields["response_format"] = {"type": "json_object"}
    messages = [{"role": one.role, "content": encodable(one.content)} for one in prompt]
    sent = {name: value for name, value in fields.items() if value is not None}
    return {**sent, "model": model, "messages": messages}


def completion(answer: Mapping[str, Any], request: Request, prices: Prices) -> Completion:
    """Return the reply in a response, without reasoning. Raises CallFailed if it is unusable."""
    choice, message = _choice(answer)
    whole = encodable(message["content"])
    reason = str(choice.get("finish_reason")).lower().removeprefix("finish_reason_")
    finish = _MEANINGS.get(reason, "stop")
    reasoning = str(message.get("reasoning_content") or message.get("reasoning") or "")
    text, usage = without_reasoning(whole), answer.get("usage")
    if ends := [at for sequence in request.stop if (at := text.find(sequence)) >= 0]:
        text = text[: min(ends)].strip()
    n_prompt = token_count(usage, "prompt_tokens")
    n_completion = token_count(usage, "completion_tokens")
    if n_prompt is None or n_completion is None:
        n_prompt, n_completion = estimated_tokens(request.prompt), count_tokens(whole + reasoning)
    details = usage.get("completion_tokens_details") if isinstance(usage, Mapping) else None
    reply = Completion(
        text,
        "length" if finish == "length" else "stop",
        prompt_tokens=n_prompt,
        completion_tokens=n_completion,
        model=str(answer.get("model") or ""),
        fingerprint=str(answer.get("system_fingerprint") or ""),
        reasoning_tokens=token_count(details, "reasoning_tokens") or 0,
        usd=prices.usd(n_prompt, n_completion),
    )
    if finish == "content_filter":
        raise CallFailed("content_filter", "The server filtered its reply.", paid=reply)
    if (refusal := message.get("refusal")) or finish == "refused":
        raise CallFailed("refused", f"The model refused: {str(refusal or text)[:500]}", paid=reply)
    if finish == "failed":
        problem = f"The server ended the reply with {choice['finish_reason']!r}."
        raise CallFailed("malformed", problem, paid=reply)
    n_words = sum(len(message.content.split()) for message in request.prompt)
    if n_words * 0.9 > n_prompt > _MIN_CUT:
        read = f"The server read {n_prompt} tokens of a prompt with {n_words} words."
        cut = "The prompt was truncated to the server's window."
        problem = f"{read} {cut} Set a larger window (Ollama: num_ctx)."
        raise CallFailed("context_overflow", problem, paid=reply)
    if text:
        return reply
    problem = "The reply is empty."
    if reply.finish == "length" and (whole or reasoning):
        problem = f"All {n_completion} tokens are reasoning. Raise max_tokens or disable reasoning."
    raise CallFailed("empty", problem, paid=reply)


def _choice(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    try:
        choice: Mapping[str, Any] = body["choices"][0]
        message = {**choice["message"]}
    except (LookupError, TypeError):
        problem = f"The response has no completion, only {sorted(body)}"
        raise CallFailed("malformed", problem[:300]) from None
    content = message.get("content") or ""
    if isinstance(content, list):  # the reasoning models of Mistral return a list of parts
        parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "".join(str(part.get("text") or "") for part in parts)
    if not isinstance(content, str):
        raise CallFailed("malformed", "The reply's content is not text.")
    return choice, message | {"content": content}


def without_reasoning(text: str) -> str:
    """Remove the reasoning from a reply. If the reply ends inside the reasoning, the result is "".

    Reasoning is enclosed in tags at the beginning. Some chat templates write the opening tag in the
    prompt. A closing tag alone is recognised on its own line, or after a sentence or a word.
    """
    text = _SPEAKER.sub("", text)
    if _CHANNEL.match(text):
        final = _FINAL.match(text)
        text = text[final.end() :] if final else ""
    elif not _BEGINS.match(text):
        for ends in _ENDS.finditer(text):
            before = text[: ends.start()]
            own_line = text.startswith("\n\n", ends.end()) and before[-1:] not in "\"'`"
            if not _BEGINS.search(before) and (own_line or _SPOKEN_BEFORE.search(before)):
                text = text[ends.end() :]
                break
    while begins := _BEGINS.match(text):
        closed = _ENDS.search(text, begins.end())
        text = text[closed.end() :] if closed else ""
    return _OUTER.sub("", text).strip()
