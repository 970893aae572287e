"""How a call of a language model ends: a reply, a failure of the call, or a stop of the run."""

from __future__ import annotations

from dataclasses import dataclass

from graphrag_bench.errors import UserError

_OF_SERVER = ("retries_exhausted",)


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


class CallFailed(Exception):
    """One call ended without a usable reply; the run goes on.

    `reason` is one word for counting: `content_filter`, `context_overflow`, `unreadable`,
    `retries_exhausted`, `refused`, `empty`. `paid` is the reply that was paid for and is of no
    use (an empty one, a filtered one), so that its tokens are not lost to the ledger. `of_server`
    says that the server or the way to it failed: the same call may succeed later.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        retries: int = 0,
        seconds: float = 0.0,
        paid: Completion | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.retries = retries
        self.seconds = seconds
        self.paid = paid
        self.of_server = reason in _OF_SERVER

    def __reduce__(self) -> tuple[type[CallFailed], tuple[object, ...]]:
        return type(self), (self.reason, str(self), self.retries, self.seconds, self.paid)


class RunStopped(UserError):
    """Nothing further can succeed (bad key, unknown model, no server, budget spent): stop."""

    exit_code = 1


class BudgetSpent(RunStopped):
    """The budget has no room for another call."""


class ServerFailed(RunStopped):
    """The server, or the way to it, failed and may be there again later."""


Outcome = Completion | CallFailed


def paid_reply(outcome: Outcome) -> Completion | None:
    """The reply whose tokens were paid for: the outcome itself, or what a failure left behind."""
    return outcome if isinstance(outcome, Completion) else outcome.paid


def is_of_server(outcome: Outcome) -> bool:
    """Whether a call ended without a reply because the server failed."""
    return isinstance(outcome, CallFailed) and outcome.of_server


def seen(outcome: Outcome) -> tuple[bool, str]:
    """Whether there is a reply; and its text, or the failure's message."""
    return (True, outcome.text) if isinstance(outcome, Completion) else (False, str(outcome))
