"""Questions that fail: exit code 1, and the operator's own file and line for who wrote it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from toy_runs import TOY, Ended, command, fails_on, ran, records

OPERATORS = '''
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.values import Chunk, ChunkScores, Question, Ranked


def _divided(n: int) -> float:
    return n / (n - n)


@operator("lab.raises")
def raises(question: Question) -> Ranked[Chunk]:
    """An error for every question."""
    return Ranked[Chunk]([0], [_divided(1)])


@operator("lab.raises_once")
def raises_once(question: Question) -> Ranked[Chunk]:
    """An error for one question."""
    return Ranked[Chunk]([0], [_divided(1) if question.id == "q1" else 1.0])


@operator("lab.list")
def gives_list(question: Question) -> Ranked[Chunk]:
    """A list where a ranking is promised."""
    return [0, 1]


@operator("lab.far")
def far(question: Question, *, chunk_table: ChunkTable) -> Ranked[Chunk]:
    """A chunk that there is not."""
    return Ranked[Chunk]([0, 900], [1.0, 0.5])


@operator("lab.nan")
def nan(question: Question) -> Ranked[Chunk]:
    """A score that is no number."""
    return Ranked[Chunk]([0, 1], [1.0, float("nan")])


@operator("lab.few")
def few(question: Question, *, chunk_table: ChunkTable) -> tuple[Ranked[Chunk], ChunkScores]:
    """Too few scores."""
    return Ranked[Chunk]([0], [1.0]), ChunkScores([1.0, 2.0])
'''
METHOD = """name: mine
retrieve:
  - {{op: {op}}}
generate:
  - {{op: context.chunks, top_k: 2}}
  - {{op: answer.direct, use: [context], prompt: "methods:vanilla/prompts/answer.j2"}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_registries: None) -> Path:
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("failing_lab", None)
    (tmp_path / "failing_lab.py").write_text(OPERATORS)
    return tmp_path


def run(op: str, *words: str) -> Ended:
    Path("mine.yaml").write_text(METHOD.format(op=op))
    settings = [*TOY, "plugins=[failing_lab]", "method=./mine.yaml", "reference_rows=off"]
    return command("run", *settings, *words)


def test_an_operator_that_always_raises_ends_in_1_with_its_own_file_and_line(here: Path) -> None:
    ended = run("lab.raises", "answer=off")
    assert ended.code == 1
    text = (ended.folder / "failures.txt").read_text()
    for shown in (ended.err, text):
        assert "retrieve.0 lab.raises: ZeroDivisionError: division by zero" in shown
        assert f'File "{here / "failing_lab.py"}", line 14, in raises' in shown
        assert f'File "{here / "failing_lab.py"}", line 8, in _divided' in shown
        assert "return n / (n - n)" in shown
        assert "graphrag_bench/pipeline" not in shown
    assert "6 of 6 questions failed" in ended.err
    assert {row["status"] for row in records(ended.folder)} == {"failed"}
    assert "failing_lab.py" not in (ended.folder / "records.jsonl").read_text()


@pytest.mark.parametrize(("limit", "code"), [("0.2", 0), ("0.1", 1), ("0", 1)])
def test_more_failed_questions_than_the_limit_end_in_1(limit: str, code: int) -> None:
    ended = run("lab.raises_once", "answer=off", f"failures.limit={limit}")
    assert ended.code == code
    assert "1 questions failed" in ended.err
    assert ("1 of 6 questions failed" in ended.err) == bool(code)


def test_a_sweep_with_one_failing_method_ends_in_1_and_names_it() -> None:
    Path("mine.yaml").write_text(METHOD.format(op="lab.raises"))
    settings = [*TOY, "plugins=[failing_lab]", "answer=off", "reference_rows=off"]
    ended = command("run", "-m", *settings, "method=./mine.yaml,bm25")
    assert ended.code == 1
    assert "mine: 6 of 6 questions failed" in ended.err
    assert "bm25: " not in ended.err.replace("bm25: retrieving", "")


@pytest.mark.parametrize(
    ("op", "said"),
    [
        ("lab.list", "gave list for 'chunks', where its signature says Ranked[Chunk]"),
        ("lab.far", "gave the id 900 for 'chunks'; there are the rows 0 to 7"),
        ("lab.nan", "gave 1 of 2 scores for 'chunks' that are no numbers (NaN or infinite)"),
        ("lab.few", "gave 2 scores for 'chunk_scores'; there are 8 rows"),
    ],
)
def test_what_an_operator_returns_is_checked_at_its_own_step(op: str, said: str) -> None:
    ended = run(op, "answer=off")
    assert ended.code == 1
    assert f"retrieve.0 {op}: WrongReturn: {said}" in ended.err
    assert 'failing_lab.py", line ' in ended.err
    assert "retrieve.0" in str(records(ended.folder)[0]["error"])


def test_a_question_that_is_asked_says_where_the_operator_failed(here: Path) -> None:
    Path("mine.yaml").write_text(METHOD.format(op="lab.raises"))
    ended = command("ask", *TOY, "plugins=[failing_lab]", "method=./mine.yaml", "Who?")
    assert ended.code == 1
    assert "division by zero" in ended.err
    assert f'File "{here / "failing_lab.py"}", line 8' in ended.err


def test_the_file_goes_when_a_second_call_answers_everything() -> None:
    fails_on.add("founded the Norvik")
    settings = [*TOY, "method=bm25", "reference_rows=off", "failures.limit=1"]
    try:
        ended = command("run", *settings)
        assert ended.code == 0
        assert (ended.folder / "failures.txt").is_file()
    finally:
        fails_on.clear()
    again = ran(*settings)
    assert again.folder == ended.folder
    assert not (again.folder / "failures.txt").exists()
