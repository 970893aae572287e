"""The run folder: rows survive kills, and finished questions are not run again."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.pipeline.pipeline import QuestionResult
from graphrag_bench.pipeline.steps import Failure, StepTrace, Usage
from graphrag_bench.run.folder import RunFolder, is_narrower, read_json, read_lines
from graphrag_bench.run.record import record, timing_rows
from graphrag_bench.values import Answer, Chunk, Context, Piece, Question, Ranked, RetrievalState


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "runs" / "toy" / "vanilla" / "key")


def append(folder, *words):
    """Append rows, each written as the id of a question and its status."""
    for question, status in (word.split() for word in words):
        folder.append({"question": question, "status": status}, [])


def names(path):
    return [stored["question"] for stored in read_lines(path)]


def test_records_are_sorted_by_question(folder):
    append(folder, "c answered", "a answered")
    assert names(folder.file("journal")) == ["c", "a"]
    folder.finish(["a", "b", "c"])
    assert [path.name for path in folder.path.iterdir()] == ["records.jsonl"]
    append(folder, "b failed", "b answered")
    odd = {"question": ["a"], "texts": []}
    folder.append(odd | {"status": "answered"}, [], [odd])
    folder.finish(["a", "b", "c"])
    assert names(folder.file("records")) == ["a", "b", "c"]


def test_most_complete_row_of_a_question_counts(folder):
    append(folder, "a failed", "a retrieved", "a answered", "b failed", "c retrieved", "c failed")
    assert folder.finished_questions(answering=True) == {"a"}
    assert folder.finished_questions(answering=False) == {"a", "c"}


@pytest.mark.parametrize("cut", [1, 5])
def test_truncated_last_line_is_skipped(folder, cut):
    append(folder, "a answered", "東京 answered")
    journal = folder.file("journal")
    journal.write_bytes(journal.read_bytes()[:-cut])
    assert folder.rows().keys() == ({"a", "東京"} if cut == 1 else {"a"})
    append(folder, "東京 answered", "c answered")
    assert folder.rows().keys() == {"a", "東京", "c"}


def scoring(answered=10, **changes):
    return {"split": "all", "dev_share": 0.5, "limit": None, "answered": answered, **changes}


def test_scoring_of_a_subset_is_narrower():
    dev = scoring(8, split="dev", limit=8)
    for new, stored in ((scoring(2, limit=2), scoring()), (scoring(0), scoring()), (dev, scoring()),
                        (scoring(0, split="dev", limit=8), dev),
                        (scoring(5, split="dev", limit=5), dev)):  # fmt: skip
        assert is_narrower(new, stored) and not is_narrower(stored, new)
    for one in (scoring(5, split="test"), scoring(3, split="dev", dev_share=0.3),
                scoring(5, limit=5), {}):  # fmt: skip
        assert not is_narrower(scoring(5, split="dev"), one)
    assert not is_narrower(scoring(10, limit=10), scoring(5))  # fewer questions and more answers


def test_a_file_that_another_process_removes_counts_as_missing(monkeypatch):
    monkeypatch.setattr(Path, "read_bytes", Mock(side_effect=FileNotFoundError))
    assert read_json(Path(__file__)) == {}


QUESTION = Question("q", "Who?", scope="book")
TABLE = ChunkTable.of([("a", "", "one"), ("b", "", "two"), ("c", "", "two"), ("a", "", "three")])
"""Chunk 1 is the same text in documents b and c; chunks 0 and 2 are of document a."""


def step(name, seconds=0.0, calls=None):
    return StepTrace(name, name, seconds, calls or Usage(), ("a reply",), {})


def finished(*trace, **slots):
    return QuestionResult(QUESTION, RetrievalState(QUESTION).write(slots), trace)


def test_answered_row_has_answer_documents_and_context():
    context = Context((Piece("chunk", "b", "two", 0.50000004, 1),), (("chunk", "a"),))
    chunks = Ranked[Chunk].of({1: 0.9, 0: 0.4, 2: 0.1})
    assert record(finished(chunks=chunks, context=context, answer=Answer("Ada")), TABLE) == {
        "question": "q", "scope": "book", "status": "answered", "answer": "Ada",
        "documents": ["b", "c", "a"], "ranks": [1, 1, 2],
        "context": {"pieces": [{"kind": "chunk", "id": "b", "score": 0.5, "tokens": 1}],
                    "cut": [["chunk", "a"]]},
        "calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "steps": {}, "trace": [],
    }  # fmt: skip


def test_status_is_retrieved_without_an_answer_or_failed():
    row = record(finished(chunks=Ranked[Chunk].of({0: 1.0})), TABLE)
    assert row["status"] == "retrieved" and "answer" not in row
    where = {"step": "retrieve.0 node.ppr", "kind": "ZeroDivisionError", "message": "unlucky"}
    failed = record(QuestionResult(QUESTION, Failure(*where.values()), ()), TABLE)
    assert (failed["status"], failed["error"]) == ("failed", where)
    assert "documents" not in failed


def test_row_has_calls_in_total_and_by_step():
    first = step("convert.0", calls=Usage(2, 30, 10, unreadable=1))
    last = step("generate.0", calls=Usage(1, 100, 5))
    row = record(finished(first, step("retrieve.0"), last), TABLE)
    assert (row["calls"], row["prompt_tokens"], row["completion_tokens"]) == (3, 130, 15)
    assert row["steps"] == {
        "convert.0": {"calls": 2, "prompt_tokens": 30, "completion_tokens": 10, "unreadable": 1},
        "generate.0": {"calls": 1, "prompt_tokens": 100, "completion_tokens": 5},
    }


def test_row_has_no_times_and_timing_sums_repeated_steps():
    slow, fast = (finished(step("retrieve.0", seconds)) for seconds in (9.0, 0.1))
    assert record(slow, TABLE) == record(fast, TABLE)
    done = finished(step("retrieve.0", 0.5), step("retrieve.1", 0.25), step("retrieve.0", 0.25))
    rows = [(row["step"], row["seconds"]) for row in timing_rows(done)]
    assert rows == [("retrieve.0", 0.75), ("retrieve.1", 0.25)]
