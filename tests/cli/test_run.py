"""Runs, plans and questions from the command line, over the toy set."""

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
    plan_of,
    ran,
    records,
    refusal,
    run_folder,
    table_of,
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
    ended = ran(*TOY, "method=vanilla", "limit=3")
    assert ended.methods == ["vanilla", "zeroshot", "bm25", "oracle"]
    assert ended.folder.parent == home / "runs" / "toy" / "vanilla"
    assert ended.out.splitlines()[-1] == f"run: {ended.folders[-1]}"
    table = (ended.folder / "table.md").read_text()
    places = [table.index(f"| {one} |") for one in ("closed-book", "VanillaRAG", "BM25", "oracle")]
    assert places == sorted(places)
    assert {"config.yaml", "environment.json", "records.jsonl", "metrics.json"} <= {
        path.name for path in ended.folder.iterdir()
    }


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


def test_the_same_configuration_gives_the_same_bytes_and_asks_nothing_again() -> None:
    one, two = (ran(*HIPPORAG, "workers=3", f"paths.home={name}").folder for name in "ab")
    assert one.name == two.name
    for name in ("records.jsonl", "table.md"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    asked.clear()
    again = ran(*HIPPORAG, "workers=3", "paths.home=a")
    assert (asked, again.err) == ([], "")


def test_answers_are_paid_for_as_they_are_wanted() -> None:
    off = metrics(run_folder(*VANILLA, "answer=off"))
    assert asked == []
    assert off["answered"] == 0
    assert "accuracy" not in off["metrics"]  # type: ignore[operator]
    folder = run_folder(*VANILLA, "answer=2")
    assert {row["status"] for row in records(folder)} == {"answered", "retrieved"}
    assert len(asked) == 2
    assert (metrics(folder)["n"], metrics(folder)["answered"]) == (6, 2)
    assert metrics(folder)["metrics"]["evidence_recall@2"]["n"] == 5  # type: ignore[index]
    assert run_folder(*VANILLA) == folder
    assert len(asked) == 6


def test_a_failing_question_is_a_row_that_the_next_run_tries_again() -> None:
    fails_on.add("Who was taught by the maker")
    folder = run_folder(*VANILLA)
    error = next(row["error"] for row in records(folder) if row["status"] == "failed")
    assert isinstance(error, dict)
    assert error["step"].startswith("generate.") and error["step"].endswith(" answer.direct")
    numbers = metrics(folder)
    assert (numbers["n"], numbers["failed"], numbers["answered"]) == (6, 1, 5)
    table = table_of(folder)
    assert "| VanillaRAG | 6 | 1 |" in table and error["message"] in table
    fails_on.clear()
    asked.clear()
    assert run_folder(*VANILLA) == folder
    assert (len(asked), metrics(folder)["failed"]) == (1, 0)
    assert [row["question"] for row in records(folder)] == [f"q{i}" for i in range(1, 7)]


def test_prompts_of_your_own_take_the_place_of_those_of_the_same_name(home: Path) -> None:
    plain = run_folder(*VANILLA, "limit=1")
    (home / "mine").mkdir()
    assert "elsewhere" in refusal(*VANILLA, "method.prompts=elsewhere")
    assert "answer.j2" in refusal(*VANILLA, "method.prompts=mine")
    (home / "mine" / "answer.j2").write_text("My prompt. {{ question }}")
    asked.clear()
    assert run_folder(*VANILLA, "limit=1", "method.prompts=mine") != plain
    assert asked[0].startswith("My prompt. Into which sea")


def test_the_plan_names_artifacts_steps_questions_and_calls_and_writes_nothing(home: Path) -> None:
    plan = command("plan", *HIPPORAG, "limit=3")
    assert plan.code == 0
    assert not list(home.iterdir())
    for words in (
        "build  graph.kg_synonymy",
        "retrieve.1.cases.otherwise.0 node.ppr",
        "nodes -> nodes, node_scores",
        "questions: 3 selected, 0 done, 3 left",
        "LLM calls: at most 3",
    ):
        assert words in plan.out
    folder = run_folder(*HIPPORAG, "limit=2")
    after = plan_of(*HIPPORAG, "limit=3")
    assert "reuse  graph.kg_synonymy" in after
    assert "questions: 3 selected, 2 done, 1 left" in after
    assert folder.name in after


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
    books = ["dataset=jsonl", f"dataset.root={folder}", *WEIGHTLESS, "reference_rows=off",
             "answer=off"]  # fmt: skip
    for method in ("vanilla", "hipporag"):
        folder = run_folder(*books, f"method={method}", "graph.per=partition")
        rows = {str(row["question"]): row["documents"] for row in records(folder)}
        assert set(rows["q-one"]) == {"one0", "one1"}  # type: ignore[call-overload]
        assert set(rows["q-two"]) == {"two0", "two1"}  # type: ignore[call-overload]
    (row, _) = records(run_folder(*books, "method=vanilla"))
    assert len(set(row["documents"])) == 4  # type: ignore[call-overload]


def test_the_tokenizer_that_counts_is_in_the_key_and_in_the_table() -> None:
    words = [*VANILLA, "limit=1"]
    plain, other = (run_folder(*words, *more) for more in ([], ["llm.tokenizer=o200k"]))
    assert plain != other
    assert "tokens of cl100k (stand-in)" in table_of(plain)
    assert "tokens of o200k" in table_of(other)
    assert "'o200k" in refusal(*words, "llm.tokenizer=o200")
