"""Runs, plans and questions from the command line, over the toy set."""

from pathlib import Path
from typing import Any

import pytest
from toy_runs import TOY, WEIGHTLESS, asked, metrics, ran, records, run_folder, write_set

pytestmark = pytest.mark.slow

VANILLA = [*TOY, "method=vanilla", "reference_rows=off"]


def test_a_run_prints_its_table_and_ends_with_its_folder(home: Path) -> None:
    ended = ran(*TOY, "method=bm25", "limit=3")
    assert ended.methods == ["bm25", "zeroshot", "vanilla", "oracle"]
    assert ended.folder.parent == home / "runs" / "toy" / "bm25"
    assert ended.out.splitlines()[-1] == f"run: {ended.folders[-1]}"
    table = (ended.folder / "table.md").read_text()
    assert table.index("| BM25 |") < table.index("(reference) |")


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


def test_one_graph_per_partition_retrieves_within_the_scope_of_the_question(home: Path) -> None:
    corpus = [
        {"id": f"{book}{name}", "title": name, "text": f"{name} met Carl in {book}.", "scope": book}
        for book in "12"
        for name in ("Anna", "Bert")
    ]
    questions = [{"id": book, "text": "Who met Bert?", "scope": book} for book in "12"]
    write_set(home / "books", corpus, questions)
    words = ["dataset=jsonl", "dataset.root=books", *WEIGHTLESS, "answer=off"]

    for method in ("vanilla", "hipporag"):
        rows: Any = records(run_folder(*words, f"method={method}", "graph.per=partition"))
        assert [set(row["documents"]) for row in rows] == [{"1Anna", "1Bert"}, {"2Anna", "2Bert"}]
