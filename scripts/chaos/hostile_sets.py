"""Corpora and questions that are broken, enormous, or written to steer whoever shows them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from chaos.hostility import CORPUS, DONE, EITHER, QUESTIONS, REFUSED, Case, Place, run, write_set

DEEP = b'{"id": "a", "text": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n"
STEERING = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\r\x08"
_LONG = "9" * 6000


def corpus(name: str, rows: object, expected: str = REFUSED) -> Case:
    """A corpus, read by a run of BM25."""

    def given(place: Place) -> Sequence[str]:
        write_set(place, rows)
        return run(place)

    return Case(f"corpus: {name}", given, expected)


def questions(name: str, rows: object, expected: str = REFUSED) -> Case:
    """Questions over the small corpus."""

    def given(place: Place) -> Sequence[str]:
        write_set(place, None, rows)
        return run(place)

    return Case(f"questions: {name}", given, expected)


def _corpus_at(name: str, make: Callable[[Path], Any], expected: str = REFUSED) -> Case:
    """A corpus whose file is not a plain file."""

    def given(place: Place) -> Sequence[str]:
        file = write_set(place) / "corpus.jsonl"
        file.unlink()
        make(file)
        return run(place)

    return Case(f"corpus: {name}", given, expected)


def _document(**fields: Any) -> list[dict[str, Any]]:
    """The small corpus with other fields in its first document."""
    return [{**CORPUS[0], **fields}, CORPUS[1]]


def _question(**fields: Any) -> list[dict[str, Any]]:
    return [{**QUESTIONS[0], **fields}]


def _asked(name: str, question: str, expected: str) -> Case:
    def given(place: Place) -> Sequence[str]:
        write_set(place, _document(id=f"a{STEERING}"))
        return ["ask", *run(place)[1:], question]

    return Case(f"ask: {name}", given, expected)


SETS = (
    corpus("a lone surrogate", b'{"id": "a", "text": "x \\ud800 y"}\n'),
    corpus("a lone surrogate in an id", b'{"id": "\\udfff", "text": "x"}\n'),
    corpus("deep JSON", DEEP),
    corpus("an id of 6,000 digits", b'{"id": %s, "text": "x"}\n' % _LONG.encode()),
    corpus("NUL bytes", b"\0" * 500),
    corpus("not UTF-8", b'{"id": "a", "text": "\xff\xfe"}\n'),
    corpus("UTF-16", '{"id": "a", "text": "x"}\n'.encode("utf-16")),
    corpus("empty", b""),
    corpus("an id that is null", _document(id=None)),
    corpus("an id that is a list", _document(id=["a"])),
    corpus("a text that is null", _document(text=None)),
    corpus("a text that is NaN", b'{"id": "a", "text": NaN}\n'),
    corpus("an id twice", [*CORPUS, CORPUS[0]]),
    corpus("a list in place of lines", b'[\n{"id": "a", "text": "x"}\n]\n'),
    corpus("a mark of byte order, and CRLF", b'\xef\xbb\xbf{"id": "a", "text": "x"}\r\n{"id": "b", '
           b'"text": "Bert lives in Dresden."}\r\n', DONE),
    corpus("ids that steer the terminal", _document(id=f"a{STEERING}"), EITHER),
    corpus("titles and texts that steer the terminal",
           _document(title=STEERING, text=f"Anna {STEERING} lives."), EITHER),
    corpus("ids that climb", _document(id="../../../../canary"), EITHER),
    corpus("an id of 100,000 letters", _document(id="x" * 100_000), EITHER),
    corpus("a word of a million letters", _document(text="x" * 1_000_000), EITHER),
    corpus("a text of punctuation", _document(text="?!... --- ###"), EITHER),
    corpus("5,000 combining marks", _document(text="a" + "\u0301" * 5000), EITHER),
    corpus("templates", _document(text="{{ 7 * 7 }} {% for x in y %} ${oc.env:HOME} %s {0}"), DONE),
    _corpus_at("a folder", Path.mkdir),
    _corpus_at("a pipe that nobody writes", os.mkfifo),
    _corpus_at("a link to nothing", lambda file: file.symlink_to("nowhere")),
    _corpus_at("a link to itself", lambda file: file.symlink_to(file)),
    _corpus_at("an endless device", lambda file: file.symlink_to("/dev/zero")),
    questions("deep JSON", DEEP.replace(b'"text"', b'"answers"')),
    questions("a lone surrogate", b'{"id": "q", "text": "Who is \\ud800?"}\n'),
    questions("a surrogate in an answer", b'{"id": "q", "text": "Who?", "answers": ["\\udfff"]}\n'),
    questions("answers that are a text", _question(answers="Dresden")),
    questions("evidence that is not there", _question(evidence=["nowhere"])),
    questions("an id twice", QUESTIONS * 2),
    questions("100,000 words", _question(text="who " * 100_000), EITHER),
    questions("ids that steer the terminal", _question(id=f"q{STEERING}"), EITHER),
    questions("ids that climb", _question(id="../../../canary"), EITHER),
    questions("templates", _question(text="{{ 7 * 7 }} {% raw %} ${oc.env:HOME}"), DONE),
    _asked("a question and ids that steer the terminal", f"Where is Anna{STEERING}?", EITHER),
    _asked("a blank question", " ", REFUSED),
)  # fmt: skip
