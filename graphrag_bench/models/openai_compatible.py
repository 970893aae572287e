"""Any server that speaks the OpenAI protocol, through the `openai` client."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphrag_bench.fingerprint import digest
from graphrag_bench.models.attempts import Clock
from graphrag_bench.models.chat_protocol import (
    Dialect,
    completion,
    count_words,
    estimated_tokens,
)
from graphrag_bench.models.endpoint import Endpoint, Rejected
from graphrag_bench.models.fan_out import FanOut, Request
from graphrag_bench.models.faults import Again, unsupported
from graphrag_bench.models.outcomes import CallFailed, Completion
from graphrag_bench.models.settings import Decoding, Limits, Patience, Prices, group

OPENAI = "https://api.openai.com/v1"
_log = logging.getLogger(__name__)


class OpenAICompatible(FanOut):
    """OpenAI, vLLM, Ollama, llama.cpp and every other server with `/chat/completions`.

    Limits hold for the object, over all callers and threads. A field that the server
    refuses (`temperature`, `max_tokens`, `response_format`, ...) is left out or replaced from the
    next try on; `dialect` holds what was learnt.
    """

    def __init__(
        self,
        model: str,
        base_url: str = OPENAI,
        api_key_env: str | None = "OPENAI_API_KEY",
        *,
        window: int | None = None,
        decoding: Decoding | Mapping[str, Any] | None = None,
        limits: Limits | Mapping[str, Any] | None = None,
        patience: Patience | Mapping[str, Any] | None = None,
        prices: Prices | Mapping[str, Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`api_key_env` is the NAME of the variable that holds the key; None where none is needed.

        Nothing is sent, and the environment is not read, before the first call.
        """
        self.model = model
        self.decoding = group(Decoding, decoding)
        self.limits = group(Limits, limits)
        self.prices = group(Prices, prices)
        self.concurrency = self.limits.concurrency
        self.window = window
        self.dialect = Dialect()
        self._learning = threading.Lock()
        self.endpoint = Endpoint(
            model,
            base_url,
            api_key_env,
            limits=self.limits,
            patience=group(Patience, patience),
            clock=clock,
        )

    @property
    def identity(self) -> str:
        """The model's name and a fingerprint of the decoding settings."""
        return f"{self.model}:{digest(self.decoding.model_dump())}"

    def call(self, request: Request) -> Completion:
        """The reply to one request, with its retries and the seconds of the try that succeeded.

        Raises CallFailed when the prompt is too long, was filtered or refused, the reply is empty,
        or patience is at an end; RunStopped when no call can succeed.
        """
        self._refuse_too_long(request)
        n_tokens = 0
        if self.limits.tokens_per_minute is not None:
            n_tokens = estimated_tokens(request.prompt) + request.max_tokens
        reached = self.endpoint.run(
            lambda: self._send(request),
            n_tokens,
            lambda reply: reply.prompt_tokens + reply.completion_tokens,
            request.lost,
        )
        return replace(reached.value, retries=reached.retries, seconds=reached.seconds)

    def _send(self, request: Request) -> Completion:
        body = self.dialect.body(self.model, request, self.decoding)
        try:
            answer = self.endpoint.post("/chat/completions", body)
        except Rejected as rejected:
            field = unsupported(rejected.answer, body)
            if field is not None and self._learn(field, body):
                raise Again(f"{self.model} does not take '{field}'", after=0.0) from None
            raise self.endpoint.meaning(rejected) from None
        return completion(answer, request, self.prices)

    def _learn(self, field: str, sent: Mapping[str, Any]) -> bool:
        with self._learning:
            learnt = self.dialect.learn(field, sent)
        if learnt:
            _log.warning("%s does not take '%s'; asking without it from now on", self.model, field)
        return learnt

    def _refuse_too_long(self, request: Request) -> None:
        """Raise CallFailed when the prompt cannot fit: it has more words than the window tokens."""
        if self.window is None or (n_words := count_words(request.prompt)) <= self.window:
            return
        raise CallFailed(
            "context_overflow",
            f"The prompt has {n_words} words, more than the window of {self.window} tokens.",
        )
