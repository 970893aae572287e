"""A generated question, and the folder that holds it: `dataset.questions=FOLDER`."""

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
    """A question with its answers and the documents that hold them; `origin` says what of.

    `origin` is the user and task of an abstract question, the names and relations of a specific
    one.
    """

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
"""The most frequent words of English: 30 to 45 % of its running words."""
_LEAST = 0.12
_FIRST = 200


def is_english(texts: Iterable[str]) -> bool:
    """Return whether the first 200 texts are English, by the share of its most frequent words.

    True where they hold fewer than 100 words, which say nothing.
    """
    found = [word for text in islice(texts, _FIRST) for word in words(text[:1000])]
    frequent = sum(word in _FREQUENT for word in found)
    return len(found) < 100 or frequent >= _LEAST * len(found)


def distinct(questions: Iterable[QA]) -> list[QA]:
    """Return the questions in order, each wording once."""
    return list({normalise_name(one.text): one for one in reversed(list(questions))}.values())[::-1]


def write_set(folder: Path, dataset: Dataset, questions: Sequence[QA]) -> None:
    """Write corpus and questions; a folder that holds the same questions stays as it is.

    Raises UserError when it holds others: they may have been edited by hand.
    """
    rows = [
        {"id": f"{one.type}-{number:04d}"} | {k: v for k, v in asdict(one).items() if v is not None}
        for number, one in enumerate(questions, 1)
    ]
    if there := list(read_lines(folder / QUESTIONS)):
        if there != json.loads(json.dumps(rows)):
            raise UserError(f"{folder} holds other questions; name another folder with out=FOLDER.")
        return
    write_rows(folder / "corpus.jsonl", [
        {"id": d.id, "title": d.title, "text": d.text} | ({"scope": d.scope} if d.scope else {})
        for d in dataset.documents
    ])  # fmt: skip
    write_rows(folder / QUESTIONS, rows)
