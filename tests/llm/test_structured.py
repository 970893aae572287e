import pytest
from pydantic import BaseModel

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import CallFailed, Completion, FailureGate, RunStopped
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.llm.structured import ask, ask_each, json_format


class City(BaseModel):
    name: str


CORRECTION = "could not be read"


def ask_city(llm, prompt, **more):
    return ask(llm, prompt, City, max_tokens=20, purpose="city", **more)


def test_an_unreadable_reply_is_requested_once_more_with_the_problem(chat):
    for reply, problem in (
        ('{"town": "Rome"}', "field 'name'"),
        (Completion('{"name": "Ro', finish="length"), "shorter"),
    ):
        model = Scripted([(CORRECTION, '{"name": "Rome"}'), ("Italy", reply)])
        assert ask_city(model, chat("Italy")) == City(name="Rome")
        meter = model.meter
        assert (meter.usage.calls, meter.corrected, meter.unreadable) == (2, 1, 0)
        assert meter.usage.truncated == isinstance(reply, Completion)
        first, shown, correction = model.prompts[-1]
        assert first.content == "Italy" and shown.content == getattr(reply, "text", reply)
        assert problem in correction.content and '"additionalProperties"' in correction.content


def test_after_two_unreadable_replies_or_a_failure_the_fallback_or_an_error_follows(chat):
    model = Scripted({"": "no idea"})
    assert ask_city(model, chat("Italy"), fallback=City(name="?")) == City(name="?")
    assert (model.meter.usage.calls, model.meter.unreadable, model.meter.fallbacks) == (2, 1, 1)
    with pytest.raises(UnreadableReply, match="no idea"):
        ask_city(model, chat("Italy"))
    city = json_format(City, "city")
    assert "city" in str(ask_each(model, [chat("Italy")], city, max_tokens=20, retry=False)[0])
    assert model.meter.usage.calls == 5
    model = Scripted([("", CallFailed("content_filter", "filtered"))])
    with pytest.raises(CallFailed, match="filtered"):
        ask_city(model, chat("x"))
    assert ask_city(model, chat("x"), fallback=City(name="?")).name == "?"
    assert (model.meter.usage.failed, model.meter.fallbacks) == (2, 1)


def test_results_are_in_the_order_of_the_prompts(chat):
    plan = [(CORRECTION, "no"), ("1", '{"name": "a"}'), ("2", "no"), ("3", '{"name": "c"}')]
    items: list[str] = []
    llm = Scripted(plan).attached(log=lambda outcome, item: items.append(item))
    prompts = [chat("1"), chat("2"), chat("3")]
    results = ask_each(llm, prompts, json_format(City, "p"), max_tokens=9, items=["x", "y", "z"])
    assert [getattr(one, "name", type(one)) for one in results] == ["a", UnreadableReply, "c"]
    assert sorted(items) == ["x", "y", "y", "z"]


def test_the_gate_stops_a_step_above_the_failure_limit(chat):
    gate = FailureGate("extract", limit=0.2, after=10)
    llm = Scripted({"good": '{"name": "a"}', "": "who knows"}).attached(gate=gate)
    for text in ["good"] * 8 + ["x"] * 2:
        ask_city(llm, chat(text), fallback=City(name="?"))
    assert (gate.calls, gate.failures) == (10, 2)
    with pytest.raises(RunStopped, match="extract.*3 of 11.*who knows"):
        ask_city(llm, chat("x"), fallback=City(name="?"))
    plain = Scripted([("", CallFailed("refused", "I must not"))])
    with pytest.raises(RunStopped, match="I must not"):
        plain.attached(gate=FailureGate("answer", after=10)).complete([chat("a")] * 3, max_tokens=5)
    assert len(plain.prompts) == 3
