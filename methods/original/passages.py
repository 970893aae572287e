"""Which of our chunks an engine's passages hold, and the context it sends as pieces of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.models.engine_replies import EnginePassage, chunk_row
from graphrag_bench.models.tokenizer import Tokenizer
from graphrag_bench.values import Chunk, Context, Piece, Ranked, unique

CHUNK, FOREIGN, OTHER = "chunk", "passage", "engine"
"""Kinds of pieces: a passage that holds chunks of ours, one that holds none, and all other text."""


@dataclass(frozen=True)
class Mapped:
    """A passage with the chunks that it holds, in the order of its text; `rank` from 1."""

    text: str
    rows: tuple[int, ...]
    rank: int
    score: float


def mapped(passages: Sequence[EnginePassage], table: ChunkTable, *, named: bool) -> list[Mapped]:
    """Every passage with its chunks: by our name where it has one (`named`), else by its text.

    By text it is the chunks with the same text, spaces and title aside; where there are none, those
    whose text it holds, or that hold it. The score is the engine's where it scores all passages,
    else 1 / rank.
    """
    scored = all(one.score is not None and np.isfinite(one.score) for one in passages)
    found = []
    for rank, one in enumerate(passages, 1):
        row = None if one.id is None or not named else chunk_row(one.id, len(table))
        rows = (row,) if row is not None else _by_text(one.text, table)
        score = one.score if scored and one.score is not None else 1.0 / rank
        found.append(Mapped(one.text, rows, rank, score))
    return found


def ranked(passages: Sequence[Mapped]) -> Ranked[Chunk]:
    """The chunks in the order of the passages, each once, with the score of its first passage."""
    scores: dict[int, float] = {}
    for one in passages:
        for row in one.rows:
            scores.setdefault(row, one.score)
    return Ranked[Chunk].of(scores)


def packed(
    context: str,
    passages: Sequence[Mapped],
    table: ChunkTable,
    tokenizer: Tokenizer,
    budget: int | None,
) -> Context:
    """The context as the engine sends it, in pieces, up to a budget of tokens (None: all of it).

    A passage that stands in it, as it is or as JSON writes it, is a piece with the documents of its
    chunks; what stands between two passages is one piece of the kind `engine`. What comes after the
    first line or passage that does not fit is cut; of that line the words that fit are kept. An
    engine that sends no context of its own has its passages, best first. `whole` puts the pieces
    together again.
    """
    units = list(_units(context, passages, table))
    kept: list[Piece] = []
    cut: list[tuple[str, str]] = []
    room = budget
    for unit in units:
        n_tokens = tokenizer.count(unit.text)
        if room is None or n_tokens <= room:
            kept.append(replace(unit, n_tokens=n_tokens))
            room = None if room is None else room - n_tokens
            continue
        if unit.kind == OTHER and (head := _head(unit.text, room, tokenizer)):
            kept.append(replace(unit, text=head))
        else:
            cut += [(unit.kind, name) for name in (unit.id, *unit.also)]
        room = 0
    return Context(tuple(_joined(kept, tokenizer)), tuple(dict.fromkeys(cut)), 1.0)


def whole(pieces: Sequence[Piece]) -> str:
    """The text of a context as the engine sends it, from its pieces.

    Two passages that follow each other are divided by a blank line.
    """
    parts: list[str] = []
    for before, piece in zip((None, *pieces), pieces, strict=False):
        if before is not None and OTHER not in (before.kind, piece.kind):
            parts.append("\n\n")
        parts.append(piece.text)
    return "".join(parts).strip()


def _units(context: str, passages: Sequence[Mapped], table: ChunkTable) -> Iterator[Piece]:
    """The passages of a context and the lines between them, in order; tokens are not counted."""
    if not context.strip():
        yield from (_piece(one, one.text, table) for one in passages)
        return
    end = 0
    for start, stop, one in sorted(_places(context, passages), key=lambda place: place[0]):
        yield from _lines(context[end:start])
        yield _piece(one, context[start:stop], table)
        end = stop
    yield from _lines(context[end:])


def _places(context: str, passages: Sequence[Mapped]) -> list[tuple[int, int, Mapped]]:
    """Where passages stand in a context, without overlap; the better ranked one has the place."""
    found: list[tuple[int, int, Mapped]] = []
    for one in passages:
        for form in _forms(one.text):
            start = context.find(form)
            stop = start + len(form)
            if start >= 0 and all(stop <= a or start >= b for a, b, _ in found):
                found.append((start, stop, one))
                break
    return found


def _forms(text: str) -> tuple[str, ...]:
    """A text as it may stand in a context: as it is, and inside a string of JSON."""
    bare = text.strip()
    coded = (json.dumps(bare, ensure_ascii=ascii)[1:-1] for ascii in (False, True))
    return unique([bare, *coded]) if bare else ()


def _piece(one: Mapped, text: str, table: ChunkTable) -> Piece:
    documents = unique([name for row in one.rows for name in table.documents_of(row)])
    if not documents:
        return Piece(FOREIGN, str(one.rank), text, one.score, 0)
    return Piece(CHUNK, documents[0], text, one.score, 0, documents[1:])


def _lines(text: str) -> Iterator[Piece]:
    """The lines of what is no passage, with their ends; none of white space alone."""
    for line in text.splitlines(keepends=True) if text.strip() else ():
        yield Piece(OTHER, "", line, 0.0, 0)


def _head(text: str, room: int, tokenizer: Tokenizer) -> str:
    """The first words of a line that fit; "" where none does."""
    words = text.split(" ")
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        if tokenizer.count(" ".join(words[:middle])) <= room:
            low = middle
        else:
            high = middle - 1
    return " ".join(words[:low])


def _joined(pieces: Sequence[Piece], tokenizer: Tokenizer) -> Iterator[Piece]:
    """The pieces with lines that follow each other in one, counted; ids of such count from 1."""
    held: list[str] = []
    number = 0
    for piece in (*pieces, None):
        if piece is not None and piece.kind == OTHER:
            held.append(piece.text)
            continue
        if held:
            number += 1
            text = "".join(held)
            yield Piece(OTHER, str(number), text, 0.0, tokenizer.count(text))
            held = []
        if piece is not None:
            yield replace(piece, n_tokens=tokenizer.count(piece.text))


def _by_text(text: str, table: ChunkTable) -> tuple[int, ...]:
    wanted = _squashed(text)
    if not wanted:
        return ()
    texts = _texts(table)
    same = tuple(row for row, (own, whole) in enumerate(texts) if wanted in (own, whole))
    if same:
        return same
    inside = [(wanted.find(own), row) for row, (own, _) in enumerate(texts) if own in wanted]
    if inside:
        return tuple(row for _, row in sorted(inside))
    return tuple(row for row, (_, whole) in enumerate(texts) if wanted in whole)


@lru_cache(maxsize=4)
def _texts(table: ChunkTable) -> tuple[tuple[str, str], ...]:
    """The text of every chunk without spaces, alone and behind its title."""
    return tuple(
        (_squashed(text) or "\0", _squashed(table.passage(row)))
        for row, text in enumerate(table.texts)
    )


def _squashed(text: str) -> str:
    return "".join(text.split())
