"""The row of a question: what only the configuration determines."""

import numpy as np
import pytest

from graphrag_bench.algorithms.path_values import (
    Choice,
    Exploration,
    Hop,
    RankedPaths,
    ReasoningSteps,
    StepNodes,
)
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.pipeline.failure import Failure
from graphrag_bench.pipeline.pipeline import Finished
from graphrag_bench.pipeline.steps import Calls, StepTrace
from graphrag_bench.question_plan import Dependencies
from graphrag_bench.run.record import record, summary, timing_rows
from graphrag_bench.values import (
    Answer,
    Context,
    Keywords,
    Mentions,
    NodeScores,
    Path,
    Piece,
    Query,
    Question,
    Ranked,
    RetrievalState,
    Subgraph,
)

QUESTION = Question("q", "Who?", scope="book")
TABLE = ChunkTable.of([("a", "", "one"), ("b", "", "two"), ("c", "", "two"), ("d", "", "three")])
"""Chunk 1 is the same text in the documents b and c."""


def ranked(*pairs: tuple[int, float]) -> Ranked:
    return Ranked(np.array([row for row, _ in pairs]), np.array([score for _, score in pairs]))


def step(name: str, seconds: float = 0.0, calls: Calls | None = None, **wrote) -> StepTrace:
    return StepTrace(name, name, seconds, calls or Calls(), ("a reply",), wrote)


def finished(*trace: StepTrace, **slots) -> Finished:
    return Finished(QUESTION, RetrievalState(QUESTION).write(slots), trace)


def test_an_answered_question_holds_answer_documents_and_context():
    context = Context((Piece("chunk", "b", "two", 0.50000004, 1),), (("chunk", "a"),))
    row = record(
        finished(chunks=ranked((1, 0.9), (0, 0.4)), context=context, answer=Answer("Ada")), TABLE
    )
    assert (row["question"], row["scope"], row["status"]) == ("q", "book", "answered")
    assert row["answer"] == "Ada"
    assert row["documents"] == ["b", "c", "a"]
    assert row["context"] == {
        "pieces": [{"kind": "chunk", "id": "b", "score": 0.5, "tokens": 1}],
        "cut": [["chunk", "a"]],
    }


def test_an_empty_context_says_which_step_was_the_first_to_find_nothing():
    done = finished(
        step("convert.0 question.entities.nlp", mentions=Mentions(("ada",))),
        step("retrieve.0 node.link", nodes=ranked()),
        step("retrieve.1 chunk.aggregator", chunks=ranked()),
        step("generate.0 context.chunks", context=Context(())),
        chunks=ranked(),
        context=Context(()),
    )
    assert record(done, TABLE)["empty_context"] == "retrieve.0 node.link found no nodes"


def test_an_empty_context_says_that_the_budget_cut_all_of_it():
    done = finished(
        step("retrieve.0 node.link", nodes=ranked()),
        context=Context((), (("chunk", "a"), ("chunk", "b"))),
    )
    assert record(done, TABLE)["empty_context"] == "the budget cut all 2 rows"


def test_an_empty_context_of_a_question_that_was_given_nothing_says_so():
    row = record(finished(chunks=ranked(), context=Context(())), TABLE)
    assert row["empty_context"].startswith("there was nothing to retrieve from")


def test_a_question_with_a_context_and_one_that_packs_none_give_no_reason():
    context = Context((Piece("chunk", "b", "two", 0.5, 1),))
    assert "empty_context" not in record(finished(context=context), TABLE)
    assert "empty_context" not in record(finished(answer=Answer("Ada")), TABLE)


def test_documents_come_once_in_the_order_of_their_first_chunk():
    table = ChunkTable.of([("a", "", "1"), ("b", "", "2"), ("a", "", "3")])
    row = record(finished(chunks=ranked((2, 0.9), (1, 0.5), (0, 0.1))), table)
    assert row["documents"] == ["a", "b"]


def test_a_question_without_an_answer_is_retrieved():
    row = record(finished(chunks=ranked((0, 1.0))), TABLE)
    assert row["status"] == "retrieved"
    assert "answer" not in row


