"""A step that is stopped asks no more, and its ledger holds what was under way."""

import pytest

from graphrag_bench.models.failure_gate import FailureGate
from graphrag_bench.models.ledger import Ledger, read_ledger
from graphrag_bench.models.llm import Metered
from graphrag_bench.models.openai_compatible import OpenAICompatible
from graphrag_bench.models.outcomes import RunStopped


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
