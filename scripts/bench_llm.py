"""The LLM layer against a local server that speaks the OpenAI protocol over real HTTP.

Every case checks its outcome before it reports a number: a wrong count is an error, not a row.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import openai  # noqa: F401  (a second of import is not part of a call)
from fake_openai import FakeOpenAI, running
from pydantic import BaseModel

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import CallFailed, Chat, RunStopped
from graphrag_bench.llm.ledger import Budget, Ledger, Line, read_ledger
from graphrag_bench.llm.meter import FailureGate, Metered
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.llm.structured import ask_all
from graphrag_bench.models.cache import Cache
from graphrag_bench.prompts import Message

CONCURRENCY = 64
WORDS = " ".join(["word"] * 300)
ROOT = Path(__file__).resolve().parents[1]
PAYING = ROOT / "tests" / "llm" / "paying_process.py"
Numbers = tuple[float, float, str]
Timed = tuple[float, float, str, Mapping[str, float]]


class Answer(BaseModel):
    """What every prompt asks for."""

    answer: str


def prompts(n_calls: int) -> list[Chat]:
    """Prompts of about 300 words, each with its number."""
    return [(Message("user", f"Question #{number}. {WORDS}"),) for number in range(n_calls)]


def asked(
    model: OpenAICompatible, n_calls: int, folder: Path
) -> tuple[list[Answer | UnreadableReply | CallFailed], list[Line], float]:
    """Outcomes, ledger and seconds of calls with cache, ledger, gate and validation on."""
    store = Cache(folder / "replies.sqlite")
    ledger = Ledger(folder / "ledger.jsonl")
    whole = model.attached(store=store, budget=Budget())
    meter = Metered(whole, log=ledger.at("answer", "bench"), gate=FailureGate("bench"))
    items = [str(number) for number in range(n_calls)]
    began = time.perf_counter()
    found = ask_all(meter, prompts(n_calls), Answer, max_tokens=50, purpose="bench", items=items)
    seconds = time.perf_counter() - began
    store.close()
    return found, list(read_ledger(ledger.path)), seconds


def throughput(n_calls: int = 5000, latency: float = 0.5) -> Timed:
    """Calls per second against the ideal: concurrency / latency; seconds of one call, p50, p95."""
    with running() as fake, tempfile.TemporaryDirectory() as folder:
        url = fake.scenario(latency=latency)
        model = OpenAICompatible("fake", url, None, limits={"concurrency": CONCURRENCY})
        found, lines, seconds = asked(model, n_calls, Path(folder))
        check(found, lines, fake, url)
    p50, p95 = np.percentile([line.seconds for line in lines], [50, 95]).tolist()
    return n_calls / seconds, CONCURRENCY / latency, "calls/s", {"p50_s": p50, "p95_s": p95}


def throughput_50ms() -> Timed:
    """The same with ten times shorter calls, where the client's own work shows."""
    return throughput(latency=0.05)


def faults(n_calls: int = 5000) -> Numbers:
    """Calls that ended in a validated reply or a counted failure, of all calls."""
    with running() as fake, tempfile.TemporaryDirectory() as folder:
        url = fake.scenario(
            latency=0.01,
            share_429=0.10,
            share_500=0.05,
            share_reset=0.02,
            share_timeout=0.02,
            share_broken=0.05,
            share_cut=0.01,
            retry_after=0.02,
            timeout=2.0,
        )
        model = OpenAICompatible(
            "fake",
            url,
            None,
            limits={"concurrency": CONCURRENCY},
            timeout=0.4,
        )
        found, lines, _ = asked(model, n_calls, Path(folder))
        n_ended = check(found, lines, fake, url)
        met = fake.stats(url).faults
        assert all(met[name] for name in ("429", "500", "reset", "timeout", "broken", "cut")), met
    return n_ended, n_calls, "calls that ended in a validated reply or a counted failure"


