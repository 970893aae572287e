"""Evidence that names a file with several documents: any of them counts.

It is apart from the data set's own module, whose code is part of every artifact's key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from graphrag_bench.data.dataset import Gold


@dataclass(frozen=True)
class GoldOfFiles(Gold):
    """Gold whose evidence names files: `parts` has each of them and its documents."""

    parts: tuple[tuple[str, tuple[str, ...]], ...] = ()


def with_parts(gold: Gold, parts: Sequence[tuple[str, tuple[str, ...]]]) -> GoldOfFiles:
    """The gold with the documents of the files that its evidence names."""
    held = {field.name: getattr(gold, field.name) for field in fields(Gold)}
    return GoldOfFiles(**held, parts=tuple(parts))


def documents_of(gold: Gold, evidence: str) -> tuple[str, ...]:
    """The documents that an item of the evidence names: one, or all of a file."""
    return dict(_parts(gold)).get(evidence, (evidence,))


def name_of(gold: Gold, document: str) -> str:
    """The name that the evidence has for a document: its file's, or its own id."""
    return next((file for file, held in _parts(gold) if document in held), document)


def counted(gold: Gold, documents: Sequence[str]) -> list[str]:
    """Distinct documents by the names that the evidence has for them, in the same places.

    Only the first of a file has the file's name, so that the file is found once.
    """
    names: dict[str, None] = {}
    for document in documents:
        name = name_of(gold, document)
        names[document if name in names else name] = None
    return list(names)


def _parts(gold: Gold) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return gold.parts if isinstance(gold, GoldOfFiles) else ()
