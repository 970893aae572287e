"""Repeats of the same prompts, told apart by a number."""

from __future__ import annotations

from dataclasses import replace

from graphrag_bench.models.fan_out import FanOut, Request
from graphrag_bench.models.llm import Completion, Judged
from graphrag_bench.models.settings import Prices


class OnTrial(FanOut):
    """The model inside in its n-th repeat: other cache rows and another seed, the same identity."""

    def __init__(self, inner: FanOut, trial: int) -> None:
        """`trial` counts from 0; 0 is the model as it is."""
        self.inner = inner
        self.trial = trial

    @property
    def identity(self) -> str:
        """The identity of the model inside."""
        return self.inner.identity

    @property
    def window(self) -> int | None:
        """The window of the model inside."""
        return self.inner.window

    @property
    def concurrency(self) -> int:
        """As many calls at once as the model inside takes."""
        return self.inner.concurrency

    @property
    def prices(self) -> Prices:
        """The prices of the model inside."""
        return self.inner.prices

    def call(self, request: Request) -> Completion:
        """The reply of the model inside in this repeat."""
        return self.inner.call(replace(request, trial=self.trial))

    def judge(self, reply: Completion, verdict: str) -> None:
        """Pass a verdict on to the cache inside."""
        if isinstance(self.inner, Judged):
            self.inner.judge(reply, verdict)
