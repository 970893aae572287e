"""Calls of a language model against a local server that speaks the OpenAI protocol over HTTP.

Cache, ledger, budget, failure gate and validation are on. `ours` is calls a second, `reference`
the ideal of `CONCURRENCY` calls at a time of that latency; `p50_s` and `p95_s` are seconds of one
call. A call that is lost, paid twice or mixed up with another is an error.
"""

import time
from collections import Counter
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import openai  # noqa: F401  (a second of import is not part of a call)
from fake_openai import running
from pydantic import BaseModel
from timing import Numbers

from graphrag_bench.llm.cache import Cache
from graphrag_bench.llm.ledger import Budget, Ledger, read_ledger
from graphrag_bench.llm.meter import FailureGate
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.llm.structured import ask_each, json_reading
from graphrag_bench.prompts import Message

N_CALLS, CONCURRENCY = 5000, 64
WORDS = " ".join(["word"] * 300)


class Answer(BaseModel):
    """What every prompt asks for."""

    answer: str


def throughput(latency: float) -> Numbers:
    """Calls a second of prompts of about 300 words, each with its number."""
    prompts = [(Message("user", f"Question #{n}. {WORDS}"),) for n in range(N_CALLS)]
    items = [str(n) for n in range(N_CALLS)]
    with running() as server, TemporaryDirectory() as folder:
        url = server.scenario(latency=latency)
        client = OpenAICompatible("fake", url, None, limits={"concurrency": CONCURRENCY})
        cache, ledger = Cache(Path(folder) / "cache.sqlite"), Ledger(Path(folder) / "ledger.jsonl")
        model = client.attached(
            store=cache,
            budget=Budget(),
            log=ledger.at("answer", "bench"),
            gate=FailureGate("bench"),
        )
        began = time.perf_counter()
        reading = json_reading(Answer, "bench")
        replies = ask_each(model, prompts, reading, max_tokens=50, items=items)
        seconds = time.perf_counter() - began
        cache.close()
        lines = list(read_ledger(ledger.path))
        paid = server.stats(url).answered
    if [getattr(reply, "answer", None) for reply in replies] != items:
        raise AssertionError("a reply is lost or belongs to another prompt")
    if paid != Counter(items) or Counter(line.item for line in lines) != paid:
        raise AssertionError("a call is not in the ledger, or was paid twice")
    p50, p95 = np.percentile([line.seconds for line in lines], [50, 95]).tolist()
    return N_CALLS / seconds, CONCURRENCY / latency, "calls/s", {"p50_s": p50, "p95_s": p95}


CASES = {"throughput": partial(throughput, 0.5), "throughput_50ms": partial(throughput, 0.05)}
