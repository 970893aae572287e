"""The stored row of a question."""

from typing import Any

import numpy as np

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.pipeline.pipeline import QuestionResult
from graphrag_bench.pipeline.steps import Failure, StepTrace, Usage
from graphrag_bench.run.record import record, timing_rows
from graphrag_bench.values import Answer, Chunk, Context, Piece, Question, Ranked, RetrievalState

QUESTION = Question("q", "Who?", scope="book")
TABLE = ChunkTable.of([("a", "", "one"), ("b", "", "two"), ("c", "", "two"), ("a", "", "three")])
"""Chunk 1 is the same text in documents b and c; chunks 0 and 2 are of document a."""
PIECE = Piece("chunk", "b", "two", 0.50000004, 1)


def ranked(*pairs: tuple[int, float]) -> Ranked[Chunk]:
    return Ranked(np.array([row for row, _ in pairs]), np.array([score for _, score in pairs]))


def step(name: str, seconds: float = 0.0, calls: Usage | None = None, **wrote: Any) -> StepTrace:
    return StepTrace(name, name, seconds, calls or Usage(), ("a reply",), wrote)


def finished(*trace: StepTrace, **slots: Any) -> QuestionResult:
    return QuestionResult(QUESTION, RetrievalState(QUESTION).write(slots), trace)


def test_answered_row_has_answer_documents_and_context() -> None:
    context = Context((PIECE,), (("chunk", "a"),))
    chunks = ranked((1, 0.9), (0, 0.4), (2, 0.1))
    row = record(finished(chunks=chunks, context=context, answer=Answer("Ada")), TABLE)
    assert row == {
        "question": "q", "scope": "book", "status": "answered", "answer": "Ada",
        "documents": ["b", "c", "a"], "ranks": [1, 1, 2],
        "context": {"pieces": [{"kind": "chunk", "id": "b", "score": 0.5, "tokens": 1}],
                    "cut": [["chunk", "a"]]},
        "calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "steps": {}, "trace": [],
    }  # fmt: skip


def test_status_is_retrieved_without_an_answer() -> None:
    row = record(finished(chunks=ranked((0, 1.0))), TABLE)
    assert row["status"] == "retrieved" and "answer" not in row
    assert "documents" not in record(finished(answer=Answer("Ada")), TABLE)
    where = {"step": "retrieve.0 node.ppr", "kind": "ZeroDivisionError", "message": "unlucky"}
    failed = record(
        QuestionResult(QUESTION, Failure(*where.values()), (step("retrieve.0"),)), TABLE
    )
    assert (failed["status"], failed["error"]) == ("failed", where)
    assert "documents" not in failed


def test_row_has_calls_in_total_and_by_step() -> None:
    first = step("convert.0", calls=Usage(2, 30, 10, unreadable=1))
    last = step("generate.0", calls=Usage(1, 100, 5))
    row = record(finished(first, step("retrieve.0"), last), TABLE)
    assert (row["calls"], row["prompt_tokens"], row["completion_tokens"]) == (3, 130, 15)
    assert row["steps"] == {
        "convert.0": {"calls": 2, "prompt_tokens": 30, "completion_tokens": 10, "unreadable": 1},
        "generate.0": {"calls": 1, "prompt_tokens": 100, "completion_tokens": 5},
    }


def test_row_has_no_times_and_timing_sums_repeated_steps() -> None:
    slow, fast = (finished(step("retrieve.0", seconds)) for seconds in (9.0, 0.1))
    assert record(slow, TABLE) == record(fast, TABLE)
    assert "trace" not in record(fast, TABLE, "off")
    done = finished(step("retrieve.0", 0.5), step("retrieve.1", 0.25), step("retrieve.0", 0.25))
    assert list(timing_rows(done)) == [
        {"question": "q", "step": "retrieve.0", "seconds": 0.75, "workers": 1},
        {"question": "q", "step": "retrieve.1", "seconds": 0.25, "workers": 1},
    ]
