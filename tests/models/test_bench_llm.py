"""The benchmark's cases at small scale, with all their checks."""

import importlib
import sys
from pathlib import Path

import pytest

from graphrag_bench.models.failure_gate import FailureGate
from graphrag_bench.models.ledger import Ledger, read_ledger
from graphrag_bench.models.llm import Metered
from graphrag_bench.models.openai_compatible import OpenAICompatible
from graphrag_bench.models.outcomes import RunStopped


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
    return importlib.import_module("bench_llm")


def test_every_call_ends_in_a_valid_reply_or_a_counted_failure(bench):
    ours, reference, _ = bench.faults(n_calls=150)
    assert ours == reference == 150


def test_throughput_is_measured_with_everything_on(bench):
    ours, reference, unit, call = bench.throughput(n_calls=200, latency=0.05)
    assert unit == "calls/s" and 0 < ours < reference == 1280
    assert 0.05 <= call["p50_s"] <= call["p95_s"]


def test_a_stopped_step_makes_no_further_calls_and_those_under_way_are_entered(
    fake, chat, tmp_path
):
    url = fake.scenario(latency=0.02, filter_word="bad")
    model = OpenAICompatible("fake", url, None, limits={"concurrency": 4})
    ledger = Ledger(tmp_path / "ledger.jsonl")
    meter = Metered(model, log=ledger.at("answer", "s"), gate=FailureGate("s", after=10))
    with pytest.raises(RunStopped, match="Step s"):
        meter.complete([chat(f"bad #{number}") for number in range(100)], max_tokens=5)
    n_requests = fake.stats(url).requests
    assert 3 <= n_requests <= 3 + 8
    assert len(list(read_ledger(ledger.path))) == n_requests
