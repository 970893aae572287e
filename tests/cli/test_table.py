"""`graphrag-bench table`: lists, compares with a paper, and shows runs."""

import json

import pytest
from toy_runs import TOY, command, refused, run_folder

from graphrag_bench.papers.printed import table_names
from graphrag_bench.run.sweep import named_runs

pytestmark = pytest.mark.slow


def test_alone_it_lists_every_table() -> None:
    every = command("table").out
    assert all(name in every for name in table_names())


def test_a_table_of_runs_takes_folders_and_beginnings_of_keys() -> None:
    folders = [run_folder(*TOY, "answer=off", f"method={name}") for name in ("bm25", "vanilla")]
    named = [["runs/toy"], [str(folders[0])], [folders[1].name[:8]]]
    assert [len(named_runs(names, ".")) for names in named] == [2, 1, 1]
    assert "| BM25 " in command("table", "runs/toy", "--format", "markdown").out
    runs = json.loads(command("table", "runs/toy", "--json").out)
    assert {run["method"] for run in runs} == {"bm25", "vanilla"}
    assert runs[0]["metrics"]["evidence_recall@5"]["n"] == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["zhou2025/tabel5"], "zhou2025/table5"),
        (["zhou2025/table5", "limit=3"], "experiment=zhou2025/table5"),
        (["runs/tay"], "runs/tay"),
        (["rows=method"], "experiment=PAPER/TABLE"),
        (["--papers-prompts"], "--papers-prompts"),
    ],
)
def test_what_is_wrong_is_said_with_what_would_be_right(words: list[str], message: str) -> None:
    assert message in refused(*words, name="table")
