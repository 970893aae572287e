"""What a command prints: errors, progress, text without control characters and secrets."""

import errno
import io
import sys
from types import SimpleNamespace

import pytest

from graphrag_bench import progress, terminal
from graphrag_bench.errors import UserError, exit_code_of, message_of, nearest, unknown
from graphrag_bench.progress import Progress
from graphrag_bench.terminal import check_server, clean, refuse_secrets

METHODS = ["bm25", "hipporag", "lightrag", "vanilla", "zeroshot"]


def test_errors_name_the_file_and_the_nearest_or_all_names():
    full = message_of(OSError(errno.ENOSPC, "No space left", "runs/x"))
    assert full == "No space left: runs/x"
    assert "ZeroDivisionError" in message_of(ZeroDivisionError("of the program"))
    assert [exit_code_of(one) for one in (UserError(""), OSError(), ValueError())] == [2, 2, 1]
    assert nearest("25", METHODS) == ["bm25"] and nearest("hiporag", METHODS)[0] == "hipporag"
    assert "'vanilla'" in str(unknown("method", "vanila", METHODS))
    assert "a, b" in str(unknown("method", "xyz", ["b", "a"]))


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def shown(clock, every, *steps, total, **settings):
    """Return the lines of a log after `steps` that take `every` seconds each."""
    stream = io.StringIO()
    with Progress(stream=stream, **settings).task("embedding", total) as advance:
        for step in steps:
            clock[0] += every
            advance(step)
    return stream.getvalue().splitlines()


def test_log_shows_count_rate_and_time_left_every_thirty_seconds(clock):
    lines = shown(clock, 60.0, 30, 30, 30, total=90, part="cell 2 of 5")
    assert lines == [
        "cell 2 of 5: embedding: 30/90, 0.5/s, 120 s left",
        "cell 2 of 5: embedding: 60/90, 0.5/s, 60 s left",
        "cell 2 of 5: embedding: 90/90, 0.5/s",
    ]
    assert shown(clock, 60.0, 5, total=5, quiet=True) == shown(clock, 60.0, total=0) == []
    stream = io.StringIO()
    run = Progress(stream=stream)
    for label in ("reading", "embedding", "answering"):
        with run.task(label, 4) as advance:
            for _ in range(4):
                clock[0] += 4.0
                advance(1)
    at = [line.partition(",")[0] for line in stream.getvalue().splitlines()]
    assert at == ["reading: 1/4", "answering: 1/4"]  # at 4 and at 36 of 48 seconds


def test_control_characters_become_spaces_and_unencodable_ones_question_marks(monkeypatch):
    text = "Schrödinger – ωμέγα, كتاب, नमस्ते\u200d, 👩\u200d🔬\ta\nb"
    assert clean(text) == text and clean("a\x1b[31mb") == "a [31mb"
    assert terminal.clean_line("a\nb\tc") == "a b c"
    stored = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stored)
    with terminal.clean_output():
        sys.stdout.write("é\ud800")
    stored.flush()
    assert stored.buffer.getvalue() == b"? "


def test_address_with_a_secret_is_refused_without_printing_it():
    for address in (
        "http://someone:planted@host:81/v1", "https://planted@host:81/v1",
        "http://host:81/v1?x=1&token=planted",
    ):  # fmt: skip
        for refuse in (check_server, refuse_secrets):
            with pytest.raises(UserError, match=r"llm\.base_url.*host:81/v1") as raised:
                refuse("llm.base_url", address)
            assert "planted" not in str(raised.value)
        with pytest.raises(UserError, match=r"llm\.base_url"):
            refuse_secrets("", {"llm": {"base_url": [address]}})
    for text in ("http://host:81/v1?version=2", "C:/x@y", "a@b.org", "http://host/a@b"):
        assert terminal.without_secrets(text) == text


def test_invalid_server_address_is_refused():
    for address in ("http://:80/v1", "http://h:99999/v1", "http://127.0.0.1:0/v1", "ftp://h/v"):
        with pytest.raises(UserError, match=r"embedder\.base_url") as raised:
            check_server("embedder.base_url", address)
        assert address in str(raised.value)
