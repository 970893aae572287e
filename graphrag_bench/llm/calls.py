"""Requests to language models, their replies, and the errors of calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from graphrag_bench.errors import UserError
from graphrag_bench.prompts import Message

Chat = tuple[Message, ...]
Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """Request to a language model. All its fields are part of the cache key.

    `trial` is the number of the repetition of the run, or 0 for the first run.
    """

    prompt: Chat
    max_tokens: int
    stop: tuple[str, ...] = ()
    schema: Schema | None = None
    trial: int = 0


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """Tokens, price and time of a call to a model. Tokens are counted by the server.

    `seconds` is the time of the last attempt, or 0 for a cached reply. `fingerprint` identifies the
    server's configuration. `reasoning_tokens` are included in `completion_tokens`. `key` is the
    cache key, or "" without a cache.
    """

    model: str = ""
    fingerprint: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    seconds: float = 0.0
    retries: int = 0
    usd: float = 0.0
    cached: bool = False
    key: str = ""


@dataclass(frozen=True)
class Completion(ModelCall):
    """Reply of a model, with its tokens and price. `finish` is `stop`, or `length` if truncated."""

    text: str
    finish: str = "stop"
    of_server: ClassVar[bool] = False


class CallFailed(Exception):
    """A call to a model failed, but the run can continue.

    `reason` is `content_filter`, `context_overflow`, `unreadable`, `retries_exhausted`,
    `malformed`, `refused` or `empty`. `paid` is an unusable reply for which the server charged.
    `of_server` is true if the server or the network failed, so that the call may succeed later.
    """

    retries = 0
    seconds = 0.0

    def __init__(self, reason: str, message: str, paid: Completion | None = None) -> None:
        super().__init__(reason, message, paid)
        self.reason = reason
        self.paid = paid
        self.of_server = reason in ("retries_exhausted", "malformed")

    def __str__(self) -> str:
        return str(self.args[1])


class RunStopped(UserError):
    """The run stops, because no further call to the model can succeed."""

    exit_code = 1


class NotAccepted(RunStopped):
    """The server rejects the API key, the model, the address, or a field of the request."""

    exit_code = 2


class BudgetSpent(RunStopped):
    """The remaining budget is too small for the next call to a model."""


class ServerFailed(RunStopped):
    """The run stops, because the server or the network failed. A later run may succeed."""


class RequestsWritten(RunStopped):
    """The run stops, because requests were written to a batch file instead of being sent."""


CallOutcome = Completion | CallFailed
