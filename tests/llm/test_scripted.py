"""The scripted model says what it was told to say, and nothing else."""

from functools import cached_property

import pytest

from graphrag_bench.llm.calls import CallFailed, Completion, RunStopped
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


def test_planned_failures_cut_replies_and_windows_come_as_planned(chat):
    plan = [
        ("a", CallFailed("refused", "no")),
        ("b", Completion("half", prompt_tokens=1, completion_tokens=1, finish="length")),
    ]
    model = Scripted([*plan, ("c", "no")], window=2)
    failed, cut, long = model.complete([chat("a"), chat("b"), chat("c d e")], max_tokens=5)
    assert (failed.reason, cut.finish, long.reason) == ("refused", "length", "context_overflow")
    usage = model.meter.usage
    assert (usage.failed, usage.truncated, usage.calls) == (2, 1, 3)


def test_a_model_is_loaded_once_for_all_that_are_attached_to_it(chat):
    loads = []

    class Lazy(Scripted):
        @cached_property
        def weights(self):
            return loads.append(self)

        def call(self, request):
            assert self.weights is None
            return super().call(request)

    model = Lazy({"": "x"})
    for _ in range(3):
        model.attached().attached(trial=1).complete([chat("a")], max_tokens=5)
    assert loads == [model]
