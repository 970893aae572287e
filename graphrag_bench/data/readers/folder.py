"""A folder of texts of any kind: its files in sections and pages, and what could not be read.

Office files, web pages and PDF become text by markitdown and pdfminer (extra `docs`), markdown is
cut at its headings.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from graphrag_bench.data.dataset import QUESTIONS, Document
from graphrag_bench.data.readers import add_questions
from graphrag_bench.data.rows import Rows, warn
from graphrag_bench.errors import UserError, caught
from graphrag_bench.fingerprint import digest, file_digest
from graphrag_bench.text import encodable

VERSION = 2
"""Raised when a conversion gives other parts, so that stored ones are made again."""
_EXTRA = "needs markitdown: pip install 'graphrag-bench[docs]'"
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")


class Unreadable(Exception):
    """A file that gives no text; the message is the reason."""


@dataclass(frozen=True)
class Section:
    """A section or page: its title, its text, and the mark (`#2`, `#p3`) that ends its id."""

    title: str
    text: str
    mark: str


def folder_rows(folder: Path, store: Path) -> Rows:
    """Return the documents of a folder and its sub-folders, in the order of their paths.

    A file gives a document for each of its sections (`notes.md#2`) or pages (`report.pdf#p3`), and
    one of its own name when it has no more than one; titles are `<title of the text> > <heading>`.
    A name of a file is not a title: it would become an entity of the graph. Questions are in
    `questions.jsonl`, ids optional; evidence may name a file, any of whose parts counts. Files that
    cannot be read are named with the reason; UserError when none can. `store` holds conversions.
    """
    rows, unreadable = Rows(), []
    for name, file in _visible(folder):
        try:
            parts = _parts(file, store)
        except Unreadable as error:
            unreadable.append(f"{name}: {error}")
            continue
        for part in parts:
            identity = f"{name}{part.mark}" if len(parts) > 1 else name
            rows.add_document(f"{file}", Document(identity, part.title, part.text))
            if len(parts) > 1:
                rows.files.setdefault(name, []).append(identity)
    if not rows.documents:
        listed = "\n  ".join(unreadable) or "it holds no file"
        raise UserError(f"'{folder}' has nothing that can be read:\n  {listed}")
    if unreadable:
        warn(f"{folder}: {len(unreadable)} file(s) are left out:\n  " + "\n  ".join(unreadable))
    if (folder / QUESTIONS).is_file():
        add_questions(rows, folder / QUESTIONS, ids=False)
    return rows


def _visible(folder: Path) -> Iterator[tuple[str, Path]]:
    files = [(file.relative_to(folder), file) for file in folder.rglob("*") if file.is_file()]
    for name, file in sorted((place.as_posix(), file) for place, file in files):
        if name != QUESTIONS and not any(part.startswith(".") for part in name.split("/")):
            yield name, file


def _parts(file: Path, store: Path) -> list[Section]:
    suffix = file.suffix.lower()
    if str(file) != encodable(str(file)):
        raise Unreadable("its name is not UTF-8")
    convert = _CONVERTERS.get(suffix)
    if convert is None:
        raise Unreadable(f"not one of {', '.join(sorted(_CONVERTERS))}")
    parts = _stored(file, store, convert) if convert in (office, pages) else convert(file)
    parts = [part for part in parts if part.text.strip()]
    if not parts:
        scan = " (a scan without recognised text?)" if suffix == ".pdf" else ""
        raise Unreadable(f"it holds no text{scan}")
    return parts


def _stored(file: Path, store: Path, convert: Callable[[Path], list[Section]]) -> list[Section]:
    place = store / f"{digest(VERSION, file.suffix.lower(), file_digest(file))}.json"
    if place.is_file():
        return [Section(*fields) for fields in json.loads(place.read_text(encoding="utf-8"))]
    parts = convert(file)
    store.mkdir(parents=True, exist_ok=True)
    fields = [[part.title, part.text, part.mark] for part in parts]
    unfinished = place.with_suffix(".part")
    unfinished.write_text(json.dumps(fields, ensure_ascii=False), encoding="utf-8")
    unfinished.replace(place)
    return parts


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8 (byte {error.start})") from None


def sections(text: str, name: str = "") -> list[Section]:
    """Return the sections of a markdown text that hold words, `#1`, `#2`, cut at its `#` headings.

    A section's title is that of the text (its first heading of level 1, when it is the only one
    on that level, or else `name`) and the headings above it, joined by ` > `; "" without any.
    Lines in code fences are not headings.
    """
    cut: list[tuple[int, str, list[str]]] = [(0, "", [])]
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        if not (fence or mark) and (head := _HEADING.match(line)):
            cut.append((len(head[1]), head[2].strip(), []))
        else:
            cut[-1][2].append(line)
    tops = [heading for level, heading, _ in cut if level == 1]
    root = tops[0] if len(tops) == 1 else name
    trail: list[tuple[int, str]] = []
    parts: list[Section] = []
    for level, heading, lines in cut:
        trail = [above for above in trail if above[0] < level]
        if level and not (level == 1 and len(tops) == 1):
            trail.append((level, heading))
        if body := "\n".join(lines).strip():
            title = " > ".join(filter(None, [root, *(above for _, above in trail)]))
            parts.append(Section(title, body, f"#{len(parts) + 1}"))
    return parts


def office(file: Path) -> list[Section]:
    """Return the sections of a .docx or .html file at its headings; raises Unreadable."""
    markitdown = _module("markitdown")
    if file.suffix.lower() == ".docx" and not is_zipfile(file):
        raise Unreadable("not a .docx file (no archive, or one that is cut)")
    try:
        converted = markitdown.MarkItDown(enable_plugins=False).convert_local(str(file))
    except markitdown.MarkItDownException as error:
        raise _not_converted(error) from None
    return sections(converted.markdown, (converted.title or "").strip())


def pages(file: Path) -> list[Section]:
    """Return the pages of a PDF, marked `#p1`, `#p2`, without titles; raises Unreadable."""
    high_level = _module("pdfminer.high_level")
    text = caught(lambda: str(high_level.extract_text(str(file))))
    if isinstance(text, Exception):  # pdfminer raises whatever it meets in a damaged file
        raise _not_converted(text)
    numbered = enumerate(text.split("\f"), start=1)
    return [Section("", page.strip(), f"#p{number}") for number, page in numbered if page.strip()]


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise Unreadable(_EXTRA) from None


def _not_converted(error: Exception) -> Unreadable:
    line = " ".join(f"{type(error).__name__}: {error}".split())[:120]
    return Unreadable(f"not converted ({line})")


_CONVERTERS: Mapping[str, Callable[[Path], list[Section]]] = {
    ".txt": lambda file: [Section("", _text(file), "")],
    ".md": lambda file: sections(_text(file)),
    ".html": office,
    ".htm": office,
    ".docx": office,
    ".pdf": pages,
}
