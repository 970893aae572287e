"""One command in a forked process: its exit code and output, or that it hung or crashed.

The parent imports once what a command imports, so that a process costs a fraction of a second. It
starts no thread and calls no command itself: each trial begins with the same untouched memory.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

_FORK = multiprocessing.get_context("fork")
_OWN = ("operators", "methods", "chaos", "__main__", "__mp_main__")
"""Not imported ahead: plug-ins register when they are imported, which is a part of the command."""
LIMIT = 60.0
"""Seconds after which a command hangs."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code (None: it hung; below 0: by this signal), output, seconds."""

    code: int | None
    out: str
    err: str
    seconds: float

    @property
    def text(self) -> str:
        """All that it wrote."""
        return self.out + self.err


@dataclass(frozen=True)
class Started:
    """A command at work in a process of its own."""

    process: BaseProcess
    folder: Path
    began: float

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send it a signal."""
        if self.process.pid is not None and self.process.is_alive():
            os.kill(self.process.pid, number)

    def ended(self, limit: float = LIMIT) -> Ended:
        """How it ended, after waiting for it; it is killed at the limit."""
        self.process.join(max(0.0, self.began + limit - time.monotonic()))
        hung = self.process.is_alive()
        if hung:
            self.process.kill()
            self.process.join()
        out, err = (_read(self.folder / name) for name in ("out", "err"))
        code = None if hung else self.process.exitcode
        return Ended(code, out, err, round(time.monotonic() - self.began, 3))


def start(arguments: Sequence[str], folder: Path, asked: str = "") -> Started:
    """Start `graphrag-bench` with these arguments in a folder; `asked` is its standard input."""
    place = Path(tempfile.mkdtemp(dir=folder.parent, prefix="output-"))
    (place / "in").write_text(asked)
    sys.stdout.flush()
    sys.stderr.flush()
    process = _FORK.Process(target=_work, args=(list(arguments), folder, place))
    process.start()
    return Started(process, place, time.monotonic())


def command(arguments: Sequence[str], folder: Path, limit: float = LIMIT) -> Ended:
    """How `graphrag-bench` with these arguments ends in a folder."""
    return start(arguments, folder).ended(limit)


def import_ahead(arguments: Sequence[str], folder: Path) -> Ended:
    """Import what this command imports, but for the plug-ins."""
    names = folder / "modules"
    process = _FORK.Process(target=_listing, args=(list(arguments), folder, names))
    process.start()
    process.join(2 * LIMIT)
    for name in names.read_text().split():
        if name.partition(".")[0] not in _OWN:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    names.unlink()
    gc.freeze()
    return command(arguments, folder)


def _listing(arguments: list[str], folder: Path, names: Path) -> None:
    before = set(sys.modules)
    _work(arguments, folder, folder, _writing_modules(before, names))


def _writing_modules(before: set[str], names: Path) -> Callable[[], None]:
    def write() -> None:
        names.write_text("\n".join(sorted(set(sys.modules) - before)))

    return write


def _work(
    arguments: list[str], folder: Path, place: Path, last: Callable[[], None] | None = None
) -> None:
    """The command, as the shell would start it: streams, working folder, exit code."""
    if place != folder:
        for number, name, how in ((0, "in", os.O_RDONLY), (1, "out", _NEW), (2, "err", _NEW)):
            os.dup2(os.open(place / name, how, 0o600), number)
    else:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, m) for n, m in ((0, "r"), (1, "w"), (2, "w")))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else _interrupt)
    os.chdir(folder)
    os.environ.update(COLUMNS="200", HF_HUB_OFFLINE="1", OPENAI_API_KEY="none")
    sys.argv = ["graphrag-bench", *arguments]
    from graphrag_bench.cli.main import main

    code: int | str | None
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    if last is not None:
        last()
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()  # a fork leaves these out, an interpreter that ends does not
    gc.collect()
    sys.stdout.flush()
    sys.exit(code)


_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_interrupt = signal.default_int_handler


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
