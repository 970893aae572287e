"""Requests to language models, replies, and errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from graphrag_bench.errors import UserError
from graphrag_bench.prompts import Message

Chat = tuple[Message, ...]
Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """Request to a model; its cache key covers all fields.

    `trial` is 0 for the first run, and the number of the repetition for a repeated run.
    """

    prompt: Chat
    max_tokens: int
    stop: tuple[str, ...] = ()
    schema: Schema | None = None
    trial: int = 0


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """Usage of one call of a model, in tokens as the server counts them.

    `seconds` is the time of the last attempt, 0 for a cached reply. `fingerprint` names the build
    of the server. `reasoning_tokens` are part of `completion_tokens`. `key` is the cache key or "".
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
    """Reply of a model with its usage; `finish` is `stop`, or `length` for a truncated reply."""

    text: str
    finish: str = "stop"
    of_server: ClassVar[bool] = False


class CallFailed(Exception):
    """Failure of one call, after which the run continues.

    `reason` is `content_filter`, `context_overflow`, `unreadable`, `retries_exhausted`,
    `malformed`, `refused` or `empty`. `paid` is the unusable reply, if it was charged. If
    `of_server` is true, the server or the network failed, and the call may succeed later.
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
    """Stops the run, because no further call can succeed."""

    exit_code = 1


class NotAccepted(RunStopped):
    """The server rejects the key, the model, the address or a field."""

    exit_code = 2


class BudgetSpent(RunStopped):
    """The remaining budget is too small for the next call."""


class ServerFailed(RunStopped):
    """The server or the network failed; a later run may succeed."""


class RequestsWritten(RunStopped):
    """Requests without a stored reply were not sent, but written to a batch file."""


CallOutcome = Completion | CallFailed
