"""`resolve` over tiny operators: sub-questions are numbers, answers are sums."""

from typing import Any

import tiny_operators
from tiny_operators import CHUNKS, ECHO, PLAN, START, TOTAL, TWICE, outcomes

from graphrag_bench.pipeline.pipeline import build
from graphrag_bench.pipeline.steps import Failure
from graphrag_bench.values import RetrievalState


def resolved(text: str, *inner: Any, **settings: Any) -> Any:
    step = {"resolve": "plan", "steps": [*inner], "answer": [TOTAL], **settings}
    (outcome,) = outcomes([PLAN, step, TOTAL], text)
    return outcome


def answer(outcome: Any) -> str:
    assert isinstance(outcome, RetrievalState), outcome
    return str(outcome.get("answer").text)


def test_sub_questions_get_the_answers_they_depend_on() -> None:
    assert answer(resolved("1-1: 5; 1-2(1-1): 7; final(1-2): 9")) == "21"
    assert answer(resolved("1-1: 5; 2-1: 7; final(1-1 2-1): 1")) == "13"
    assert answer(resolved("1-1(1-2): 1; 1-2(1-1): 2; final(1-2): 0")) == "3"


def test_sub_questions_run_as_one_block_and_fail_their_question() -> None:
    step = {"resolve": "plan", "steps": [START, TWICE, CHUNKS], "answer": [TOTAL]}
    deeper = "1-1: 5; 1-2(1-1): 6; final(1-2): 3"
    outcomes([PLAN, step], "1-1: 5; 1-2: 6; final(1-1 1-2): 9", deeper)
    assert tiny_operators.blocks == [3, 1, 2]
    step = {"resolve": "plan", "steps": [START, CHUNKS], "answer": [TOTAL]}
    good, bad = outcomes([PLAN, step], "1-1: 5; final(1-1): 9", "1-1: 13; final(1-1): 9")
    assert isinstance(good, RetrievalState) and good.get("answer") is None
    assert isinstance(bad, Failure) and bad.step == "retrieve.1.1 tiny.chunks"


def test_at_most_keeps_sub_questions_in_dependency_order() -> None:
    text = "1-2(1-1): 7; 1-1: 5; 3-1: 100; final(1-2): 9"
    assert answer(resolved(text, at_most=2)) == "114"  # 1-1 and 3-1 depend on nothing
    assert answer(resolved(text, at_most=2, prune_unused=True)) == "21"


def test_resolve_must_answer_and_multiplies_calls() -> None:
    step = {"resolve": "plan", "steps": [START, CHUNKS], "answer": []}
    pipeline, problems = build({"retrieve": [PLAN, step]})
    assert not problems
    assert any(message.startswith("retrieve.1 resolve") for message in pipeline.check())
    step = {"resolve": "plan", "at_most": 3, "steps": [ECHO], "answer": [ECHO]}
    pipeline, _ = build({"retrieve": [PLAN, step]})
    assert pipeline.max_calls() == 7
