"""What was paid for once is not paid for again: threads, processes, kill -9, both journals."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from pydantic import BaseModel

from graphrag_bench.errors import UserError
from graphrag_bench.models.cached import Cached
from graphrag_bench.models.ledger import read_ledger
from graphrag_bench.models.llm import Metered
from graphrag_bench.models.outcomes import CallFailed, Completion
from graphrag_bench.models.reply_store import ReplyStore, StoredReply
from graphrag_bench.models.scripted import Scripted
from graphrag_bench.models.sqlite_file import file_system
from graphrag_bench.models.structured import ask
from graphrag_bench.models.trial import OnTrial

pytestmark = pytest.mark.slow

PROCESS = Path(__file__).with_name("paying_process.py")


class City(BaseModel):
    name: str


@pytest.fixture(params=["wal", "rollback"])
def journal(request):
    return request.param


@pytest.fixture
def store(tmp_path, journal):
    store = ReplyStore(tmp_path / "replies.sqlite", journal)
    yield store
    store.close()


def text(outcomes):
    return [outcome.text for outcome in outcomes]


def test_the_second_time_nothing_is_asked(store, chat):
    model = Scripted({"a": "x", "b": "y"})
    prompts = [chat("a"), chat("b")]
    first = Cached(model, store).complete(prompts, max_tokens=5)
    again = Cached(model, store).complete(prompts, max_tokens=5)
    assert text(first) == text(again) == ["x", "y"] and len(model.asked) == 2
    assert [one.cached for one in first + again] == [False, False, True, True]
    assert again[0].seconds == 0 and again[0].prompt_tokens == first[0].prompt_tokens


def test_all_that_can_change_a_reply_is_in_the_key(store, chat):
    model = Scripted({"": "x"})
    cached = Cached(model, store)
    cached.complete([chat("a")], max_tokens=5)
    cached.complete([chat("a")], max_tokens=6)
    cached.complete([chat("a")], max_tokens=5, stop=["."])
    cached.complete([chat("a")], max_tokens=5, schema={"type": "object"})
    cached.complete([chat("a ")], max_tokens=5)
    OnTrial(cached, 1).complete([chat("a")], max_tokens=5)
    Cached(Scripted({"": "x", "never": "y"}), store).complete([chat("a")], max_tokens=5)
    assert len(model.asked) == 6
    cached.complete([chat("a")], max_tokens=5)
    OnTrial(cached, 1).complete([chat("a")], max_tokens=5)
    assert len(model.asked) == 6


def test_five_repeats_make_five_calls_and_five_more_make_none(store, chat):
    model = Scripted({"": "x"})
    cached = Cached(model, store)
    for _ in range(2):
        for trial in range(5):
            OnTrial(cached, trial).complete([chat("a")], max_tokens=5)
    assert len(model.asked) == 5


def test_modes_do_what_they_say(store, chat):
    model = Scripted({"": "x"})

    def asked(mode):
        before = len(model.asked)
        Cached(model, store, mode).complete([chat("a")], max_tokens=5)
        return len(model.asked) - before

    modes = ["off", "read", "write", "write", "read", "refresh", "off", "write"]
    assert [asked(mode) for mode in modes] == [1, 1, 1, 0, 0, 1, 1, 0]


def test_refresh_pays_once_for_each_prompt(store, chat):
    model = Scripted({"": "x"})
    Cached(model, store).complete([chat("a")], max_tokens=5)
    fresh = Cached(model, store, "refresh")
    fresh.complete([chat("a")], max_tokens=5)
    fresh.complete([chat("a")], max_tokens=5)
    assert len(model.asked) == 2


def test_unreadable_replies_are_asked_for_again_and_readable_ones_are_not(store, chat):
    replies = iter(["?", "?", "?", '{"name": "Rome"}'])
    model = Scripted(answer=lambda prompt: next(replies))

    def city():
        meter = Metered(Cached(model, store))
        return ask(meter, chat("a"), City, max_tokens=5, purpose="p", fallback=City(name="-")).name

    assert [city(), city(), city()] == ["-", "Rome", "Rome"]
    assert len(model.asked) == 4


def test_a_corrected_reply_is_replayed_with_its_correction(store, chat):
    model = Scripted({"could not be read": '{"name": "Rome"}', "a": "?"})
    usage = []
    for _ in range(2):
        meter = Metered(Cached(model, store))
        assert ask(meter, chat("a"), City, max_tokens=5, purpose="p").name == "Rome"
        usage.append((meter.usage, meter.corrected))
    assert len(model.asked) == 2 and usage[0] == usage[1]


def test_a_cut_reply_is_kept_and_stays_cut(store, chat):
    model = Scripted([("", Completion("half", 1, 5, finish="length"))])
    for _ in range(2):
        meter = Metered(Cached(model, store))
        meter.complete([chat("a")], max_tokens=5)
        assert meter.truncated == 1
    assert len(model.asked) == 1


def test_failures_are_not_reused_but_known(store, chat):
    model = Scripted([("", CallFailed("content_filter", "no"))])
    for _ in range(2):
        (failed,) = Cached(model, store).complete([chat("a")], max_tokens=5)
        assert failed.reason == "content_filter"
    assert len(model.asked) == 2
    (row,) = store.rows()
    assert (row.verdict, row.reason) == ("failed", "content_filter")


def test_the_same_prompt_asked_at_once_is_called_once(store, chat):
    def slow(prompt):
        time.sleep(0.05)
        return "x"

    model = Scripted(answer=slow, concurrency=8)
    replies = Cached(model, store).complete([chat("a")] * 8, max_tokens=5)
    assert text(replies) == ["x"] * 8 and len(model.asked) == 1
    assert sum(not one.cached for one in replies) == 1


def test_the_reply_that_stands_is_the_one_that_was_first(store):
    row = StoredReply("key", "model", b"", "valid", text="first")
    assert store.put(row).text == "first"
    later = StoredReply("key", "model", b"", "valid", text="second")
    assert store.put(later).text == "first"
    assert store.put(later, replace=True).text == "second"


def test_many_threads_write_and_read(store):
    def work(part):
        for number in range(40):
            key = f"{part}-{number}"
            store.put(StoredReply(key, "m", b"", "valid", text=key))
            assert store.get(key).text == key

    threads = [threading.Thread(target=work, args=(part,)) for part in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(1 for _ in store.rows()) == 320


def run(fake_url, folder, journal, first, after):
    command = [sys.executable, str(PROCESS), fake_url, str(folder), journal, str(first), str(after)]
    environment = {**os.environ, "PYTHONPATH": str(PROCESS.parents[2])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)


def test_several_processes_share_one_file(fake, tmp_path, journal):
    url = fake.scenario(latency=0.01)
    ranges = [(0, 60), (60, 120)]
    processes = [run(url, tmp_path, journal, *bounds) for bounds in ranges]
    for process, (first, after) in zip(processes, ranges, strict=True):
        found = json.loads(process.communicate(timeout=60)[0])
        assert found == [str(number) for number in range(first, after)]
    assert fake.stats(url).requests == 120
    store = ReplyStore(tmp_path / "replies.sqlite", journal)
    assert sum(row.verdict == "valid" for row in store.rows()) == 120
    store.close()


def test_kill_9_loses_at_most_the_calls_in_flight(fake, tmp_path, journal):
    url = fake.scenario(latency=0.02)
    chance = random.Random(journal)
    n_kills = 1
    for _ in range(n_kills):
        process = run(url, tmp_path, journal, 0, 60)
        before = fake.stats(url).requests
        while fake.stats(url).requests < before + chance.randint(5, 40):
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
    found = json.loads(run(url, tmp_path, journal, 0, 60).communicate(timeout=60)[0])
    assert found == [str(number) for number in range(60)]
    stats = fake.stats(url)
    paid_twice = {number: times for number, times in stats.answered.items() if times > 1}
    assert len(stats.answered) == 60
    assert sum(times - 1 for times in paid_twice.values()) <= 4 * n_kills
    lines = list(read_ledger(tmp_path / "ledger-0.jsonl"))
    assert {line.item for line in lines} == {str(number) for number in range(60)}


def test_a_file_that_cannot_be_written_stops_the_run(tmp_path, chat):
    store = ReplyStore(tmp_path / "replies.sqlite", "wal")
    with sqlite3.connect(tmp_path / "replies.sqlite") as connection:
        connection.execute("DROP TABLE replies")
        connection.execute("CREATE TABLE replies (key TEXT PRIMARY KEY)")
    with pytest.raises(UserError, match="cannot be"):
        Cached(Scripted({"": "x"}), store, "refresh").complete([chat("a")], max_tokens=5)
    store.close()


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "replies.sqlite"
    path.write_text("no database " * 100)
    with pytest.raises(UserError, match="cannot be opened"):
        ReplyStore(path)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("PRAGMA user_version=99")
    with pytest.raises(UserError, match="version 99"):
        ReplyStore(other)


def test_the_kind_of_a_file_system_is_read_from_the_mounts(tmp_path):
    assert file_system(Path("/proc")) == "proc"
    assert not file_system(tmp_path).startswith("nfs")
