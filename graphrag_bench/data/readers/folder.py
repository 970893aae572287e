"""Read a folder of texts: its files in sections and pages.

Markdown, web pages and .docx files (by mammoth) are cut at their headings, PDF (by pdfminer) at its
pages; the last two need the extra `docs`.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from graphrag_bench.data.dataset import QUESTIONS, Document
from graphrag_bench.data.readers.jsonl import add_questions
from graphrag_bench.data.rows import Rows, warn
from graphrag_bench.errors import UserError, result_or_error
from graphrag_bench.fingerprint import digest, file_digest
from graphrag_bench.text import encodable

VERSION = 4
"""Version of the conversions of .docx and .pdf files: part of the name of a stored one."""
_FRONT_MATTER = re.compile(
    r"(---|\+\+\+)[ \t]*\n(?=(?:#.*\n)*[\w\"'-][^\n:=]*[:=])(?:.*\n)*?(?:\1|\.\.\.)[ \t]*(?:\n|\Z)"
)
_BYTE_ORDER = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16",
               b"\xfe\xff": "utf-16"}  # fmt: skip
_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?([\w-]+)", re.IGNORECASE)
_WESTERN = {"iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252"}
"""Encodings of web pages that browsers read as Windows-1252."""
_CONTROL = re.compile("[\0-\x08\x0e-\x1f]")
_FORMATS = (".docx", ".pdf")
"""Formats whose conversions are stored."""
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_UNSEEN = ("script", "style", "template", "noscript")
_PARAGRAPHS = "article blockquote dl ol p pre section ul"
_LINES = (
    "address aside body caption dd details dialog div dt fieldset figcaption figure footer form h1 "
    "h2 h3 h4 h5 h6 head header hr html legend li main nav option summary"
)
_TAGS = {"\1": "table", "\2": "tr", "\3": "td th", "\4": _PARAGRAPHS, "\5": _LINES, "\6": "br"}
_MARKS = {tag: mark for mark, tags in _TAGS.items() for tag in tags.split()}
"""The mark of a tag in the text of a page; the lowest of adjacent marks becomes the break."""
_BREAKS = {"\1": "\n\n", "\2": "\n", "\3": "\t", "\4": "\n\n", "\5": "\n", "\6": "\n"}


TextBlock = tuple[int, str, str]
"""The level of a heading (0: no heading), the heading, and the text below it."""


class Unreadable(Exception):
    """A file without readable text; the message is the reason."""


@dataclass(frozen=True)
class Section:
    """A section or page: title, text, and the suffix of its id (`#2`, `#p3`)."""

    title: str
    text: str
    mark: str


def folder_rows(folder: Path, store: Path) -> Rows:
    """Return the documents of a folder and its sub-folders, in the order of their paths.

    Each section (`notes.md#2`) or page (`report.pdf#p3`) is a document; the id of a file's only
    part is the file's name. Titles are `<title of the text> > <heading>`. The name of a file is not
    a title, because it would become an entity of the graph. Questions are in `questions.jsonl`,
    with optional ids; evidence may name a file, any part of which counts. A warning lists
    unreadable files with reasons; raises UserError if all are. `store` caches conversions.
    """
    rows, unreadable = Rows(), list[str]()
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*")}
    for name, file in sorted(files.items()):
        hidden = any(part.startswith(".") for part in name.split("/"))
        if hidden or name == QUESTIONS or not file.is_file():
            continue
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
    listed = "\n  ".join(unreadable)
    if not rows.documents:
        raise UserError(f"'{folder}' has no readable file:\n  {listed or 'the folder is empty'}")
    if unreadable:
        warn(f"{folder}: {len(unreadable)} file(s) are skipped:\n  {listed}")
    if (folder / QUESTIONS).is_file():
        add_questions(rows, folder / QUESTIONS, ids=False)
    return rows


def _parts(file: Path, store: Path) -> list[Section]:
    suffix = file.suffix.lower()
    if str(file) != encodable(str(file)):
        raise Unreadable("file name is not UTF-8")
    convert = _CONVERTERS.get(suffix)
    if convert is None:
        raise Unreadable(f"not one of {', '.join(sorted(_CONVERTERS))}")
    parts = _stored(file, store, convert) if suffix in _FORMATS else convert(file)
    if parts := [part for part in parts if part.text.strip()]:
        return parts
    scan = " (a scan?)" if suffix == ".pdf" else ""
    raise Unreadable(f"no text{scan}")


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


def _decoded(file: Path) -> str:
    """Return a text in UTF-8, UTF-16 or UTF-32 with a byte order mark, or a page's encoding."""
    content = file.read_bytes()
    marked = (of for mark, of in _BYTE_ORDER.items() if content.startswith(mark))
    encodings = [next(marked, "utf-8-sig")]
    if file.suffix.lower() in (".html", ".htm") and (named := _CHARSET.search(content[:2048])):
        encoding = named[1].decode("ascii", "replace").lower()
        encodings.append(_WESTERN.get(encoding, encoding))
    for encoding in encodings:
        with suppress(UnicodeDecodeError, LookupError):
            text = content.decode(encoding)
            if _CONTROL.search(text):
                raise Unreadable("control characters: not a text, or not UTF-8")
            return text
    raise Unreadable(f"not {' or '.join(encodings)}".replace("utf-8-sig", "UTF-8"))


