"""The scripted model says what it was told to say, and nothing else."""

import pytest

from graphrag_bench.llm.calls import RunStopped
from graphrag_bench.llm.scripted import Scripted


@pytest.mark.parametrize(
    ("plan", "prompt", "expected"),
    [
        ({"France": "Paris", "capital": "some city"}, "The capital of France?", "Paris"),
        ({"France": "Paris", "re:^Who\\b": "nobody"}, "Who is it?", "nobody"),
        ([("What?", "literal"), ("re:Wha+t", "expression")], "What?", "literal"),
        ([("What?", "literal"), ("re:Wha+t", "expression")], "Whaaat", "expression"),
        ({}, "abc", "ABC"),
    ],
)
def test_the_first_pattern_that_fits_replies_and_else_the_function(plan, prompt, expected, chat):
    model = Scripted(plan, lambda chat: chat[-1].content.upper())
    (reply,) = model.complete([chat(prompt)], max_tokens=5)
    assert reply.text == expected and model.prompts == [chat(prompt)]


def test_a_prompt_it_was_not_told_of_stops_the_run_and_is_shown(chat):
    with pytest.raises(RunStopped, match="'Why"):
        Scripted({"France": "Paris"}).complete([chat("Why?")], max_tokens=5)
