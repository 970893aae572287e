"""Steps and runs over tiny operators: results and failures."""

from types import SimpleNamespace
from typing import Any

import pytest
import tiny_operators
from tiny_operators import CHUNKS, START, nodes, outcomes

from graphrag_bench.llm.calls import RunStopped
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.pipeline.pipeline import BLOCK, build, run
from graphrag_bench.pipeline.steps import Execution, Failure
from graphrag_bench.values import Answer, Mentions, Query, Question, RetrievalState


def test_settings_and_optional_reads_reach_the_operator():
    assert nodes([START, {"op": "tiny.grow", "by": 3, "unit": "ten"}], "1") == [31]
    steps = [START, {"op": "tiny.names"}, {"op": "tiny.query"}]
    for use, expected in (([], [1, 2]), (["query"], [1])):
        (outcome,) = outcomes([*steps, {**CHUNKS, "use": use}], "1 2 word")
        assert outcome.get("chunks").ids.tolist() == expected
    some, none = outcomes([{"op": "tiny.either"}], "ada", "7")
    assert (some.get("mentions"), some.get("query")) == (Mentions(("ada",)), Query(("ada",)))
    assert (none.get("mentions"), none.get("query")) == (None, Query(("7",)))


def test_a_failing_question_does_not_stop_the_others():
    good, bad, also = outcomes([START, CHUNKS], "1", "13", "2")
    assert bad == Failure("retrieve.1 tiny.chunks", "ZeroDivisionError", "unlucky")
    assert good.get("chunks").ids.tolist() == [1]
    assert also.get("chunks").ids.tolist() == [2]
    world = Execution({})
    outcomes([START, CHUNKS], "13", world=world)
    steps = ["retrieve.0 tiny.start", "retrieve.1 tiny.chunks"]
    assert [trace.step for trace in world.traces["q0"]] == steps
    fine, *wrong = outcomes([{"op": "tiny.careless"}], "fine", "one", "none")
    assert isinstance(fine, RetrievalState)
    assert [one.kind for one in wrong] == ["WrongReturn"] * 2
    assert all("mentions" in one.message for one in wrong)


def test_an_id_outside_the_table_fails_its_step():
    for resource in ("chunk_table", "graph"):
        table = [0, 1, 2] if resource == "chunk_table" else SimpleNamespace(n_nodes=3)
        world = Execution({resource: table})
        fine, wrong = outcomes([START, CHUNKS], "1 2", "2 3", world=world)
        assert isinstance(fine, RetrievalState)
        step = "retrieve.1 tiny.chunks" if resource == "chunk_table" else "retrieve.0 tiny.start"
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
        outcomes([{"op": "tiny.echo"}], "hello", world=world)


def test_traces_record_every_step_and_workers_keep_the_order():
    world = Execution({"llm": Scripted({"hello": "good day"})})
    outcomes([START, {"op": "tiny.echo"}], "hello 5", world=world)
    first, second = world.traces["q0"]
    assert (first.step, first.operator) == ("retrieve.0 tiny.start", "tiny.start")
    assert first.wrote["nodes"].ids.tolist() == [5]
    assert first.calls.calls == 0
    assert (second.calls.calls, second.replies) == (1, ("good day",))
    model = Scripted({f"number {i}": f"answer {i}" for i in range(9)})
    requests = [f"number {i}" for i in range(9)]
    result = outcomes([{"op": "tiny.echo"}], *requests, world=Execution({"llm": model}, workers=3))
    assert [one.get("answer") for one in result] == [Answer(f"answer {i}") for i in range(9)]


def test_a_batch_that_raises_is_replaced_by_single_calls():
    result = outcomes([START, {"op": "tiny.twice"}], "1", "2", "3")
    assert [one.get("nodes").ids.tolist() for one in result] == [[2], [4], [6]]
    assert tiny_operators.blocks == [3]
    # A bad question fails alone.
    result = outcomes([START, {"op": "tiny.twice"}], "1", "13", "3")
    assert tiny_operators.blocks[1:] == [3, 1, 1, 1]
    assert isinstance(result[1], Failure)
    assert [result[row].get("nodes").ids.tolist() for row in (0, 2)] == [[2], [6]]


def test_results_of_a_batch_are_checked_against_the_signature():
    for texts in (("1",), ("1", "2"), ("1", "none")):
        first, *rest = outcomes([START, {"op": "tiny.muddled"}], *texts)
        assert "Mentions" in first.message and "nodes" in first.message
        assert "tiny_operators:muddled" in first.message
    assert "muddled" in rest[0].message and "0 results" in rest[0].message


def answered(*texts: str, world: Execution | None = None, answering: bool = True) -> list[Any]:
    method = {"retrieve": [START, CHUNKS], "generate": [{"op": "tiny.answer"}]}
    pipeline, problems = build(method)
    assert not problems
    questions = [Question(f"q{i}", text) for i, text in enumerate(texts)]
    return list(run(questions, pipeline, world or Execution({}), answering=answering))


def test_questions_are_run_in_order_and_packed_without_answering():
    texts = [str(n) for n in range(20, 20 + BLOCK + 3)]
    result = answered(*texts)
    assert [one.question.text for one in result] == texts
    assert [one.outcome.get("answer").text for one in result] == texts
    (result,) = answered("1", answering=False)
    assert result.outcome.get("answer") is None
    assert result.outcome.get("chunks").ids.tolist() == [1]
    names, call = {"op": "tiny.names"}, {"op": "tiny.echo"}
    for generate, n_packed in (([names, call, names], 1), ([call], 0), ([names, names], 2)):
        pipeline, _ = build({"retrieve": [START], "generate": generate})
        assert len(pipeline.packing) == n_packed
        assert len(pipeline.steps(answering=False)) == 1 + n_packed
    pipeline, _ = build({"retrieve": [START], "generate": [names, call]})
    (result,) = run([Question("q", "1 ada")], pipeline, Execution({}), answering=False)
    assert result.outcome.get("mentions").names == ("ada",)
