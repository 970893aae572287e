"""The packaged language model on servers of Ray, one for each CPU, against the one in the process.

`ours` and `reference` are calls a second, in turns in the same run: servers of one thread each on
a cluster that is started on this machine, and the model in this process, in `one_thread` with one
thread too, in `one_slot` with all threads (the default), in `slots` with all threads and as many
slots as there are CPUs. p50 and p95 are the seconds of our calls on their servers. Prompts are
seeded and none is asked twice of one side; servers have loaded the model before. In `one_thread` a
reply that differs is an error. More threads, and more slots, add numbers in another order, which
may change a reply: `same` is the share that is equal.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

from graphrag_bench.executors.on_ray import OnRay
from graphrag_bench.models.fan_out import FanOut
from graphrag_bench.models.llm import Chat
from graphrag_bench.models.local import Local
from graphrag_bench.models.local_on_ray import LocalOnRay
from graphrag_bench.models.outcomes import Completion
from graphrag_bench.prompts import Message

N_CALLS, N_REPEATS, MAX_TOKENS, CONTEXT = 16, 3, 24, 1024
N_CPUS = os.cpu_count() or 1
NAMES = ["Ada Marsh", "Norvik Observatory", "the Treaty of Zanzibar", "Lise Hahn", "Kyoto"]
VERBS = ["founded", "led", "left", "praised", "restored", "visited"]
Numbers = tuple[float, float, str, dict[str, float]]


def prompts(n_prompts: int, seed: int) -> list[Chat]:
    """Passages of eight sentences, each with a question about it."""
    chance = np.random.default_rng(seed)

    def sentence() -> str:
        one, other = chance.choice(NAMES, 2)
        year = chance.integers(1700, 2000)
        return f"In {year} {one} {chance.choice(VERBS)} {other}, which few people remember."

    def chat() -> Chat:
        passage = " ".join(sentence() for _ in range(8))
        return (Message("user", f"{passage}\n\nWhat did {chance.choice(NAMES)} do?"),)

    return [chat() for _ in range(n_prompts)]


def asked(model: FanOut, chats: list[Chat]) -> tuple[float, list[Completion]]:
    """The seconds that all calls take together, and their replies."""
    began = time.perf_counter()
    found = model.complete(chats, max_tokens=MAX_TOKENS)
    took = time.perf_counter() - began
    return took, [one for one in found if isinstance(one, Completion)]


def calls(n_slots: int, threads: int | None = None) -> Numbers:
    """Calls a second of both; raises AssertionError where one thread says something else."""
    target = {"_target_": "graphrag_bench.models.local.Local", "context": CONTEXT}
    reference = Local(context=CONTEXT, parallel=n_slots, threads=threads)
    ours = LocalOnRay.of(
        Local(context=CONTEXT), target, OnRay(workers=N_CPUS), n_servers=N_CPUS, gpus=0.0
    )
    for model in (ours, reference):
        asked(model, prompts(2 * N_CPUS, seed=99))
    took, plain, seconds, same = [], [], [], []
    for seed in range(N_REPEATS):
        chats = prompts(N_CALLS, seed)
        for model, times in ((ours, took), (reference, plain)):
            spent, replies = asked(model, chats)
            times.append(spent)
            assert len(replies) == N_CALLS
            if model is ours:
                seconds += [one.seconds for one in replies]
                said = [one.text for one in replies]
            else:
                same += [one.text == text for one, text in zip(replies, said, strict=True)]
    reference.close()
    assert threads != 1 or all(same)
    more = {
        "p50": float(np.quantile(seconds, 0.5)),
        "p95": float(np.quantile(seconds, 0.95)),
        "same": float(np.mean(same)),
    }
    rates = [N_CALLS / float(np.median(times)) for times in (took, plain)]
    return rates[0], rates[1], "calls/s", more


CASES: dict[str, Callable[[], Numbers]] = {
    "one_thread": lambda: calls(1, threads=1),
    "one_slot": lambda: calls(1),
    "slots": lambda: calls(N_CPUS),
}
