import json

import pytest
from pydantic import BaseModel

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import CallFailed, Completion, FailureGate, RunStopped
from graphrag_bench.llm.json_replies import read_cut_list, read_json, read_lists, without_echoes
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.llm.structured import ask, ask_each, json_format


class City(BaseModel):
    """Not in the schema."""

    name: str
    people: int = 0


class Facts(BaseModel):
    facts: list[list[str]]


class People(BaseModel):
    people: list[City]
    names: list[str] = []


def test_an_object_is_found_in_the_text_around_it():
    for reply in (
        '{"name": "Rome", "people": 3}',
        '```json\n{"name": "Rome", "people": 3}\n```',
        'The answer is {"name": "Rome", "people": 3}, as {you} know.',
        "{'name': 'Rome', 'people': 3,}",
        '{"nonsense": {}} {"name": "Rome", "people": 3}',
        '{"name": "Rome", "people": "3"}',
    ):
        assert read_json(reply, City) == City(name="Rome", people=3)


def test_invalid_replies_are_unreadable():
    for reply in ("", "I do not know.", "{}", '{"town": "Rome"}', "[]", "null"):
        with pytest.raises(UnreadableReply, match="extract") as raised:
            read_json(reply, City, purpose="extract")
        assert raised.value.reply == reply


def test_replies_that_end_inside_a_string_are_not_repaired():
    cut = '{"name": "Barack Obama", "people": 3'
    assert read_json(cut, City).people == 3
    for text in (cut, '{"name": "Barack Ob', '```json\n{"name": "a'):
        with pytest.raises(UnreadableReply):
            read_json(text, City, repair=text != cut)
    assert read_json('{"name": "a\\ud83d"}', City).name == "a?"  # a lone surrogate


FIRST, SECOND = '{"facts": [["Ada", "wrote", "Notes"]]}', '{"facts": [["Ada", "lived", "London"]]}'
BOTH = [["Ada", "wrote", "Notes"], ["Ada", "lived", "London"]]


def facts(text: str, cut: bool = False) -> tuple[list[list[str]], bool, int]:
    value, *more = read_lists(text, Facts, "facts", cut=cut, purpose="test")
    return value.facts, *more


def test_valid_objects_are_merged_and_the_rest_is_counted() -> None:
    for reply, n_skipped in (
        (f"{FIRST}\nCorrection:\n{json.dumps({'facts': BOTH})}", 0),
        ('Form: {"facts": [["head", "relation", "tail"]]}\n' + f"{FIRST} and {SECOND}", 0),
        (FIRST + '{"note": "none"}' + SECOND, 1),
        (FIRST + SECOND.replace("]]}", "], null, [1, null, 2]]}"), 2),
        ("[" + FIRST[11:-2] + ", " + SECOND[11:-2] + ", ]", 0),
        ("It is:\n```json\n[" + FIRST[11:-2] + ", " + SECOND[11:-2] + "]\n```", 0),
        ('{"Facts": [' + FIRST[11:-2] + ", " + SECOND[11:-1] + "}", 0),
        ('{"result": {"facts": [' + FIRST[11:-2] + ", " + SECOND[11:-1] + "}}", 0),
    ):  # fmt: skip
        assert facts(reply) == (BOTH, False, n_skipped)
    assert facts('As {you} say: {"facts": [["T\\"}t", "a:", "[b"]]} }')[0] == [['T"}t', "a:", "[b"]]


def test_numbers_are_read_as_text_and_invalid_items_are_dropped() -> None:
    assert facts('{"facts": [["Ada", "born", 1815], ["x", "is", true], ["x", "is", NaN]]}') == (
        [["Ada", "born", "1815"]], False, 2,
    )  # fmt: skip
    value, _, n_skipped = read_lists(
        '{"people": [{"name": 7}, {"town": 1}, "Ada"], "names": [2.5, null]}',
        People, "people", cut=False, purpose="test",
    )  # fmt: skip
    assert value == People(people=[City(name="7")], names=["2.5"]) and n_skipped == 3
    assert read_json('{"people": [], "names": ["Ada", null, 3]}', People).names == ["Ada", "3"]
    with pytest.raises(UnreadableReply):  # items that are no texts may be told apart by their place
        read_json('{"people": [{"name": null}, {"name": "Ada"}]}', People)


def test_a_reply_without_valid_items_is_unreadable() -> None:
    values = "[null, {}]", '[["head", "relation", "tail"]]', '"none"', "null"
    for reply in (*(f'{{"facts": {value}}}' for value in values), "[1, 2]", "none"):
        with pytest.raises(UnreadableReply):
            facts(reply)


def test_complete_objects_and_items_of_a_cut_reply_are_read() -> None:
    for cut, whole in (
        ('{"names": ["Ada", "Nor', ["Ada"]),
        ('```json\n{ "names" : [\n  "Ada",\n  "Norvik"', ["Ada", "Norvik"]),
        ('{"names": ["a ]", "b, c", ["d"', ["a ]", "b, c"]),
        ('{"names": ["Ada"], "other": ["Nor"', ["Ada"]),
        ('{"names": [', []),
    ):
        assert read_cut_list(cut, "names") == whole
    assert facts(FIRST + SECOND[:-2] + ', ["Ada", "ow', cut=True) == (BOTH, True, 0)
    assert facts(f"{FIRST} {SECOND}", cut=True) == (BOTH, False, 0)


def test_objects_repeated_from_the_prompt_are_dropped_except_short_ones() -> None:
    prompt = f'Example reply:\n{FIRST}\nor {{"winner": "A"}}'
    assert facts(without_echoes(f"{FIRST.replace(' ', '')}\n{SECOND}", prompt))[0] == BOTH[1:]
    assert without_echoes('{"winner": "A"}', prompt) == '{"winner": "A"}'


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
