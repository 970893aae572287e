"""Sub-questions and what they find, worked out by hand."""

from typing import Any

from graphrag_bench.llm.meter import Metered
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.values import Question
from methods.decompose.splitting import decompose

ASKED = Question("q", "Which is older, alpha or gamma?")
TWO = '{"sub_questions": ["alpha", "gamma"]}'
NONSENSE = "alpha, then gamma"


def split(*replies: str, **settings: Any) -> tuple[tuple[str, ...], Metered]:
    """The texts looked for when the model gives these replies, and the meter of its calls."""
    left = list(replies)
    llm = Metered(Scripted(answer=lambda chat: left.pop(0)))
    return decompose(ASKED, llm=llm, **settings).texts, llm


def test_the_sub_questions_come_in_the_order_of_the_reply_each_once():
    assert split('{"sub_questions": ["b?", " a? ", "b?", ""]}')[0] == ("b?", "a?")


def test_no_more_than_asked_for_are_taken_and_the_question_comes_on_top():
    three = '{"sub_questions": ["a?", "b?", "c?"]}'
    assert split(three, at_most=2)[0] == ("a?", "b?")
    assert split(three, at_most=2, with_question=True)[0] == (ASKED.text, "a?", "b?")


def test_a_question_that_is_left_whole_is_looked_for_and_is_no_fallback():
    texts, llm = split('{"sub_questions": []}')
    assert texts == (ASKED.text,)
    assert llm.fallbacks == 0


def test_a_reply_that_cannot_be_read_twice_is_a_counted_fallback_to_the_question():
    texts, llm = split(NONSENSE, NONSENSE)
    assert texts == (ASKED.text,)
    assert (llm.fallbacks, llm.unreadable, len(llm.replies)) == (1, 1, 2)
    texts, llm = split(NONSENSE, TWO)
    assert texts == ("alpha", "gamma")
    assert (llm.fallbacks, llm.corrected) == (0, 1)
