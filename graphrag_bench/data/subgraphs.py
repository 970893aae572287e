"""The triples that a data set gives for each of its documents, as columns."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.data.dataset import Document
from graphrag_bench.errors import UserError
from graphrag_bench.values import IntArray

Rows = NDArray[np.int32]
NO_TRIPLES = "(no triples)"
"""The text of a document whose subgraph is empty: a blank one would have no chunk."""


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """The triples of each document in file order, names and relations as they are written.

    `head` and `tail` are int32 (n_triples,) rows of `names`, `relation` rows of `relations`; those
    of document i are at `starts[i]:starts[i + 1]`, `place` being the i of each document.
    """

    place: Mapping[str, int]
    names: tuple[str, ...]
    relations: tuple[str, ...]
    head: Rows
    relation: Rows
    tail: Rows
    starts: IntArray

    @classmethod
    def of(cls, triples: Mapping[str, Iterable[Sequence[str]]]) -> Subgraphs:
        """The subgraphs of some documents, from lists of (head, relation, tail)."""
        collected = Collector()
        for document, own in triples.items():
            collected.add(document, list(own), document)
        return collected.subgraphs()

    def __len__(self) -> int:
        return len(self.head)

    def rows(self, document: str) -> slice:
        """The rows of a document's triples; an empty slice for a document without any."""
        at = self.place.get(document)
        return slice(0, 0) if at is None else slice(int(self.starts[at]), int(self.starts[at + 1]))

    def triples(self, document: str) -> list[tuple[str, str, str]]:
        """The triples of a document in file order."""
        here = self.rows(document)
        columns = (self.head[here].tolist(), self.relation[here].tolist(), self.tail[here].tolist())
        names, relations = self.names, self.relations
        return [(names[h], relations[r], names[t]) for h, r, t in zip(*columns, strict=True)]

    def text(self, document: str) -> str:
        """The distinct triples of a document as lines "(head, relation, tail)"."""
        lines = dict.fromkeys(f"({h}, {r}, {t})" for h, r, t in self.triples(document))
        return "\n".join(lines) or NO_TRIPLES

    @cached_property
    def digest(self) -> str:
        """A fingerprint of all triples, and of the documents they belong to."""
        held = hashlib.sha256()
        for texts in (self.place, self.names, self.relations):
            for text in texts:
                held.update(text.encode("utf-8", "surrogatepass") + b"\0")
            held.update(b"\1")
        for column in (self.head, self.relation, self.tail, self.starts):
            held.update(np.ascontiguousarray(column).astype("<i8").tobytes())
        return held.hexdigest()


class SubgraphDocument(Document):
    """A document whose text is its subgraph, written when it is asked for and not kept."""

    def __init__(self, id: str, subgraphs: Subgraphs) -> None:
        for name, value in (("id", id), ("title", ""), ("scope", id), ("_subgraphs", subgraphs)):
            object.__setattr__(self, name, value)

    @property
    def text(self) -> str:
        """The triples, one on each line."""
        held: Subgraphs = self._subgraphs  # type: ignore[attr-defined]
        return held.text(self.id)


class Collector:
    """Subgraphs while they are read: every name and relation is kept once."""

    def __init__(self) -> None:
        self._names: defaultdict[str, int] = defaultdict()
        self._relations: defaultdict[str, int] = defaultdict()
        self._names.default_factory = self._names.__len__
        self._relations.default_factory = self._relations.__len__
        self._place: dict[str, int] = {}
        self._columns: list[tuple[Rows, Rows, Rows]] = []

    def add(self, document: str, triples: Sequence[Sequence[str]], where: str) -> None:
        """Keep the triples of a document; raises UserError, with `where`, for other things."""
        if not all(isinstance(triple, list | tuple) and len(triple) == 3 for triple in triples):
            wrong = next(t for t in triples if not isinstance(t, list | tuple) or len(t) != 3)
            raise UserError(f"{where}: field 'graph': {wrong!r:.60} is no [head, relation, tail].")
        flat = list(chain.from_iterable(triples))
        if not set(map(type, flat)) <= {str}:
            wrong = next(part for part in flat if not isinstance(part, str))
            raise UserError(f"{where}: field 'graph': {wrong!r:.60} is not text.")
        self._place[document] = len(self._columns)
        name, relation = self._names.__getitem__, self._relations.__getitem__
        self._columns.append(
            (
                np.fromiter(map(name, flat[0::3]), np.int32, len(triples)),
                np.fromiter(map(relation, flat[1::3]), np.int32, len(triples)),
                np.fromiter(map(name, flat[2::3]), np.int32, len(triples)),
            )
        )

    def subgraphs(self) -> Subgraphs:
        """What was read."""
        starts = np.zeros(len(self._columns) + 1, np.int64)
        np.cumsum([len(head) for head, _, _ in self._columns], out=starts[1:])
        none = np.empty(0, np.int32)
        head, relation, tail = (
            np.concatenate([none, *(columns[part] for columns in self._columns)])
            for part in range(3)
        )
        return Subgraphs(
            dict(self._place), tuple(self._names), tuple(self._relations),
            head, relation, tail, starts,
        )  # fmt: skip
