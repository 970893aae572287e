"""Office files, web pages and PDF as text, by markitdown and pdfminer (extra `docs`)."""

from __future__ import annotations

import struct
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from graphrag_bench.data.readers.markdown import Part, sections

_OF_BAD_BYTES = (
    ValueError, LookupError, TypeError, AttributeError, AssertionError, ArithmeticError, OSError,
    RecursionError, struct.error, zlib.error,
)  # fmt: skip
"""Errors of a PDF parser on a damaged file, in addition to those that it names."""
_EXTRA = "needs markitdown: pip install 'graphrag-bench[docs]'"


class Unreadable(Exception):
    """A file that gives no text; the message is the reason."""


def office(file: Path) -> list[Part]:
    """The sections of a .docx or .html file at its headings; raises Unreadable."""
    markitdown = _module("markitdown")
    if file.suffix.lower() == ".docx" and not is_zipfile(file):
        raise Unreadable("not a .docx file (no archive, or one that is cut)")
    try:
        converted = markitdown.MarkItDown(enable_plugins=False).convert_local(str(file))
    except markitdown.MarkItDownException as error:
        raise Unreadable(f"not converted ({_line(error)})") from None
    title = (converted.title or "").strip()
    return sections(converted.markdown, title)


def pages(file: Path) -> list[Part]:
    """The pages of a PDF, marked `#p1`, `#p2` by their numbers, without titles.

    Raises Unreadable.
    """
    high_level = _module("pdfminer.high_level")
    faults = _module("pdfminer.psexceptions")  # those of pdfminer.pdfexceptions are of this kind
    try:
        text: str = high_level.extract_text(str(file))
    except (faults.PSException, *_OF_BAD_BYTES) as error:
        raise Unreadable(f"not converted ({_line(error)})") from None
    named = [(number, page) for number, page in enumerate(text.split("\f"), start=1)]
    return [Part("", page.strip(), f"#p{number}") for number, page in named if page.strip()]


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise Unreadable(_EXTRA) from None


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:120]
