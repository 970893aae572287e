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


@dataclass(frozen=True)
class Completion:
    """One reply. Tokens are the server's own counts; `finish` is `stop` or `length`.

    `seconds` is the time on the wire (0 for a reply from the cache), `retries` the failed tries
    before this reply, `reasoning_tokens` the part of the completion that was thinking, `usd` the
    price at the configured rates, `key` the row of the reply cache ("" without a cache).
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    finish: str = "stop"
    model: str = ""
    fingerprint: str = ""
    reasoning_tokens: int = 0
    cached: bool = False
    retries: int = 0
    seconds: float = 0.0
    usd: float = 0.0
    key: str = ""
    of_server: ClassVar[bool] = False


class CallFailed(Exception):
    """One call ended without a usable reply; the run goes on.

    `reason` is one word for counting: `content_filter`, `context_overflow`, `unreadable`,
    `retries_exhausted`, `refused`, `empty`. `paid` is the reply that was paid for and is of no
    use (an empty one, a filtered one), so that its tokens are not lost to the ledger. `of_server`
    says that the server or the way to it failed: the same call may succeed later.
    """

    retries = 0
    seconds = 0.0

    def __init__(self, reason: str, message: str, paid: Completion | None = None) -> None:
        super().__init__(reason, message, paid)
        self.reason = reason
        self.paid = paid
        self.of_server = reason == "retries_exhausted"

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
