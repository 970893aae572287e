"""What a user sees: errors with the nearest valid names, and how far long work has come."""

import io
import itertools
import sys
import time
from types import SimpleNamespace

import pytest

from graphrag_bench import progress
from graphrag_bench.errors import UserError, nearest, unknown
from graphrag_bench.progress import Progress, _Pace


class Terminal(io.StringIO):
    """A stream that says that it is one."""

    def isatty(self) -> bool:
        return True


METHODS = ["bm25", "hipporag", "lightrag", "vanilla", "zeroshot"]


@pytest.mark.parametrize(
    ("given", "first"),
    [("hiporag", "hipporag"), ("vanila", "vanilla"), ("25", "bm25"), ("zeroshots", "zeroshot")],
)
def test_the_nearest_names_come_first(given, first):
    assert nearest(given, METHODS)[0] == first


def test_an_unknown_name_is_answered_with_the_nearest_or_with_all():
    assert str(unknown("method", "vanila", METHODS)) == (
        "No method 'vanila'. Did you mean 'vanilla'?"
    )
    assert str(unknown("method", "xyz", ["b", "a"])) == "No method 'xyz'. There are: a, b."
    assert str(unknown("method", "xyz", [])) == "No method 'xyz'. There are: none."
    assert isinstance(unknown("method", "x", []), UserError)


def shown(*steps: int, total: int, quiet: bool = False) -> str:
    """What a log holds after steps of work, each taking a minute."""
    stream = io.StringIO()
    with Progress(quiet, stream).task("embedding", total) as advance:
        for step in steps:
            advance(step)
    return stream.getvalue()


@pytest.fixture(autouse=True)
def a_minute_at_a_time(monkeypatch):
    """Every look at the clock is a minute after the one before."""
    minutes = itertools.count(step=60.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(minutes)))


def test_a_log_shows_count_rate_and_time_left():
    assert shown(30, 30, total=90).splitlines() == [
        "embedding: 30/90, 0.5/s",
        "embedding: 60/90, 0.5/s, 60 s left",
    ]


def test_no_time_left_is_told_in_the_first_seconds(monkeypatch):
    seconds = itertools.count(step=4.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    said = shown(10, 10, 10, total=90).splitlines()
    assert [" s left" in line for line in said] == [False, False, True]


def test_a_bar_of_a_sweep_names_its_cell():
    stream = io.StringIO()
    with Progress(stream=stream, part="cell 2 of 5 (damping=0.5)").task("embedding", 1) as advance:
        advance(1)
    assert stream.getvalue().startswith("cell 2 of 5 (damping=0.5): embedding: 1/1")


def test_a_log_has_a_line_every_thirty_seconds_whatever_the_number_of_tasks(monkeypatch):
    seconds = itertools.count(step=4.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    stream = io.StringIO()
    run = Progress(stream=stream)
    for label in ("reading", "embedding", "answering"):
        with run.task(label, 4) as advance:
            for _ in range(4):
                advance(1)
    at = [line.partition(",")[0] for line in stream.getvalue().splitlines()]
    assert at == ["embedding: 3/4"]  # at 32 s of 56; the next would be at 62


def test_slow_work_is_reported_from_its_first_seconds_before_an_item_is_done(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(progress, "_SECONDS_TO_FIRST_LINE", 0.01)
    stream = io.StringIO()
    run = Progress(stream=stream)
    for _ in range(2):
        with run.task("answering", 8) as advance:
            time.sleep(0.1)
            now[0] += 100.0
            advance(1)
    lines = stream.getvalue().splitlines()
    assert lines == ["answering: 0/8", *["answering: 1/8, about 100 s each"] * 2]


def test_a_terminal_has_one_live_line_that_a_task_leaves_to_the_next(monkeypatch):
    monkeypatch.setattr(progress, "time", time)
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    run = Progress()
    for label in ("reading", "answering"):
        with run.task(label, 2) as advance:
            advance(1)
            advance(1)
    said = stream.getvalue()
    erased = "\x1b[2K"
    first, _, second = said.partition("answering")
    assert "reading" in first
    assert erased in first.rpartition("reading")[2], "the finished task is wiped"
    assert erased in second


def test_quiet_work_and_no_work_show_nothing():
    assert shown(5, total=5, quiet=True) == ""
    assert shown(total=0) == ""


def test_items_that_end_together_with_the_first_are_no_pace_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = iter([0.0, 24.0, 24.001, 24.002, 24.003, 48.0])
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    pace = _Pace(20)
    for _ in range(4):
        pace.count(1)
    assert pace.rate == pytest.approx(4 / 24, rel=0.01) and pace.seconds_left is None
    pace.count(4)
    assert pace.rate == pytest.approx(4 / 24, rel=0.01)
