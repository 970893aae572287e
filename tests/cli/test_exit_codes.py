"""Exit codes: 0 complete, 1 incomplete, 2 wrong input, 130 and 143 signals."""

import io
import signal
import sqlite3
from contextlib import closing, redirect_stdout
from pathlib import Path
from unittest.mock import Mock

import pytest
import toy_runs
from fake_openai import FakeOpenAI
from killing import CONCURRENCY, built_by_llm, start, tiny_set, wait_for_calls
from toy_runs import (
    TOY,
    CommandResult,
    command,
    command_error,
    records,
    run_error,
    run_folder,
    shell,
)

from graphrag_bench.cli import doctor
from graphrag_bench.cli.main import main

pytestmark = pytest.mark.slow

VANILLA = [*TOY, "method=vanilla", "reference_rows=off"]
OPERATORS = '''
from graphrag_bench.contract import operator
from graphrag_bench.values import Chunk, Question, Ranked


def _divided(n: int) -> float:
    return n / (n - n)


@operator("lab.raises")
def raises(question: Question, *, only: str = "") -> Ranked[Chunk]:
    """Raise an error for every question, or for one."""
    return Ranked[Chunk]([0], [_divided(1) if only in ("", question.id) else 1.0])
'''
METHOD = """name: mine
retrieve:
  - {{{step}}}
generate:
  - {{op: context.chunks, top_k: 2}}
  - {{op: answer.direct, use: [context], prompt: "methods:vanilla/prompts/answer.j2"}}
"""


class ClosedPipe(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_closed_pipe_ends_a_plan_quietly(capsys: pytest.CaptureFixture[str]) -> None:
    with redirect_stdout(ClosedPipe()):
        assert main(["plan", *TOY, "method=bm25"]) == 0
    assert "Broken" not in capsys.readouterr().err


def test_a_stopped_run_exits_with_1_and_wrong_input_with_2_and_rows_stay() -> None:
    folder = run_folder(*VANILLA, "limit=2")
    before = (folder / "records.jsonl").read_bytes()
    toy_runs.stops_on.add("Question")
    command_error(*VANILLA, "limit=4", code=1)
    for word in ("method.top_k=none", "llm.replys=3"):
        run_error(*VANILLA, word)
    assert (folder / "records.jsonl").read_bytes() == before


def test_an_unknown_method_exits_with_2_and_one_line() -> None:
    ended = shell("run", "method=hiporag")
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert "'hipporag'" in ended.err


def test_ctrl_c_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "main", Mock(side_effect=KeyboardInterrupt))
    assert command("doctor").code == 130


def test_sigterm_loses_no_pending_reply(fake: FakeOpenAI, tmp_path: Path) -> None:
    root = tiny_set(tmp_path / "towns")
    url = fake.scenario(reads=True, latency=0.15)
    words = built_by_llm(root, tmp_path, url)
    process = start(words, tmp_path)
    wait_for_calls(fake, url, 1 + CONCURRENCY, process)
    process.send(signal.SIGTERM)
    end = process.ended()
    assert end.code == 143, end.err
    assert "Traceback" not in end.err
    with closing(sqlite3.connect(tmp_path / "cache" / "replies.sqlite")) as store:
        n_stored = store.execute("SELECT count(*) FROM cache WHERE kind = 'reply'").fetchone()[0]
    assert n_stored == fake.stats(url).answered.total() > 1
    run_folder(*words[1:])
    assert set(fake.stats(url).answered.values()) == {1}


def test_a_second_signal_kills_the_process(fake: FakeOpenAI, tmp_path: Path) -> None:
    url = fake.scenario(reads=True, latency=60)
    process = start(built_by_llm(tiny_set(tmp_path / "towns"), tmp_path, url), tmp_path)
    wait_for_calls(fake, url, 1, process)
    process.send(signal.SIGINT)
    process.process.join(0.3)
    assert process.alive
    process.send(signal.SIGINT)
    process.process.join(2)
    assert process.process.exitcode == -signal.SIGINT


@pytest.fixture
def lab(home: Path, open_registries: None) -> None:
    (home / "failing_lab.py").write_text(OPERATORS)


def run_lab(step: str, *words: str) -> CommandResult:
    Path("mine.yaml").write_text(METHOD.format(step=step))
    settings = [*TOY, "plugins=[failing_lab]", "method=./mine.yaml", "reference_rows=off"]
    return command("run", *settings, *words)


@pytest.mark.usefixtures("lab")
def test_an_operator_that_raises_exits_with_1_and_names_its_file_and_line(home: Path) -> None:
    ended = run_lab("op: lab.raises", "answer=off")
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


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("limit", "code"), [("0.2", 0), ("0.1", 1)])
def test_more_failures_than_the_limit_exit_with_1(limit: str, code: int) -> None:
    ended = run_lab("op: lab.raises, only: q1", "answer=off", f"failures.limit={limit}")
    assert ended.code == code
    assert ("1 of 6" in ended.err) == bool(code)
