"""Progress of long work: a live line on a terminal, and a line every 30 seconds in a log."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TextIO

from graphrag_bench.terminal import clean, clean_line, unwrapped

Advance = Callable[[int], None]
_SECONDS_TO_FIRST_LINE, _SECONDS_BETWEEN_LINES = 3.0, 30.0
_SLOW = 0.1
"""If fewer items than this are finished per second, the seconds per item are shown."""
_LEAST_SECONDS, _LEAST_SHARE, _LEAST_ITEMS = 10.0, 0.05, 200
"""The remaining time is shown after 10 seconds, if 5 % of the items or 200 items are done."""


def no_advance(n: int) -> None:
    """Do nothing. This is the `Advance` function of a task whose progress is not shown."""


@dataclass
class Progress:
    """Progress display of a run. Each label begins with `part`, e.g. the name of a sweep's job."""

    quiet: bool = False
    stream: TextIO | None = None
    part: str = ""
    _next: float = field(default=0.0, init=False, repr=False)

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Advance]:
        """Yield a function that shows the progress, given the number of items just finished."""
        label = clean_line(f"{self.part}: {label}" if self.part else label)
        if self.quiet or total == 0:
            yield no_advance
            return
        pace, lock = _Pace(total), threading.Lock()
        if not (self.stream or sys.stderr).isatty():
            self._next = self._next or pace.began + _SECONDS_TO_FIRST_LINE

            def log(n: int) -> None:
                with lock:
                    pace.count(n)
                    if pace.last >= self._next:
                        self._next = pace.last + _SECONDS_BETWEEN_LINES
                        self.say(f"{label}: {pace.done}/{total}, {pace.summary}")

            yield log
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        columns: list[Any] = [TextColumn("{task.description}", markup=False), BarColumn()]
        columns += [MofNCompleteColumn(), TextColumn("{task.fields[pace]}")]
        console = Console(file=unwrapped(sys.stderr))
        with RichProgress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(label, total=total, pace="")

            def advance(n: int) -> None:
                pace.count(n)
                bar.update(task, advance=n, pace=pace.summary)

            yield advance

    def say(self, line: str) -> None:
        """Print a line, unless the display is quiet."""
        if not self.quiet:
            stream = self.stream or sys.stderr
            stream.write(clean(line) + "\n")
            stream.flush()


class _Pace:
    def __init__(self, total: int) -> None:
        self.total, self.done, self.began, self.last = total, 0, time.monotonic(), 0.0

    def count(self, n: int) -> None:
        self.done, self.last = self.done + n, time.monotonic()

    @property
    def summary(self) -> str:
        seconds = self.last - self.began
        rate = self.done / max(seconds, 1e-9)
        pace = f"about {1 / rate:.0f} s each" if rate < _SLOW else f"{rate:.1f}/s"
        early = seconds < _LEAST_SECONDS or self.done < min(_LEAST_SHARE * self.total, _LEAST_ITEMS)
        if early or self.done >= self.total:
            return pace
        return f"{pace}, {(self.total - self.done) / rate:.0f} s left"
