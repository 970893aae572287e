"""Progress of long work: a bar with rate and time left, plain lines when output is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from graphrag_bench.terminal import clean, clean_line, raw

Advance = Callable[[int], None]
_SECONDS_BETWEEN_LINES = 10.0


def no_advance(n: int) -> None:
    """Tell nobody."""


@dataclass
class Progress:
    """Where progress is shown; `quiet` shows nothing."""

    quiet: bool = False
    stream: TextIO | None = None

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Advance]:
        """A function to be told of every finished item; shows label, rate and time left."""
        stream = self.stream or sys.stderr
        label = clean_line(label)
        if self.quiet or total == 0:
            yield no_advance
        elif stream.isatty():
            with self._bar(label, total) as advance:
                yield advance
        else:
            yield _Lines(label, total, stream).advance

    def say(self, line: str) -> None:
        """Print one line, unless quiet."""
        if not self.quiet:
            stream = self.stream or sys.stderr
            stream.write(clean(line) + "\n")
            stream.flush()

    @contextmanager
    def _bar(self, label: str, total: int) -> Iterator[Advance]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
        )
        with RichProgress(*columns, console=Console(file=raw(sys.stderr))) as bar:
            task = bar.add_task(label, total=total, rate="")

            def advance(n: int) -> None:
                bar.advance(task, n)
                speed = bar.tasks[0].speed
                bar.update(task, rate=f"{speed:.1f}/s" if speed else "")

            yield advance


class _Lines:
    """A line every ten seconds and one at the end, for logs."""

    def __init__(self, label: str, total: int, stream: TextIO) -> None:
        self.label, self.total, self.stream = label, total, stream
        self.done, self.began = 0, time.monotonic()
        self.shown = self.began

    def advance(self, n: int) -> None:
        """Count `n` more; print when it is time."""
        self.done += n
        now = time.monotonic()
        finished = self.done >= self.total
        if not finished and now - self.shown < _SECONDS_BETWEEN_LINES:
            return
        self.shown = now
        elapsed = max(now - self.began, 1e-9)
        rate = self.done / elapsed
        left = "" if finished else f", {(self.total - self.done) / max(rate, 1e-9):.0f} s left"
        line = f"{self.label}: {self.done}/{self.total}, {rate:.1f}/s{left}\n"
        self.stream.write(line)
        self.stream.flush()
