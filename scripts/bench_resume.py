"""Whole runs by real processes of the command: killed, sharded, stopped by a budget, replayed.

A local server counts every call by its prompt. Every case compares what is left behind with an
undisturbed run, byte by byte, before it reports a number: a difference is an error, not a row.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cli.killing import (
    CONCURRENCY,
    Setup,
    determined,
    ended,
    finished,
    kill,
    killed_at_random,
    started,
    tiny_set,
    wait_for_rows,
)
from fake_openai import FakeOpenAI, running

N_DOCUMENTS, N_QUESTIONS = 100, 80
N_CALLS = 2 * (N_DOCUMENTS + N_QUESTIONS)
LATENCY = 0.03
Numbers = tuple[float, float, str]


@dataclass(frozen=True)
class Bench:
    """A server, a run in a home of its own, and what an undisturbed run left behind."""

    fake: FakeOpenAI
    setup: Setup
    undisturbed: dict[str, bytes]
    seconds: float

    @property
    def n_paid_twice(self) -> int:
        """Calls of the run that the server answered more than once; all were answered once."""
        answered = self.fake.stats(self.setup.url).answered
        assert len(answered) == N_CALLS, f"{len(answered)} different calls of {N_CALLS}"
        return answered.total() - N_CALLS

    def check(self) -> None:
        """Raise AssertionError unless the run left behind what the undisturbed one did."""
        found = determined(self.setup.home)
        assert found.keys() == self.undisturbed.keys(), found.keys() ^ self.undisturbed.keys()
        differing = [name for name, held in found.items() if held != self.undisturbed[name]]
        assert not differing, differing


@contextmanager
def bench() -> Iterator[Bench]:
    """A run that is still to be made, and one that finished undisturbed."""
    with running() as fake, tempfile.TemporaryDirectory() as folder:
        root = tiny_set(Path(folder) / "towns", N_DOCUMENTS, N_QUESTIONS)
        whole = Setup(root, Path(folder) / "whole", fake.scenario(reads=True, latency=LATENCY))
        began = time.perf_counter()
        finished(whole.arguments())
        seconds = time.perf_counter() - began
        setup = Setup(root, Path(folder) / "home", fake.scenario(reads=True, latency=LATENCY))
        yield Bench(fake, setup, determined(whole.home), seconds)


def kills(n_kills: int = 20) -> Numbers:
    """Calls paid twice after kills with SIGKILL, against the calls that were in flight at them."""
    with bench() as made:
        chance = random.Random(0)
        n_met = killed_at_random(made.setup, made.fake, chance, n_kills, most_calls=16)
        finished(made.setup.arguments())
        made.check()
        n_paid_twice = made.n_paid_twice
    assert n_met == n_kills and n_paid_twice <= n_kills * CONCURRENCY
    return n_paid_twice, n_kills * CONCURRENCY, f"calls paid twice, of those in flight at {n_met}"


def budget(limit: int = 19_000) -> Numbers:
    """Tokens that the server gave when the budget stopped the run, against the budget."""
    with bench() as made:
        stopped = ended(started(made.setup.arguments(f"budget.tokens={limit}")))
        n_tokens = made.fake.stats(made.setup.url).tokens
        assert stopped.code == 2 and n_tokens <= limit, stopped.err
        finished(made.setup.arguments(f"budget.tokens={10 * limit}"))
        made.check()
        assert made.n_paid_twice == 0
    return n_tokens, limit, "tokens when the budget stopped the run"


def budget_of_shards(limit: int = 19_000) -> Numbers:
    """The same with four shards at once, whose budget is one; calls in flight may pass it."""
    with bench() as made:
        parts = [f"shard={number}/4" for number in range(1, 5)]
        processes = [started(made.setup.arguments(p, f"budget.tokens={limit}")) for p in parts]
        assert 2 in {ended(process).code for process in processes}
        n_tokens = made.fake.stats(made.setup.url).tokens
        finished(made.setup.arguments())
        made.check()
        assert made.n_paid_twice == 0
    assert n_tokens <= limit + 3 * CONCURRENCY * 100
    return n_tokens, limit, "tokens when the budget stopped four shards"


def shards() -> Numbers:
    """Calls paid twice by four shards, one killed and started again, of those in flight."""
    with bench() as made:
        parts = [f"shard={number}/4" for number in range(1, 5)]
        processes = [started(made.setup.arguments(part)) for part in parts]
        wait_for_rows(made.setup.home, "3-of-4", processes[2])
        assert processes[2].poll() is None
        kill(processes[2])
        processes[2] = started(made.setup.arguments(parts[2]))
        assert [ended(process).code for process in processes] == [0, 0, 0, 0]
        finished(made.setup.arguments())
        made.check()
        n_paid_twice = made.n_paid_twice
    assert n_paid_twice <= CONCURRENCY
    return n_paid_twice, CONCURRENCY, "calls paid twice, of those in flight at the kill"


def resumed() -> Numbers:
    """Seconds of starting a finished run again, against those of the run."""
    with bench() as made:
        finished(made.setup.arguments())
        n_requests = made.fake.stats(made.setup.url).requests
        began = time.perf_counter()
        finished(made.setup.arguments())
        seconds = time.perf_counter() - began
        assert made.fake.stats(made.setup.url).requests == n_requests
    return seconds, made.seconds, "s"


CASES = {
    "kills": kills,
    "shards": shards,
    "budget": budget,
    "budget_of_shards": budget_of_shards,
    "resumed": resumed,
}
