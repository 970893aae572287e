"""`graphrag-bench table`: lists, compares with a paper, and shows runs."""

import csv
import io

import pytest
from toy_runs import TOY, command, refused, run_folder

from graphrag_bench.run.sweep import named_runs

pytestmark = pytest.mark.slow


def test_alone_it_lists_every_table_with_its_caption() -> None:
    every, one = (command("table", *paper).out for paper in ([], ["pathrag"]))
    for name in ("zhou2025/table5", "pathrag/table1", "pankrag/fig3", "pathpooling/fig12"):
        assert name in every
    assert "specific questions, all methods" in every
    assert "zhou2025/table5" not in one


def test_stored_runs_on_another_set_are_grade_c_without_a_difference() -> None:
    for name in ("zeroshot", "raptor"):
        run_folder(*TOY, f"method={name}")
    shown = command("table", "zhou2025/table5").out
    assert "ours − paper" not in shown
    assert shown.rstrip().endswith("graphrag-bench run experiment=zhou2025/table5")
    sheet = command("table", "zhou2025/table5", "--format", "csv").out
    rows = [row for row in csv.DictReader(io.StringIO(sheet)) if row["ours"]]
    assert {row["method"] for row in rows} == {"ZeroShot", "RAPTOR"}
    assert {(row["grade"], row["difference"], row["our data"]) for row in rows} == {
        ("C", "", "toy")
    }


def test_a_table_of_runs_takes_folders_and_beginnings_of_keys() -> None:
    folders = [run_folder(*TOY, "answer=off", f"method={name}") for name in ("bm25", "vanilla")]
    for name, n_runs in (("runs/toy", 2), (str(folders[0]), 1), (folders[1].name[:8], 1)):
        assert len(named_runs([name], ".")) == n_runs
    assert "| BM25 " in command("table", "runs/toy", "--format", "markdown").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["zhou2025/tabel5"], "zhou2025/table5"),
        (["zhou2025/table5", "limit=3"], "experiment=zhou2025/table5"),
        (["zhou2025/table5", "--format", "latx"], "latex"),
        (["zhou2025/table5", "--formt"], "Did you mean '--format'"),
        (["runs/tay"], "runs/tay"),
        (["rows=method"], "experiment=PAPER/TABLE"),
        (["--papers-prompts"], "goes with a table of a paper"),
    ],
)
def test_what_is_wrong_is_said_with_what_would_be_right(words: list[str], message: str) -> None:
    assert message in refused(*words, name="table")
