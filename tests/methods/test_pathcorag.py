"""PathCoRAG's steps in the forms that models write."""

import json
from typing import Any

import pytest
from toy_runs import Capitals

from graphrag_bench.algorithms.path_values import ReasoningSteps
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.values import Question
from methods.pathcorag.steps import reasoning_steps_llm, reasoning_steps_nlp

QUESTION = Question("q", "How did Norvik change comets?")


def steps(reply: Any, **settings: Any) -> ReasoningSteps:
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return reasoning_steps_llm(QUESTION, llm=Scripted(answer=lambda chat: text), **settings)


TWO = ReasoningSteps(("a", "b"), (("a1", "a2"), ("b1", "b2")))


@pytest.mark.parametrize(
    "reply",
    [
        {"reasoning_steps": ["a", "b"], "extended_queries": [["a1", "a2"], ["b1", "b2"]]},
        {"reasoning steps": ["a", "b"], "extended queries": {"b": ["b1", "b2"], "a": ["a1", "a2"]}},
        {"reasoningSteps": ["a", "b"], "ExtendedQueries": {"A ": ["a1", "a2"], "B": ["b1", "b2"]}},
        {"Reasoning_Steps": ["a", "b"], "extended_queries": {"one": ["a1", "a2"],
                                                            "two": ["b1", "b2"]}},
        {"reasoning_steps": ["a", "b", "c"], "extended_queries": [["a1", "a2", "a3"],
                                                                 ["b1", "b2"], []]},
    ],
    ids=["as asked", "by step", "camel case", "by place", "too many"],
)  # fmt: skip
def test_the_same_steps_in_many_forms(reply: Any) -> None:
    assert steps(reply, n_steps=2, n_queries=2) == TWO


def test_missing_queries_are_the_step_itself_and_few_steps_stay_few() -> None:
    result = steps({"reasoning_steps": ["a"], "extended_queries": [["a1"]]}, n_queries=3)
    assert result == ReasoningSteps(("a",), (("a1", "a", "a"),))


@pytest.mark.parametrize("reply", ["no steps", {"reasoning_steps": [], "extended_queries": []}])
def test_without_steps_the_question_is_the_only_one(reply: Any) -> None:
    assert steps(reply) == ReasoningSteps((QUESTION.text,), ((QUESTION.text,),))


def test_without_a_model_names_come_before_the_question() -> None:
    result = reasoning_steps_nlp(Question("q", "what of Norvik and Ostra?"), nlp=Capitals())
    assert result.queries == (("Norvik", "Ostra"), ("what of Norvik and Ostra?",))
