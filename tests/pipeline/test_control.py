from typing import Any

import pytest
import tiny_operators
from tiny_operators import CHUNKS, FIRST, GROW, NAMES, START, TWICE, branch, nodes, outcomes

from graphrag_bench.pipeline.combinators import Repeat, combinator, registered
from graphrag_bench.pipeline.pipeline import build
from graphrag_bench.pipeline.steps import Execution
from graphrag_bench.values import RetrievalState

TENS = {**GROW, "unit": "ten"}


def repeat(times: int, *steps: Any, **more: Any) -> dict[str, Any]:
    return {"repeat": times, "steps": list(steps), **more}


def each(slot: str, *steps: Any, **more: Any) -> dict[str, Any]:
    return {"each": slot, "steps": list(steps), **more}


def test_branch_merges_its_arms_or_fails_the_question():
    assert nodes([START, branch([GROW], [TENS])], "1 2") == [2, 11, 3, 12]
    assert nodes([START, branch([GROW], [TENS], merge="union")], "1 2") == [2, 3, 11, 12]
    good, bad = outcomes([START, branch([GROW], [CHUNKS])], "1", "13")
    assert isinstance(good, RetrievalState) and bad.step == "retrieve.1.arm1.0 tiny.chunks"


SWITCH = {"switch": "mentions", "cases": {"empty": [TWICE], "some": [GROW]}}


def test_switch_runs_each_case_as_one_block():
    result = outcomes([START, NAMES, SWITCH], "5", "5 ada", "6", "7 otto")
    assert [one.get("nodes").ids.tolist() for one in result] == [[10], [6], [12], [8]]
    assert tiny_operators.blocks == [2]
    only = {"switch": "mentions", "cases": {"empty": [TWICE]}}
    assert nodes([START, NAMES, only], "5 ada") == [5]
    only["cases"]["otherwise"] = [GROW]
    assert nodes([START, NAMES, only], "5 ada") == [6]


def test_a_fallback_is_recorded_once_and_names_a_case():
    world, stored = Execution({}), {**SWITCH, "fallback": {"empty": "no name"}}
    outcomes([START, NAMES, stored, stored], "5", "5 ada", world=world)
    assert {name: list(why) for name, why in world.fallbacks.items()} == {"q0": ["no name"]}
    wrong = {**SWITCH, "fallback": {"emty": "no name"}}
    (problem, *_) = build({"retrieve": [START, NAMES, wrong]})[0].check()
    assert "'emty'" in problem and "'empty'" in problem


def test_repeat_stops_per_question():
    enough = {"op": "tiny.enough", "at": 5}
    result = outcomes([START, repeat(9, GROW, enough, until="keywords")], "1", "3", "8")
    assert [one.get("nodes").ids.tolist() for one in result] == [[5], [5], [9]]
    outcomes([START, repeat(9, TWICE, enough, until="keywords")], "1", "2", "5")
    assert tiny_operators.blocks == [3, 2, 1]  # 2 4 8, 4 8, 10
    bad, good = outcomes([START, repeat(3, GROW, CHUNKS)], "11", "1")
    assert (bad.message, good.get("chunks").ids.tolist()) == ("unlucky", [4])


def test_repeat_keeps_rows_of_earlier_rounds():
    for keep, expected in (("last", [3, 5]), ("union", [2, 4, 3, 5]), ("max", [2, 3, 4, 5])):
        assert nodes([START, repeat(2, GROW, keep=keep)], "1 3") == expected


def test_each_runs_its_steps_per_item():
    for step, expected in (
        (each("nodes", CHUNKS), [4, 2]),  # the inner steps do not write nodes
        (each("nodes", GROW), [5, 3]),
        (each("nodes", FIRST), [4, 2]),  # also if every item gives one node
        (each("nodes", branch([repeat(2, GROW)], [TENS]), merge="union"), [6, 14, 4, 12]),
    ):
        assert nodes([START, step], "4 2") == expected


def test_items_of_all_questions_run_as_one_block():
    outcomes([START, each("nodes", TWICE)], "1 2", "3", "none")
    assert tiny_operators.blocks == [3]
    (outcome,) = outcomes([START, each("nodes", CHUNKS, at_most=2)], "4 2 9")
    ranked = [outcome.get(slot).ids.tolist() for slot in ("chunks", "nodes")]
    assert ranked == [[4, 2], [4, 2, 9]]  # no inner step writes nodes
    bad, good, empty = outcomes([START, each("nodes", CHUNKS)], "1 13", "2 3", "none")
    assert (bad.message, good.get("chunks").ids.tolist()) == ("unlucky", [2, 3])
    assert [len(empty.get(slot)) for slot in ("chunks", "nodes")] == [0, 0]


def test_the_description_contains_the_code_of_combinators(monkeypatch):
    pipeline, _ = build({"retrieve": [START, each("nodes", CHUNKS)]})
    before = pipeline.describe()
    edited = "graphrag_bench.pipeline.steps.code"
    monkeypatch.setattr(edited, lambda function: f"edited {function.__name__}")
    assert pipeline.describe() != before


def test_a_combinator_is_a_class_whose_fields_are_its_keys(monkeypatch) -> None:
    monkeypatch.setitem(registered, "twice", Repeat)  # removed after the test
    assert nodes([START, {"twice": 2, "steps": [GROW]}], "1") == [3]
    _, problems = build({"retrieve": [{"twice": 2, "steps": [{"op": "no.such"}], "times": 3}]})
    assert "'times'" in problems[0] and "no.such" in problems[1]
    with pytest.raises(ValueError, match="branch"):
        combinator("branch")(type("Other", (Repeat,), {"__module__": "mylab"}))
