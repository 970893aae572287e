"""Questions that fail: exit code 1, and the operator's own file and line for who wrote it."""

from pathlib import Path

import pytest
from toy_runs import TOY, Ended, command, records

OPERATORS = '''
from graphrag_bench.contract import operator
from graphrag_bench.values import Chunk, Question, Ranked


def _divided(n: int) -> float:
    return n / (n - n)


@operator("lab.raises")
def raises(question: Question, *, only: str = "") -> Ranked[Chunk]:
    """An error for every question, or for one."""
    return Ranked[Chunk]([0], [_divided(1) if only in ("", question.id) else 1.0])
'''
METHOD = """name: mine
retrieve:
  - {{{step}}}
generate:
  - {{op: context.chunks, top_k: 2}}
  - {{op: answer.direct, use: [context], prompt: "methods:vanilla/prompts/answer.j2"}}
"""


@pytest.fixture(autouse=True)
def _lab(home: Path, open_registries: None) -> None:
    (home / "failing_lab.py").write_text(OPERATORS)


def run(step: str, *words: str) -> Ended:
    Path("mine.yaml").write_text(METHOD.format(step=step))
    settings = [*TOY, "plugins=[failing_lab]", "method=./mine.yaml", "reference_rows=off"]
    return command("run", *settings, *words)


def test_an_operator_that_always_raises_ends_in_1_with_its_own_file_and_line(home: Path) -> None:
    ended = run("op: lab.raises", "answer=off")
    assert ended.code == 1
    answer = command("ask", *TOY, "plugins=[failing_lab]", "method=./mine.yaml", "Who?")
    assert answer.code == 1 and f'File "{home / "failing_lab.py"}", line 7' in answer.err
    text = (ended.folder / "failures.txt").read_text()
    for shown in (ended.err, text):
        assert "retrieve.0 lab.raises: ZeroDivisionError" in shown
        assert f'File "{home / "failing_lab.py"}", line 13, in raises' in shown
        assert f'File "{home / "failing_lab.py"}", line 7, in _divided' in shown
        assert "graphrag_bench/pipeline" not in shown
    assert {row["status"] for row in records(ended.folder)} == {"failed"}
    assert "failing_lab.py" not in (ended.folder / "records.jsonl").read_text()


@pytest.mark.parametrize(("limit", "code"), [("0.2", 0), ("0.1", 1)])
def test_more_failed_questions_than_the_limit_end_in_1(limit: str, code: int) -> None:
    ended = run("op: lab.raises, only: q1", "answer=off", f"failures.limit={limit}")
    assert ended.code == code
    assert ("1 of 6" in ended.err) == bool(code)
