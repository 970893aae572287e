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
from graphrag_bench.runs.folder import write_whole
from graphrag_bench.runs.record import Row


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


def asked_folder(home: Path) -> Path:
    """Where asked questions are kept."""
    return home / "runs" / ".asked"


def asked_file(home: Path, key: str, text: str, form: str) -> Path:
    """Where the answer to a question in a form is kept, by the key of the run it would be of."""
    return asked_folder(home) / key / f"{digest(text, form)}.json"


def keep(path: Path, asked: OwnQuestion) -> None:
    """Write an asked question, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(asdict(asked), ensure_ascii=False) + "\n")


def kept(path: Path) -> OwnQuestion | None:
    """The asked question of a file; None where there is none, or none that can be read."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        asked = OwnQuestion(**{**held, "texts": tuple(held["texts"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    whole = isinstance(asked.row, dict) and isinstance(asked.artifacts, dict)
    return asked if whole and "answer" in asked.row else None


def all_kept(home: Path) -> Iterator[OwnQuestion]:
    """The asked questions of a home that can be read."""
    for path in sorted(asked_folder(home).glob("*/*.json")):
        if (asked := kept(path)) is not None:
            yield asked
