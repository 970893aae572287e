"""What was paid for once is not paid for again: repeats, modes and verdicts."""

import time

import pytest
from pydantic import BaseModel

from graphrag_bench.llm.cache import Cache
from graphrag_bench.llm.calls import CallFailed, Completion
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.llm.structured import ask

pytestmark = pytest.mark.slow


class City(BaseModel):
    name: str


@pytest.fixture
def store(tmp_path):
    store = Cache(tmp_path / "replies.sqlite")
    yield store
    store.close()


def text(outcomes):
    return [outcome.text for outcome in outcomes]


def test_the_second_time_nothing_is_asked_and_a_cut_reply_stays_cut(store, chat):
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


def test_a_cache_that_is_only_read_gives_its_replies_and_stores_none(store, chat):
    model = Scripted({"could not be read": "no", "city": "no", "": "x"})
    model.attached(store=store).complete([chat("a")], max_tokens=5)
    llm = model.attached(store=Cache(store.path, reading=True))
    assert ask(llm, chat("city"), City, max_tokens=5, purpose="p", fallback=City(name="-"))
    for text, n_calls in (("a", 3), ("b", 4), ("b", 5)):
        llm.complete([chat(text)], max_tokens=5)
        assert len(model.prompts) == n_calls
    assert len(list(store.rows())) == 1


def test_unreadable_replies_are_asked_for_again_and_readable_ones_are_not(store, chat):
    replies = iter(["?", "?", "?", '{"name": "Rome"}'])
    model = Scripted(answer=lambda prompt: next(replies))

    def city():
        llm = model.attached(store=store)
        return ask(llm, chat("a"), City, max_tokens=5, purpose="p", fallback=City(name="-")).name

    assert [city(), city(), city()] == ["-", "Rome", "Rome"]
    assert len(model.prompts) == 4


def test_failures_are_not_reused_but_known(store, chat):
    model = Scripted([("", CallFailed("content_filter", "no"))])
    for _ in range(2):
        (failed,) = model.attached(store=store).complete([chat("a")], max_tokens=5)
        assert failed.reason == "content_filter"
    assert len(model.prompts) == 2
    (row,) = store.rows()
    assert (row.verdict, row.reason) == ("failed", "content_filter")


def test_the_same_prompt_asked_at_once_is_called_once(store, chat):
    def slow(prompt):
        time.sleep(0.05)
        return "x"

    model = Scripted(answer=slow, concurrency=8)
    replies = model.attached(store=store).complete([chat("a")] * 8, max_tokens=5)
    assert text(replies) == ["x"] * 8 and len(model.prompts) == 1
    assert sum(not one.cached for one in replies) == 1
