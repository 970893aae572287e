"""One budget for all processes of a run, and for tries whose reply never arrived."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest

from graphrag_bench.models.budget import Budget, Budgeted
from graphrag_bench.models.openai_compatible import OpenAICompatible
from graphrag_bench.models.openai_embedder import OpenAIEmbedder
from graphrag_bench.models.outcomes import CallFailed, RunStopped
from graphrag_bench.models.shared_account import SharedAccount
from graphrag_bench.models.spending import OwnAccount, Spending

IMPATIENT = {"read": 0.1, "first_pause": 0.01, "longest_pause": 0.02, "total": 30.0}


def test_what_one_has_under_way_is_not_there_for_another(tmp_path):
    one, two = (SharedAccount(tmp_path / "budget.json", Spending()) for _ in range(2))
    Budget(100, account=one).reserve(Spending(80))
    assert two.reserve(Spending(30), lambda held: held.reserved.tokens + 30 <= 100) is not None
    one.settle(Spending(80), Spending(60))
    assert two.balance().spent == Spending(60)
    with pytest.raises(RunStopped, match="60 are spent and the next call may take 41"):
        Budget(100, account=two).reserve(Spending(41))


def test_a_call_waits_for_the_change_of_calls_of_another_process(tmp_path):
    one, two = (SharedAccount(tmp_path / "budget.json", Spending()) for _ in range(2))
    Budget(100, account=one).reserve(Spending(80))
    waiting = threading.Thread(target=lambda: Budget(100, account=two).reserve(Spending(50)))
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    one.settle(Spending(80), Spending(10))
    waiting.join(5)
    assert not waiting.is_alive() and two.balance().reserved == Spending(50)


def test_what_was_spent_stays_when_its_process_leaves_and_ledgers_add_what_the_file_lacks(tmp_path):
    path = tmp_path / "budget.json"
    first = SharedAccount(path, Spending(10, 0.5))
    first.settle(Spending(), Spending(20, 1.0))
    first.close()
    assert SharedAccount(path, Spending(10, 0.5)).balance().spent == Spending(30, 1.5)
    assert SharedAccount(path, Spending(50, 0.5)).balance().spent == Spending(50, 1.5)
    assert [one.name for one in tmp_path.glob("*.lock")] == ["budget.json.lock"]


def test_an_account_that_is_forgotten_while_its_file_changes_waits_for_nobody(tmp_path):
    path = tmp_path / "budget.json"
    forgotten = [SharedAccount(path, Spending())]
    forgotten[0].settle(Spending(), Spending(20))

    def fits(held):
        forgotten.clear()  # as a collection of garbage does in the middle of anything
        return held.spent.tokens == 20

    other = SharedAccount(path, Spending())
    assert other.reserve(Spending(5), fits) is None
    later = SharedAccount(path, Spending())
    assert later.balance().spent == Spending(20)
    assert list(json.loads(path.read_text())["there"]) == [other.name, later.name]


def test_calls_under_way_of_a_killed_process_count_as_spent(tmp_path):
    path = tmp_path / "budget.json"
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from graphrag_bench.models.shared_account import SharedAccount\n"
        "from graphrag_bench.models.spending import Spending\n"
        "account = SharedAccount(Path(sys.argv[1]), Spending())\n"
        "account.reserve(Spending(70), lambda held: True)\n"
        "os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(path)]).returncode == 9
    account = SharedAccount(path, Spending())
    with pytest.raises(RunStopped, match="70 are spent"):
        Budget(100, account=account).reserve(Spending(40))
    assert account.balance().n_calls == 0


@pytest.mark.parametrize("content", ["", "[1, 2", '{"left": 3}', '{"left": [1, 2], "there": 7}'])
def test_a_damaged_file_is_made_new_from_the_ledgers(tmp_path, content):
    path = tmp_path / "budget.json"
    path.write_text(content)
    assert SharedAccount(path, Spending(40, 2.0)).balance().spent == Spending(40, 2.0)
    assert json.loads(path.read_text())["left"] == [40, 2.0]


def test_shards_together_keep_one_budget(fake, chat, tmp_path):
    url = fake.scenario(latency=0.05, text="word " * 20)
    stopped = []

    def shard(number):
        account = SharedAccount(tmp_path / "budget.json", Spending())
        client = OpenAICompatible("fake", url, None, limits={"concurrency": 8})
        prompts = [chat(f"Question #{number}{row:03} " + "word " * 18) for row in range(60)]
        try:
            Budgeted(client, Budget(2000, account=account)).complete(prompts, max_tokens=30)
        except RunStopped as stop:
            stopped.append(str(stop))

    threads = [threading.Thread(target=shard, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(stopped) == 4 and all("budget.tokens=2000 could be passed" in one for one in stopped)
    assert 1400 < fake.stats(url).tokens <= 2000


def test_tries_that_timed_out_count_as_their_most(fake, chat):
    url = fake.scenario(latency=0.4, text="word " * 20)  # the server answers, and counts, later
    client = OpenAICompatible("fake", url, None, patience=IMPATIENT)
    budget = Budget(400, account=OwnAccount())
    with pytest.raises(RunStopped, match="budget.tokens=400 could be passed"):
        Budgeted(client, budget).complete([chat("Question #1 " + "word " * 18)], max_tokens=30)
    n_tries = fake.stats(url).requests
    assert n_tries > 2 and fake.stats(url).tokens <= budget.spent.tokens <= 400
    assert budget.account.balance().reserved == Spending()


def test_tries_that_the_server_refused_cost_nothing(fake, chat):
    url = fake.scenario(share_500=1.0)
    patience = {**IMPATIENT, "total": 0.2}
    budget = Budget(1000, account=OwnAccount())
    model = Budgeted(OpenAICompatible("fake", url, None, patience=patience), budget)
    with pytest.raises(RunStopped, match="taken no call"):
        model.complete([chat("a")], max_tokens=30)
    assert budget.spent == Spending()


def test_embeddings_that_timed_out_count_too(fake):
    url = fake.scenario(latency=0.4)
    budget = Budget(100, account=OwnAccount())
    embedder = OpenAIEmbedder("fake", 8, url, None, patience=IMPATIENT).attached(budget=budget)
    with pytest.raises((RunStopped, CallFailed), match="budget.tokens=100 could be passed"):
        embedder.encode(["some words to embed"], kind="passage")
    assert fake.stats(url).requests > 2 and 0 < budget.spent.tokens <= 100
