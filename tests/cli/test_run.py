"""Runs, plans and questions from the command line, over the toy set."""

from pathlib import Path
from typing import Any

import pytest
from toy_runs import (
    TOY,
    WEIGHTLESS,
    asked,
    fails_on,
    metrics,
    ran,
    records,
    refusal,
    run_folder,
    table_of,
    write_set,
)

pytestmark = pytest.mark.slow

VANILLA = [*TOY, "method=vanilla", "reference_rows=off"]


def test_a_run_prints_its_table_and_ends_with_its_folder(home: Path) -> None:
    ended = ran(*TOY, "method=bm25", "limit=3")
    assert ended.methods == ["bm25", "zeroshot", "vanilla", "oracle"]
    assert ended.folder.parent == home / "runs" / "toy" / "bm25"
    assert ended.out.splitlines()[-1] == f"run: {ended.folders[-1]}"
    table = (ended.folder / "table.md").read_text()
    references = [f"{one} (reference)" for one in ("closed-book", "VanillaRAG", "oracle")]
    places = [table.index(f"| {one} |") for one in ("BM25", *references)]
    assert places == sorted(places)


def test_a_larger_limit_goes_on_in_the_same_folder_and_a_smaller_leaves_its_scores() -> None:
    off = [*VANILLA, "cache.mode=off"]
    folder = run_folder(*off, "limit=2")
    assert len(asked) == 2
    before = records(folder)
    assert run_folder(*off) == folder
    assert len(asked) == len(set(asked)) == 6
    assert [row for row in records(folder) if row in before] == before
    stored = (folder / "metrics.json").read_bytes()
    ran(*off, "limit=2")
    assert "limit: 2" in (folder / "table.md").read_text()
    assert (folder / "metrics.json").read_bytes() == stored
    assert metrics(folder)["n"] == len(asked) == 6


def test_answers_are_paid_for_as_they_are_wanted() -> None:
    folders = set()
    for n_answers, word in ((0, "answer=off"), (2, "answer=2"), (6, "answer=on")):
        folders.add(folder := run_folder(*VANILLA, word))
        numbers: Any = metrics(folder)
        assert (numbers["n"], numbers["answered"], len(asked)) == (6, n_answers, n_answers)
        assert ("accuracy" in numbers["metrics"]) == (n_answers > 0)
        assert numbers["metrics"]["evidence_recall@2"]["n"] == 5
    assert len(folders) == 1


def test_a_failing_question_is_a_row_that_the_next_run_tries_again() -> None:
    fails_on.add("Who was taught by the maker")
    folder = run_folder(*VANILLA)
    error: Any = next(row["error"] for row in records(folder) if row["status"] == "failed")
    assert error["step"].startswith("generate.") and error["step"].endswith(" answer.direct")
    assert [metrics(folder)[name] for name in ("n", "failed", "answered")] == [6, 1, 5]
    table = table_of(folder)
    assert "| VanillaRAG | 6 | 1 |" in table and error["message"] in table
    fails_on.clear()
    asked.clear()
    assert run_folder(*VANILLA) == folder
    assert (len(asked), metrics(folder)["failed"]) == (1, 0)
    assert [row["question"] for row in records(folder)] == [f"q{i}" for i in range(1, 7)]


def test_prompts_of_your_own_take_the_place_of_those_of_the_same_name(home: Path) -> None:
    (home / "mine").mkdir()
    assert "elsewhere" in refusal(*VANILLA, "method.prompts=elsewhere")
    assert "answer.j2" in refusal(*VANILLA, "method.prompts=mine")
    (home / "mine" / "answer.j2").write_text("My prompt. {{ question }}")
    run_folder(*VANILLA, "limit=1", "method.prompts=mine")
    assert asked[0].startswith("My prompt. Into which sea")


def test_one_graph_per_partition_retrieves_within_the_scope_of_the_question(home: Path) -> None:
    texts = {"Anna": "Anna met Bert.", "Bert": "Bert met Carl."}
    corpus = [
        {"id": f"{book}{title}", "title": title, "text": f"{text} In book {book}.", "scope": book}
        for book in "12"
        for title, text in texts.items()
    ]
    questions = [{"id": book, "text": "Who met Bert?", "scope": book} for book in "12"]
    write_set(home / "books", corpus, questions)
    words = ["dataset=jsonl", "dataset.root=books", *WEIGHTLESS, "answer=off"]

    def documents(*more: str) -> list[set[str]]:
        rows: Any = records(run_folder(*words, *more))
        return [set(row["documents"]) for row in rows]

    for method in ("vanilla", "hipporag"):
        of_its_own = [{f"{book}{title}" for title in texts} for book in "12"]
        assert documents(f"method={method}", "graph.per=partition") == of_its_own
    assert [len(names) for names in documents("method=vanilla")] == [4, 4]


def test_the_tokenizer_that_counts_is_in_the_key_and_in_the_table() -> None:
    words = [*VANILLA, "limit=1"]
    plain, other = (run_folder(*words, *more) for more in ([], ["llm.tokenizer=o200k"]))
    assert plain != other
    assert "o200k" in table_of(other)
    assert "'o200k" in refusal(*words, "llm.tokenizer=o200")
