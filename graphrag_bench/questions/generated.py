"""Generated questions, and functions that store them as a data set."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from graphrag_bench.data.dataset import QUESTIONS, Dataset
from graphrag_bench.errors import UserError
from graphrag_bench.run.folder import read_lines, write_rows
from graphrag_bench.text import normalise_name, words


@dataclass(frozen=True)
class QA:
    """Generated question. `origin` is the user and task, or the facts of a specific question."""

    text: str
    type: str
    answers: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    hops: int | None = None
    entities: tuple[str, ...] = ()
    origin: tuple[str, ...] = ()


_FREQUENT = frozenset(
    ["the", "of", "and", "to", "in", "a", "is", "was", "for", "that", "on", "by", "with", "as"]
)
"""Frequent English words, which make up 30 to 45 % of an English text."""
_MIN_SHARE = 0.12
_N_TEXTS = 200


def is_english(texts: Iterable[str]) -> bool:
    """Return whether texts have enough frequent English words, or fewer than 100 words in total."""
    found = [word for text in islice(texts, _N_TEXTS) for word in words(text[:1000])]
    frequent = sum(word in _FREQUENT for word in found)
    return len(found) < 100 or frequent >= _MIN_SHARE * len(found)


def distinct(questions: Iterable[QA]) -> list[QA]:
    """Remove each question that has the same wording as an earlier question."""
    return list({normalise_name(one.text): one for one in reversed(list(questions))}.values())[::-1]


def write_set(folder: Path, dataset: Dataset, questions: Sequence[QA]) -> None:
    """Write corpus and questions to a folder. Raises UserError if it has other questions."""
    rows = [
        {"id": f"{one.type}-{number:04d}"} | {k: v for k, v in asdict(one).items() if v is not None}
        for number, one in enumerate(questions, 1)
    ]
    if there := list(read_lines(folder / QUESTIONS)):
        if there != json.loads(json.dumps(rows)):
            raise UserError(f"{folder} has different questions. Choose a new folder: out=FOLDER.")
        return
    write_rows(folder / "corpus.jsonl", [
        {"id": d.id, "title": d.title, "text": d.text} | ({"scope": d.scope} if d.scope else {})
        for d in dataset.documents
    ])  # fmt: skip
    write_rows(folder / QUESTIONS, rows)
