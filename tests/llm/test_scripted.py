"""The scripted model says what it was told to say, and nothing else."""

import pytest

from graphrag_bench.llm.calls import CallFailed, Completion, RunStopped
from graphrag_bench.llm.scripted import Scripted


def test_the_first_pattern_found_in_the_last_user_message_gives_the_reply(chat):
    model = Scripted({"France": "Paris", "capital": "some city", "re:^Who\\b": "nobody"})
    prompts = [chat("The capital of France?"), chat("The capital?"), chat("Who is it?")]
    replies = model.complete(prompts, max_tokens=5)
    assert [reply.text for reply in replies] == ["Paris", "some city", "nobody"]
    assert model.asked == prompts


def test_a_pattern_is_no_regular_expression_unless_it_says_so(chat):
    model = Scripted([("What?", "literal"), ("re:Wha+t", "expression")])
    replies = model.complete([chat("What?"), chat("Whaaat")], max_tokens=5)
    assert [reply.text for reply in replies] == ["literal", "expression"]


def test_a_prompt_it_was_not_told_of_stops_the_run_and_is_shown(chat):
    with pytest.raises(RunStopped, match="was not told what to say to: 'Why"):
        Scripted({"France": "Paris"}).complete([chat("Why?")], max_tokens=5)


def test_a_function_answers_what_no_pattern_fits(chat):
    model = Scripted(answer=lambda prompt: prompt[-1].content.upper())
    (reply,) = model.complete([chat("abc")], max_tokens=5)
    assert reply.text == "ABC"


def test_planned_failures_and_cut_replies_come_as_planned(chat):
    plan = [("a", CallFailed("refused", "no")), ("b", Completion("half", 1, 1, finish="length"))]
    llm = Scripted(plan)
    failed, cut = llm.complete([chat("a"), chat("b")], max_tokens=5)
    assert isinstance(failed, CallFailed) and failed.reason == "refused"
    assert cut.finish == "length"
    assert (llm.meter.usage.failed, llm.meter.usage.truncated, llm.meter.usage.calls) == (1, 1, 2)


def test_a_prompt_longer_than_the_window_fails_as_it_would_at_a_server(chat):
    (failed,) = Scripted({"a": "b"}, window=2).complete([chat("a b c")], max_tokens=5)
    assert isinstance(failed, CallFailed) and failed.reason == "context_overflow"


def test_identity_changes_with_the_plan():
    assert Scripted({"a": "b"}).identity == Scripted([("a", "b")]).identity
    assert Scripted({"a": "b"}).identity != Scripted({"a": "c"}).identity
