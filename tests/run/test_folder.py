"""The run folder: nothing that was paid for is lost, and nothing is done twice."""

import json

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.run.folder import METRICS, RunFolder, read_lines, write_whole


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "runs" / "toy" / "vanilla" / "key")


def row(question: str, status: str = "answered", **more) -> dict:
    return {"question": question, "status": status, **more}


def append(folder: RunFolder, *rows: dict) -> None:
    for one in rows:
        folder.append(one, [])


def statuses(folder: RunFolder) -> dict[str, str]:
    return {name: held["status"] for name, held in folder.rows().items()}


def names(path) -> list[str]:
    return [held["question"] for held in read_lines(path)]


def test_a_folder_that_is_not_there_holds_nothing(folder):
    assert folder.rows() == {}
    assert folder.done(answering=True) == set()
    assert folder.timing() == []
    assert folder.metrics() == {}
    assert not folder.path.exists()


def test_rows_are_kept_as_they_come(folder):
    append(folder, row("b"), row("a", answer="東京"))
    assert names(folder.file("journal")) == ["b", "a"]
    assert folder.rows()["a"] == row("a", answer="東京")


def test_at_the_end_records_stand_in_question_order_and_the_journal_is_gone(folder):
    append(folder, row("c"), row("a"), row("b"))
    folder.finish(["a", "b", "c", "never asked"])
    assert names(folder.file("records")) == ["a", "b", "c"]
    assert not folder.file("journal").exists()


def test_the_same_rows_in_another_order_are_the_same_bytes(tmp_path):
    written = []
    for order in ("abc", "cab"):
        folder = RunFolder(tmp_path / order)
        append(folder, *(row(name, n=1) for name in order))
        folder.finish(["a", "b", "c"])
        written.append(folder.file("records").read_bytes())
    assert written[0] == written[1]


def test_a_run_that_goes_on_adds_to_its_records(folder):
    append(folder, row("a"))
    folder.finish(["a", "b"])
    append(folder, row("b"))
    folder.finish(["a", "b"])
    assert names(folder.file("records")) == ["a", "b"]


# ---- what is done


def test_failed_questions_are_not_done(folder):
    append(folder, row("a"), row("b", "failed"))
    assert folder.done(answering=True) == {"a"}
    assert folder.done(answering=False) == {"a"}


def test_retrieved_questions_are_done_until_they_are_to_be_answered(folder):
    append(folder, row("a", "retrieved"))
    assert folder.done(answering=False) == {"a"}
    assert folder.done(answering=True) == set()


def test_a_row_that_says_more_takes_the_place_of_one_that_says_less(folder):
    append(folder, row("a", "failed"), row("a", "retrieved"), row("a", answer="new"))
    assert folder.rows()["a"] == row("a", answer="new")


def test_a_later_failure_takes_nothing_away(folder):
    append(folder, row("a", "retrieved"), row("a", "failed"))
    assert statuses(folder) == {"a": "retrieved"}


def test_a_failure_that_was_tried_again_is_one_row(folder):
    append(folder, row("a", "failed"), row("b"))
    folder.finish(["a", "b"])
    append(folder, row("a"))
    folder.finish(["a", "b"])
    assert statuses(folder) == {"a": "answered", "b": "answered"}
    assert names(folder.file("records")) == ["a", "b"]


# ---- after a kill


@pytest.mark.parametrize("cut", [1, 5, 12])
def test_a_last_line_that_was_cut_is_passed_over(folder, cut):
    append(folder, row("a"), row("b"))
    journal = folder.file("journal")
    journal.write_bytes(journal.read_bytes()[:-cut])
    assert statuses(folder).keys() == ({"a", "b"} if cut == 1 else {"a"})


def test_a_row_after_a_cut_line_is_kept(folder):
    append(folder, row("a"))
    with folder.file("journal").open("a") as journal:
        journal.write('{"question": "b", "sta')
    append(folder, row("b"), row("c"))
    assert statuses(folder).keys() == {"a", "b", "c"}


