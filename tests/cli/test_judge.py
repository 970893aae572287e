"""`graphrag-bench judge`: graded answers, pairwise verdicts, no repeated call; sheets."""

import csv
import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import planted_judges
import pytest
import toy_runs
from sklearn.metrics import cohen_kappa_score
from toy_runs import TOY, command_error, output, records, run_folder

from graphrag_bench import api
from graphrag_bench.judging.sheet import is_same, kappa, safe_text
from graphrag_bench.locks import lock

pytestmark = pytest.mark.slow

JUDGE = ["llm@llm_judge=scripted", "llm_judge._target_=planted_judges.strict", "embedder=hashing"]
LONGER = ["llm@llm_judge=scripted", "llm_judge._target_=planted_judges.takes_longer"]
FIRST = ("--metrics", "judged_correctness")
judge = partial(output, "judge")
BUILT = [[*TOY, "method=vanilla", "limit=3", "reference_rows=off"]]
"""Every answer is `Ada Marsh`, which is right for one question."""


@pytest.fixture
def run(copied, home):
    return next((home / "runs" / "toy" / "vanilla").iterdir())


def three_runs(home):
    """VanillaRAG with short answers, BM25 with long ones, and HippoRAG with short ones."""
    settings = [*TOY, "reference_rows=off", f"paths.home={home}"]
    methods = (["vanilla"], ["bm25", "llm._target_=planted_judges.wordy"], ["hipporag"])
    return [str(run_folder(*settings, f"method={name}", *more)) for name, *more in methods]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return three_runs(tmp_path_factory.mktemp("runs"))


def judged(run, *more):
    judge(run, *JUDGE, *more)
    lines = (run / "judged.jsonl").read_text().splitlines()
    return {(row["metric"], row["question"]): row["value"] for row in map(json.loads, lines)}


def test_every_answer_has_every_metric_and_a_second_command_makes_no_call(run):
    before = {name: (run / name).read_bytes() for name in ("records.jsonl", "metrics.json")}
    assert "at most 21 calls" in judge(run, *JUDGE, "--plan")
    plan = json.loads(judge(run, *JUDGE, "--plan", "--json"))
    assert sum(plan[str(run)].values()) == 21
    assert planted_judges.prompts == []
    assert len(judged(run, *FIRST, "--limit", "2", "cache.mode=off")) == 2
    values = judged(run, "cache.mode=off")
    assert len(values) == 15 and len({metric for metric, _ in values}) == 5
    assert all(isinstance(value, float) and 0 <= value <= 1 for value in values.values())
    assert len(planted_judges.prompts) == 17  # two answers differ from the gold
    stored = (run / "judged.jsonl").read_bytes()
    judged(run, "cache.mode=off")
    assert (len(planted_judges.prompts), (run / "judged.jsonl").read_bytes()) == (17, stored)
    assert "0 calls" in judge(run, *JUDGE, "--plan")
    assert before == {name: (run / name).read_bytes() for name in before}


def test_a_second_judge_is_refused_and_a_locked_run_can_be_judged(run):
    with lock(run / "judge.lock"):
        assert str(run) in command_error(str(run), *JUDGE, name="judge")
    assert planted_judges.prompts == []
    with lock(run / "run.lock"):
        assert len(judged(run, *FIRST)) == 3


@pytest.mark.parametrize("method", ["ircot", "dalk"])
def test_the_judge_reads_the_stored_contexts(tmp_path, method):
    run = run_folder(*TOY, f"method={method}", "limit=2", f"paths.home={tmp_path}")
    for name in ("artifacts", "cache"):
        shutil.rmtree(tmp_path / name)
    toy_runs.reader_prompts.clear()
    values = judged(run, "--metrics", "context_precision")
    assert len(values) == 2 and None not in values.values()
    assert toy_runs.reader_prompts == [] and not (tmp_path / "artifacts").exists()


