"""Keep control characters and secrets out of printed texts, and handle signals."""

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast
from urllib.parse import urlsplit

from graphrag_bench.errors import UserError

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls with ESC, but not tab and newline
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # text direction
    "\u2028\u2029\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # line ends, invisible signs
    "\ud800-\udfff]"  # surrogates
)
_USER = re.compile(
    r"([a-z][a-z0-9+.-]*://)[^/?#\s'\"\[\],]*@|(?<![^\s'\"=])[^\s/@:]+:[^\s/@]+@", re.I
)
_SECRET = re.compile(
    r"[?&;](?:[\w-]*(?:key|token|secret|password|passwd|pwd|signature|credential|auth)|sig)=[^&\s]+",
    re.I,
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.I)
_STOPPING = threading.Event()
_NOTE = b"\nstopping after the current calls; press again to stop at once\n"


def clean(text: str) -> str:
    """Replace control characters, direction marks and surrogates by spaces."""
    return _CONTROLS.sub(" ", text)


def clean_line(text: str) -> str:
    """Return the text on one line, with control characters replaced by spaces."""
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
    """Return a stream without the wrapper that `clean_output` may have added."""
    return stream.stream if isinstance(stream, _Clean) else stream


@contextmanager
def clean_output() -> Iterator[None]:
    """Replace control characters in everything printed to standard output and standard error."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Clean(unwrapped(stream))) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def without_secrets(text: str) -> str:
    """Remove user names, passwords and keys from the addresses in a text."""
    return _SECRET.sub("", _USER.sub(lambda user: user[1] or "", text))


def check_server(name: str, url: str) -> None:
    """Raise UserError if the setting `name` is not the http(s) address of a server."""
    refuse_secrets(name, url)
    good = False
    with suppress(ValueError):  # an invalid port
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    if not good or re.search(r"\s", url):
        shown = without_secrets(url)
        raise UserError(f"{name}={shown}: expected an address like http://localhost:8000/v1.")


def is_local(url: str) -> bool:
    """Return whether an address is on this machine."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1", "0.0.0.0") or host.startswith("127.")


def refuse_secrets(name: str, value: object) -> None:
    """Raise UserError if an address in a setting has a user name or secret. Neither is shown."""
    if isinstance(value, str):
        shown = without_secrets(value)
        if _ADDRESS.search(value) and shown != value:
            raise UserError(
                f"{name}={shown}: the address must not have a user name, password or key. Put a "
                "key in an environment variable and set llm.api_key_env to its name."
            )
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            refuse_secrets(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for inner in value:
            refuse_secrets(name, inner)


class Terminated(KeyboardInterrupt):
    """Exception for SIGTERM. The process then stops as it does after Ctrl-C."""


@contextmanager
def signal_handlers() -> Iterator[None]:
    """Raise KeyboardInterrupt at SIGINT or Terminated at SIGTERM. A second signal is fatal."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: object) -> None:
        for one in before:
            signal.signal(one, signal.SIG_DFL)
        _STOPPING.set()
        os.write(2, _NOTE)  # not sys.stderr, which another write may have locked
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
    """Raise KeyboardInterrupt if a signal has arrived. Threads call this before each request."""
    if _STOPPING.is_set():
        raise KeyboardInterrupt


def pause(seconds: float) -> None:
    """Sleep for some seconds. Raise KeyboardInterrupt as soon as a signal arrives."""
    _STOPPING.wait(seconds)
    check_stop()
