"""Exit codes: 0 complete, 1 incomplete, 2 wrong input, 130 and 143 signals."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, redirect_stdout
from pathlib import Path
from unittest.mock import Mock

import pytest
import toy_runs
from killing import CONCURRENCY, built_by_llm, start, tiny_set, wait_for_calls
from toy_runs import TOY, command, command_error, records, run_error, run_folder

from graphrag_bench.cli import doctor
from graphrag_bench.cli.main import main

pytestmark = pytest.mark.slow

VANILLA = [*TOY, "method=vanilla", "reference_rows=off"]
OPERATORS = '''
from graphrag_bench.contract import operator
from graphrag_bench.values import Chunk, Question, Ranked

def divided(n: int) -> float:
    return n / (n - n)

@operator("lab.raises")
def raises(question: Question, *, only: str = "") -> Ranked[Chunk]:
    """Raise an error for every question, or for one."""
    return Ranked[Chunk]([0], [divided(1) if only in ("", question.id) else 1.0])
'''
METHOD = """name: mine
retrieve: [{op: lab.raises}]
generate: [{op: context.chunks, top_k: 2},
           {op: answer.direct, use: [context], prompt: "methods:vanilla/prompts/answer.j2"}]
"""


def test_a_closed_pipe_ends_a_plan_quietly(capsys):
    with redirect_stdout(Mock(write=Mock(side_effect=BrokenPipeError), encoding="utf-8")):
        assert main(["plan", *TOY, "method=bm25"]) == 0
    assert "Broken" not in capsys.readouterr().err


def test_a_stopped_run_exits_with_1_and_wrong_input_with_2_and_rows_stay():
    folder = run_folder(*VANILLA, "limit=2")
    before = (folder / "records.jsonl").read_bytes()
    toy_runs.stops_on.add("Question")
    command_error(*VANILLA, "limit=4", code=1)
    for word in ("method.top_k=none", "llm.replys=3"):
        run_error(*VANILLA, word)
    assert (folder / "records.jsonl").read_bytes() == before


def test_an_unknown_method_exits_with_2_and_one_line():
    words = [sys.executable, "-m", "graphrag_bench", "run", "method=hiporag"]
    root = Path(doctor.__file__).parents[2]
    ended = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, len(ended.stderr.splitlines())) == (2, "", 1)
    assert "'hipporag'" in ended.stderr


def test_ctrl_c_exits_with_130(monkeypatch):
    monkeypatch.setattr(doctor, "main", Mock(side_effect=KeyboardInterrupt))
    assert command("doctor").code == 130


def test_sigterm_loses_no_pending_reply(fake, tmp_path):
    url = fake.scenario(reads=True, latency=0.15)
    words = built_by_llm(tiny_set(tmp_path / "towns"), tmp_path, url)
    process = start(words, tmp_path)
    wait_for_calls(fake, url, 1 + CONCURRENCY, process)
    process.send(signal.SIGTERM)
    end = process.ended()
    assert end.code == 143 and "Traceback" not in end.err, end.err
    with closing(sqlite3.connect(tmp_path / "cache" / "replies.sqlite")) as store:
        n_stored = store.execute("SELECT count(*) FROM cache WHERE kind = 'reply'").fetchone()[0]
    assert n_stored == fake.stats(url).answered.total() > 1
    run_folder(*words[1:])
    assert set(fake.stats(url).answered.values()) == {1}


def test_a_second_signal_kills_the_process(fake, tmp_path):
    url = fake.scenario(reads=True, latency=60)
    process = start(built_by_llm(tiny_set(tmp_path / "towns"), tmp_path, url), tmp_path)
    wait_for_calls(fake, url, 1, process)
    process.send(signal.SIGINT)
    process.process.join(0.3)
    assert process.alive
    process.send(signal.SIGINT)
    process.process.join(2)
    assert process.process.exitcode == -signal.SIGINT


LAB = [*TOY, "plugins=[failing_lab]", "method=./mine.yaml"]


@pytest.fixture
def lab(home, open_registries):
    (home / "failing_lab.py").write_text(OPERATORS)
    (home / "mine.yaml").write_text(METHOD)
    return f'File "{home / "failing_lab.py"}", line'


def test_an_operator_that_raises_exits_with_1_and_names_its_file_and_line(lab):
    ended = command("run", *LAB, "reference_rows=off", "answer=off")
    answer = command("ask", *LAB, "Who?")
    assert ended.code == answer.code == 1 and f"{lab} 6" in answer.err
    text = (ended.folder / "failures.txt").read_text()
    for shown in (ended.err, text):
        assert "retrieve.0 lab.raises: ZeroDivisionError" in shown
        assert f"{lab} 11, in raises" in shown and f"{lab} 6, in divided" in shown
        assert "graphrag_bench/pipeline" not in shown
    assert {row["status"] for row in records(ended.folder)} == {"failed"}
    assert "failing_lab.py" not in (ended.folder / "records.jsonl").read_text()


def test_more_failures_than_the_limit_exit_with_1(lab):
    words = [*LAB, "method.retrieve.0.only=q1", "reference_rows=off", "answer=off"]
    for limit, code in (("0.2", 0), ("0.1", 1)):
        ended = command("run", *words, f"failures.limit={limit}")
        assert (ended.code, "1 of 6" in ended.err) == (code, bool(code))
