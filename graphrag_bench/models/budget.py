"""A budget of tokens and dollars that stops a run before it is passed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from graphrag_bench.errors import UserError
from graphrag_bench.models.chat_protocol import estimated_tokens
from graphrag_bench.models.fan_out import FanOut, Layer, Request
from graphrag_bench.models.llm import CallFailed, Completion, RunStopped, paid_reply
from graphrag_bench.models.settings import Prices

_FIRST_RATIO = 1.2


@dataclass(frozen=True)
class Spending:
    """Tokens (prompt and completion) and US dollars."""

    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Spending) -> Spending:
        """Both together."""
        return Spending(self.tokens + other.tokens, self.usd + other.usd)

    def __sub__(self, other: Spending) -> Spending:
        """What is left of the first."""
        return Spending(self.tokens - other.tokens, self.usd - other.usd)


class Budget:
    """What a run may spend, shared by all its models and threads.

    A call is let through when all that was spent, all that is under way (at its most: prompt and
    `max_tokens`) and the call itself stay within the budget. Otherwise it waits for calls under
    way, which mostly cost less than their most; when none is left, the run stops.
    """

    def __init__(
        self,
        tokens: int | None = None,
        usd: float | None = None,
        spent: Spending | None = None,
        elsewhere: Callable[[], Spending] | None = None,
    ) -> None:
        """No limit where None; `spent` is what earlier parts of the same run have cost.

        `elsewhere` tells what other processes have spent on the same run by now.
        """
        self.tokens = tokens
        self.usd = usd
        self.spent = spent or Spending()
        self._elsewhere = elsewhere or Spending
        self._under_way = Spending()
        self._n_under_way = 0
        self._changed = threading.Condition()

    def reserve(self, most: Spending) -> None:
        """Take a call's most into account, waiting for room; raises RunStopped without any."""
        with self._changed:
            while (passed := self._passed(most)) is not None:
                if self._n_under_way == 0:
                    raise RunStopped(
                        f"{passed}. Finished work is kept: raise the budget and run the same "
                        "command again."
                    )
                self._changed.wait()
            self._under_way += most
            self._n_under_way += 1

    def settle(self, most: Spending, actual: Spending) -> None:
        """The call is over: give back what was reserved, note what it cost."""
        with self._changed:
            self._under_way -= most
            self._n_under_way -= 1
            self.spent += actual
            self._changed.notify_all()

    def _passed(self, most: Spending) -> str | None:
        """Which limit the call could pass, in words; None when it fits."""
        spent = self.spent + self._elsewhere()
        after = spent + self._under_way + most
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
        return None


class Budgeted(Layer):
    """The model inside, called only while the budget lasts."""

    def __init__(self, inner: FanOut, budget: Budget) -> None:
        """Charge the calls of `inner` to `budget`; raises UserError on dollars without prices."""
        if budget.usd is not None and inner.prices == Prices():
            raise UserError(
                f"budget.usd={budget.usd:g} needs the prices of {inner.identity}: "
                "llm.prices={prompt: ..., completion: ...}, US dollars per million tokens."
            )
        self.inner = inner
        self.budget = budget
        self._ratio = _FIRST_RATIO
        self._lock = threading.Lock()

    def call(self, request: Request) -> Completion:
        """The reply of the model inside; raises RunStopped when the budget has no room for it."""
        if self.budget.tokens is None and self.budget.usd is None:
            return self.inner.call(request)
        estimate = estimated_tokens(request.prompt)
        n_prompt = round(estimate * self._ratio)
        most = Spending(
            n_prompt + request.max_tokens, self.prices.usd(n_prompt, request.max_tokens)
        )
        self.budget.reserve(most)
        actual = Spending()
        try:
            reply = self.inner.call(request)
            actual = self._cost(reply, estimate)
        except CallFailed as failure:
            if (paid := paid_reply(failure)) is not None:
                actual = self._cost(paid, estimate)
            raise
        finally:
            self.budget.settle(most, actual)
        return reply

    def _cost(self, reply: Completion, estimate: int) -> Spending:
        """What a call came to; the model's own way of counting is learnt from it."""
        with self._lock:
            self._ratio = max(self._ratio, reply.prompt_tokens / max(estimate, 1))
        return Spending(reply.prompt_tokens + reply.completion_tokens, reply.usd)
