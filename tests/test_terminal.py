"""Nothing that a corpus or a model wrote steers the terminal."""

import io
import re

import pytest

from graphrag_bench import api
from graphrag_bench.progress import Progress
from graphrag_bench.report.rendering import Table, show
from graphrag_bench.terminal import clean, clean_line
from graphrag_bench.values import Context

EVIL = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202eorder\u2066\r\x00"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def test_reports_tables_and_progress_are_clean(capsys: pytest.CaptureFixture[str]) -> None:
    message = {"answer": f"Ada{EVIL}", "context": {}, "steps": [], "fallbacks": []}
    report = api.Answered(f"Ada{EVIL}", Context(()), (), plain=message).report()
    show(Table(EVIL, (EVIL,), ((EVIL,),), (EVIL,)))
    stream = io.StringIO()
    progress = Progress(stream=stream)
    progress.say(EVIL)
    with progress.task(EVIL, 1) as advance:
        advance(1)
    assert not STEERING.search(report + capsys.readouterr().out + stream.getvalue())


def test_what_people_write_stays() -> None:
    text = "Schrödinger – ωμέγα, كتاب, नमस्ते\u200d, 👩\u200d🔬\ta\nb"
    assert clean(text) == text
    assert clean_line("a\nb\tc") == "a b c"
    assert clean("a\x1b[31mb") == "a [31mb"
