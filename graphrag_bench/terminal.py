"""The terminal: what reaches it, without controls and secrets, and the signals that come from it.

The command line writes through `cleaned`, so that one place holds for answers, ids, tables,
progress and errors; what draws with colours asks for the stream itself by `raw`.
"""

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO, cast
from urllib.parse import urlsplit

from graphrag_bench.errors import UserError

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls, ESC among them; tab and newline stay
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # order of writing
    "\u2028\u2029\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # line ends and signs nobody sees
    "\ud800-\udfff]"  # half characters
)


def clean(text: str) -> str:
    """Return the text with a space for each control, order mark and half character."""
    return _STEERING.sub(" ", text)


def clean_line(text: str) -> str:
    """Return the text on one line."""
    return clean(text).replace("\n", " ").replace("\t", " ")


class _Clean:
    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        name = self.stream.encoding or "utf-8"
        self.stream.write(clean(text).encode(name, "replace").decode(name))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def unwrapped(stream: TextIO) -> TextIO:
    """Return the stream itself, for what cleans its texts and draws with colours."""
    return stream.stream if isinstance(stream, _Clean) else stream


@contextmanager
def clean_output() -> Iterator[None]:
    """Clean all that is printed meanwhile to the standard output and error."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Clean(unwrapped(stream))) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


_USER = re.compile(
    r"([a-z][a-z0-9+.-]*://)[^/?#\s'\"\[\],]*@|(?<![^\s'\"=])[^\s/@:]+:[^\s/@]+@", re.I
)
_SECRET = re.compile(
    r"[?&;](?:[\w-]*(?:key|token|secret|password|passwd|pwd|signature|credential|auth)|sig)=[^&\s]+",
    re.I,
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.I)


def without_secrets(text: str) -> str:
    """Return a text without user names and passwords of addresses, and secrets of queries."""
    return _SECRET.sub("", _USER.sub(lambda user: user[1] or "", text))


def check_server(name: str, url: str) -> None:
    """Raise UserError unless the address `name` is http or https, has a host and no secrets."""
    refuse_secrets(name, url)
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is none
        good = False
    if not good or any(sign.isspace() for sign in url):
        raise UserError(
            f"{name} is '{without_secrets(url)}'; it names a server, as http://localhost:8000/v1."
        )


def is_local(url: str) -> bool:
    """Return whether an address is of this machine."""
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host.startswith("127.") or host in ("::1", "0.0.0.0")


def refuse_secrets(name: str, value: object) -> None:
    """Raise UserError for an address with a user name, a password or a key in it, at any depth.

    `name` is the setting; the address is shown without them.
    """
    if isinstance(value, str):
        shown = without_secrets(value)
        if _ADDRESS.search(value) and shown != value:
            raise UserError(
                f"{name}={shown}: the address held a user name, a password or a key. Name the "
                "variable that holds the key: llm.api_key_env=NAME."
            )
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            refuse_secrets(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for inner in value:
            refuse_secrets(name, inner)


_STOPPING = threading.Event()
_NOTE = b"\nstopping after the calls under way; once more stops at once\n"


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived: what is under way ends as it does at Ctrl-C."""


@contextmanager
def signal_handlers() -> Iterator[None]:
    """Raise KeyboardInterrupt or Terminated at the first signal; the second kills the process."""
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
