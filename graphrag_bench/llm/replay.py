"""A model that returns the stored replies of another model, without calling it."""

from dataclasses import replace
from functools import cached_property
from pathlib import Path

from graphrag_bench.errors import UserError, unknown
from graphrag_bench.llm.cache import StoredReply, reply_key, rows_in
from graphrag_bench.llm.calls import Completion, NotAccepted, Request
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.server import OPENAI
from graphrag_bench.llm.settings import provider_facts


class Replay(ChatModel):
    """Model that returns the stored replies and failures of a cache or an exported file."""

    def __init__(self, path: str, identity: str | None = None, window: int | None = None) -> None:
        self.path = Path(path)
        self._identity = identity
        self._window = window

    @property
    def window(self) -> int | None:  # type: ignore[override]  # the recorded model's
        """Context window in tokens, from the settings or from the list of OpenAI's models."""
        return self._window or provider_facts(self.identity.rpartition(":")[0], OPENAI)[0]

    @cached_property
    def _rows(self) -> dict[str, StoredReply]:
        replies = (row for row in rows_in(self.path) if isinstance(row, StoredReply))
        return {row.key: replace(row, prompt=b"") for row in replies}

    @cached_property
    def identity(self) -> str:
        """Identity of the recorded model, so that runs and artifacts have the same keys."""
        if self._root is not self:
            return self._root.identity
        there = sorted({row.identity for row in self._rows.values()})
        if self._identity is not None and self._identity not in there:
            raise unknown(f"model in {self.path}", self._identity, there)
        if self._identity is None and len(there) != 1:
            names = ", ".join(there) or "none"
            problem = f"{self.path} has the replies of {len(there)} models ({names})"
            raise UserError(f"{problem}. Choose a model by llm.identity.")
        return self._identity or there[0]

    def call(self, request: Request) -> Completion:
        """Return the stored reply, or raise the stored failure. Raises NotAccepted otherwise."""
        key, _ = reply_key(self.identity, request)
        if (row := self._rows.get(key)) is None:
            shown = request.prompt[-1].content[:200] if request.prompt else ""
            raise NotAccepted(
                f"{self.path} has no reply to this prompt (max_tokens={request.max_tokens}): "
                f"{shown!r}. Settings, prompts or data differ from the recorded run."
            )
        return row.completion
