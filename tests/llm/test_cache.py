"""The cache file, and the reuse of replies: verdicts, modes, other files."""

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from multiprocessing import get_context

import pytest
from pydantic import BaseModel

from graphrag_bench.errors import UserError
from graphrag_bench.llm.cache import APPLICATION, Cache, StoredReply, StoredTagging, StoredVector
from graphrag_bench.llm.calls import CallFailed, Completion, RunStopped
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.llm.structured import ask

pytestmark = pytest.mark.slow

REPLY = StoredReply(
    "Ada “Marsh”", "stop", model="a-1", prompt_tokens=7, completion_tokens=3, usd=0.0000123,
    seconds=0.5, key="6e7bd3017619133f24580d62d9a822bc", identity="model-a", prompt=b"prompt",
    verdict="valid", created=1.7e9 + 0.125,
)  # fmt: skip
VECTOR = StoredVector("fb3c33bc4cf87e5425af2b00f6ca46f8", "hashing:2", b"numbers", "m", 4, 0.25)
READING = StoredTagging("aaaa", "capitals:1", b"found")


class City(BaseModel):
    name: str


@pytest.fixture
def path(tmp_path):
    return tmp_path / "replies.sqlite"


@pytest.fixture
def store(path):
    store = Cache(path)
    yield store
    store.close()


def text(outcomes):
    return [outcome.text for outcome in outcomes]


def test_a_cached_reply_is_not_requested_again_even_a_cut_one(store, chat):
    model = Scripted(
        [("a", "x"), ("b", Completion("y", prompt_tokens=1, completion_tokens=5, finish="length"))]
    )
    prompts = [chat("a"), chat("b")]
    first = model.attached(store=store).complete(prompts, max_tokens=5)
    llm = model.attached(store=store)
    again = llm.complete(prompts, max_tokens=5)
    assert text(first) == text(again) == ["x", "y"] and len(model.prompts) == 2
    assert [one.cached for one in first + again] == [False, False, True, True]
    assert again[0].seconds == 0 and again[0].prompt_tokens == first[0].prompt_tokens
    assert llm.meter.usage.truncated == 1


def test_a_read_only_cache_returns_replies_and_stores_none(store, chat):
    model = Scripted({"could not be read": "no", "city": "no", "": "x"})
    model.attached(store=store).complete([chat("a")], max_tokens=5)
    llm = model.attached(store=Cache(store.path, reading=True))
    assert ask(llm, chat("city"), City, max_tokens=5, purpose="p", fallback=City(name="-"))
    for text, n_calls in (("a", 3), ("b", 4), ("b", 5)):
        llm.complete([chat(text)], max_tokens=5)
        assert len(model.prompts) == n_calls
    assert len(list(store.rows())) == 1


def test_only_unreadable_replies_are_requested_again(store, chat):
    replies = iter(["?", "?", "?", '{"name": "Rome"}'])
    model = Scripted(answer=lambda prompt: next(replies))

    def city():
        llm = model.attached(store=store)
        return ask(llm, chat("a"), City, max_tokens=5, purpose="p", fallback=City(name="-")).name

    assert [city(), city(), city()] == ["-", "Rome", "Rome"]
    assert len(model.prompts) == 4


def test_failures_are_stored_and_requested_again(store, chat):
    model = Scripted([("", CallFailed("content_filter", "no"))])
    for _ in range(2):
        (failed,) = model.attached(store=store).complete([chat("a")], max_tokens=5)
        assert failed.reason == "content_filter"
    assert len(model.prompts) == 2
    (row,) = store.rows()
    assert (row.verdict, row.reason) == ("failed", "content_filter")


def test_concurrent_calls_with_one_prompt_send_one_request(store, chat):
    def slow(prompt):
        time.sleep(0.05)
        return "x"

    model = Scripted(answer=slow, concurrency=8)
    replies = model.attached(store=store).complete([chat("a")] * 8, max_tokens=5)
    assert text(replies) == ["x"] * 8 and len(model.prompts) == 1
    assert sum(not one.cached for one in replies) == 1


def test_the_reply_that_another_process_stored_first_is_returned(store, chat):
    replies = iter(["late", "first"])

    def answer(prompt):
        if (reply := next(replies)) == "late":
            model.attached(store=Cache(store.path)).complete([prompt], max_tokens=5)
        return reply

    model = Scripted(answer=answer)
    (reply,) = model.attached(store=store).complete([chat("a")], max_tokens=5)
    assert reply.text == "first" and not reply.cached


def _script(path, text):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(text)


def test_a_readable_reply_stays_and_an_unreadable_one_is_replaced(path):
    cache = Cache(path)
    other = StoredReply("later", key=REPLY.key, identity="model-a", prompt=b"prompt", verdict="new")
    assert cache.put(REPLY, READING) == 2
    assert cache.put(other) == 0
    assert Cache(path, reading=True).get(REPLY.key) == REPLY
    cache.set_verdict(REPLY.key, "unreadable")
    assert Cache(path, reading=True).get(REPLY.key) == replace(REPLY, verdict="unreadable")
    assert cache.put(other, VECTOR, VECTOR) == 2
    cache.close()
    again = Cache(path, reading=True)
    assert again.get(REPLY.key) == other
    assert again.get_many(StoredTagging, ["aaaa", "none"]) == {"aaaa": READING}
    assert again.get_many(StoredVector, [VECTOR.key]) == {VECTOR.key: VECTOR}


def test_files_of_other_programs_and_versions_are_refused_unchanged(path):
    for script, name in (
        ("CREATE TABLE songs (title TEXT)", "another program"),
        (
            f"CREATE TABLE cache (key TEXT); PRAGMA application_id={APPLICATION}; "
            "PRAGMA user_version=3",
            "another version",
        ),
    ):
        _script(path, script)
        before = path.read_bytes()
        with pytest.raises(UserError, match=name):
            Cache(path)
        assert path.read_bytes() == before
        path.unlink()
    path.write_text("no database " * 100)
    with pytest.raises(UserError, match="replies.sqlite"):
        Cache(path)


def test_a_write_error_stops_the_run(path):
    cache = Cache(path)
    _script(path, "DROP TABLE cache")
    with pytest.raises(RunStopped, match="replies.sqlite"):
        cache.put(REPLY)


def test_processes_can_create_the_cache_at_the_same_time(path):
    every = [get_context("fork").Process(target=Cache, args=[path]) for _ in range(4)]
    for process in every:
        process.start()
    for process in every:
        process.join()
    assert [process.exitcode for process in every] == [0] * 4


def test_a_signal_while_a_call_is_submitted_waits_for_its_reply(store, chat, monkeypatch):
    submit, began = ThreadPoolExecutor.submit, threading.Event()

    def late(_):
        began.set()
        time.sleep(0.2)
        return "late"

    def interrupted(pool, *work):
        submit(pool, *work)
        assert began.wait(5)
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    model = Scripted(answer=late, concurrency=2).attached(store=store)
    with pytest.raises(KeyboardInterrupt):
        model.complete([chat("a"), chat("b")], max_tokens=5)
    assert [row.text for row in store.rows()] == ["late"]
