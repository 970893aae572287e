"""Read a folder of texts, split at headings or pages. The extra `docs` reads .docx and .pdf."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from html.parser import HTMLParser
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import is_zipfile

from graphrag_bench.data.dataset import QUESTIONS, Document
from graphrag_bench.data.readers.jsonl import add_questions
from graphrag_bench.data.rows import Rows, warn
from graphrag_bench.errors import UserError, result_or_error
from graphrag_bench.fingerprint import digest, file_digest
from graphrag_bench.text import counted, encodable

VERSION = 5
"""Version of the conversion of .docx and .pdf files. Texts of other versions are not reused."""
_FRONT_MATTER = re.compile(
    r"(---|\+\+\+)[ \t]*\n(?=(?:#.*\n)*[\w\"'-][^\n:=]*[:=])(?:.*\n)*?(?:\1|\.\.\.)[ \t]*(?:\n|\Z)"
)
_SIGNATURES = {b"%PDF-": "a PDF", b"{\\rtf": "RTF", b"PK\x03\x04": "an archive or office file"}
_BYTE_ORDER = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16",
               b"\xfe\xff": "utf-16"}  # fmt: skip
_ESCAPED = re.compile(rb"\x1b(?:\$|\([IJ])")
"""Escape sequences that switch character sets in ISO 2022 texts (Japanese, Korean, Chinese)."""
_NOT_WESTERN = re.compile(
    "[\\x00-\\x08\\x0e-\\x1f]|[^\\W\\d_\\x00-\\x7f]{3}"
    "|[^\\W\\d_][\u00a1\u00a3-\u00a9\u00ac\u00ae-\u00b3\u00b5-\u00b6\u00b8-\u00b9\u00bc-\u00bf\u00d7\u00f7][^\\W\\d_]"
)
"""Sequences of characters that do not occur in a Western text encoded in Windows-1252."""
_WESTERN, _LATIN_1 = "cp1252", ("iso-8859-1", "latin1", "us-ascii")
"""The encodings `_LATIN_1` are read as Windows-1252, as in web browsers."""
_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?([\w-]+)", re.IGNORECASE)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = {"article", "blockquote", "dl", "ol", "p", "pre", "section", "table", "ul"}
"""HTML blocks that are surrounded by empty lines. They also end a heading that was not closed."""
_ROWS = {"table", "tbody", "tfoot", "thead", "tr"}
_LINES = _ROWS | {
    *_HEADINGS, "address", "aside", "body", "caption", "dd", "details", "dialog", "div", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "head", "header", "hr", "html", "legend",
    "li", "main", "nav", "option", "summary",
}  # fmt: skip
_FORMATS = (".docx", ".pdf")
"""File formats that are slow to convert. The converted text is therefore stored."""
_UNSEEN = {"script", "style", "template", "noscript"}
TextBlock = tuple[int, str, str]
"""The level of a heading, the heading, and the text below it. Without a heading, the level is 0."""


class Unreadable(Exception):
    """Error for a file without readable text. The message gives the reason."""


class Section(NamedTuple):
    """A section or page of a file. `mark` is the end of its document id, such as `#2` or `#p3`."""

    title: str
    text: str
    mark: str


def folder_rows(folder: Path, store: Path) -> Rows:
    """Read the texts in a folder and its subfolders as documents, sorted by path.

    Each section (`notes.md#2`), page (`report.pdf#p3`) or undivided file becomes a document. Its
    title joins the title of the text and the headings by ` > `. File names are left out, because
    titles become entities of the graph. If evidence names a file, any document of the file counts.
    Texts of .docx and .pdf files are stored in `store`.
    """
    rows, unreadable, western = Rows(), list[str](), list[str]()
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*")}
    for name, file in sorted(files.items()):
        hidden = any(part.startswith(".") for part in name.split("/"))
        if name == QUESTIONS or hidden or not file.is_file():
            continue
        try:
            parts = _parts(file, store)
        except Unreadable as error:
            unreadable.append(f"{name}: {error}")
            continue
        plain = file.suffix.lower() in _FORMATS or all(part.text.isascii() for part in parts)
        if not plain and _decoded(file)[1] == _WESTERN:
            western.append(name)
        ids = [f"{name}{part.mark}" for part in parts] if len(parts) > 1 else [name]
        for identity, part in zip(ids, parts, strict=True):
            rows.add_document(f"{file}", Document(identity, part.title, part.text))
        rows.files |= {name: ids} if len(parts) > 1 else {}
    if not rows.documents:
        listed = "\n  ".join(unreadable) or "the folder is empty"
        raise UserError(f"'{folder}' has no file that can be read:\n  {listed}")
    for what, names in (("left out", unreadable), ("read as Windows-1252 (Latin-1)", western)):
        if names:
            warn("\n  ".join([f"{folder}: {counted(len(names), 'file')} {what}:", *names]))
    if (folder / QUESTIONS).is_file():
        add_questions(rows, folder / QUESTIONS, ids=False)
    return rows


def _parts(file: Path, store: Path) -> list[Section]:
    suffix = file.suffix.lower()
    if str(file) != encodable(str(file)):
        raise Unreadable("its name is not UTF-8")
    if (convert := _CONVERTERS.get(suffix)) is None:
        raise Unreadable(f"its type is not one of {', '.join(sorted(_CONVERTERS))}")
    if suffix not in _FORMATS:
        parts = convert(file)
    elif (stored := store / f"{digest(VERSION, suffix, file_digest(file))}.json").is_file():
        parts = [Section(*one) for one in json.loads(stored.read_text(encoding="utf-8"))]
    else:
        parts = convert(file)
        store.mkdir(parents=True, exist_ok=True)
        unfinished = stored.with_suffix(".part")
        unfinished.write_text(json.dumps(parts, ensure_ascii=False), encoding="utf-8")
        unfinished.replace(stored)
    if parts := [part for part in parts if part.text.strip()]:
        return parts
    scan = " (a scan without recognised text?)" if suffix == ".pdf" else ""
    raise Unreadable(f"it holds no text{scan}")


def _decoded(file: Path) -> tuple[str, str]:
    """Return the text of a file and its encoding. Raises Unreadable if the file is not a text."""
    content = file.read_bytes()
    if name := next((of for start, of in _SIGNATURES.items() if content.startswith(start)), ""):
        raise Unreadable(f"not a text: {name}")
    if marked := next((of for mark, of in _BYTE_ORDER.items() if content.startswith(mark)), ""):
        return _as(content, marked), marked
    if b"\0" in content:
        raise Unreadable("NUL bytes: not a text, or UTF-16 without a byte order mark")
    if _ESCAPED.search(content):
        raise Unreadable("not UTF-8 (escape sequences of ISO 2022)")
    try:
        return content.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError as error:
        fault = Unreadable(f"not UTF-8 (byte {error.start})")
    named = _CHARSET.search(content[:2048]) if file.suffix.lower() in (".html", ".htm") else None
    if named and (encoding := named[1].decode("ascii", "replace").lower()) != "utf-8":
        return _as(content, _WESTERN if encoding in _LATIN_1 else encoding), encoding
    with suppress(UnicodeDecodeError):
        if not _NOT_WESTERN.search(text := content.decode(_WESTERN)):
            return text, _WESTERN
    raise fault


def _as(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        raise Unreadable(f"its declared encoding {encoding} is wrong") from None


def sections(text: str) -> list[Section]:
    r"""Split a Markdown text at the headings outside of lists, quotes and front matter.

    >>> [(one.title, one.text) for one in sections("# Boats\nAll float.\n## Red\nUna's.")]
    [('Boats', 'All float.'), ('Boats > Red', "Una's.")]
    """
    from markdown_it import MarkdownIt

    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    n_front = front[0].count("\n") if (front := _FRONT_MATTER.match(text)) else 0
    tokens = MarkdownIt("commonmark").parse("\n".join([""] * n_front + lines[n_front:]))
    blocks: list[TextBlock] = []
    level, heading, start = 0, "", 0
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            blocks.append((level, heading, "\n".join(lines[start : token.map[0]])))
            level, start = int(token.tag[1]), token.map[1]
            seen = (one for one in inline.children or () if one.type != "html_inline")
            words = (" " if one.type in ("softbreak", "hardbreak") else one.content for one in seen)
            heading = " ".join("".join(words).split())
    return _sections([*blocks, (level, heading, "\n".join(lines[start:]))])


def _sections(blocks: Sequence[TextBlock], name: str = "") -> list[Section]:
    """Make a section of each text block, and of each run of headings without text and sub-headings.

    Titles begin with `name`, unless the text is below the only heading of level 1.
    """
    trail, parts = list[tuple[int, str]](), list[Section]()
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
            parts[-1] = parts[-1]._replace(text=f"{parts[-1].text}\n{heading}")
        elif lone or text.strip():
            parts.append(Section(title, text.strip() or heading, f"#{len(parts) + 1}"))
        was_lone = lone
    return parts


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.title, self.blocks, self._in = "", list[TextBlock](), Counter[str]()
        self._level, self._heading, self._written, self._n_breaks = 0, "", "", 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in _HEADINGS:
            self.blocks.append(self.block)
            self._level, self._heading, self._written, self._n_breaks = int(tag[1]), "", "", 0
        if tag in _HEADINGS or tag in _BLOCKS:
            self._in -= Counter({heading: self._in[heading] for heading in _HEADINGS})
        if tag in ("td", "th") and self._in["cell"]:
            self._n_breaks, self._written = 0, self._written + "\t"
        self._in[tag] += 1
        self._break(tag)
        self._in["cell"] = int(tag in ("td", "th") or (tag not in _ROWS and self._in["cell"]))

    def handle_endtag(self, tag: str) -> None:
        self._in[tag] = max(self._in[tag] - 1, 0)
        if tag != "br":
            self._break(tag)

    def handle_data(self, data: str) -> None:
        if any(self._in[tag] for tag in _UNSEEN):
            return
        if self._in["title"]:
            self.title += "" if self._in["svg"] else data
        elif any(self._in[tag] for tag in _HEADINGS):
            self._heading += data
        else:
            text = data if self._in["pre"] else " ".join(f"<{data}>".split())[1:-1]
            self._in["cell"] += bool(self._in["cell"] == 1 and text.strip())
            if self._n_breaks and text.strip():
                before = self._written.rstrip(" \t")
                n_there = len(before) - len(before.rstrip("\n"))
                self._written = before + "\n" * (self._n_breaks - n_there)
                self._n_breaks = 0
            at_start = self._n_breaks or self._written[-1:] in ("", " ", "\n", "\t")
            self._written += text.lstrip(" ") if at_start and not self._in["pre"] else text

    @property
    def block(self) -> TextBlock:
        return self._level, " ".join(self._heading.split()), self._written

    def _break(self, tag: str) -> None:
        if tag in _ROWS:
            self._written = self._written.rstrip(" \t")
            self._n_breaks *= not self._in["cell"]
        if tag == "br":
            self._written += "\n"
        elif tag in _BLOCKS | _LINES and self._written and (self._in["cell"] != 1 or tag in _ROWS):
            self._n_breaks = max(self._n_breaks, 2 if tag in _BLOCKS else 1)
        if any(self._in[heading] for heading in _HEADINGS) and tag in _BLOCKS | _LINES | {"br"}:
            self._heading += " "


def page(text: str) -> list[Section]:
    """Split the visible text of a web page into sections."""
    read = _Page()
    read.feed(text)
    read.close()
    return _sections([*read.blocks, read.block], " ".join(read.title.split()))


def _office(file: Path) -> list[Section]:
    if not is_zipfile(file):
        raise Unreadable("not a .docx file (not an archive, or truncated)")
    with file.open("rb") as content:
        return page(_converted("mammoth", lambda one: one.convert_to_html(content).value))


def _pages(file: Path) -> list[Section]:
    text = _converted("pdfminer.high_level", lambda one: one.extract_text(str(file)))
    return [Section("", one.strip(), f"#p{n}") for n, one in enumerate(text.split("\f"), start=1)]


def _converted(module: str, convert: Callable[[Any], Any]) -> str:
    try:
        package = import_module(module)
    except ModuleNotFoundError:
        needed = f"needs {module.split('.')[0]}: pip install 'graphrag-bench[docs]'"
        raise Unreadable(needed) from None
    result = result_or_error(lambda: str(convert(package)))
    if isinstance(result, Exception):
        line = " ".join(f"{type(result).__name__}: {result}".split())[:120]
        raise Unreadable(f"not converted ({line})")
    return result


_CONVERTERS: Mapping[str, Callable[[Path], list[Section]]] = {
    ".txt": lambda file: [Section("", _decoded(file)[0], "")],
    ".md": lambda file: sections(_decoded(file)[0]),
    ".html": lambda file: page(_decoded(file)[0]),
    ".htm": lambda file: page(_decoded(file)[0]),
    ".docx": _office,
    ".pdf": _pages,
}
