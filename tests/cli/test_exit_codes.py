"""What a shell is told: 0 for all rows, 1 for what is lacking, 2 for bad input, 130 and 143."""

import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest
import toy_runs
from fake_openai import FakeOpenAI
from killing import CONCURRENCY, built_by_llm, start, tiny_set, wait_for_calls
from toy_runs import TOY, command, refusal, refused, run_folder, shell

from graphrag_bench.cli import doctor

pytestmark = pytest.mark.slow

VANILLA = [*TOY, "method=vanilla", "reference_rows=off"]


def test_all_failures_end_with_1_whatever_the_limit() -> None:
    toy_runs.fails_on.add("Question")
    for words in (["failures.after=1000"], ["-m", "method.top_k=1,2"]):
        ended = command("run", *VANILLA, "failures.limit=1.0", *words)
        assert ended.code == 1 and "6 of 6" in ended.err


def test_a_run_that_is_stopped_ends_with_1_and_bad_input_with_2_and_earlier_work_stays() -> None:
    folder = run_folder(*VANILLA, "limit=2")
    before = (folder / "records.jsonl").read_bytes()
    toy_runs.stops_on.add("Question")
    refused(*VANILLA, "limit=4", code=1)
    for word in ("method.top_k=none", "llm.replys=3"):
        refusal(*VANILLA, word)
    assert (folder / "records.jsonl").read_bytes() == before


def test_the_shell_sees_exit_code_2_and_one_line() -> None:
    ended = shell("run", "method=hiporag")
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert "'hipporag'" in ended.err


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "main", Mock(side_effect=KeyboardInterrupt))
    assert command("doctor").code == 130


def test_a_signal_loses_no_reply_that_is_under_way(fake: FakeOpenAI, tmp_path: Path) -> None:
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


def test_a_second_signal_ends_the_process_at_once(fake: FakeOpenAI, tmp_path: Path) -> None:
    url = fake.scenario(reads=True, latency=60)
    process = start(built_by_llm(tiny_set(tmp_path / "towns"), tmp_path, url), tmp_path)
    wait_for_calls(fake, url, 1, process)
    process.send(signal.SIGINT)
    process.process.join(0.3)
    assert process.alive
    process.send(signal.SIGINT)
    process.process.join(2)
    assert process.process.exitcode == -signal.SIGINT
