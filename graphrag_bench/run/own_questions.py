"""Your own questions that were asked: HOME/runs/.asked/<run key>/<question key>.json.

The run key holds all that can change an answer, so that what is kept there is the answer as long as
nothing changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from graphrag_bench.fingerprint import digest
from graphrag_bench.run.folder import Row, write_whole

FOLDER = Path("runs", ".asked")


@dataclass(frozen=True)
class OwnQuestion:
    """A question with the record of what a method made of it.

    `texts` are those of its context, None for one that is not known; `seconds` those of each step;
    `artifacts` the keys by resource, below the folder `corpus` of the artifacts.
    """

    question: str
    dataset: str
    method: str
    title: str
    key: str
    row: Row
    texts: tuple[str | None, ...]
    seconds: Mapping[str, float]
    corpus: str
    artifacts: Mapping[str, str]

    @property
    def places(self) -> frozenset[str]:
        """Its artifacts as `corpus/resource/key`, as the paths below artifacts/."""
        return frozenset(f"{self.corpus}/{name}/{key}" for name, key in self.artifacts.items())


def question_file(home: Path, key: str, text: str, form: str) -> Path:
    """Return where the answer to a question in a form is, by the key of the run it would be of."""
    return home / FOLDER / key / f"{digest(text, form)}.json"


def write_question(path: Path, question: OwnQuestion) -> None:
    """Write an answered question, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(asdict(question), ensure_ascii=False) + "\n")


def read_question(path: Path) -> OwnQuestion | None:
    """Return the question of a file; None where there is none, or none that can be read."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        question = OwnQuestion(**{**fields, "texts": tuple(fields["texts"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    whole = isinstance(question.row, dict) and isinstance(question.artifacts, dict)
    return question if whole and "answer" in question.row else None


def stored_questions(home: Path) -> Iterator[OwnQuestion]:
    """Yield the questions of a home that can be read."""
    return filter(None, map(read_question, sorted((home / FOLDER).glob("*/*.json"))))
