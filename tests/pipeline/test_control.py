"""Steps and combinators over tiny operators: what comes out, and what becomes of a failure."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tiny_operators

from graphrag_bench.models.llm import RunStopped
from graphrag_bench.models.scripted import Scripted
from graphrag_bench.pipeline.attempt import Failure
from graphrag_bench.pipeline.build import build
from graphrag_bench.pipeline.run import BLOCK, run
from graphrag_bench.pipeline.steps import Outcome, World, run_steps
from graphrag_bench.values import Answer, Mentions, Query, Question, RetrievalState

START, CHUNKS = {"op": "tiny.start"}, {"op": "tiny.chunks"}


def outcomes(steps: Sequence[Any], *texts: str, world: World | None = None) -> list[Outcome]:
    """What steps, as YAML gives them, make of some questions."""
    pipeline, problems = build({"retrieve": steps})
    assert not problems
    states = [RetrievalState(Question(f"q{i}", text)) for i, text in enumerate(texts)]
    return run_steps(pipeline.retrieve, states, world or World({}))


def nodes(steps: Sequence[Any], text: str) -> list[int]:
    """The nodes that steps leave behind for one question."""
    (outcome,) = outcomes(steps, text)
    assert isinstance(outcome, RetrievalState), outcome
    return outcome.get("nodes").ids.tolist()


# ---- steps


def test_steps_follow_each_other():
    assert nodes([START, {"op": "tiny.grow"}, {"op": "tiny.twice"}], "1 4") == [4, 10]


def test_a_setting_reaches_its_operator():
    assert nodes([START, {"op": "tiny.grow", "by": 3, "unit": "ten"}], "1") == [31]


def test_an_optional_read_is_filled_only_when_the_step_says_so():
    steps = [START, {"op": "tiny.names"}, {"op": "tiny.query"}]
    for use, expected in (([], [1, 2]), (["query"], [1])):
        (outcome,) = outcomes([*steps, {**CHUNKS, "use": use}], "1 2 word")
        assert outcome.get("chunks").ids.tolist() == expected


def test_what_may_be_written_goes_into_its_own_slot():
    some, none = outcomes([{"op": "tiny.either"}], "ada", "7")
    assert (some.get("mentions"), some.get("query")) == (Mentions(("ada",)), Query(("ada",)))
    assert (none.get("mentions"), none.get("query")) == (None, Query(("7",)))


def test_a_failing_question_is_one_failure_and_the_others_go_on():
    good, bad, also = outcomes([START, CHUNKS], "1", "13", "2")
    assert bad == Failure("retrieve.1 tiny.chunks", "ZeroDivisionError", "unlucky")
    assert good.get("chunks").ids.tolist() == [1]
    assert also.get("chunks").ids.tolist() == [2]


def test_a_slot_that_nothing_wrote_fails_the_question():
    (outcome,) = outcomes([CHUNKS], "1")
    assert outcome.message == "no step has written 'nodes'"


def test_an_operator_that_gives_less_than_it_promised_fails_the_question():
    fine, one, none = outcomes([{"op": "tiny.careless"}], "fine", "one", "none")
    assert isinstance(fine, RetrievalState)
    assert one.message == "gave 1 values for mentions, query"
    assert none.message == "gave None for mentions"


def test_an_error_that_would_hit_every_question_stops_the_run():
    world = World({"llm": Scripted({})})
    with pytest.raises(RunStopped, match="was not told what to say"):
        outcomes([{"op": "tiny.echo"}], "hello", world=world)


def test_a_trace_holds_every_step_with_its_calls_and_what_it_wrote():
    world = World({"llm": Scripted({"hello": "good day"})})
    outcomes([START, {"op": "tiny.echo"}], "hello 5", world=world)
    first, second = world.traces["q0"]
    assert (first.step, first.operator) == ("retrieve.0 tiny.start", "tiny.start")
    assert first.wrote["nodes"].ids.tolist() == [5]
    assert first.calls.calls == 0
    assert (second.calls.calls, second.replies) == (1, ("good day",))


def test_a_failed_step_leaves_its_trace_too():
    world = World({})
    outcomes([START, CHUNKS], "13", world=world)
    assert [trace.step for trace in world.traces["q0"]] == [
        "retrieve.0 tiny.start",
        "retrieve.1 tiny.chunks",
    ]


def test_questions_are_answered_by_several_workers_in_the_order_given():
    model = Scripted({f"number {i}": f"answer {i}" for i in range(9)})
    asked = [f"number {i}" for i in range(9)]
    found = outcomes([{"op": "tiny.echo"}], *asked, world=World({"llm": model}, workers=3))
    assert [one.get("answer") for one in found] == [Answer(f"answer {i}") for i in range(9)]


# ---- batched twins


def test_a_twin_is_given_the_whole_block():
    found = outcomes([START, {"op": "tiny.twice"}], "1", "2", "3")
    assert [one.get("nodes").ids.tolist() for one in found] == [[2], [4], [6]]
    assert tiny_operators.blocks == [3]


def test_a_single_question_needs_no_twin():
    outcomes([START, {"op": "tiny.twice"}], "1")
    assert tiny_operators.blocks == []


def test_a_twin_that_raises_is_replaced_by_single_calls():
    """One bad question becomes one failure, not a lost block."""
    found = outcomes([START, {"op": "tiny.twice"}], "1", "13", "3")
    assert tiny_operators.blocks == [3]
    assert isinstance(found[1], Failure)
    assert [found[row].get("nodes").ids.tolist() for row in (0, 2)] == [[2], [6]]


def test_failed_questions_are_no_part_of_a_later_block():
    outcomes([START, CHUNKS, {"op": "tiny.twice"}], "1", "13", "3")
    assert tiny_operators.blocks == [2]


# ---- branch


def arms(**lists: Sequence[Any]) -> dict[str, Any]:
    return {"branch": {name: list(steps) for name, steps in lists.items()}}


def test_arms_start_from_the_same_state_and_are_merged():
    branch = arms(ones=[{"op": "tiny.grow"}], tens=[{"op": "tiny.grow", "unit": "ten"}])
    assert nodes([START, branch], "1 2") == [2, 11, 3, 12]
    assert nodes([START, {**branch, "merge": "union"}], "1 2") == [2, 3, 11, 12]


def test_what_one_arm_wrote_is_there_for_all_that_follow():
    branch = arms(walk=[{"op": "tiny.grow"}], words=[{"op": "tiny.names"}])
    (outcome,) = outcomes([START, branch], "1 ada")
    assert outcome.get("nodes").ids.tolist() == [2]
    assert outcome.get("mentions") == Mentions(("ada",))


def test_an_arm_that_fails_fails_the_question():
    good, bad = outcomes([START, arms(grow=[{"op": "tiny.grow"}], read=[CHUNKS])], "1", "13")
    assert isinstance(good, RetrievalState)
    assert bad.step == "retrieve.1.read.0 tiny.chunks"


def test_score_vectors_of_arms_are_merged_too():
    branch = arms(
        one=[{"op": "tiny.mass"}],
        two=[{"op": "tiny.grow"}, {"op": "tiny.mass"}],
    )
    (outcome,) = outcomes([START, branch], "1")
    np.testing.assert_allclose(outcome.get("node_scores").values, [0, 1, 1, 0])


# ---- switch


SWITCH = {
    "switch": "mentions",
    "cases": {"empty": [{"op": "tiny.twice"}], "some": [{"op": "tiny.grow"}]},
}


def test_a_question_goes_into_the_arm_that_a_slot_names():
    found = outcomes([START, {"op": "tiny.names"}, SWITCH], "5", "5 ada", "6", "7 otto")
    assert [one.get("nodes").ids.tolist() for one in found] == [[10], [6], [12], [8]]


def test_questions_of_one_arm_run_as_one_block():
    outcomes([START, {"op": "tiny.names"}, SWITCH], "5", "5 ada", "6", "7 otto")
    assert tiny_operators.blocks == [2]


def test_what_no_arm_names_goes_on_unchanged_or_into_otherwise():
    only = {"switch": "mentions", "cases": {"empty": [{"op": "tiny.twice"}]}}
    assert nodes([START, {"op": "tiny.names"}, only], "5 ada") == [5]
    only["cases"]["otherwise"] = [{"op": "tiny.grow"}]
    assert nodes([START, {"op": "tiny.names"}, only], "5 ada") == [6]


def test_a_slot_that_may_be_unwritten_counts_as_empty():
    steps = [START, {"op": "tiny.either"}, SWITCH]
    assert nodes(steps, "5") == [10]


# ---- repeat


def repeat(times: int, *steps: Any, **more: Any) -> dict[str, Any]:
    return {"repeat": times, "steps": list(steps), **more}


def test_steps_are_repeated():
    assert nodes([START, repeat(3, {"op": "tiny.grow"})], "1") == [4]


def test_repeating_stops_at_a_sign_each_question_for_itself():
    steps = repeat(9, {"op": "tiny.grow"}, {"op": "tiny.enough", "at": 5}, until="keywords")
    found = outcomes([START, steps], "1", "3", "8")
    assert [one.get("nodes").ids.tolist() for one in found] == [[5], [5], [9]]


def test_only_unfinished_questions_run_on():
    steps = repeat(9, {"op": "tiny.twice"}, {"op": "tiny.enough", "at": 5}, until="keywords")
    outcomes([START, steps], "1", "2", "5")  # 2 4 8, 4 8, 10
    assert tiny_operators.blocks == [3, 2]


def test_a_round_that_fails_ends_the_question():
    found = outcomes([START, repeat(3, {"op": "tiny.grow"}, CHUNKS)], "11", "1")
    assert found[0].message == "unlucky"
    assert found[1].get("chunks").ids.tolist() == [4]


@pytest.mark.parametrize(
    ("keep", "expected"), [("last", [3, 5]), ("union", [2, 4, 3, 5]), ("max", [2, 3, 4, 5])]
)
def test_rows_of_earlier_rounds_are_kept_as_asked(keep, expected):
    assert nodes([START, repeat(2, {"op": "tiny.grow"}, keep=keep)], "1 3") == expected


# ---- each


def each(slot: str, *steps: Any, **more: Any) -> dict[str, Any]:
    return {"each": slot, "steps": list(steps), **more}


def test_steps_run_for_every_item_alone_and_what_they_wrote_is_merged():
    (outcome,) = outcomes([START, each("nodes", CHUNKS)], "4 2")
    assert outcome.get("chunks").ids.tolist() == [4, 2]


def test_a_slot_that_the_steps_left_alone_keeps_all_its_items():
    assert nodes([START, each("nodes", CHUNKS)], "4 2 9") == [4, 2, 9]


def test_a_slot_that_the_steps_rewrote_holds_what_they_made_of_it():
    """Also when every item gave exactly one."""
    assert nodes([START, each("nodes", {"op": "tiny.grow"})], "4 2") == [5, 3]
    assert nodes([START, each("nodes", {"op": "tiny.first"})], "4 2") == [4, 2]


def test_only_so_many_items_are_taken():
    (outcome,) = outcomes([START, each("nodes", CHUNKS, at_most=2)], "4 2 9")
    assert outcome.get("chunks").ids.tolist() == [4, 2]


def test_no_items_leave_the_state_as_it_was():
    (outcome,) = outcomes([START, each("nodes", CHUNKS)], "none")
    assert outcome.get("chunks") is None


def test_items_of_all_questions_are_one_block():
    outcomes([START, each("nodes", {"op": "tiny.twice"})], "1 2", "3", "none")
    assert tiny_operators.blocks == [3]


def test_an_item_that_fails_fails_its_question_only():
    found = outcomes([START, each("nodes", CHUNKS)], "1 13", "2 3")
    assert found[0].message == "unlucky"
    assert found[1].get("chunks").ids.tolist() == [2, 3]


def test_combinators_nest():
    inner = arms(
        low=[repeat(2, {"op": "tiny.grow"})],
        high=[each("nodes", {"op": "tiny.grow", "unit": "ten"})],
    )
    assert nodes([START, each("nodes", inner, merge="union")], "1 2") == [3, 11, 4, 12]


# ---- a whole run


def answered(*texts: str, world: World | None = None, answering: bool = True) -> list[Any]:
    method = {"retrieve": [START, CHUNKS], "generate": [{"op": "tiny.answer"}]}
    pipeline, problems = build(method)
    assert not problems
    questions = [Question(f"q{i}", text) for i, text in enumerate(texts)]
    return list(run(questions, pipeline, world or World({}), answering=answering))


def test_every_question_comes_out_once_in_the_order_given():
    texts = [str(n) for n in range(20, 20 + BLOCK + 3)]
    found = answered(*texts)
    assert [one.question.text for one in found] == texts
    assert [one.outcome.get("answer").text for one in found] == texts


def test_a_failing_question_is_one_failure_among_answers():
    good, bad = answered("1", "13")
    assert good.failure is None
    assert bad.failure == Failure("retrieve.1 tiny.chunks", "ZeroDivisionError", "unlucky")
    assert [trace.operator for trace in bad.trace] == ["tiny.start", "tiny.chunks"]


def test_without_answering_the_run_ends_after_retrieval():
    (found,) = answered("1", answering=False)
    assert found.outcome.get("answer") is None
    assert found.outcome.get("chunks").ids.tolist() == [1]


def test_the_first_state_may_hold_more_than_the_question():
    pipeline, _ = build({"generate": [{"op": "tiny.answer"}]})
    given = {"chunks": tiny_operators.numbers(8)}
    (found,) = run(
        [Question("q", "")], pipeline, World({}), start=lambda q: RetrievalState(q).write(given)
    )
    assert found.outcome.get("answer") == Answer("8")
