"""A budget stops a run before it is passed."""

import threading
import time

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.models.budget import Budget, Budgeted
from graphrag_bench.models.cached import Cached
from graphrag_bench.models.openai_compatible import OpenAICompatible
from graphrag_bench.models.outcomes import CallFailed, RunStopped
from graphrag_bench.models.reply_store import ReplyStore
from graphrag_bench.models.scripted import Scripted
from graphrag_bench.models.spending import OwnAccount, Spending


def test_the_run_stops_before_the_budget_is_passed_and_goes_on_with_a_larger_one(
    fake, tmp_path, chat
):
    url = fake.scenario(latency=0.02, text="word " * 20)
    store = ReplyStore(tmp_path / "replies.sqlite")
    client = OpenAICompatible("fake", url, None, limits={"concurrency": 8})
    prompts = [chat(f"Question #{number} " + "word " * 18) for number in range(40)]
    with pytest.raises(RunStopped, match="budget.tokens=800 could be passed: .*raise the budget"):
        Cached(Budgeted(client, Budget(800)), store).complete(prompts, max_tokens=30)
    stats = fake.stats(url)
    assert 400 < stats.tokens <= 800
    done = stats.requests
    rest = Budget(1700, account=OwnAccount(Spending(stats.tokens)))
    Cached(Budgeted(client, rest), store).complete(prompts, max_tokens=30)
    stats = fake.stats(url)
    assert stats.requests == 40 > done and set(stats.answered.values()) == {1}
    assert rest.spent.tokens == stats.tokens == 1600
    store.close()


def test_dollars_are_a_budget_too(fake, chat):
    url = fake.scenario(text="one two")
    client = OpenAICompatible("fake", url, None, prices={"prompt": 1e6, "completion": 1e6})
    budget = Budget(usd=30.0)
    model = Budgeted(client, budget)
    with pytest.raises(RunStopped, match="budget.usd=30"):
        model.complete([chat("a b")] * 20, max_tokens=2)
    assert 0 < budget.spent.usd <= 30


def test_dollars_without_prices_are_refused():
    with pytest.raises(UserError, match="llm.prices"):
        Budgeted(OpenAICompatible("m", "http://x/v1"), Budget(usd=1.0))


def test_a_call_waits_for_the_change_of_those_under_way():
    budget = Budget(tokens=100)
    budget.reserve(Spending(80))
    admitted = []

    def wait():
        budget.reserve(Spending(50))
        admitted.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.05)
    assert not admitted
    budget.settle(Spending(80), Spending(10))
    thread.join(2)
    assert admitted and budget.spent.tokens == 10


def test_failed_calls_give_back_what_was_reserved(chat):
    budget = Budget(tokens=1000)
    model = Budgeted(Scripted([("", CallFailed("refused", "no"))]), budget)
    model.complete([chat("a")] * 30, max_tokens=100)
    assert budget.spent == Spending()


def test_replies_from_the_cache_cost_nothing(tmp_path, chat):
    store = ReplyStore(tmp_path / "replies.sqlite")
    for _ in range(2):
        budget = Budget(tokens=60)
        Cached(Budgeted(Scripted({"": "x"}), budget), store).complete([chat("a")], max_tokens=5)
    assert budget.spent == Spending()
    store.close()