def test_a_question_without_chunks_has_no_documents():
    assert "documents" not in record(finished(answer=Answer("Ada")), TABLE)


def test_a_failed_question_holds_step_and_message():
    failure = Failure("retrieve.0 node.ppr", "ZeroDivisionError", "unlucky")
    row = record(Finished(QUESTION, failure, (step("retrieve.0"),)), TABLE)
    assert row["status"] == "failed"
    assert row["error"] == {
        "step": "retrieve.0 node.ppr",
        "kind": "ZeroDivisionError",
        "message": "unlucky",
    }
    assert "documents" not in row


def test_calls_are_summed_over_the_steps_and_told_apart_by_step():
    row = record(
        finished(
            step("convert.0", calls=Calls(2, 30, 10, unreadable=1)),
            step("retrieve.0"),
            step("generate.0", calls=Calls(1, 100, 5)),
        ),
        TABLE,
    )
    assert (row["calls"], row["prompt_tokens"], row["completion_tokens"]) == (3, 130, 15)
    assert row["steps"] == {
        "convert.0": {"calls": 2, "prompt_tokens": 30, "completion_tokens": 10, "unreadable": 1},
        "generate.0": {"calls": 1, "prompt_tokens": 100, "completion_tokens": 5},
    }


def test_a_trace_keeps_what_every_step_wrote_and_replies_only_in_full():
    done = finished(step("retrieve.0", nodes=ranked((3, 0.1234567))))
    assert record(done, TABLE, "ids")["trace"] == [
        {"step": "retrieve.0", "wrote": {"nodes": {"ids": [3], "scores": [0.123457]}}}
    ]
    assert record(done, TABLE, "full")["trace"][0]["replies"] == ["a reply"]
    assert "trace" not in record(done, TABLE, "off")


def test_a_row_holds_no_time():
    slow, fast = (finished(step("retrieve.0", seconds)) for seconds in (9.0, 0.1))
    assert record(slow, TABLE) == record(fast, TABLE)


def test_times_of_a_repeated_step_add_up():
    done = finished(step("retrieve.0", 0.5), step("retrieve.1", 0.25), step("retrieve.0", 0.25))
    assert list(timing_rows(done)) == [
        {"question": "q", "step": "retrieve.0", "seconds": 0.75, "workers": 1},
        {"question": "q", "step": "retrieve.1", "seconds": 0.25, "workers": 1},
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ranked((2, 0.25)), {"ids": [2], "scores": [0.25]}),
        (NodeScores(np.array([0.5, 0.5])), {"length": 2}),
        (Mentions(("ada",)), ["ada"]),
        (Query(("who",)), ["who"]),
        (Keywords(("a",), ("b",)), {"low": ["a"], "high": ["b"]}),
        (Answer("Ada"), "Ada"),
        (
            Subgraph((0, 2), (5,), (Path((0, 2), (5,)),), ("a -> b",)),
            {"nodes": [0, 2], "relationships": [5], "paths": [[0, 2]], "texts": ["a -> b"]},
        ),
        (
            Exploration((Choice(3, "founded", True, 0.25),), ((Hop(5, False, 1 / 3),),)),
            {
                "chosen": [{"node": 3, "relation": "founded", "forward": True, "score": 0.25}],
                "rounds": [{"ids": [5], "scores": [0.333333]}],
            },
        ),
        (
            RankedPaths((Path((0, 2), (5,), 1 / 3, 1),)),
            [{"nodes": [0, 2], "relationships": [5], "score": 0.333333, "transition": 1}],
        ),
        (ReasoningSteps(("who",), (("a", "b"),)), [["who", ["a", "b"]]]),
        (
            StepNodes(np.array([4]), np.array([2]), np.array([0.5]), 3),
            {"ids": [4], "steps": [2]},
        ),
        (Dependencies(("1-1",), ("who?",), ("Ada",)), [["who?", "Ada"]]),
    ],
)
def test_every_value_has_a_form_in_json(value, expected):
    assert summary(value) == expected
