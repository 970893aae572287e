"""Structured replies: one corrective retry, then a counted fallback or an error."""

import pytest
from pydantic import BaseModel

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import CallFailed, Completion, RunStopped
from graphrag_bench.llm.meter import FailureGate
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.llm.structured import ReplyFormat, ask, ask_each, json_reading


class City(BaseModel):
    name: str


CORRECTION = "could not be read"


def ask_city(llm, prompt, **more):
    return ask(llm, prompt, City, max_tokens=20, purpose="city", **more)


def test_an_unreadable_reply_is_asked_for_once_more_with_what_was_wrong(chat):
    model = Scripted([(CORRECTION, '{"name": "Rome"}'), ("Italy", '{"town": "Rome"}')])
    assert ask_city(model, chat("Italy")) == City(name="Rome")
    assert (model.meter.usage.calls, model.meter.corrected, model.meter.unreadable) == (2, 1, 0)
    first, reply, correction = model.asked[-1]
    assert first.content == "Italy" and reply.content == '{"town": "Rome"}'
    assert "field 'name'" in correction.content and '"additionalProperties"' in correction.content


def test_a_cut_reply_is_told_to_be_shorter(chat):
    cut = Completion('{"name": "Ro', 1, 20, finish="length")
    model = Scripted([(CORRECTION, '{"name": "Rome"}'), ("Italy", cut)])
    assert ask_city(model, chat("Italy")).name == "Rome"
    assert model.meter.usage.truncated == 1
    assert "shorter" in model.asked[-1][-1].content


def test_after_two_unreadable_replies_the_fallback_stands_and_is_counted(chat):
    llm = Scripted({"": "no idea"})
    assert ask_city(llm, chat("Italy"), fallback=City(name="?")) == City(name="?")
    assert (llm.meter.usage.calls, llm.meter.unreadable, llm.meter.fallbacks) == (2, 1, 1)


def test_a_failed_call_raises_or_gives_the_fallback(chat):
    llm = Scripted([("", CallFailed("content_filter", "filtered"))])
    with pytest.raises(CallFailed, match="filtered"):
        ask_city(llm, chat("x"))
    assert ask_city(llm, chat("x"), fallback=City(name="?")).name == "?"
    assert (llm.meter.usage.failed, llm.meter.fallbacks) == (2, 1)


def test_a_list_comes_back_in_order_with_failures_in_their_places(chat):
    model = Scripted(
        [(CORRECTION, "no"), ("1", '{"name": "a"}'), ("2", "no"), ("3", '{"name": "c"}')]
    )
    items: list[str] = []
    llm = model.attached(log=lambda outcome, item: items.append(item))
    prompts = [chat("1"), chat("2"), chat("3")]
    reading = json_reading(City, "p")
    found = ask_each(llm, prompts, reading, max_tokens=9, items=["x", "y", "z"])
    assert found[0] == City(name="a") and found[2] == City(name="c")
    assert isinstance(found[1], UnreadableReply)
    assert sorted(items) == ["x", "y", "y", "z"]


def test_own_formats_are_read_the_same_way(chat):
    def read(text, cut):
        head, bar, tail = text.partition("|")
        if not bar:
            raise UnreadableReply("pair", text)
        return head, tail

    model = Scripted([(CORRECTION, "a|b"), ("good", "c|d"), ("bad", "?")])
    found = ask_each(model, [chat("good"), chat("bad")], ReplyFormat("pair", read), max_tokens=9)
    assert found == [("c", "d"), ("a", "b")]


def test_the_gate_stops_a_step_that_fails_too_often_and_shows_a_reply(chat):
    gate = FailureGate("extract", limit=0.2, after=10)
    llm = Scripted({"good": '{"name": "a"}', "": "who knows"}).attached(gate=gate)
    for _ in range(8):
        ask_city(llm, chat("good"))
    ask_city(llm, chat("x"), fallback=City(name="?"))
    ask_city(llm, chat("x"), fallback=City(name="?"))
    assert gate.rate == 0.2
    with pytest.raises(RunStopped, match=r"Step extract: 3 of 11 calls failed \(27%.*who knows"):
        ask_city(llm, chat("x"), fallback=City(name="?"))


def test_plain_calls_pass_the_gate_too(chat):
    gate = FailureGate("answer", after=10)
    llm = Scripted([("", CallFailed("refused", "I must not"))]).attached(gate=gate)
    llm.complete([chat("a"), chat("b")], max_tokens=5)
    with pytest.raises(RunStopped, match="I must not"):
        llm.complete([chat("c")], max_tokens=5)


def test_without_a_fallback_two_unreadable_replies_raise(chat):
    with pytest.raises(UnreadableReply, match="city.*no idea"):
        ask_city(Scripted({"": "no idea"}), chat("Italy"))


def test_without_a_retry_one_call_is_made(chat):
    llm = Scripted({"": "no idea"})
    with pytest.raises(UnreadableReply):
        ask_city(llm, chat("Italy"), retry=False)
    assert llm.meter.usage.calls == 1
