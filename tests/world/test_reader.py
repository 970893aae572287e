"""The scripted reader answers exactly when the facts are in its prompt, whatever their form."""

import json

import pytest

from graphrag_bench.llm.calls import RunStopped
from graphrag_bench.llm.chat import reply
from graphrag_bench.prompts import FormName, Prompt, answer_form
from graphrag_bench.world.reader import UNKNOWN, WorldReader

QUESTION = "Who is the founder of the employer of Ada Marsh?"
WORKED, FOUNDED = "Ada Marsh worked for Norvik Guild.", "Norvik Guild was founded by Otto Brandt."


def says(context: str, question: str = QUESTION, form: FormName = "short") -> str:
    pieces = [{"text": context}]
    return replied("methods:vanilla/prompts/answer.j2", form, question=question, pieces=pieces)


def replied(prompt: str, form: FormName = "short", **values: object) -> str:
    words = answer_form(form)
    own = {name: getattr(words, name) for name in ("manner", "cue", "licence")}
    chat = Prompt(prompt).render({**values, **own, "form": form})
    return reply(WorldReader(), chat, max_tokens=200).text


@pytest.mark.parametrize(
    "context",
    [
        f"{WORKED} {FOUNDED}",
        "(ada marsh, worked for, norvik guild)\n(norvik guild, was founded by, otto brandt)",
        "ada marsh -> worked for -> norvik guild; norvik guild -> was founded by -> otto brandt",
        f'0,ada marsh,norvik guild,"{WORKED}, and more",employer,1,2\n1,a,b,{FOUNDED},x,1,2',
        f'0,"Ada Marsh\n{WORKED}"\n1,"Norvik Guild\n{FOUNDED}"',
    ],
)
def test_it_answers_from_sentences_triples_and_tables(context: str) -> None:
    assert says(context).casefold() == "otto brandt"


@pytest.mark.parametrize(
    "context", ["", WORKED, FOUNDED, WORKED + FOUNDED.replace("Norvik", "Sol")]
)
def test_it_does_not_know_the_answer_while_one_fact_is_missing(context: str) -> None:
    assert says(context) == UNKNOWN


def test_aliases_count_where_they_are_introduced_and_rumours_never() -> None:
    context = f"{WORKED} Sol Press was founded by Otto Brandt."
    assert says(context) == UNKNOWN
    assert says(f"{context} Norvik Guild is also known as Sol Press.") == "Otto Brandt"
    rumour = "Rumour has it that Norvik Guild was founded by Mira Holt."
    assert says(f"{rumour} {WORKED}") == UNKNOWN
    assert says(f"{rumour} {WORKED} {FOUNDED}") == "Otto Brandt"


def test_of_two_facts_that_exclude_each_other_the_first_one_counts() -> None:
    other = "Norvik Guild was founded by Mira Holt."
    assert says(f"{WORKED} {other} {FOUNDED}") == "Mira Holt"


def test_a_question_or_prompt_that_is_none_of_the_world_stops_the_run() -> None:
    with pytest.raises(RunStopped, match="How do rivers"):
        says(WORKED, "How do rivers hang together?")
    with pytest.raises(RunStopped, match="Entities"):
        replied("graphrag_bench.graphs:prompts/community_report.j2", tables="-----Entities-----")


def test_it_converts_a_question_into_its_entity_and_keywords() -> None:
    result = replied("operators:question/prompts/question_entities.j2", question=QUESTION)
    assert json.loads(result) == {"named_entities": ["Ada Marsh"]}
    words = replied("operators:question/prompts/keywords.j2", question=QUESTION)
    assert json.loads(words) == {
        "high_level_keywords": ["employer", "founder"],
        "low_level_keywords": ["Ada Marsh"],
    }


def test_it_reads_entities_and_triples_out_of_a_passage() -> None:
    values = {"passage": f"Ada Marsh\nAda Marsh is a painter. {WORKED}", "entities": "[]"}
    result = replied("graphrag_bench.graphs:prompts/entities.j2", passage=values["passage"])
    assert json.loads(result) == {"named_entities": ["Ada Marsh", "Norvik Guild"]}
    triples = replied("graphrag_bench.graphs:prompts/triples.j2", **values)
    assert json.loads(triples) == {"triples": [["Ada Marsh", "worked for", "Norvik Guild"]]}


def test_agents_follow_the_relations_of_the_question() -> None:
    values = {"question": QUESTION, "entity": "ada marsh", "width": 3}
    there = ["was born in", "worked for", "studied under"]
    chosen = replied("operators:prompts/relationship_agent.j2", relations=there, **values)
    assert chosen == "{worked for (Score: 1.0000)}"
    none = replied("operators:prompts/relationship_agent.j2", relations=["is set in"], **values)
    assert none == "{is set in (Score: 0)}"


def test_it_says_that_triples_are_enough_only_when_they_are() -> None:
    first, second = (
        "ada marsh, worked for, norvik guild",
        "norvik guild, was founded by, otto brandt",
    )
    enough = "methods:tog/prompts/enough.j2"
    assert replied(enough, question=QUESTION, pieces=[{"text": first}]) == "{No}"
    both = [{"text": first}, {"text": second}]
    assert replied(enough, question=QUESTION, pieces=both) == "{Yes} {otto brandt}"


def test_map_and_reduce_lose_no_fact_of_a_chain_that_lies_in_two_parts() -> None:
    parts = [f"{WORKED} Ada Marsh was born in Sol Bay.", FOUNDED]
    points = []
    for part in parts:
        values = {"question": QUESTION, "pieces": [{"text": part}], "max_characters": 300}
        points += json.loads(replied("operators:answer/prompts/map.j2", **values))["points"]
    assert points == [{"description": WORKED, "score": 100}, {"description": FOUNDED, "score": 50}]
    rows = [{"analyst": 1, "score": 50, "text": point["description"]} for point in points]
    reduced = replied("operators:answer/prompts/reduce.j2", question=QUESTION, points=rows)
    assert reduced == "Otto Brandt"


@pytest.mark.parametrize("form", ["short", "paragraph", "summary"])
def test_it_answers_in_a_name_whatever_form_but_a_list_is_asked_for(form: FormName) -> None:
    assert says(f"{WORKED} {FOUNDED}", form=form) == "Otto Brandt"
    assert says(f"{WORKED} {FOUNDED}", form="list") == "ans: Otto Brandt"
    assert says(WORKED, form="list") == f"ans: {UNKNOWN}"
