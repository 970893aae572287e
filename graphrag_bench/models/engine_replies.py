"""What a released engine returns for a question, read from its reply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphrag_bench.values import value

_NAME = re.compile(r"chunk-(\d{1,12})")


class WrongReply(Exception):
    """A reply that is not of the form that was agreed."""


@dataclass(frozen=True)
class EnginePassage:
    """A passage that an engine retrieved; `id` is that of our chunk, where it was built of ours."""

    id: str | None
    text: str
    score: float | None


@dataclass(frozen=True)
class EngineReply:
    """Passages, best first; the context as the engine sends it; its answer, if it gave one."""

    passages: tuple[EnginePassage, ...]
    context: str
    answer: str | None


def read_reply(result: Mapping[str, Any], *, answer: bool) -> EngineReply:
    """The reply to a question; raises WrongReply, also where an answer was asked for and is none.

    An engine that says nothing has not answered: an empty answer is refused too.
    """
    rows, context, said = result.get("passages"), result.get("context"), result.get("answer")
    if not isinstance(rows, list) or not isinstance(context, str):
        raise WrongReply(f"a reply with passages and context was expected, not {sorted(result)}.")
    if answer and not (isinstance(said, str) and said.strip()):
        raise WrongReply("it gave no answer.")
    return EngineReply(tuple(map(_passage, rows)), context, said if answer else None)


def _passage(row: object) -> EnginePassage:
    text = row.get("text") if isinstance(row, Mapping) else None
    if not isinstance(row, Mapping) or not isinstance(text, str):
        raise WrongReply(f"a passage with its text was expected, not {str(row)[:100]!r}.")
    name, score = row.get("id"), row.get("score")
    scored = isinstance(score, int | float) and not isinstance(score, bool)
    own = None if name is None else str(name)
    return EnginePassage(own, text, float(str(score)) if scored else None)


@value("engine_passages")
@dataclass(frozen=True)
class EnginePassages:
    """How many passages an engine retrieved, and how many of them hold a chunk of ours."""

    n_passages: int
    n_ours: int

    def __len__(self) -> int:
        """The number of passages."""
        return self.n_passages


def chunk_name(row: int) -> str:
    """The name under which an engine is given a chunk of ours."""
    return f"chunk-{row}"


def chunk_row(name: str, n_chunks: int) -> int | None:
    """The chunk of that name; None for what names none of `n_chunks`."""
    found = _NAME.fullmatch(name)
    row = int(found[1]) if found else n_chunks
    return row if row < n_chunks else None
