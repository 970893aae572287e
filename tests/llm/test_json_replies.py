import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.json_replies import read_cut_list, read_json, read_lists, without_echoes
from graphrag_bench.llm.openai_compatible import without_reasoning


class City(BaseModel):
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
        ('{"Facts": [' + FIRST[11:-2] + ", " + SECOND[11:-1] + "}", 0),
        ('{"result": {"facts": [' + FIRST[11:-2] + ", " + SECOND[11:-1] + "}}", 0),
    ):  # fmt: skip
        assert facts(reply) == (BOTH, False, n_skipped)


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
    for value in ("[null, {}]", '[["head", "relation", "tail"]]', '"none"', "null"):
        with pytest.raises(UnreadableReply):
            facts(f'{{"facts": {value}}}')
    for reply in ("[1, 2]", "none"):
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


TEXTS = st.text("abé{}[]\"'\\:,# \n<>|С", max_size=8).map(lambda text: f"T{text}t")
TRIPLES = st.lists(st.lists(TEXTS, min_size=3, max_size=3), max_size=3)


BEFORE = ["", "<think>[a] or {b}?</think>", "Here it is:\n", "As {you} said: "]
AFTER = ["", "\nThat is all.", " }"]
WRAPS = ["{}", "```json\n{}\n```", "```\n{}```"]


@settings(max_examples=100)
@given(parts=st.lists(TRIPLES, min_size=1, max_size=3), data=st.data())
def test_all_items_are_read_from_decorated_replies(parts: list[Any], data: st.DataObject) -> None:
    before, between, after, wrap, indent, escaped = (
        data.draw(st.sampled_from(one))
        for one in (BEFORE, ["\n", "\nand\n", " "], AFTER, WRAPS, [None, 1], [True, False])
    )
    written = [json.dumps({"facts": one}, ensure_ascii=escaped, indent=indent) for one in parts]
    text = before + between.join(wrap.replace("{}", one) for one in written) + after
    expected, seen = [], []
    for part in parts:
        expected += [item for item in part if item not in seen]
        seen += part
    assert facts(without_reasoning(text)) == (expected, False, 0)
