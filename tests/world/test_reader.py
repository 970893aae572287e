"""The world's reader answers exactly if the facts are in its prompt."""

import json

import pytest

from graphrag_bench.llm.calls import RunStopped
from graphrag_bench.llm.chat import reply
from graphrag_bench.prompts import Prompt, answer_form
from graphrag_bench.world.reader import UNKNOWN, WorldReader

QUESTION = "Who is the founder of the employer of Ada Marsh?"
WORKED, FOUNDED = "Ada Marsh worked for Norvik Guild.", "Norvik Guild was founded by Otto Brandt."


def says(context, question=QUESTION, form="short"):
    pieces = [{"text": context}]
    return replied("methods:vanilla/prompts/answer.j2", form, question=question, pieces=pieces)


def replied(prompt, form="short", **values):
    words = answer_form(form)
    own = {name: getattr(words, name) for name in ("manner", "cue", "licence")}
    chat = Prompt(prompt).render({**values, **own, "form": form})
    return reply(WorldReader(), chat, max_tokens=200).text


RUMOUR = "Rumour has it that Norvik Guild was founded by Mira Holt."
OTHER, ALIAS = "Norvik Guild was founded by Mira Holt.", "Sol Press was founded by Otto Brandt."


def test_it_answers_if_all_facts_of_the_chain_are_stated() -> None:
    for context in (
        f"{WORKED} {FOUNDED}",
        "(ada marsh, worked for, norvik guild)\n(norvik guild, was founded by, otto brandt)",
        "ada marsh -> worked for -> norvik guild; norvik guild -> was founded by -> otto brandt",
        f'0,ada marsh,norvik guild,"{WORKED}, and more",employer,1,2\n1,a,b,{FOUNDED},x,1,2',
        f'0,"Ada Marsh\n{WORKED}"\n1,"Norvik Guild\n{FOUNDED}"',
        f"{WORKED} {ALIAS} Norvik Guild is also known as Sol Press.",
        f"{RUMOUR} {WORKED} {FOUNDED}",
    ):
        assert says(context).title() == "Otto Brandt"
    sol = FOUNDED.replace("Norvik", "Sol")
    for context in ("", WORKED, FOUNDED, WORKED + sol, f"{WORKED} {ALIAS}", f"{RUMOUR} {WORKED}"):
        assert says(context) == UNKNOWN
    assert says(f"{WORKED} {OTHER} {FOUNDED}") == "Mira Holt", "the first of two"


def test_other_questions_and_prompts_stop_the_run() -> None:
    with pytest.raises(RunStopped, match="How do rivers"):
        says(WORKED, "How do rivers hang together?")
    with pytest.raises(RunStopped, match="Entities"):
        replied("graphrag_bench.graphs:prompts/community_report.j2", tables="-----Entities-----")


def test_map_and_reduce_join_a_chain_across_two_parts() -> None:
    points = []
    for part in (f"{WORKED} Ada Marsh was born in Sol Bay.", FOUNDED):
        values = {"question": QUESTION, "pieces": [{"text": part}], "max_characters": 300}
        points += json.loads(replied("operators:answer/prompts/map.j2", **values))["points"]
    assert points == [{"description": WORKED, "score": 100}, {"description": FOUNDED, "score": 50}]
    rows = [{"analyst": 1, "score": 50, "text": point["description"]} for point in points]
    reduced = replied("operators:answer/prompts/reduce.j2", question=QUESTION, points=rows)
    assert reduced == "Otto Brandt"


def test_the_answer_is_a_name_in_every_form_but_lists() -> None:
    for form in ("short", "paragraph", "summary"):
        assert says(f"{WORKED} {FOUNDED}", form=form) == "Otto Brandt"
        assert says(f"{WORKED} {FOUNDED}", form="list") == "ans: Otto Brandt"
        assert says(WORKED, form="list") == f"ans: {UNKNOWN}"


ENTITIES, TRIPLES = (f"graphrag_bench.graphs:prompts/{name}.j2" for name in ("entities", "triples"))
PASSAGE = f"Ada Marsh\nAda Marsh is a painter. {WORKED}"


def test_replies_have_the_format_of_the_prompt() -> None:
    for prompt, values, expected in (
        ("operators:question/prompts/question_entities.j2", {},
         {"named_entities": ["Ada Marsh"]}),
        ("operators:question/prompts/keywords.j2", {},
         {"high_level_keywords": ["employer", "founder"], "low_level_keywords": ["Ada Marsh"]}),
        (ENTITIES, {"passage": PASSAGE}, {"named_entities": ["Ada Marsh", "Norvik Guild"]}),
        (TRIPLES, {"passage": PASSAGE, "entities": "[]"},
         {"triples": [["Ada Marsh", "worked for", "Norvik Guild"]]}),
    ):  # fmt: skip
        assert json.loads(replied(prompt, question=QUESTION, **values)) == expected
