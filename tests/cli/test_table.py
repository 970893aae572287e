"""`graphrag-bench table`: lists, compares with a paper, runs what is lacking, and pivots freely."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from toy_runs import TOY, command, ran, refused

pytestmark = pytest.mark.slow

ROWS = 4
"""The runs that fill Table 8: its 3 methods, and RAPTOR with k-means."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def long_rows(*arguments: str) -> list[dict[str, str]]:
    ended = command("table", *arguments, "--format", "csv")
    assert ended.code == 0, ended.err
    return list(csv.DictReader(io.StringIO(ended.out)))


def test_alone_it_lists_every_table_with_its_caption() -> None:
    listed = command("table").out
    for name in ("zhou2025/table5", "pathrag/table1", "pankrag/fig3", "pathpooling/fig12"):
        assert name in listed
    assert "specific questions, all methods" in listed
    assert "zhou2025/table5" not in command("table", "pathrag").out


def test_run_small_fills_every_row_with_grade_c_and_no_difference() -> None:
    ended = command("table", "zhou2025/table5", "--run", "--small", *TOY)
    assert ended.code == 0, ended.err
    assert "ours − paper" not in ended.out
    rows = long_rows("zhou2025/table5", "--small", *TOY)
    answered = [row for row in rows if row["metric"] in ("Accuracy", "Recall")]
    assert all(row["ours"] for row in answered)
    assert {row["grade"] for row in answered} == {"C"}
    assert {row["difference"] for row in rows} == {""}
    assert {row["our data"] for row in answered} == {"toy"}


def test_the_same_command_goes_on_and_runs_nothing_twice() -> None:
    first = command("table", "zhou2025/table8", "--run", "--small", *TOY)
    again = command("table", "zhou2025/table8", "--run", "--small", *TOY)
    assert (first.err.count(": stored"), again.err.count(": stored")) == (0, ROWS)
    assert first.out == again.out


def test_a_small_table_names_itself_for_its_gaps_and_what_its_set_has_no_gold_for() -> None:
    before = " ".join(command("table", "zhou2025/table8", "--small", *TOY).out.split())
    assert "missing cells: graphrag-bench table zhou2025/table8 --run --small" in before
    after = " ".join(command("table", "zhou2025/table8", "--run", "--small", *TOY).out.split())
    assert "their set has no gold for this metric" in after  # STRREC, STREM and STRHIT
    assert "missing cells" not in after


def test_a_free_table_takes_folders_and_beginnings_of_keys() -> None:
    folders = ran("-m", "method=bm25,vanilla", "answer=off", "reference_rows=off", *TOY).folders
    layout = ["rows=method", "cols=dataset", "values=evidence_recall@5", "--format", "csv"]
    for words, n_rows in (("runs/toy", 2), (str(folders[0]), 1), (folders[1].name[:8], 1)):
        assert len(command("table", words, *layout).out.splitlines()) == 1 + n_rows


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["zhou2025/tabel5"], "zhou2025/table5"),
        (["zhou2025/table5", "limit=3"], "settings go with --run"),
        (["zhou2025/table5", "--format", "latx"], "latex"),
        (["zhou2025/table5", "--smal"], "Did you mean '--small'"),
        (["rows=metod"], "no run below"),
        (["--run"], "go with a table of a paper"),
        (["zhou2025/table5", "--run", "--small", "dataset=smaple"], "sample"),
        (["zhou2025/fig12", "--out", "no/such/folder.md"], "no folder"),
    ],
)
def test_what_is_wrong_is_said_with_what_would_be_right(words: list[str], message: str) -> None:
    assert message in refused(*words, name="table")
