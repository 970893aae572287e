"""GraphRAG-Bench's table over a stored run, by hand, and the files for its evaluation."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from pytest import approx
from toy_runs import WEIGHTLESS, command, ran, refused, write_set

from graphrag_bench.analysis.board import TYPES, board_row, predictions, rouge_l
from graphrag_bench.runs.folder import RunFolder
from graphrag_bench.runs.stored import StoredRun

CORPUS = {"corpus_name": "Book", "context": "Ada Marsh found the comet. It was bright."}
QUESTIONS = [
    {
        "id": f"q{number}",
        "source": "Book",
        "question": f"Who found the comet, number {number}?",
        "answer": "Ada Marsh found it",
        "question_type": kind,
        "evidence": ["Ada Marsh found the comet."],
    }
    for number, kind in enumerate(TYPES)
]
CORRECT = {"q0": 0.5, "q1": 1.0, "q2": 0.25, "q3": 0.75}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over four questions, one of each type, before it is judged."""
    made = tmp_path_factory.mktemp("home")
    files = {"medical.json": CORPUS, "medical_questions.json": QUESTIONS}
    for name, held in files.items():
        (made / name).write_text(json.dumps(held))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        ran("dataset=graphragbench_medical", f"dataset.root={made}", *WEIGHTLESS, "method=bm25",
            "reference_rows=off")  # fmt: skip
    return made


@pytest.fixture
def run(home: Path) -> StoredRun:
    (path,) = home.glob("runs/*/bm25/*")
    (path / "judged.jsonl").unlink(missing_ok=True)
    return StoredRun(RunFolder(path))


def judge(run: StoredRun, **metrics: dict[str, float | None]) -> None:
    rows = [
        {"question": question, "metric": metric, "value": value, "judge": "j", "how": "h"}
        for metric, held in metrics.items()
        for question, value in held.items()
    ]
    path = run.folder.path / "judged.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_each_type_has_its_columns_and_both_means(run: StoredRun) -> None:
    judge(run, answer_correctness=CORRECT, coverage={"q2": 0.5, "q3": 0.0},
          faithfulness={"q3": 1.0})  # fmt: skip
    row = board_row(run)
    assert row.n == dict.fromkeys(TYPES, 1)
    assert row.scores["Creative Generation", "FS"] == 1.0
    assert row.scores["Creative Generation", "Cov"] == 0.0
    assert row.scores["Contextual Summarize", "Cov"] == 0.5
    # the reader says "Ada Marsh": 2 of its 2 words in order, of the gold's 4
    assert row.scores["Fact Retrieval", "ROUGE-L"] == approx(2 * 1 * 0.5 / 1.5)
    assert row.of_types == approx(0.625) and sum(row.correctness) == approx(2.5)


def test_a_run_that_is_not_judged_for_all_columns_is_refused(run: StoredRun) -> None:
    judge(run, answer_correctness={**CORRECT, "q3": None}, coverage={"q2": 0.5, "q3": 0.0},
          faithfulness={"q3": 1.0})  # fmt: skip
    path = run.folder.path / "judged.jsonl"
    assert "not judged" in refused(str(run.folder.path), name="board")
    path.unlink()
    assert "answer_correctness,coverage,faithfulness" in refused(str(run.folder.path), name="board")


def test_the_files_are_those_of_the_released_evaluation(run: StoredRun, tmp_path: Path) -> None:
    judge(run, answer_correctness=CORRECT, coverage={"q2": 0.5, "q3": 0.0},
          faithfulness={"q3": 1.0})  # fmt: skip
    out = tmp_path / "board"
    ended = command("board", str(run.folder.path), "--out", str(out))
    assert ended.code == 0, ended.err
    (name,) = [path.name for path in out.glob("bm25-*.json") if "scores" not in path.name]
    rows = json.loads((out / name).read_text())
    assert rows == predictions(run)
    assert set(rows[0]) == {
        "id", "question", "source", "context", "evidence", "question_type", "generated_answer",
        "ground_truth",
    }  # fmt: skip
    assert rows[0]["generated_answer"] == "Ada Marsh"
    assert rows[0]["evidence"] == ["Ada Marsh found the comet."]
    assert "Ada Marsh found the comet." in rows[0]["context"][0]
    scores = json.loads((out / name.replace(".json", ".scores.json")).read_text())
    assert scores["Creative Generation"] == {
        "answer_correctness": 0.75, "faithfulness": 1.0, "coverage_score": 0.0,
    }  # fmt: skip
    lines = list(csv.reader((out / "board.csv").open()))
    assert len(lines) == 2 and len(lines[0]) == len(lines[1]) == 12
    assert lines[1][-2:] == ["62.50", "62.50"]


def test_a_set_of_other_types_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = [{"id": "d", "text": "Ada Marsh found the comet."}]
    asked = [{"id": "q", "text": "Who?", "answers": ["Ada Marsh"], "evidence": ["d"]}]
    root = write_set(tmp_path / "own", corpus, asked)
    ended = ran("dataset=jsonl", f"dataset.root={root}", *WEIGHTLESS, "method=bm25",
                "reference_rows=off")  # fmt: skip
    assert "dataset=graphragbench_novel" in refused(str(ended.folder), name="board")


def test_rouge_l_takes_stems() -> None:
    assert rouge_l("She discovered comets", "she discovers a comet") == approx(6 / 7)
    assert rouge_l("", "a comet") == rouge_l("a comet", " ") == 0.0
