"""Error messages and progress."""

import errno
import io
from types import SimpleNamespace

import pytest

from graphrag_bench import progress
from graphrag_bench.errors import UserError, exit_code_of, message_of, nearest, unknown
from graphrag_bench.progress import Progress

METHODS = ["bm25", "hipporag", "lightrag", "vanilla", "zeroshot"]


def test_disk_error_names_the_file():
    full = message_of(OSError(errno.ENOSPC, "No space left", "runs/x"))
    assert full == "No space left: runs/x"
    assert "ZeroDivisionError" in message_of(ZeroDivisionError("of the program"))
    assert [exit_code_of(one) for one in (UserError(""), OSError(), ValueError())] == [2, 2, 1]


def test_unknown_name_gets_the_nearest_or_all_names():
    assert nearest("25", METHODS) == ["bm25"] and nearest("hiporag", METHODS)[0] == "hipporag"
    assert "'vanilla'" in str(unknown("method", "vanila", METHODS))
    assert "a, b" in str(unknown("method", "xyz", ["b", "a"]))


@pytest.fixture
def clock(monkeypatch):
    """Replace the clock by a list with the current second."""
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


def test_log_shows_count_rate_and_time_left(clock):
    lines = shown(clock, 60.0, 30, 30, 30, total=90, part="cell 2 of 5")
    assert lines == [
        "cell 2 of 5: embedding: 30/90, 0.5/s, 120 s left",
        "cell 2 of 5: embedding: 60/90, 0.5/s, 60 s left",
        "cell 2 of 5: embedding: 90/90, 0.5/s",
    ]
    assert shown(clock, 60.0, 5, total=5, quiet=True) == shown(clock, 60.0, total=0) == []


def test_log_has_a_line_every_thirty_seconds(clock):
    stream = io.StringIO()
    run = Progress(stream=stream)
    for label in ("reading", "embedding", "answering"):
        with run.task(label, 4) as advance:
            for _ in range(4):
                clock[0] += 4.0
                advance(1)
    at = [line.partition(",")[0] for line in stream.getvalue().splitlines()]
    assert at == ["reading: 1/4", "answering: 1/4"]  # at 4 and at 36 of 48 seconds
