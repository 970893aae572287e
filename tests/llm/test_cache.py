import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from multiprocessing import get_context

import pytest
from test_json_replies import City

from graphrag_bench.errors import UserError
from graphrag_bench.llm import cache as caches
from graphrag_bench.llm.cache import Cache, StoredReply, StoredTagging, StoredVector
from graphrag_bench.llm.calls import CallFailed, Completion, RunStopped
from graphrag_bench.llm.replay import Replay
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


@pytest.fixture
def path(tmp_path):
    return tmp_path / "replies.sqlite"


@pytest.fixture
def store(path):
    with closing(Cache(path)) as store:
        yield store


def complete(model, store, *prompts):
    return model.attached(store=store).complete(prompts, max_tokens=5)


def name(model, store, chat):
    llm = model.attached(store=store)
    return ask(llm, chat("city"), City, max_tokens=5, purpose="p", fallback=City(name="-")).name


def test_a_cached_reply_is_not_requested_again_even_a_cut_one(store, chat):
    cut = Completion("y", prompt_tokens=1, completion_tokens=5, finish="length")
    model = Scripted([("a", "x"), ("b", cut)])
    first, again = [complete(model, store, chat("a"), chat("b")) for _ in range(2)]
    assert [one.text for one in first + again] == ["x", "y"] * 2 and len(model.prompts) == 2
    assert [one.cached for one in first + again] == [False, False, True, True]
    assert again[0].seconds == 0 and again[0].prompt_tokens == first[0].prompt_tokens
    assert again[1].finish == "length"


def test_a_read_only_cache_returns_replies_and_stores_none(store, chat):
    model = Scripted({"could not be read": "no", "city": "no", "": "x"})
    complete(model, store, chat("a"))
    reading = Cache(store.path, reading=True)
    assert name(model, reading, chat) == "-"
    for text, n_calls in (("a", 3), ("b", 4), ("b", 5)):
        complete(model, reading, chat(text))
        assert len(model.prompts) == n_calls
    assert len(list(store.rows())) == 1


def test_only_unreadable_replies_and_failures_are_requested_again(store, chat):
    replies = iter(["?", "?", "?", '{"name": "Rome"}', *[CallFailed("content_filter", "no")] * 2])
    model = Scripted(answer=lambda prompt: next(replies))
    assert [name(model, store, chat) for _ in range(3)] == ["-", "Rome", "Rome"]
    assert len(model.prompts) == 4
    for _ in range(2):
        assert complete(model, store, chat("a"))[0].reason == "content_filter"
    (row,) = (row for row in store.rows() if row.verdict == "failed")
    assert row.reason == "content_filter" and len(model.prompts) == 6


def test_concurrent_calls_with_one_prompt_send_one_request(store, chat):
    model = Scripted(answer=lambda prompt: time.sleep(0.05) or "x", concurrency=8)
    replies = complete(model, store, *[chat("a")] * 8)
    assert [one.text for one in replies] == ["x"] * 8 and len(model.prompts) == 1
    assert sum(not one.cached for one in replies) == 1


def test_the_reply_that_another_process_stored_first_is_returned(store, chat):
    replies = iter(["late", "first"])

    def answer(prompt):
        if (reply := next(replies)) == "late":
            complete(model, Cache(store.path), prompt)
        return reply

    model = Scripted(answer=answer)
    (reply,) = complete(model, store, chat("a"))
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
    old = f"PRAGMA application_id={caches.APPLICATION}; PRAGMA user_version=3"
    for script in ("CREATE TABLE songs (title TEXT)", f"CREATE TABLE cache (key TEXT); {old}"):
        _script(path, script)
        before = path.read_bytes()
        with pytest.raises(UserError, match="another"):
            Cache(path)
        assert path.read_bytes() == before
        path.unlink()
    path.write_text("no database " * 100)
    with pytest.raises(UserError, match="replies.sqlite"):
        Cache(path)


def test_a_write_error_stops_the_run(store):
    _script(store.path, "DROP TABLE cache")
    with pytest.raises(RunStopped, match="replies.sqlite"):
        store.put(REPLY)


def test_processes_can_create_the_cache_at_the_same_time(path):
    fork = get_context("fork").Process
    every = [fork(target=Cache, args=[path]) for _ in range(4)]
    for work in (fork.start, fork.join):
        list(map(work, every))
    assert [process.exitcode for process in every] == [0] * 4


def test_a_signal_while_a_call_is_submitted_waits_for_its_reply(store, chat, monkeypatch):
    submit, began = ThreadPoolExecutor.submit, threading.Event()

    def interrupted(pool, *work):
        submit(pool, *work)
        assert began.wait(5)
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    model = Scripted(answer=lambda _: began.set() or time.sleep(0.2) or "late", concurrency=2)
    with pytest.raises(KeyboardInterrupt):
        complete(model, store, chat("a"), chat("b"))
    assert [row.text for row in store.rows()] == ["late"]


PLAN = [
    ("could not be read", "still ?"),
    ("bad", "?"),
    ("good", '{"name": "Rome"}'),
    ("plain", Completion("a reply", "length", model="m", fingerprint="f", prompt_tokens=3,
                         completion_tokens=2, usd=0.25)),
    ("filtered", CallFailed("content_filter", "no")),
]  # fmt: skip


def everything(model, chat):
    """One run with a readable, an unreadable, a cut and a failed reply."""
    how = {"max_tokens": 5, "purpose": "p", "fallback": City(name="-")}
    cities = [ask(model, chat(text), City, **how).name for text in ("good", "bad")]
    plain, failed = model.complete([chat("plain"), chat("filtered")], max_tokens=5)
    return cities, plain.text, plain.finish, failed.reason, model.meter.usage


@pytest.fixture
def recorded(store, chat):
    model = Scripted(PLAN)
    return store.path, model.identity, everything(model.attached(store=store), chat)


def test_a_replay_repeats_outcomes_and_an_unknown_prompt_stops_it(recorded, tmp_path, chat):
    store, identity, outcome = recorded
    for path in (store, tmp_path / "shared.jsonl", tmp_path / "shared.jsonl.gz"):
        assert path == store or caches.export_rows(store, path) == 5
        replay = Replay(str(path))
        assert replay.identity == identity
        assert everything(replay, chat) == outcome
        with pytest.raises(RunStopped, match="another"):
            replay.complete([chat("another")], max_tokens=5)


def test_a_file_with_two_models_needs_an_identity(recorded, store, chat):
    path, other = store.path, Scripted({"": "x"})
    complete(other, store, chat("a"))
    (reply,) = Replay(str(path), other.identity).complete([chat("a")], max_tokens=5)
    assert reply.text == "x"
    for identity, name in ((None, "llm.identity"), ("nobody", "nobody")):
        with pytest.raises(UserError, match=name):
            Replay(str(path), identity).complete([chat("a")], max_tokens=5)


def test_an_error_in_an_export_names_the_line(recorded, tmp_path):
    path = tmp_path / "shared.jsonl"
    caches.export_rows(recorded[0], path)
    rows = path.read_text()
    for line in ("{", "[1]", '{"key": 1}'):
        path.write_text(f"{rows}{line}\n")
        with pytest.raises(UserError, match="line 7: "):
            caches.import_rows(path, tmp_path / "new.sqlite")