def check(
    found: list[Answer | UnreadableReply | CallFailed],
    lines: list[Line],
    fake: FakeOpenAI,
    url: str,
) -> int:
    """How many calls ended as they must; AssertionError when one is lost, doubled or mixed up."""
    n_right = sum(
        one.answer == str(number) for number, one in enumerate(found) if isinstance(one, Answer)
    )
    n_failed = sum(isinstance(one, UnreadableReply | CallFailed) for one in found)
    assert n_right + n_failed == len(found), "a reply went to the wrong prompt"
    answered = fake.stats(url).answered
    entered = Counter(line.item for line in lines if line.outcome in ("stop", "length"))
    assert answered == entered, "server and ledger do not agree on the calls that were answered"
    assert {line.item for line in lines} == {str(n) for n in range(len(found))}, "no ledger line"
    return n_right + n_failed


def rate_limit_requests(n_calls: int = 300) -> Numbers:
    """The most requests in any sliding minute (of 5 s) as the server saw it, against the limit."""
    limit = 100
    with running() as fake:
        url = paced(fake, n_calls, {"requests_per_minute": limit})
        seen = fake.stats(url)
    assert seen.most_requests <= limit and seen.answered.total() == n_calls
    return seen.most_requests, limit, "requests in the fullest sliding minute"


def rate_limit_tokens(n_calls: int = 300) -> Numbers:
    """The most tokens in any sliding minute (of 5 s) as the server saw it, against the limit."""
    limit = 20_000
    with running() as fake:
        url = paced(fake, n_calls, {"requests_per_minute": 1000, "tokens_per_minute": limit})
        seen = fake.stats(url)
    assert seen.most_tokens <= limit and seen.answered.total() == n_calls
    return seen.most_tokens, limit, "tokens in the fullest sliding minute"


def paced(fake: FakeOpenAI, n_calls: int, limits: Mapping[str, int]) -> str:
    """The scenario, after calls of different sizes and latencies under these limits."""
    minute = 5.0
    url = fake.scenario(minute=minute, latency=0.05, share_429=0.02, retry_after=0.1)
    model = OpenAICompatible(
        "fake",
        url,
        None,
        limits={"concurrency": 32, **limits},
    )
    model.server.limiter.minute = minute
    chance = random.Random(0)
    sized = [
        (Message("user", f"#{number} " + "word " * chance.randint(1, 200)),)
        for number in range(n_calls)
    ]
    model.complete(sized, max_tokens=50)
    return url


def budget(n_calls: int = 500) -> Numbers:
    """Tokens paid for when the budget stopped the run, against the budget."""
    limit = 50_000
    with running() as fake:
        url = fake.scenario(latency=0.02)
        model = OpenAICompatible("fake", url, None, limits={"concurrency": 16})
        try:
            model.attached(budget=Budget(limit)).complete(prompts(n_calls), max_tokens=50)
        except RunStopped:
            tokens = fake.stats(url).tokens
            assert tokens <= limit
            return tokens, limit, "tokens"
    raise AssertionError("the budget did not stop the run")


def kills(n_kills: int = 20, n_calls: int = 600) -> Numbers:
    """Calls paid twice after kills with SIGKILL, against the calls that were in flight at them."""
    in_flight, chance = 4, random.Random(0)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with running() as fake, tempfile.TemporaryDirectory() as folder:
        url = fake.scenario(latency=0.02)
        command = [sys.executable, str(PAYING), url, folder, "0", str(n_calls)]
        for _ in range(n_kills):
            before = fake.stats(url).requests
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
            while fake.stats(url).requests < before + chance.randint(1, 25):
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.wait()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        answered = fake.stats(url).answered
        assert len(answered) == n_calls
        paid_twice = answered.total() - n_calls
        assert paid_twice <= n_kills * in_flight
    return paid_twice, n_kills * in_flight, "calls paid twice, of those in flight"


CASES = {
    "throughput": throughput,
    "throughput_50ms": throughput_50ms,
    "faults": faults,
    "rate_limit_requests": rate_limit_requests,
    "rate_limit_tokens": rate_limit_tokens,
    "budget": budget,
    "kills": kills,
}
