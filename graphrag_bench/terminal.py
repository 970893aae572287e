"""What reaches a terminal: texts of corpora and models without what would steer it.

The command line writes through `cleaned`, so that one place holds for answers, ids, tables,
progress and errors; what draws with colours asks for the stream itself by `raw`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

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

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def raw(stream: TextIO) -> TextIO:
    """Return the stream itself, for what cleans its texts and draws with colours."""
    return stream.stream if isinstance(stream, _Clean) else stream


@contextmanager
def cleaned() -> Iterator[None]:
    """Clean all that is printed meanwhile to the standard output and error."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Clean(raw(stream))) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
