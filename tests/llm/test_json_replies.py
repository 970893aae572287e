"""Reading JSON out of what models write."""

import pytest
from pydantic import BaseModel, RootModel

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.json_replies import read_cut_list, read_json, schema_of


class City(BaseModel):
    """Not part of the schema: a docstring must not change a cache key."""

    name: str
    people: int = 0


class Names(RootModel[list[str]]):
    """A bare list."""


@pytest.mark.parametrize(
    "reply",
    [
        '{"name": "Rome", "people": 3}',
        '```json\n{"name": "Rome", "people": 3}\n```',
        'Sure!\n```\n{"name": "Rome", "people": 3}\n```\nAnything else?',
        'The answer is {"name": "Rome", "people": 3}, as {you} know.',
        'A brace { in prose, then {"name": "Rome", "people": 3}',
        "{'name': 'Rome', 'people': 3,}",
        '{"name": "Rome", "people": 3',
        '{"nonsense": {}} {"name": "Rome", "people": 3}',
        '{"name": "Rome", "people": "3"}',
    ],
)
def test_an_object_is_found_in_its_usual_wrappings(reply):
    assert read_json(reply, City) == City(name="Rome", people=3)


def test_braces_and_quotes_inside_strings_do_not_end_an_object():
    reply = 'Here: {"name": "a } \\" { b"} and more } text'
    assert read_json(reply, City).name == 'a } " { b'


@pytest.mark.parametrize("reply", ["", "I do not know.", "{}", '{"town": "Rome"}', "[]", "null"])
def test_what_does_not_fit_is_unreadable_and_says_why(reply):
    with pytest.raises(UnreadableReply) as raised:
        read_json(reply, City, purpose="extract")
    assert raised.value.purpose == "extract" and raised.value.reply == reply


def test_a_cut_reply_is_not_repaired_because_its_last_word_may_be_half_a_word():
    cut = '{"name": "Barack Obama", "people": 3'
    assert read_json(cut, City).people == 3
    with pytest.raises(UnreadableReply):
        read_json(cut, City, repair=False)


@pytest.mark.parametrize(
    "reply", ['{"name": "Barack Ob', 'Sure: {"name": "', '```json\n{"name": "a']
)
def test_a_reply_that_ends_inside_a_string_is_never_repaired(reply):
    with pytest.raises(UnreadableReply):
        read_json(reply, City)


def test_half_characters_become_question_marks():
    name = read_json('{"name": "a\\ud83d"}', City).name
    assert name == "a?" and name.encode()


def test_the_schema_closes_every_object_and_asks_for_all_fields():
    schema = schema_of(City)
    assert schema == {
        "type": "object",
        "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
        "required": ["name", "people"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("cut", "whole"),
    [
        ('{"names": ["Ada", "Nor', ["Ada"]),
        ('```json\n{ "names" : [\n  "Ada",\n  "Norvik"', ["Ada", "Norvik"]),
        ('{"names": ["a ]", "b, c", ["d"', ["a ]", "b, c"]),
        ('{"names": [1, 23', [1]),
        ('{"names": ["Ada"], "other": ["Nor"', ["Ada"]),
        ('{"names": [', []),
        ('{"other": ["Ada"', []),
        ("", []),
    ],
)
def test_of_a_cut_list_the_items_that_stand_whole_are_read(cut, whole):
    assert read_cut_list(cut, "names") == whole


def test_a_field_named_title_stays_in_the_schema():
    class Book(BaseModel):
        title: str
        description: str

    assert set(schema_of(Book)["properties"]) == {"title", "description"}
