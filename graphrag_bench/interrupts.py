"""SIGINT and SIGTERM: the first lets the calls under way end, the second ends the process."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STOPPING = threading.Event()
_NOTE = b"\nstopping after the calls under way; once more stops at once\n"


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived: what is under way ends as it does at Ctrl-C."""


@contextmanager
def heeding_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt or Terminated at the first signal; the second kills the process.

    Only the main thread is told of signals; in any other this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: object) -> None:
        for one in before:
            signal.signal(one, signal.SIG_DFL)
        _STOPPING.set()
        os.write(2, _NOTE)  # sys.stderr may be in the middle of a line
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    handlers = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    before = {one: handler for one, handler in handlers.items() if handler != signal.SIG_IGN}
    for one in before:
        signal.signal(one, stop)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        _STOPPING.clear()


def check_stop() -> None:
    """Raise KeyboardInterrupt when a signal has asked for a stop: in threads that begin a call."""
    if _STOPPING.is_set():
        raise KeyboardInterrupt


def pause(seconds: float) -> None:
    """Sleep, or raise KeyboardInterrupt as soon as a signal asks for a stop."""
    _STOPPING.wait(seconds)
    check_stop()