def test_a_line_cut_inside_a_character_is_passed_over(folder):
    append(folder, row("a"))
    whole = json.dumps(row("b", answer="東京"), ensure_ascii=False).encode()
    with folder.file("journal").open("ab") as journal:
        journal.write(whole[: whole.index("東".encode()) + 1])
    assert statuses(folder).keys() == {"a"}


def test_rows_that_the_end_of_a_run_did_not_reach_are_still_there(folder):
    """Killed between writing the records and dropping the journal: both are read, none twice."""
    append(folder, row("a"), row("b"))
    journal = folder.file("journal").read_bytes()
    folder.finish(["a", "b"])
    folder.file("journal").write_bytes(journal)
    assert statuses(folder).keys() == {"a", "b"}
    folder.finish(["a", "b"])
    assert names(folder.file("records")) == ["a", "b"]


def test_a_file_is_replaced_whole(tmp_path):
    write_whole(tmp_path / "metrics.json", "old")
    write_whole(tmp_path / "metrics.json", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.json"]
    assert (tmp_path / "metrics.json").read_text() == "new"


# ---- times and metrics


def test_times_are_kept_beside_the_rows(folder):
    folder.append(row("a"), [{"question": "a", "step": "retrieve.0", "seconds": 0.5}])
    folder.finish(["a"])
    assert folder.timing() == [{"question": "a", "step": "retrieve.0", "seconds": 0.5}]
    assert "seconds" not in folder.file("records").read_text()


def test_metrics_come_back(folder):
    folder.write_json(METRICS, {"n": 2, "metrics": {"f1": {"mean": 0.5}}})
    assert folder.metrics() == {"n": 2, "metrics": {"f1": {"mean": 0.5}}}


# ---- shards


def test_shards_write_files_of_their_own_and_everyone_reads_all(folder):
    first, second = (RunFolder(folder.path, shard) for shard in ("1-of-2", "2-of-2"))
    append(first, row("a"))
    append(second, row("b"))
    first.finish(["a", "b"])
    assert names(first.file("records")) == ["a"]
    assert {path.name for path in folder.path.iterdir()} == {
        "records.1-of-2.jsonl",
        "journal.2-of-2.jsonl",
    }
    for reader in (folder, first, second):
        assert statuses(reader).keys() == {"a", "b"}


def test_a_whole_run_takes_in_the_shards(folder):
    for shard, name in (("1-of-2", "b"), ("2-of-2", "a")):
        part = RunFolder(folder.path, shard)
        append(part, row(name))
        part.finish(["a", "b"])
    folder.finish(["a", "b"])
    assert names(folder.file("records")) == ["a", "b"]
    assert [path.name for path in folder.path.iterdir()] == ["records.jsonl"]


def test_a_run_is_held_by_one_process(folder):
    refused = pytest.raises(UserError, match="Another process is at work on this run")
    with folder.alone(), refused, RunFolder(folder.path).alone():
        pass
    with folder.alone():
        pass


# ---- texts of contexts


def test_contexts_are_kept_in_question_order_each_once_and_shards_are_joined(tmp_path):
    def context(name: str, text: str) -> list[dict]:
        return [{"question": name, "texts": [text]}]

    path = tmp_path / "run"
    parts = [RunFolder(path, f"{number}-of-2") for number in (1, 2)]
    parts[0].append(row("c"), [], context("c", "C"))
    parts[0].append(row("a"), [], context("a", "cut off"))
    parts[0].append(row("a"), [], context("a", "A"))
    parts[1].append(row("b"), [], context("b", "B"))
    for part in (*parts, RunFolder(path)):
        part.finish(["a", "b", "c"])
    assert [file.name for file in sorted(path.glob("contexts*"))] == ["contexts.jsonl"]
    held = list(read_lines(path / "contexts.jsonl"))
    assert [(one["question"], *one["texts"]) for one in held] == [
        ("a", "A"),
        ("b", "B"),
        ("c", "C"),
    ]
