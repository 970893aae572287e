"""Runs, plans and questions from the command line, over the toy set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from toy_runs import (
    TOY,
    WEIGHTLESS,
    asked,
    command,
    fails_on,
    metrics,
    ran,
    records,
    refused,
    shell,
    write_set,
)

pytestmark = pytest.mark.slow

VANILLA = [*TOY, "method=vanilla", "reference_rows=off"]
HIPPORAG = [*TOY, "method=hipporag", "reference_rows=off"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    asked.clear()
    yield tmp_path
    fails_on.clear()


def test_a_run_prints_its_table_and_ends_with_its_folder(home: Path) -> None:
    ended = ran(*TOY, "method=vanilla")
    assert ended.methods == ["vanilla", "zeroshot", "bm25", "oracle"]
    assert ended.folder.parent == home / "runs" / "toy" / "vanilla"
    assert ended.out.splitlines()[-1] == f"run: {ended.folders[-1]}"
    table = (ended.folder / "table.md").read_text()
    rows = ["closed-book", "VanillaRAG", "BM25", "oracle"]
    places = [table.index(f"| {title} |") for title in rows]
    assert places == sorted(places)
    assert {"config.yaml", "environment.json", "records.jsonl", "metrics.json"} <= {
        path.name for path in ended.folder.iterdir()
    }


def test_a_larger_limit_goes_on_in_the_same_folder_and_asks_nothing_twice() -> None:
    off = [*VANILLA, "cache.mode=off"]
    first = ran(*off, "limit=2")
    assert len(asked) == 2
    before = records(first.folder)
    second = ran(*off, "limit=4")
    assert second.folder == first.folder
    assert len(asked) == len(set(asked)) == 4
    assert [row for row in records(second.folder) if row in before] == before
    assert metrics(second.folder)["n"] == 4


def test_a_finished_run_asks_and_builds_nothing_again() -> None:
    ran(*HIPPORAG)
    asked.clear()
    again = ran(*HIPPORAG)
    assert asked == []
    assert again.err == ""


def test_the_same_configuration_gives_the_same_bytes() -> None:
    for method in ("vanilla", "hipporag"):
        settings = [*TOY, f"method={method}", "reference_rows=off", "workers=3"]
        one = ran(*settings, "paths.home=one").folder
        two = ran(*settings, "paths.home=two").folder
        assert one.name == two.name
        assert (one / "records.jsonl").read_bytes() == (two / "records.jsonl").read_bytes()
        assert (one / "table.md").read_bytes() == (two / "table.md").read_bytes()


def test_answer_off_pays_for_no_answer_and_scores_the_evidence() -> None:
    ended = ran(*TOY, "method=hipporag", "answer=off")
    assert asked == []
    assert ended.methods == ["hipporag", "bm25", "vanilla"]
    held = metrics(ended.folder)
    assert held["answered"] == 0
    assert "accuracy" not in held["metrics"]  # type: ignore[operator]
    assert held["metrics"]["evidence_recall@2"]["n"] == 5  # type: ignore[index]
    assert {row["status"] for row in records(ended.folder)} == {"retrieved"}


def test_answer_2_answers_two_and_scores_the_evidence_of_all() -> None:
    ended = ran(*VANILLA, "answer=2")
    assert len(asked) == 2
    held = metrics(ended.folder)
    assert (held["n"], held["answered"]) == (6, 2)
    assert held["metrics"]["evidence_recall@2"]["n"] == 5  # type: ignore[index]
    assert ran(*VANILLA).folder == ended.folder
    assert len(asked) == 6


def test_deep_settings_reach_one_step() -> None:
    plain = ran(*HIPPORAG).folder
    deep = "method.retrieve.1.cases.otherwise.0.damping"
    assert ran(*HIPPORAG, f"{deep}=0.9").folder != plain
    assert ran(*HIPPORAG, f"{deep}=0.5").folder == plain
    assert ran(*HIPPORAG, "method.damping=0.9").folder == ran(*HIPPORAG, f"{deep}=0.9").folder


def test_a_failing_question_is_a_row_that_the_next_run_tries_again() -> None:
    fails_on.add("Who was taught by the maker")
    ended = ran(*VANILLA)
    rows = {str(row["question"]): row for row in records(ended.folder)}
    assert rows["q3"]["status"] == "failed"
    error = rows["q3"]["error"]
    assert isinstance(error, dict)
    assert error["step"].startswith("generate.")
    assert error["step"].endswith(" answer.direct")
    assert error["message"] == "the reader was told to fail"
    held = metrics(ended.folder)
    assert (held["n"], held["failed"], held["answered"]) == (6, 1, 5)
    table = (ended.folder / "table.md").read_text()
    assert "| VanillaRAG | 6 | 1 |" in table
    assert "the reader was told to fail" in table
    assert "!" in table
    fails_on.clear()
    asked.clear()
    again = ran(*VANILLA)
    assert again.folder == ended.folder
    assert len(asked) == 1
    assert metrics(again.folder)["failed"] == 0
    assert [row["question"] for row in records(again.folder)] == [f"q{i}" for i in range(1, 7)]


def test_prompts_of_your_own_take_the_place_of_those_of_the_same_name(home: Path) -> None:
    plain = ran(*VANILLA, "limit=1").folder
    (home / "mine").mkdir()
    assert "no folder" in refused(*VANILLA, "method.prompts=elsewhere")
    assert "answer.j2" in refused(*VANILLA, "method.prompts=mine")
    (home / "mine" / "answer.j2").write_text("My prompt. {{ question }}")
    asked.clear()
    assert ran(*VANILLA, "limit=1", "method.prompts=mine").folder != plain
    assert asked[0].startswith("My prompt. Into which sea")


def test_a_path_may_begin_with_the_home_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home / "me"))
    assert ran(*VANILLA, "limit=1", "paths.home=~/work (1)").folder.is_relative_to(
        home / "me" / "work (1)"
    )


def test_the_plan_names_artifacts_steps_questions_and_calls_and_writes_nothing(home: Path) -> None:
    planned = command("plan", *HIPPORAG, "limit=3")
    assert planned.code == 0
    assert not list(home.iterdir())
    for words in (
        "build  graph.kg_synonymy",
        "retrieve.1.cases.otherwise.0 node.ppr",
        "nodes -> nodes, node_scores",
        "questions: 3 selected, 0 done, 3 left",
        "LLM calls: at most 3",
    ):
        assert words in planned.out
    ended = ran(*HIPPORAG, "limit=2")
    after = command("plan", *HIPPORAG, "limit=3").out
    assert "reuse  graph.kg_synonymy" in after
    assert "questions: 3 selected, 2 done, 1 left" in after
    assert ended.folder.name in after


def test_ask_takes_settings_whose_values_hold_spaces() -> None:
    said = "llm.replies.Question=the River Isk"
    ended = command("ask", *TOY, "method=vanilla", said, "What flows by Lund Harbour?")
    assert ended.out.startswith("the River Isk\n")
    assert "one question" in refused(*TOY, name="ask")


def test_one_graph_per_partition_retrieves_within_the_scope_of_the_question(home: Path) -> None:
    corpus = [
        {"id": f"{book}{row}", "title": title, "text": text, "scope": book}
        for book in ("one", "two")
        for row, (title, text) in enumerate(
            [("Anna", f"Anna met Bert in book {book}."), ("Bert", "Bert met Carl.")]
        )
    ]
    questions = [
        {"id": f"q-{book}", "text": "Who met Bert?", "evidence": [f"{book}0"], "scope": book}
        for book in ("one", "two")
    ]
    folder = write_set(home / "books", corpus, questions)
    books = [
        "dataset=jsonl",
        f"dataset.root={folder}",
        *WEIGHTLESS,
        "reference_rows=off",
        "answer=off",
    ]
    for method in ("vanilla", "hipporag"):
        ended = ran(*books, f"method={method}", "graph.per=partition")
        held = {str(row["question"]): row["documents"] for row in records(ended.folder)}
        assert set(held["q-one"]) == {"one0", "one1"}  # type: ignore[call-overload]
        assert set(held["q-two"]) == {"two0", "two1"}  # type: ignore[call-overload]
    whole = ran(*books, "method=vanilla")
    (row, _) = records(whole.folder)
    assert len(set(row["documents"])) == 4  # type: ignore[call-overload]


def test_the_command_runs_from_another_folder_in_a_process_of_its_own(home: Path) -> None:
    ended = shell("run", *VANILLA, "limit=1")
    assert ended.code == 0, ended.err
    assert home in ended.folder.parents
    assert len(records(ended.folder)) == 1


def test_the_tokenizer_that_counts_is_in_the_key_and_in_the_table() -> None:
    plain, other = (ran(*VANILLA, *more).folder for more in ([], ["llm.tokenizer=o200k"]))
    assert plain != other
    assert "contexts counted in tokens of cl100k (stand-in)" in (plain / "table.md").read_text()
    assert "contexts counted in tokens of o200k" in (other / "table.md").read_text()
    said = refused(*VANILLA, "llm.tokenizer=o200")
    assert "There is no llm.tokenizer=o200. Did you mean 'o200k" in said


def test_a_look_at_fewer_questions_leaves_the_scores_of_all() -> None:
    """The command shows what it was asked for; what is stored stays, and the mark is beside it."""
    whole = ran(*TOY, "reference_rows=off", "method=vanilla").folder
    before = (whole / "metrics.json").read_bytes()
    few = ran(*TOY, "reference_rows=off", "method=vanilla", "limit=2")
    assert few.folder == whole
    assert "limit: 2" in (whole / "table.md").read_text()
    assert (whole / "metrics.json").read_bytes() == before
    assert metrics(whole)["n"] == 6
