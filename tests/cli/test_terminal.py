"""Nothing that a corpus or a model wrote steers the terminal of whoever looks at it."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS, command, write_set

from graphrag_bench import api
from graphrag_bench.progress import Progress
from graphrag_bench.report.rendering import Table, show
from graphrag_bench.terminal import clean, clean_line, cleaned, raw
from graphrag_bench.values import Context

EVIL = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202eorder\u2066\r\x00"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A set whose ids, titles, texts, questions and answers hold escapes, as the working folder."""
    monkeypatch.chdir(tmp_path)
    corpus = [
        {"id": f"d{row}{EVIL}", "title": f"Alba{EVIL}{row}", "text": f"Ada Marsh made{EVIL} {row}."}
        for row in range(3)
    ]
    questions = [{"id": f"q{EVIL}", "text": f"Who made Alba{EVIL}?", "answers": [f"Ada{EVIL}"],
                  "evidence": [f"d0{EVIL}"]}]  # fmt: skip
    write_set(tmp_path / "set", corpus, questions)
    return tmp_path


SET = ["dataset=jsonl", "dataset.root=set", *WEIGHTLESS, "method=vanilla"]
SET += ["llm.replies={Alba:'Ada \x1b[31m Marsh\u202e'}"]


def shown(*words: str) -> str:
    ended = command(*words)
    text = ended.out + ended.err
    assert "Traceback" not in text
    assert not STEERING.search(text), repr(text)
    return text


def test_no_command_prints_an_escape_of_a_corpus_or_a_model() -> None:
    assert "Ada  [31m Marsh" in shown("ask", *SET, f"Who made Alba{EVIL}?")
    assert "\nrun: " in shown("run", *SET)
    for words in (
        ["runs", "ls"], ["table", "by=type"], ["table", "--format", "csv"], ["plan", *SET],
        ["runs", "show", next(Path("runs").glob("*/vanilla/*")).name],
        ["run", *SET, f"method.{EVIL}=1"], ["run", f"method={EVIL}"], [f"nothing{EVIL}"],
        ["run", "dataset=jsonl", f"dataset.root={EVIL}", "method=bm25"],
    ):  # fmt: skip
        shown(*words)


def test_python_reports_are_clean_too() -> None:
    told = {"answer": f"Ada{EVIL}", "context": {}, "steps": [], "fallbacks": []}
    answered = api.Answered(f"Ada{EVIL}", Context(()), (), told=told)
    assert not STEERING.search(answered.report())


def test_tables_and_progress_are_clean_without_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show(Table(EVIL, (EVIL,), ((EVIL,),), (EVIL,)))
    stream = io.StringIO()
    progress = Progress(stream=stream)
    progress.say(EVIL)
    with progress.task(EVIL, 1) as advance:
        advance(1)
    assert not STEERING.search(capsys.readouterr().out + stream.getvalue())


def test_what_people_write_stays() -> None:
    text = "Schrödinger – ωμέγα, كتاب, नमस्ते\u200d, 👩\u200d🔬\ta\nb"
    assert clean(text) == text
    assert clean_line("a\nb\tc") == "a b c"
    assert clean("a\x1b[31mb") == "a [31mb"


def test_a_stream_of_few_signs_gets_question_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    held = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", held)
    with cleaned():
        sys.stdout.write("é\ud800")
        assert raw(sys.stdout) is held
    held.flush()
    assert held.buffer.getvalue() == b"? "
