from types import SimpleNamespace

import pytest
import tiny_operators
from tiny_operators import ANSWER, CHUNKS, ECHO, NAMES, QUERY, START, TWICE, outcomes

from graphrag_bench.llm.calls import RunStopped
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.pipeline.pipeline import BLOCK, build, run
from graphrag_bench.pipeline.steps import Execution, Failure
from graphrag_bench.values import Mentions, Query, Question, RetrievalState


def test_optional_reads_reach_the_operator_and_none_is_not_written():
    for use, expected in (([], [1, 2]), (["query"], [1])):
        (outcome,) = outcomes([START, NAMES, QUERY, {**CHUNKS, "use": use}], "1 2 word")
        assert outcome.get("chunks").ids.tolist() == expected
    some, none = outcomes([{"op": "tiny.either"}], "ada", "7")
    assert (some.get("mentions"), some.get("query")) == (Mentions(("ada",)), Query(("ada",)))
    assert (none.get("mentions"), none.get("query")) == (None, Query(("7",)))


def test_a_failing_question_does_not_stop_the_others():
    world = Execution({})
    good, bad, also = outcomes([START, CHUNKS], "1", "13", "2", world=world)
    assert bad == Failure("retrieve.1 tiny.chunks", "ZeroDivisionError", "unlucky")
    assert [one.get("chunks").ids.tolist() for one in (good, also)] == [[1], [2]]
    steps = ["retrieve.0 tiny.start", "retrieve.1 tiny.chunks"]
    assert [trace.step for trace in world.traces["q1"]] == steps
    fine, *wrong = outcomes([{"op": "tiny.careless"}], "fine", "one", "none")
    assert isinstance(fine, RetrievalState)
    assert [one.kind for one in wrong] == ["WrongReturn"] * 2
    assert all("mentions" in one.message for one in wrong)


def test_an_id_outside_the_table_fails_its_step():
    for resource, table, step in (
        ("chunk_table", [0, 1, 2], "retrieve.1 tiny.chunks"),
        ("graph", SimpleNamespace(n_nodes=3), "retrieve.0 tiny.start"),
    ):
        fine, wrong = outcomes([START, CHUNKS], "1 2", "2 3", world=Execution({resource: table}))
        assert isinstance(fine, RetrievalState)
        assert (wrong.step, wrong.kind) == (step, "WrongReturn")
        assert "the id 3" in wrong.message and "3 rows" in wrong.message


def test_scores_that_are_not_finite_fail_the_question():
    for text, words in (
        ("1 nan inf 0 0 0 1 1", "2 of 3 scores for 'nodes'"),
        ("1 0 0 0 -inf 1 1 1", "1 of 3 scores for 'node_scores'"),
        ("1 0 0 0 0 1 nan 1", "1 of 2 scores for 'subgraph'"),
    ):
        fine, wrong = outcomes([{"op": "tiny.scored"}], "2 1 0 0 0 0 1 0", text)
        assert isinstance(fine, RetrievalState)
        assert (wrong.step, wrong.kind) == ("retrieve.0 tiny.scored", "WrongReturn")
        assert words in wrong.message


def test_an_error_of_every_question_stops_the_run():
    world = Execution({"llm": Scripted({})})
    with pytest.raises(RunStopped):
        outcomes([ECHO], "hello", world=world)


def test_workers_keep_the_order_and_traces_have_replies():
    replies = {f"number {i}": f"answer {i}" for i in range(9)}
    world = Execution({"llm": Scripted(replies)}, workers=3)
    result = outcomes([ECHO], *replies, world=world)
    assert [one.get("answer").text for one in result] == [*replies.values()]
    assert world.traces["q3"][0].replies == ("answer 3",)


def test_a_batch_that_raises_is_replaced_by_single_calls():
    result = outcomes([START, TWICE], "1", "2", "3")
    assert [one.get("nodes").ids.tolist() for one in result] == [[2], [4], [6]]
    assert tiny_operators.blocks == [3]
    # A bad question fails alone.
    result = outcomes([START, TWICE], "1", "13", "3")
    assert tiny_operators.blocks[1:] == [3, 1, 1, 1]
    assert isinstance(result[1], Failure)
    assert [result[row].get("nodes").ids.tolist() for row in (0, 2)] == [[2], [6]]


def test_results_of_a_batch_are_checked_against_the_signature():
    for texts in (("1",), ("1", "2"), ("1", "none")):
        first, *rest = outcomes([START, {"op": "tiny.muddled"}], *texts)
        assert "Mentions" in first.message and "nodes" in first.message
        assert "tiny_operators:muddled" in first.message
    assert "muddled" in rest[0].message and "0 results" in rest[0].message


def test_questions_are_run_in_order_and_packed_without_answering():
    pipeline, _ = build({"retrieve": [START, CHUNKS], "generate": [ANSWER]})
    questions = [Question(f"q{n}", str(n)) for n in range(20, 20 + BLOCK + 3)]
    results = list(run(questions, pipeline, Execution({})))
    assert [one.question for one in results] == questions
    assert [one.outcome.get("answer").text for one in results] == [one.text for one in questions]
    (result,) = run(questions[:1], pipeline, Execution({}), answering=False)
    assert result.outcome.get("answer") is None
    assert result.outcome.get("chunks").ids.tolist() == [20]
    for generate, n_packed in (([NAMES, ECHO, NAMES], 1), ([ECHO], 0), ([NAMES, NAMES], 2)):
        pipeline, _ = build({"retrieve": [START], "generate": generate})
        assert len(pipeline.packing) == n_packed
        assert len(pipeline.steps(answering=False)) == 1 + n_packed
