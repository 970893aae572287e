"""Which chunks contain an imported name or text, where a file names none of our chunks."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.text import normalise_name


def chunks_of_texts(
    texts: Mapping[str, str], chunk_table: ChunkTable
) -> dict[str, tuple[int, ...]]:
    """The chunks of each foreign text unit, by its id: the chunk of the same text, spaces aside.

    Where no chunk is the same, the chunks that hold the unit or are held in it; none where even
    that fails.
    """
    same: defaultdict[str, list[int]] = defaultdict(list)
    squashed = [squash(text) for text in chunk_table.texts]
    for row, text in enumerate(squashed):
        same[text].append(row)
    found = {}
    for unit, text in texts.items():
        wanted = squash(text)
        rows = same.get(wanted) or [
            row for row, own in enumerate(squashed) if wanted and (wanted in own or own in wanted)
        ]
        found[unit] = tuple(rows)
    return found


def chunks_by_digest(chunk_table: ChunkTable) -> dict[str, tuple[int, ...]]:
    """The chunks by LightRAG's id of their text: `chunk-` and its md5."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for row, text in enumerate(chunk_table.texts):
        found[chunk_id(text)].append(row)
    return {name: tuple(rows) for name, rows in found.items()}


def chunk_id(text: str) -> str:
    """The id that LightRAG and nano-graphrag give a chunk: `chunk-` and the md5 of its text."""
    digest = hashlib.md5(text.strip().encode("utf-8", "replace"), usedforsecurity=False)
    return f"chunk-{digest.hexdigest()}"


def chunks_of_documents(chunk_table: ChunkTable) -> dict[str, tuple[int, ...]]:
    """The chunks of each document, by its id."""
    return {name: tuple(chunk_table.chunks_of(name)) for name in chunk_table.documents}


def mentions(names: Iterable[str], chunk_table: ChunkTable) -> dict[str, tuple[int, ...]]:
    """The chunks that name each of `names`, as whole words after normalisation, titles included.

    Time grows with the words of the corpus times the words of the longest name.
    """
    wanted: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        wanted[tuple(normalise_name(name).split())].append(name)
    wanted.pop((), None)
    lengths = sorted({len(words) for words in wanted})
    found: defaultdict[str, list[int]] = defaultdict(list)
    for row, passage in enumerate(chunk_table.passages):
        words = normalise_name(passage).split()
        for name in _in_words(words, wanted, lengths):
            found[name].append(row)
    return {name: tuple(rows) for name, rows in found.items()}


def _in_words(
    words: Sequence[str], wanted: Mapping[tuple[str, ...], list[str]], lengths: Sequence[int]
) -> list[str]:
    found: dict[str, None] = {}
    for start in range(len(words)):
        for length in lengths:
            for name in wanted.get(tuple(words[start : start + length]), ()):
                found[name] = None
    return list(found)


def squash(text: str) -> str:
    """The text without spaces."""
    return "".join(text.split())
