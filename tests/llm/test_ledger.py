import json
import threading
from pathlib import Path

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.llm.cache import Cache
from graphrag_bench.llm.calls import CallFailed, Completion, RunStopped
from graphrag_bench.llm.ledger import Budget, Ledger, LedgerLine, Spending, read_ledger, sums
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.llm.scripted import Scripted

OF_M = {"model": "m", "fingerprint": "f1", "prompt_tokens": 10, "completion_tokens": 5, "usd": 0.5}
PAID = Completion("a", seconds=2.0, retries=1, **OF_M)
CACHED = Completion("a", "length", cached=True, **OF_M)
FAILED = CallFailed(
    "empty", "nothing", Completion("", prompt_tokens=7, completion_tokens=3, model="m", usd=0.1)
)
FAILED.retries, FAILED.seconds = 2, 3.0


def ledger_of(folder: Path, *outcomes: Completion | CallFailed) -> Path:
    ledger = Ledger(folder / "ledger.jsonl")
    log = ledger.logger("answer", "answer.direct", "q1")
    for outcome in outcomes:
        log(outcome, "")
    return ledger.path


def test_a_ledger_sums_paid_cached_and_failed_calls(tmp_path):
    path = ledger_of(tmp_path, PAID, CACHED, FAILED)
    line, *_ = read_ledger(path)
    paid = {**OF_M, "seconds": 2.0, "retries": 1}
    assert line == LedgerLine("answer", "answer.direct", "q1", "stop", **paid)
    total = sums(list(read_ledger(path)))
    for name, *expected in (("paid", 2, 17, 0.6, 3), ("cached", 1, 10, 0.5, 0)):
        values = [total[name][of] for of in ("calls", "prompt_tokens", "usd", "retries")]
        assert values == expected
    assert (total["truncated"], total["failed"]) == (1, {"empty": 1})
    assert Spending.of(*read_ledger(path)) == Spending(25, 0.6)


def test_an_incomplete_line_is_skipped(tmp_path):
    path = ledger_of(tmp_path, PAID)
    with path.open("a") as file:
        file.write('{"stage": "ans')
    ledger_of(tmp_path, CACHED)
    assert [line.cached for line in read_ledger(path)] == [False, True]


def test_a_call_waits_for_running_calls_to_free_budget():
    budget, admitted = Budget(tokens=100), threading.Event()

    def wait() -> None:
        with budget.reserve(Spending(50)):
            admitted.set()

    with budget.reserve(Spending(80)) as spend:
        threading.Thread(target=wait, daemon=True).start()
        assert not admitted.wait(0.05)
        spend(Completion("", prompt_tokens=6, completion_tokens=4))
    assert admitted.wait(2) and budget.spent.tokens == 10


def test_cached_and_unpaid_calls_cost_nothing(tmp_path, chat):
    store = Cache(tmp_path / "replies.sqlite")
    budget = Budget(tokens=1000)
    plan = [("a", CallFailed("refused", "no")), ("b", FAILED), ("c", "one")]
    model = Scripted(plan).attached(store=store, budget=budget)
    for prompt, n_tokens in (("a", 0), ("b", 10), ("c", 12), ("c", 12)):
        model.complete([chat(prompt)], max_tokens=5)
        assert budget.spent.tokens == n_tokens
    store.close()


def test_ledgers_of_other_processes_count(tmp_path):
    other = ledger_of(tmp_path, PAID, CACHED)
    before, paths = Spending.of(*read_ledger(other)), [other, tmp_path / "none.jsonl"]
    budget = Budget(100, before=before, others=lambda: paths)
    assert budget.spent.tokens == 15
    ledger_of(tmp_path, PAID)
    with other.open("a") as file:
        file.write(json.dumps({"stage": "answer"})[:-3])
    assert budget.spent.tokens == 30
    with pytest.raises(RunStopped, match="30 tokens are spent"), budget.reserve(Spending(71)):
        pass


def test_a_budget_in_dollars_needs_prices_and_stops_the_run(fake, chat):
    url = fake.scenario(text="one two")
    client = OpenAICompatible("fake", url, None, prices={"prompt": 1e6, "completion": 1e6})
    budget = Budget(usd=30.0)
    with pytest.raises(RunStopped, match="budget.usd=30"):
        client.attached(budget=budget).complete([chat("a b")] * 20, max_tokens=2)
    assert 0 < budget.spent.usd <= 30
    with pytest.raises(UserError, match="llm.prices"):
        OpenAICompatible("m", url).attached(budget=Budget(usd=1.0))
