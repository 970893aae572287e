"""What a hostile input is: its files, the command that reads them, and what must come of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REFUSED, DONE, EITHER, NAMED = "refused", "done", "either", "named"
"""What may come of an input; NAMED: it is refused, or left out by its name and the rest is done."""
CANARY = "canary"
"""The name of a file that no input may make."""
SECRET = "sesame-open-7"
CORPUS: list[dict[str, Any]] = [
    {"id": "a", "title": "Anna", "text": "Anna Roth met Bert Lang in Cologne."},
    {"id": "b", "title": "Bert", "text": "Bert Lang lives in Dresden."},
]
QUESTIONS: list[dict[str, Any]] = [
    {"id": "q1", "text": "Where does Bert Lang live?", "answers": ["Dresden"], "evidence": ["b"]}
]


@dataclass(frozen=True)
class Place:
    """Where an input is tried: the working folder, which its files are in, and the home."""

    work: Path
    home: Path


@dataclass(frozen=True)
class Case:
    """An input: `given` writes its files and returns the words of the command."""

    name: str
    given: Callable[[Place], Sequence[str]]
    expected: str = REFUSED


def json_lines(rows: object) -> bytes:
    """Rows as JSON lines; bytes as they are."""
    if isinstance(rows, bytes):
        return rows
    assert isinstance(rows, list)
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def write_set(place: Place, corpus: object = None, questions: object = None) -> Path:
    """A folder with `corpus.jsonl` and `questions.jsonl`; the small ones where none are given."""
    folder = place.work / "set"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "corpus.jsonl").write_bytes(json_lines(CORPUS if corpus is None else corpus))
    (folder / "questions.jsonl").write_bytes(
        json_lines(QUESTIONS if questions is None else questions)
    )
    return folder


def run(place: Place, *more: str, method: str = "bm25") -> list[str]:
    """The words of a run over the set in the working folder."""
    return ["run", "dataset=jsonl", f"dataset.root={place.work / 'set'}", f"method={method}", *more]
