"""Progress of long work: one live line with rate and time left, or a line now and then."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

from graphrag_bench.terminal import clean, clean_line, raw

Advance = Callable[[int], None]
_SECONDS_TO_FIRST_LINE, _SECONDS_BETWEEN_LINES = 3.0, 30.0
_BLOCK_SECONDS = 0.05
_SLOW = 0.1
"""Items a second below which seconds an item are told."""
_LEAST_SECONDS = 10.0
_LEAST_SHARE, _LEAST_ITEMS = 0.05, 200
"""A time left is told once the work took so long, and so much of it is done: a share of the items,
or a number of them where that is less."""


def no_advance(n: int) -> None:
    """Show nothing."""


@dataclass
class Progress:
    """Where the progress of one run is shown; `quiet` shows nothing.

    On a terminal it is one live line, which a task leaves to the next. Elsewhere it is a line in
    the first seconds of a new kind of work, also before its first item is done, and one every 30
    seconds, whatever the number of tasks. `part` precedes every label: the cell of a sweep that is
    running.
    """

    quiet: bool = False
    stream: TextIO | None = None
    part: str = ""
    _shown: float | None = field(default=None, init=False, repr=False)
    """When the last line was written; before any, when the first task began."""
    _label: str = field(default="", init=False, repr=False)
    """What the last line was about."""

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Advance]:
        """A function to be told of every finished item; shows label, rate and time left."""
        stream = self.stream or sys.stderr
        label = clean_line(f"{self.part}: {label}" if self.part else label)
        if self.quiet or total == 0:
            yield no_advance
        elif stream.isatty():
            with self._bar(label, total) as advance:
                yield advance
        else:
            with self._lines(label, total, stream) as advance:
                yield advance

    def say(self, line: str) -> None:
        """Print one line, unless quiet."""
        if not self.quiet:
            stream = self.stream or sys.stderr
            stream.write(clean(line) + "\n")
            stream.flush()

    @contextmanager
    def _bar(self, label: str, total: int) -> Iterator[Advance]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}"),
        )
        console = Console(file=raw(sys.stderr))
        with RichProgress(*columns, console=console, transient=True) as bar:
            task, pace = bar.add_task(label, total=total, pace=""), _Pace(total)

            def advance(n: int) -> None:
                pace.count(n)
                bar.update(task, advance=n, pace=pace.summary)

            yield advance

    @contextmanager
    def _lines(self, label: str, total: int, stream: TextIO) -> Iterator[Advance]:
        pace = _Pace(total)
        lock, ended = threading.Lock(), threading.Event()
        if self._shown is None:
            self._shown = pace.began

        def show_when_due(*, first: bool = False) -> None:
            due = self._shown is None or pace.now - self._shown >= _SECONDS_BETWEEN_LINES
            if due or (first and self._label != label):
                self._shown, self._label = pace.now, label
                counts = f"{pace.done}/{pace.total}"
                stream.write(f"{label}: {', '.join(filter(None, (counts, pace.summary)))}\n")
                stream.flush()

        def advance(n: int) -> None:
            with lock:
                pace.count(n)
                show_when_due()

        def watch() -> None:
            while not ended.wait(_SECONDS_TO_FIRST_LINE):
                with lock:
                    pace.now = time.monotonic()
                    show_when_due(first=True)

        threading.Thread(target=watch, name="progress", daemon=True).start()
        try:
            yield advance
        finally:
            ended.set()


class _Pace:
    """How fast items are done, and how long the rest takes.

    The pace is that after the first finish, which has waited for a model to load, and the others of
    its block; the time left is shown only once enough is done for it to be worth something.
    """

    def __init__(self, total: int) -> None:
        self.total, self.done, self.n_first = total, 0, 0
        self.began = self.first = self.last = self.now = time.monotonic()

    def count(self, n: int) -> None:
        self.now = self.last = time.monotonic()
        if not self.done:
            self.first = self.now
        if self.now - self.first < _BLOCK_SECONDS:
            self.n_first += n
        self.done += n

    @property
    def rate(self) -> float:
        later = self.done - self.n_first
        n, since = (later, self.first) if later else (self.done, self.began)
        return n / max(self.last - since, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        enough = min(_LEAST_SHARE * self.total, _LEAST_ITEMS)
        early = self.now - self.began < _LEAST_SECONDS or self.done < enough
        if early or self.done == self.n_first or self.done >= self.total:
            return None
        return (self.total - self.done) / max(self.rate, 1e-9)

    @property
    def summary(self) -> str:
        if not self.done:
            return ""
        slow = f"about {1 / self.rate:.0f} s each"
        pace = slow if 0 < self.rate < _SLOW else f"{self.rate:.1f}/s"
        left = self.seconds_left
        return pace + ("" if left is None else f", {left:.0f} s left")
