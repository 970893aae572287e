"""Sheets for people: `judge RUN RUN --sheet`, `--read`, and agreement with the judge."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from toy_runs import TOY, command, command_error, run_folder

from graphrag_bench import api
from graphrag_bench.judging.sheet import is_same, kappa, safe_text

pytestmark = pytest.mark.slow

LONGER = ["llm@llm_judge=scripted", "llm_judge._target_=planted_judges.takes_longer"]
WORDY = "llm._target_=planted_judges.wordy"


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """The words that compare VanillaRAG's short answers with BM25's long ones by `overall`."""
    words = [*TOY, "reference_rows=off", f"paths.home={tmp_path_factory.mktemp('runs')}"]
    runs = [str(run_folder(*words, *own)) for own in (["method=vanilla"], ["method=bm25", WORDY])]
    return lambda *more: (*runs, *LONGER, "--criteria", "overall", "cache.mode=off", *more)


@pytest.fixture
def sheet(judge, tmp_path):
    """A sheet of all six pairs, after the judge preferred the longer answer of each."""
    assert command("judge", *judge()).code == 0
    file = tmp_path / "sheet.csv"
    assert command("judge", *judge("--sheet", "50", str(file))).code == 0
    return file, read(file)


def read(file):
    with file.open(encoding="utf-8-sig", newline="") as lines:
        return list(csv.DictReader(lines))


def write(file, rows, encoding="utf-8", separator=","):
    with file.open("w", encoding=encoding, newline="") as out:
        if separator == "|":
            out.write("sep=|\r\n")
        writer = csv.DictWriter(out, [*rows[0]], delimiter=separator)
        writer.writeheader()
        writer.writerows([*rows, {}])


def longer(row):
    return "A" if len(row["A"]) > len(row["B"]) else "b"


@pytest.mark.parametrize(
    ("encoding", "separator"),
    [("utf-8-sig", ","), ("cp1252", ";"), ("utf-16", "\t"), ("utf-8-sig", "|")],
)
def test_agreement_and_kappa_are_those_of_the_filled_rows(judge, sheet, encoding, separator):
    file, rows = sheet
    assert [*rows[0]] == ["code", "question", "A", "B", "verdict"] and len(rows) == 6
    assert all(row["verdict"] == "" and "'=Ada Marsh" in row["A"] + row["B"] for row in rows)
    assert {longer(row) for row in rows} == {"A", "b"}  # the order is random
    flip_order(Path(judge()[0]), {row["question"] for row in rows[3:5]})
    for row in rows[:4]:
        row["verdict"] = f" {longer(row)} "
    rows[4]["verdict"] = "TIE"
    write(file, rows, encoding, separator)
    (table,) = json.loads(command("judge", *judge("--read", str(file), "--json")).out)
    assert [*table] == ["caption", "rows", "notes"]
    (values,) = table["rows"]
    assert (values["n"], values["missing"]) == ("5", "0") and "1 blank" in table["notes"][0]
    assert values["agreement [95 %]"] == "0.800"
    assert (
        values["kappa [95 %]"] == "0.55"
    )  # (0.8 - 0.56) / (1 - 0.56), n too small for an interval


def flip_order(run, questions):
    """Let the shorter answer win some questions in one of the two orders."""
    (stored,) = run.parents[3].glob("comparisons/*/verdicts.jsonl")
    ids = {one.id for one in api.dataset("toy").questions if one.text in questions}
    rows = [json.loads(line) for line in stored.read_text().splitlines()]
    for row in rows:
        if row["question"] in ids and row["first"] == run.name:
            row["winner"] = run.name
    stored.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda row: row | {"verdict": "both"}, "row 3"),
        (lambda row: row | {"code": "q123"}, "row 3"),
        (lambda row: row | {"A": row["B"], "B": row["A"]}, "row 3, column A, column B:"),
        (lambda row: row | {"A": row["A"] + " not"}, "row 3, column A:"),
        (lambda row: row | {"question": "Who?"}, "row 3, column question:"),
        (lambda row: {name: row[name] for name in row if name != "B"}, "column 'B'"),
    ],
)
def test_a_wrong_or_changed_row_is_an_error(judge, sheet, edit, named):
    file, rows = sheet
    changed = edit(rows[1] | {"verdict": "A"})
    first = {name: rows[0][name] for name in changed}
    write(file, [first | {"verdict": "A"}, changed])
    assert named in command_error(*judge("--read", str(file)), name="judge")


@pytest.mark.parametrize(
    ("cell", "text", "encoding", "same"),
    [
        ("one\n two ", "one\r\ntwo", "utf-8", True), ("'=1+1", "=1+1", "utf-8", True),
        ("café", "cafe", "utf-8", False), ("café – 北京\xa0!", "café – 北京\xa0!", "cp1252", True),
        ("café – x", "café – y", "cp1252", False), ("café – 北京", "café – 北京", "gb18030", True),
        ("나는 " * 99 + "x", "나는 " * 99 + "y", "cp1252", False),
    ],
)  # fmt: skip
def test_what_a_spreadsheet_changes_is_the_same_text(cell, text, encoding, same):
    stored = cell.encode(encoding, "replace").decode("utf-8", "replace")
    assert is_same(stored, text, ascii_only=encoding != "utf-8") is same


@pytest.mark.parametrize(
    ("text", "cell"),
    [("18 May 1912", "'18 May 1912"), ("3.10", "'3.10"), ("007", "'007"), ("true", "'true"),
     ("1912", "1912"), ("Ada Marsh", "Ada Marsh"), ("=1+1", "'=1+1")],
)  # fmt: skip
def test_a_text_that_a_spreadsheet_would_rewrite_has_an_apostrophe(text, cell):
    assert safe_text(text) == cell


def test_a_smaller_sheet_begins_the_larger_one_and_another_seed_has_another_order(judge, sheet):
    file, rows = sheet
    assert "6 verdicts" in command_error(*judge("--read", str(file)), name="judge")
    assert command("judge", *judge("--sheet", "2", str(file))).code == 0
    assert read(file) == rows[:2]
    assert command("judge", *judge("--sheet", "6", str(file), "seed=1")).code == 0
    other = read(file)
    assert [row["question"] for row in other] != [row["question"] for row in rows]
    other[0]["verdict"] = longer(other[0])
    write(file, other)
    assert command("judge", *judge("--read", str(file))).code == 0
    assert "two runs" in command_error(judge()[0], *LONGER, "--read", str(file), name="judge")


def test_kappa_is_that_of_scikit_learn():
    rng = np.random.default_rng(3)
    people, of_judge = rng.integers(3, size=(2, 40))
    counts = np.zeros((3, 3))
    np.add.at(counts, (people, of_judge), 1)
    assert kappa(counts) == pytest.approx(cohen_kappa_score(people, of_judge))
    assert np.isnan(kappa(np.diag([5, 0, 0])))
