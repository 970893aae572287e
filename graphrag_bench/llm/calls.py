"""One call of a language model: what is asked, and how it ends."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from graphrag_bench.errors import UserError
from graphrag_bench.prompts import Message

Chat = tuple[Message, ...]
Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """One call; all of it is in the key of its reply. `trial` numbers repeats of one prompt."""

    prompt: Chat
    max_tokens: int
    stop: tuple[str, ...] = ()
    schema: Schema | None = None
    trial: int = 0


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """What one call of a model used. Tokens are the server's own counts.

    `seconds` is the time of the last try (0 for a reply from the cache), `retries` the failed tries
    before it, `reasoning_tokens` the part of the completion that was thinking, `usd` the price at
    the configured rates, `key` the row of the reply cache ("" without a cache).
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
    """A call with its reply; `finish` is `stop` or `length`."""

    text: str
    finish: str = "stop"
    of_server: ClassVar[bool] = False


class CallFailed(Exception):
    """One call ended without a usable reply; the run goes on.

    `reason` is one word for counting: `content_filter`, `context_overflow`, `unreadable`,
    `retries_exhausted`, `malformed`, `refused`, `empty`. `paid` is the reply that was paid for and
    is of no use (an empty one, a filtered one), so that its tokens are not lost to the ledger.
    `of_server` says that the server or the way to it failed: the same call may succeed later.
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
    """Nothing further can succeed (no server, budget spent, too many failures): stop."""

    exit_code = 1


class NotAccepted(RunStopped):
    """The server does not take what it was given: a key, a model, an address. To be corrected."""

    exit_code = 2


class BudgetSpent(RunStopped):
    """The budget has no room for another call."""


class ServerFailed(RunStopped):
    """The server, or the way to it, failed and may be there again later."""


CallOutcome = Completion | CallFailed
