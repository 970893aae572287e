"""A budget of tokens and dollars that stops a run before it is passed."""

from __future__ import annotations

import threading
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from graphrag_bench.errors import UserError
from graphrag_bench.models.chat_protocol import estimated_tokens
from graphrag_bench.models.fan_out import FanOut, Layer, Request
from graphrag_bench.models.outcomes import BudgetSpent, CallFailed, Completion, paid_reply
from graphrag_bench.models.settings import Prices
from graphrag_bench.models.spending import Balance, OwnAccount, Spending

if TYPE_CHECKING:
    from graphrag_bench.models.shared_account import SharedAccount

_FIRST_RATIO = 1.2
_SECONDS_OF_A_LOOK = 0.2


class Budget:
    """What a run may spend, shared by all its models and threads, and, by its account, processes.

    A call is let through when all that was spent, all that is under way (at its most: prompt and
    `max_tokens`) and the call itself stay within the budget. Otherwise it waits for calls under
    way, which mostly cost less than their most; when none is left, the run stops.
    """

    def __init__(
        self,
        tokens: int | None = None,
        usd: float | None = None,
        account: OwnAccount | SharedAccount | None = None,
    ) -> None:
        self.tokens = tokens
        self.usd = usd
        self.account = account or OwnAccount()
        self._changed = threading.Condition()

    @property
    def spent(self) -> Spending:
        """What was spent by now."""
        return self.account.balance().spent

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.tokens is not None or self.usd is not None

    def reserve(self, most: Spending) -> None:
        """Take a call's most into account, waiting for room; raises RunStopped without any."""
        with self._changed:
            while (held := self.account.reserve(most, lambda b: not self._passed(b, most))) is not (
                None
            ):
                if held.n_calls == 0:
                    raise BudgetSpent(
                        f"{self._passed(held, most)}. Finished work is kept: raise the budget and "
                        "run the same command again."
                    )
                self._changed.wait(_SECONDS_OF_A_LOOK)

    def settle(self, most: Spending, actual: Spending) -> None:
        """The call is over: give back what was reserved, note what it cost."""
        with self._changed:
            self.account.settle(most, actual)
            self._changed.notify_all()

    def _passed(self, held: Balance, most: Spending) -> str:
        spent = held.spent
        after = spent + held.reserved + most
        if self.tokens is not None and after.tokens > self.tokens:
            return (
                f"budget.tokens={self.tokens} could be passed: {spent.tokens} are spent and "
                f"the next call may take {most.tokens}"
            )
        if self.usd is not None and after.usd > self.usd + 1e-12:
            return (
                f"budget.usd={self.usd:g} could be passed: {spent.usd:.4f} are spent and the "
                f"next call may cost {most.usd:.4f}"
            )
        return ""


class Reservation:
    """Room in the budget for one call, from its first try to its end; `actual` is what it cost."""

    def __init__(self, budget: Budget, most: Spending) -> None:
        self._budget, self._most = budget, most
        self._open = False
        self.actual = Spending()

    def __enter__(self) -> Self:
        self._reserve()
        return self

    def again(self) -> None:
        """Count a try that the server may have worked on as its most, and reserve for another.

        The cost of a try whose reply never arrived is unknown. Raises RunStopped when there is
        no room for another.
        """
        self._open = False
        self._budget.settle(self._most, self._most)
        self._reserve()

    def _reserve(self) -> None:
        self._budget.reserve(self._most)
        self._open = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open:
            self._budget.settle(self._most, self.actual)


class Budgeted(Layer):
    """The model inside, called only while the budget lasts."""

    def __init__(self, inner: FanOut, budget: Budget) -> None:
        if budget.usd is not None and inner.prices == Prices():
            raise UserError(
                f"budget.usd={budget.usd:g} needs the prices of {inner.identity}: "
                "llm.prices={prompt: ..., completion: ...}, US dollars per million tokens."
            )
        super().__init__(inner)
        self.budget = budget
        self._ratio = _FIRST_RATIO
        self._lock = threading.Lock()

    def call(self, request: Request) -> Completion:
        """The reply of the model inside; raises RunStopped when the budget has no room for it."""
        if not self.budget.limited:
            return self.inner.call(request)
        estimate = estimated_tokens(request.prompt)
        n_prompt = round(estimate * self._ratio)
        most = Spending(
            n_prompt + request.max_tokens, self.prices.usd(n_prompt, request.max_tokens)
        )
        with Reservation(self.budget, most) as held:
            try:
                reply = self.inner.call(replace(request, lost=held.again))
            except CallFailed as failure:
                if (paid := paid_reply(failure)) is not None:
                    held.actual = self._cost(paid, estimate)
                raise
            held.actual = self._cost(reply, estimate)
        return reply

    def _cost(self, reply: Completion, estimate: int) -> Spending:
        with self._lock:
            self._ratio = max(self._ratio, reply.prompt_tokens / max(estimate, 1))
        return Spending(reply.prompt_tokens + reply.completion_tokens, reply.usd)