def test_contexts_that_are_not_stored_or_do_not_match_their_texts_are_not_judged(run):
    rows = records(run)
    rows[0]["context"]["pieces"].reverse()
    (run / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(judged(run, "--metrics", "context_recall")) == 2
    for name in ("contexts.jsonl", "judged.jsonl"):
        (run / name).unlink()
    assert {metric for metric, _ in judged(run)} == {"judged_correctness", "answer_relevance"}
    assert "trace=off" in command_error(str(run), *JUDGE, "--metrics", "faithfulness", name="judge")


def test_two_runs_are_compared_unless_each_or_metrics_is_given(runs):
    for more in (["--each"], list(FIRST)):
        assert judge(*runs[:2], *JUDGE, *more, "--limit", "1").count("judged: ") == 2
    for words in ((*runs[:2], "--each", "protocol=house"), (runs[0], "--criteria", "overall")):
        assert "--criteria" in command_error(*words, *JUDGE, name="judge")


def test_verdicts_are_stored_and_no_call_is_repeated(runs):
    words = (*runs[:2], *LONGER, "--criteria", "pankrag", "--limit", "2", "cache.mode=off")
    out = judge(*words)
    verdicts = Path(out.partition("comparison: ")[2].strip()) / "verdicts.jsonl"
    before = verdicts.read_bytes()
    assert judge(*words) == out and len(planted_judges.prompts) == 4
    assert verdicts.read_bytes() == before
    winners = [json.loads(line)["winner"] for line in before.splitlines()]
    assert winners == [Path(runs[1]).name] * 4 * 6


def test_a_stopped_command_resumes(runs):
    more = (*LONGER, "--criteria", "coherence")
    planted_judges.stops_on.add("Did Mira Holt")
    command_error(*runs[:2], *more, name="judge", code=1)
    before = len(planted_judges.prompts)
    planted_judges.stops_on.clear()
    lines = judge(*runs[:2], *more).splitlines()
    cells = next(line for line in lines if "VanillaRAG" in line and "coherence" in line).split("│")
    assert [cell.strip() for cell in cells[4:6]] == ["6", "0"]
    assert 0 < before < 12 and len(planted_judges.prompts) == 12


def test_plan_counts_the_calls_of_a_comparison(runs):
    more = (*LONGER, "--criteria", "relevance", "--limit", "2", "cache.mode=off")
    assert judge(*runs, *more, "--plan").startswith("at most 8 calls")  # two answers are equal
    assert planted_judges.prompts == []
    judge(*runs, *more)
    assert len(planted_judges.prompts) == 8
    assert judge(*runs, *more, "--plan").startswith("at most 0 calls")
    plan = json.loads(judge(*runs, *more, "--plan", "--json", "protocol=paper"))
    assert plan == {"calls": 8, "protocol": "paper"}
    assert judge(*runs, *more, "--plan", "protocol=paper").startswith("at most 8 calls")


# ---- sheets for people, and their agreement with the judge


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The words that compare VanillaRAG's short answers with BM25's long ones by `overall`."""
    first, second, _ = three_runs(tmp_path_factory.mktemp("runs"))
    words = (first, second, *LONGER, "--criteria", "overall", "cache.mode=off")
    return lambda *more: (*words, *map(str, more))


@pytest.fixture
def sheet(pair, tmp_path):
    """A sheet of all six pairs, after the judge preferred the longer answer of each."""
    judge(*pair())
    judge(*pair("--sheet", "50", tmp_path / "sheet.csv"))
    return tmp_path / "sheet.csv", read(tmp_path / "sheet.csv")


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


def test_agreement_and_kappa_are_those_of_the_filled_rows(pair, sheet):
    """Kappa is (0.8 - 0.56) / (1 - 0.56); n is too small for an interval."""
    file, rows = sheet
    assert [*rows[0]] == ["code", "question", "A", "B", "verdict"] and len(rows) == 6
    assert all(row["verdict"] == "" and "'=Ada Marsh" in row["A"] + row["B"] for row in rows)
    assert {longer(row) for row in rows} == {"A", "b"}  # the order is random
    flip_order(Path(pair()[0]), {row["question"] for row in rows[3:5]})
    for row in rows[:4]:
        row["verdict"] = f" {longer(row)} "
    rows[4]["verdict"] = "TIE"
    for encoding, separator in (
        ("utf-8-sig", ","), ("cp1252", ";"), ("utf-16", "\t"), ("utf-8-sig", "|"),
    ):  # fmt: skip
        write(file, rows, encoding, separator)
        (table,) = json.loads(judge(*pair("--read", file, "--json")))
        assert [*table] == ["caption", "rows", "notes"]
        (values,) = table["rows"]
        assert (values["n"], values["missing"]) == ("5", "0") and "1 blank" in table["notes"][0]
        assert (values["agreement [95 %]"], values["kappa [95 %]"]) == ("0.800", "0.55")


def flip_order(run, questions):
    """Let the shorter answer win some questions in one of the two orders."""
    (stored,) = run.parents[3].glob("comparisons/*/verdicts.jsonl")
    ids = {one.id for one in api.dataset("toy").questions if one.text in questions}
    rows = [json.loads(line) for line in stored.read_text().splitlines()]
    for row in rows:
        if row["question"] in ids and row["first"] == run.name:
            row["winner"] = run.name
    stored.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_wrong_or_changed_row_is_an_error(pair, sheet):
    file, rows = sheet
    first, row = (one | {"verdict": "A"} for one in rows[:2])
    for changed, named in (
        (row | {"verdict": "both"}, "row 3"),
        (row | {"code": "q123"}, "row 3"),
        (row | {"A": row["B"], "B": row["A"]}, "row 3, column A, column B:"),
        (row | {"A": row["A"] + " not"}, "row 3, column A:"),
        (row | {"question": "Who?"}, "row 3, column question:"),
        ({name: row[name] for name in row if name != "B"}, "column 'B'"),
    ):
        write(file, [{name: first[name] for name in changed}, changed])
        assert named in command_error(*pair("--read", file), name="judge")


def test_what_a_spreadsheet_changes_is_the_same_text_or_has_an_apostrophe():
    for cell, text, encoding, same in (
        ("one\n two ", "one\r\ntwo", "utf-8", True), ("'=1+1", "=1+1", "utf-8", True),
        ("café", "cafe", "utf-8", False), ("café – x", "café – y", "cp1252", False),
        ("café – 北京\xa0!", "café – 北京\xa0!", "cp1252", True),
        ("café – 北京", "café – 北京", "gb18030", True),
        ("나는 " * 99 + "x", "나는 " * 99 + "y", "cp1252", False),
    ):  # fmt: skip
        stored = cell.encode(encoding, "replace").decode("utf-8", "replace")
        assert is_same(stored, text, ascii_only=encoding != "utf-8") is same, cell
    for text in ("18 May 1912", "3.10", "007", "true", "=1+1"):
        assert safe_text(text) == f"'{text}"
    assert [safe_text(text) for text in ("1912", "Ada Marsh")] == ["1912", "Ada Marsh"]


def test_a_smaller_sheet_begins_the_larger_one_and_another_seed_has_another_order(pair, sheet):
    file, rows = sheet
    assert "6 verdicts" in command_error(*pair("--read", file), name="judge")
    judge(*pair("--sheet", "2", file))
    assert read(file) == rows[:2]
    judge(*pair("--sheet", "6", file, "seed=1"))
    other = read(file)
    assert [row["question"] for row in other] != [row["question"] for row in rows]
    other[0]["verdict"] = longer(other[0])
    write(file, other)
    judge(*pair("--read", file))
    assert "two runs" in command_error(pair()[0], *LONGER, "--read", str(file), name="judge")


def test_kappa_is_that_of_scikit_learn():
    rng = np.random.default_rng(3)
    people, of_judge = rng.integers(3, size=(2, 40))
    counts = np.zeros((3, 3))
    np.add.at(counts, (people, of_judge), 1)
    assert kappa(counts) == pytest.approx(cohen_kappa_score(people, of_judge))
    assert np.isnan(kappa(np.diag([5, 0, 0])))
