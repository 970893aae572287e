"""A model that repeats another one's replies from a file, and nothing else."""

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
    """The replies of a cache or of an exported file, failures and unreadable replies among them.

    Its identity is that of the model that was recorded, so that runs, artifacts and tables come
    out under the same keys. A prompt that is not in the file stops the run.
    """

    def __init__(
        self, path: str, identity: str | None = None, *, window: int | None = None
    ) -> None:
        self.path = Path(path)
        self._identity = identity
        self._window = window

    @property
    def window(self) -> int | None:  # type: ignore[override]  # the recorded model's
        """The window that was set, or that OpenAI's list has for the recorded model."""
        return self._window or provider_facts(self.identity.rpartition(":")[0], OPENAI)[0]

    @cached_property
    def _rows(self) -> dict[str, StoredReply]:
        replies = (row for row in rows_in(self.path) if isinstance(row, StoredReply))
        return {row.key: replace(row, prompt=b"") for row in replies}

    @cached_property
    def identity(self) -> str:
        """The identity of the recorded model; raises UserError when the file holds several."""
        if self._root is not self:
            return self._root.identity
        there = sorted({row.identity for row in self._rows.values()})
        if self._identity is not None and self._identity not in there:
            raise unknown(f"model in {self.path}", self._identity, there)
        if self._identity is None and len(there) != 1:
            names = ", ".join(there) or "none"
            raise UserError(
                f"{self.path} holds the replies of {len(there)} models ({names}): "
                "say which with llm.identity."
            )
        return self._identity or there[0]

    def call(self, request: Request) -> Completion:
        """Return the recorded reply or raise the recorded failure; NotAccepted without either."""
        key, _ = reply_key(self.identity, request)
        if (row := self._rows.get(key)) is None:
            shown = request.prompt[-1].content[:200] if request.prompt else ""
            raise NotAccepted(
                f"{self.path} holds no reply to this prompt (max_tokens={request.max_tokens}): "
                f"{shown!r}. The settings, prompts or data differ from those of the recorded run."
            )
        return row.completion
