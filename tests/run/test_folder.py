"""The run folder: rows survive kills, and finished questions are not run again."""

from pathlib import Path
from typing import Any

import pytest

from graphrag_bench.run.folder import RunFolder, is_narrower, read_json, read_lines

Row = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "runs" / "toy" / "vanilla" / "key")


def row(question: str, status: str = "answered", **more: Any) -> Row:
    return {"question": question, "status": status, **more}


def append(folder: RunFolder, *rows: Row) -> None:
    for one in rows:
        folder.append(one, [])


def names(path: Path) -> list[str]:
    return [stored["question"] for stored in read_lines(path)]


def files(folder: RunFolder) -> set[str]:
    return {path.name for path in folder.path.iterdir()}


def test_records_are_sorted_by_question(folder: RunFolder) -> None:
    append(folder, row("c"), row("a", answer="東京"))
    assert names(folder.file("journal")) == ["c", "a"]
    assert folder.rows()["a"] == row("a", answer="東京")
    folder.finish(["a", "b", "c"])
    assert names(folder.file("records")) == ["a", "c"]
    assert files(folder) == {"records.jsonl"}
    append(folder, row("b", "failed"), row("b"))
    folder.finish(["a", "b", "c"])
    assert names(folder.file("records")) == ["a", "b", "c"]
    assert {stored["status"] for stored in folder.rows().values()} == {"answered"}


@pytest.mark.parametrize(
    ("rows", "done", "done_without_answers"),
    [
        ([row("a"), row("b", "failed")], {"a"}, {"a"}),
        ([row("a", "retrieved")], set(), {"a"}),
        ([row("a", "failed"), row("a", "retrieved"), row("a")], {"a"}, {"a"}),
        ([row("a", "retrieved"), row("a", "failed")], set(), {"a"}),  # takes nothing away
    ],
)
def test_most_complete_row_of_a_question_counts(
    folder: RunFolder, rows: list[Row], done: set[str], done_without_answers: set[str]
) -> None:
    append(folder, *rows)
    assert folder.finished_questions(answering=True) == done
    assert folder.finished_questions(answering=False) == done_without_answers


@pytest.mark.parametrize("cut", [1, 5])
def test_truncated_last_line_is_skipped(folder: RunFolder, cut: int) -> None:
    append(folder, row("a"), row("b", answer="東京"))
    journal = folder.file("journal")
    journal.write_bytes(journal.read_bytes()[:-cut])
    assert folder.rows().keys() == ({"a", "b"} if cut == 1 else {"a"})
    append(folder, row("b"), row("c"))
    assert folder.rows().keys() == {"a", "b", "c"}


def scoring(answered: int = 10, **changes: Any) -> Row:
    return {"split": "all", "dev_share": 0.5, "limit": None, "answered": answered, **changes}


@pytest.mark.parametrize(
    ("new", "stored", "narrower"),
    [
        (scoring(2, limit=2), scoring(), True),
        (scoring(), scoring(2, limit=2), False),
        (scoring(0), scoring(), True),
        (scoring(5, split="dev", limit=5), scoring(8, split="dev", limit=8), True),
        (scoring(5, split="test"), scoring(5, split="dev"), False),
        (scoring(3, split="dev", dev_share=0.3), scoring(5, split="dev"), False),
        (scoring(2, split="dev", limit=2), scoring(5, limit=5), False),
        (scoring(10, limit=10), scoring(5), False),  # fewer questions and more answers
        (scoring(), {}, False),
    ],
)
def test_scoring_of_a_subset_is_narrower(new: Row, stored: Row, narrower: bool) -> None:
    assert is_narrower(new, stored) is narrower


def test_contexts_of_shards_are_merged_in_question_order(folder: RunFolder) -> None:
    parts = [RunFolder(folder.path, f"{number}-of-2") for number in (1, 2)]
    for part, name, text in ((0, "c", "C"), (0, "a", "cut off"), (0, "a", "A"), (1, "b", "B")):
        parts[part].append(row(name), [], [{"question": name, "texts": [text]}])
    for one in (*parts, folder):
        one.finish(["a", "b", "c"])
    assert [file.name for file in sorted(folder.path.glob("contexts*"))] == ["contexts.jsonl"]
    stored = list(read_lines(folder.file("contexts")))
    assert [(one["question"], *one["texts"]) for one in stored] == [*zip("abc", "ABC", strict=True)]


def test_rows_with_odd_ids_are_dropped(folder: RunFolder) -> None:
    append(folder, row("a"))
    odd: Row = {"question": ["a"], "texts": []}
    folder.append(odd | {"status": "answered"}, [], [odd])
    folder.finish(["a"])
    assert names(folder.file("records")) == ["a"]


def test_a_file_that_another_process_removes_counts_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "metrics.json"
    path.write_text("{}")
    read = Path.read_bytes

    def removed_before(self: Path) -> bytes:
        self.unlink()
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", removed_before)
    assert read_json(path) == {}
