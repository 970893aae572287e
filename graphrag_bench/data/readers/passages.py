"""Corpora of passages with titles, and how a passage is found again by its content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from graphrag_bench.data.dataset import Document
from graphrag_bench.data.rows import FileRow, Rows, json_list

Contents = Mapping[tuple[str, str], str]
"""Document ids by title and squashed text."""


class _Passage(FileRow):
    title: str = ""
    text: str


def passages(corpus: Path) -> Rows:
    """The corpus of a HippoRAG-style folder; ids are row numbers."""
    rows = Rows()
    for place, row in json_list(corpus, "passage", _Passage):
        rows.add_document(place, Document(str(len(rows.documents)), row.title, row.text))
    return rows


def squash(text: str) -> str:
    """The text without white space, by which passages are compared."""
    return "".join(text.split())


def by_content(rows: Rows) -> Contents:
    """The id of the last document of each title and text."""
    return {(row.title, squash(row.text)): row.id for row in rows.documents.values()}


def gathered(contexts: Iterable[tuple[str, str, str]]) -> Rows:
    """A corpus of the different passages (place, title, text) of many contexts.

    Ids are row numbers in the order of first appearance; passages are different where title or
    text is, white space aside.
    """
    rows = Rows()
    known: set[tuple[str, str]] = set()
    for place, title, text in contexts:
        content = (title, squash(text))
        if content not in known:
            known.add(content)
            number = str(len(rows.documents))
            rows.add_document(f"{place}, passage {number}", Document(number, title, text))
    return rows


def supporting(contents: Contents, marked: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The ids of supporting passages (title, text), each once; words that name a missing one."""
    found = [
        contents.get((title, squash(text)), f"{title} (paragraph not in corpus)")
        for title, text in marked
    ]
    return tuple(dict.fromkeys(found))
