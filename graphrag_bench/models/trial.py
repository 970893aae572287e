"""Repeats of the same prompts, distinguished by a number."""

from __future__ import annotations

from dataclasses import replace

from graphrag_bench.models.fan_out import FanOut, Layer, Request
from graphrag_bench.models.llm import Judged
from graphrag_bench.models.outcomes import Completion


class OnTrial(Layer):
    """The model inside in its n-th repeat: other cache rows and another seed, the same identity."""

    def __init__(self, inner: FanOut, trial: int) -> None:
        super().__init__(inner)
        self.trial = trial

    def call(self, request: Request) -> Completion:
        """The reply of the model inside in this repeat."""
        return self.inner.call(replace(request, trial=self.trial))

    def judge(self, reply: Completion, verdict: str) -> None:
        """Pass a verdict on to the cache inside."""
        if isinstance(self.inner, Judged):
            self.inner.judge(reply, verdict)
