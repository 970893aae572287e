"""A folder of texts of any kind: its files in sections and pages, and what was left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from graphrag_bench.data.dataset import Document
from graphrag_bench.data.readers.conversion import Unreadable, office, pages
from graphrag_bench.data.readers.lines import add_questions
from graphrag_bench.data.readers.markdown import Part, sections
from graphrag_bench.data.rows import Rows
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest, file_digest
from graphrag_bench.progress import Progress

VERSION = 2
"""Raised when a conversion gives other parts, so that stored ones are made again."""
QUESTIONS = "questions.jsonl"


def folder_rows(folder: Path, kept: Path) -> Rows:
    """The documents of a folder and its sub-folders, in the order of their paths.

    A file gives a document for each of its sections (`notes.md#2`) or pages (`report.pdf#p3`), and
    one of its own name when it has no more than one; titles are `<title of the text> > <heading>`.
    A name of a file is not a title: it would become an entity of the graph. Hidden files are passed
    over. Questions are in `questions.jsonl`, if anywhere; their ids are optional, and their
    evidence may name a file, any of whose parts counts. A line of the terminal names every file
    that could not be read, with the reason; UserError when none could. What was converted is kept
    in `kept` by content.
    """
    rows, left_out = Rows(), []
    for file in _visible(folder):
        name = file.relative_to(folder).as_posix()
        try:
            _check_name(name)
            parts = _parts(file, kept)
        except Unreadable as error:
            left_out.append(f"{name}: {error}")
            continue
        for part in parts:
            identity = f"{name}{part.mark}" if len(parts) > 1 else name
            rows.add_document(f"{file}", Document(identity, part.title, part.text))
            if len(parts) > 1:
                rows.files.setdefault(name, []).append(identity)
    if not rows.documents:
        listed = "\n  ".join(left_out) or "it holds no file"
        raise UserError(f"'{folder}' has nothing that can be read:\n  {listed}")
    if left_out:
        _tell(f"{folder}: {len(left_out)} file(s) are left out:\n  " + "\n  ".join(left_out))
    if (folder / QUESTIONS).is_file():
        add_questions(rows, folder / QUESTIONS, ids=False)
    return rows


@cache
def _tell(text: str) -> None:
    Progress().say(f"! {text}")


def _visible(folder: Path) -> Iterator[Path]:
    found = []
    for file in folder.rglob("*"):
        place = file.relative_to(folder)
        if file.is_file() and not any(part.startswith(".") for part in place.parts):
            found.append((place.as_posix(), file))
    yield from (file for name, file in sorted(found) if name != QUESTIONS)


def _check_name(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Unreadable("its name is not UTF-8") from None


def _parts(file: Path, kept: Path) -> list[Part]:
    convert = _CONVERTERS.get(file.suffix.lower())
    if convert is None:
        raise Unreadable(f"not one of {', '.join(sorted(_CONVERTERS))}")
    parts = _remembered(file, kept, convert) if convert in _SLOW else convert(file)
    held = [part for part in parts if part.text.strip()]
    if not held:
        raise Unreadable("it holds no text" + _SCANNED.get(file.suffix.lower(), ""))
    return held


def _remembered(file: Path, kept: Path, convert: Callable[[Path], list[Part]]) -> list[Part]:
    key = digest(VERSION, file.suffix.lower(), file_digest(file))
    place = kept / f"{key}.json"
    if place.is_file():
        read: list[list[str]] = json.loads(place.read_text(encoding="utf-8"))
        return [Part(*fields) for fields in read]
    parts = convert(file)
    kept.mkdir(parents=True, exist_ok=True)
    made = place.with_suffix(".part")
    fields = [[part.title, part.text, part.mark] for part in parts]
    made.write_text(json.dumps(fields, ensure_ascii=False), encoding="utf-8")
    made.replace(place)
    return parts


def _plain(file: Path) -> list[Part]:
    return [Part("", _text(file), "")]


def _marked(file: Path) -> list[Part]:
    return sections(_text(file))


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8 (byte {error.start})") from None


_CONVERTERS: Mapping[str, Callable[[Path], list[Part]]] = {
    ".txt": _plain,
    ".md": _marked,
    ".html": office,
    ".htm": office,
    ".docx": office,
    ".pdf": pages,
}
_SLOW = (office, pages)
_SCANNED = {".pdf": " (a scan without recognised text?)"}