def sections(text: str) -> list[Section]:
    r"""Return the sections of a markdown text, with the marks `#1`, `#2`.

    Headings are those of CommonMark, outside of lists, quotes and front matter.

    >>> [(one.title, one.text) for one in sections("# Boats\nAll float.\n## Red\nUna's.")]
    [('Boats', 'All float.'), ('Boats > Red', "Una's.")]
    """
    from markdown_it import MarkdownIt

    text = text.replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT_MATTER.match(text)
    lines = text.split("\n")
    n_front = front[0].count("\n") if front else 0
    tokens = MarkdownIt("commonmark").parse("\n".join([""] * n_front + lines[n_front:]))
    blocks: list[TextBlock] = []
    level, heading, start = 0, "", 0
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            blocks.append((level, heading, "\n".join(lines[start : token.map[0]])))
            level, start = int(token.tag[1]), token.map[1]
            words = [
                " " if child.type in ("softbreak", "hardbreak") else child.content
                for child in inline.children or ()
                if child.type != "html_inline"
            ]
            heading = " ".join("".join(words).split())
    return _sections([*blocks, (level, heading, "\n".join(lines[start:]))])


def _sections(blocks: Sequence[TextBlock], name: str = "") -> list[Section]:
    """Return a section for each text; a heading without text or subheadings becomes a text.

    A title is the headings above a text, joined by ` > `. It starts with `name`, unless the only
    heading of level 1 is among them. Adjacent headings without text are one section.
    """
    trail: list[tuple[int, str]] = []
    parts: list[Section] = []
    levels = [*(level for level, _, _ in blocks), 0]
    one_top, was_lone = levels.count(1) == 1, False
    for (level, heading, text), following in zip(blocks, levels[1:], strict=True):
        trail = [above for above in trail if above[0] < level]
        lone = bool(heading) and not text.strip() and following <= level
        if heading and not lone:
            trail.append((level, heading))
        root = "" if one_top and trail and trail[0][0] == 1 else name
        title = " > ".join(filter(None, [root, *(above for _, above in trail)]))
        if lone and was_lone and parts[-1].title == title:
            parts[-1] = replace(parts[-1], text=f"{parts[-1].text}\n{heading}")
        elif lone or text.strip():
            parts.append(Section(title, text.strip() or heading, f"#{len(parts) + 1}"))
        was_lone = lone
    return parts


class _Page(HTMLParser):
    """The title of a web page, and its text blocks as a browser shows them."""

    def __init__(self) -> None:
        super().__init__()
        self.title, self.blocks = "", list[TextBlock]()
        self._level, self._heading, self._written = 0, "", ""
        self._in: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Begin a block, line or cell; a block ends an unclosed heading."""
        if tag in _HEADINGS:
            self.close_block()
            self._level = int(tag[1])
        if tag in _HEADINGS or _MARKS.get(tag) in ("\1", "\4"):
            self._in -= Counter({heading: self._in[heading] for heading in _HEADINGS})
        self._in[tag] += 1
        self._write(_MARKS.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        """End a block or line."""
        self._in[tag] = max(self._in[tag] - 1, 0)
        if tag not in ("br", "td", "th"):
            self._write(_MARKS.get(tag, ""))

    def handle_data(self, data: str) -> None:
        """Add text; outside of `pre`, white space becomes one space."""
        if any(self._in[tag] for tag in _UNSEEN):
            return
        if self._in["title"]:
            self.title += "" if self._in["svg"] else data
        else:
            self._write(data if self._in["pre"] else re.sub(r"\s+", " ", data))

    def _write(self, text: str) -> None:
        if any(self._in[heading] for heading in _HEADINGS):
            self._heading += " " if text in _BREAKS else text
        else:
            self._written += text.lstrip(" ") if self._written.endswith(" ") else text

    def close_block(self) -> None:
        """End the text below a heading."""
        text = re.sub(r" *[\1-\6][ \1-\6]*", _line_break, self._written)
        self.blocks.append((self._level, " ".join(self._heading.split()), text))
        self._heading = self._written = ""


def _line_break(run: re.Match[str]) -> str:
    lowest = min(run[0].replace(" ", ""))
    return _BREAKS[lowest] * (run[0].count("\6") if lowest == "\6" else 1)


def page(text: str) -> list[Section]:
    """Return the sections of a web page, with the marks `#1`, `#2`."""
    read = _Page()
    read.feed(text)
    read.close()
    read.close_block()
    return _sections(read.blocks, " ".join(read.title.split()))


def office(file: Path) -> list[Section]:
    """Return the sections of a .docx file; raises Unreadable."""
    mammoth = _module("mammoth")
    if not is_zipfile(file):
        raise Unreadable("not a .docx file, or a truncated one")
    with file.open("rb") as content:
        return page(_converted(lambda: str(mammoth.convert_to_html(content).value)))


def pages(file: Path) -> list[Section]:
    """Return the pages of a PDF, without titles, with the marks `#p1`, `#p2`; raises Unreadable."""
    high_level = _module("pdfminer.high_level")
    text = _converted(lambda: str(high_level.extract_text(str(file))))
    numbered = enumerate(text.split("\f"), start=1)
    return [Section("", page.strip(), f"#p{number}") for number, page in numbered if page.strip()]


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        needed = f"needs {name.split('.')[0]}: pip install 'graphrag-bench[docs]'"
        raise Unreadable(needed) from None


def _converted(convert: Callable[[], str]) -> str:
    """Return the converted text; mammoth and pdfminer raise any error for damaged files."""
    result = result_or_error(convert)
    if isinstance(result, Exception):
        line = " ".join(f"{type(result).__name__}: {result}".split())[:120]
        raise Unreadable(f"conversion failed ({line})")
    return result


_CONVERTERS: Mapping[str, Callable[[Path], list[Section]]] = {
    ".txt": lambda file: [Section("", _decoded(file), "")],
    ".md": lambda file: sections(_decoded(file)),
    ".html": lambda file: page(_decoded(file)),
    ".htm": lambda file: page(_decoded(file)),
    ".docx": office,
    ".pdf": pages,
}
