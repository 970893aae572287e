"""A method is tried again after each save, and only the changed step is computed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from toy_runs import TOY, command, refused, shell

from graphrag_bench.inventing.skeleton import Skeleton
from graphrag_bench.inventing.watching import Tried, told

ROOT = Path(__file__).resolve().parents[2]
WORDS = [*TOY, "method=mine", "plugins=[mine]"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Skeleton.of_operator("chunk.mine").write(tmp_path)
    return tmp_path


def _edited(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


@pytest.mark.slow
def test_after_an_edit_only_the_steps_from_the_edited_one_on_are_computed(folder: Path) -> None:
    first = shell("watch", *WORDS, "--once")
    assert first.code == 0, first.err
    assert "mine: evidence_recall@5" in first.out and "VanillaRAG" in first.out
    again = shell("watch", *WORDS, "--once")
    assert "computed: no step;" in again.out
    _edited(folder / "mine" / "chunk_mine.py", "given + near *", "given + 2 * near *")
    edited = shell("watch", *WORDS, "--once")
    (line,) = [one for one in edited.out.splitlines() if "computed:" in one]
    assert "chunk.mine" in line and "node.link" not in line and "question.entities" not in line


@pytest.mark.slow
def test_a_save_is_seen_an_error_is_shown_and_the_next_save_mends_it(folder: Path) -> None:
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    # a shell's background job ignores Ctrl-C, and so would what it starts
    watching = subprocess.Popen(
        [sys.executable, "-m", "graphrag_bench.cli.main", "watch", *WORDS],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert watching.stdout is not None
    seen: list[str] = []

    def until(words: str) -> None:
        for line in watching.stdout or ():
            seen.append(line)
            if words in line:
                return
        raise AssertionError("".join(seen))

    module = folder / "mine" / "chunk_mine.py"
    whole = module.read_text()
    try:
        until("watching ")
        time.sleep(1)
        module.write_text(whole.replace("np.zeros", "np.zero"))
        until("has no attribute 'zero'")
        until("computed:")
        module.write_text(whole.replace("+ near *", "+ 0 * near *"))
        until("since the last save")
        until("computed:")
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) in (0, 130)
    finally:
        watching.kill()


def test_a_try_says_what_moved_since_the_one_before() -> None:
    scores = {"q1": 1.0, "q2": 0.0, "q3": 0.5}
    now = Tried("mine", "evidence_recall@5", scores, (), 0, ("retrieve.1 chunk.mine",), 9, 0.25)
    other = Tried("VanillaRAG", "evidence_recall@5", {**scores, "q1": 0.0}, (), 0, (), 12, 0.1)
    lines = list(told(now, other, {"q1": 0.0, "q2": 1.0, "q3": 0.5}))
    assert lines[0].startswith("mine: evidence_recall@5 0.500 [")
    assert "VanillaRAG 0.167: +0.333" in lines[1] and "better at 1, worse at 0" in lines[1]
    assert lines[2:4] == [
        "  since the last save better at 1: q1",
        "  since the last save worse at 1: q2",
    ]
    assert lines[4] == "  computed: retrieve.1 chunk.mine; 9 results of steps were kept from before"


def test_failed_questions_are_named_and_end_with_code_1(folder: Path) -> None:
    _edited(folder / "mine" / "chunk_mine.py", "given[nodes.ids] =", "given[nodes.ids + 10**6] =")
    ended = shell("watch", *WORDS, "--once", "--against", "none")
    assert ended.code == 1
    assert "5 failed: " in ended.out and "out of bounds" in ended.out


def test_a_metric_that_is_not_there_is_answered_with_the_nearest(folder: Path) -> None:
    words = [*TOY, "method=bm25", "--once", "--metric", "evidence_recal@5"]
    assert "evidence_recall@5" in refused(*words, name="watch")


def test_watch_needs_a_method(folder: Path) -> None:
    assert "watch needs a method" in refused(*TOY, "--once", name="watch")
    assert command("watch", "--help").code == 0
