"""The triples of each document of a data set, stored as columns."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.arrays import IntArray

NO_TRIPLES = "(no triples)"
"""Text of a document without triples. It is not blank, because a blank text would have no chunk."""


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """The triples of each document, in file order and with unchanged names and relations.

    A triple is one row of `head`, `relation` and `tail`, which are indices into `names` and
    `relations`. The triples of document i are the rows `starts[i]:starts[i + 1]`, and `place` maps
    the id of the document to i.
    """

    place: Mapping[str, int]
    names: tuple[str, ...]
    relations: tuple[str, ...]
    head: NDArray[np.int32]
    relation: NDArray[np.int32]
    tail: NDArray[np.int32]
    starts: IntArray

    @classmethod
    def of(cls, documents: Iterable[tuple[str, Sequence[Sequence[str]]]]) -> "Subgraphs":
        """Make subgraphs from pairs of a document id and the triples of this document."""
        names, relations, place = dict[str, int](), dict[str, int](), dict[str, int]()
        columns: list[NDArray[np.int32]] = [np.empty((3, 0), np.int32)]
        for document, triples in documents:
            place[document] = len(place)
            texts = zip(zip(*triples, strict=True), (names, relations, names), strict=False)
            numbers = [[of.setdefault(one, len(of)) for one in column] for column, of in texts]
            columns.append(np.array(numbers, np.int32).reshape(3, -1))
        head, relation, tail = np.concatenate(columns, axis=1)
        starts = np.cumsum([part.shape[1] for part in columns], dtype=np.int64)
        return cls(place, tuple(names), tuple(relations), head, relation, tail, starts)

    def __len__(self) -> int:
        return len(self.head)

    def rows(self, document: str) -> slice:
        """Return the row numbers of a document's triples. An unknown document has no rows."""
        at = self.place.get(document)
        return slice(0, 0) if at is None else slice(int(self.starts[at]), int(self.starts[at + 1]))

    def triples(self, document: str) -> list[tuple[str, str, str]]:
        """Return the (head, relation, tail) triples of a document in file order."""
        here, names = self.rows(document), self.names
        columns = (one[here].tolist() for one in (self.head, self.relation, self.tail))
        return [(names[h], self.relations[r], names[t]) for h, r, t in zip(*columns, strict=True)]

    def text(self, document: str) -> str:
        """Return the distinct triples of a document, one "(head, relation, tail)" per line."""
        lines = dict.fromkeys(f"({h}, {r}, {t})" for h, r, t in self.triples(document))
        return "\n".join(lines) or NO_TRIPLES

    @cached_property
    def digest(self) -> str:
        """Digest of the triples of all documents."""
        sha256 = hashlib.sha256()
        for texts in (self.place, self.names, self.relations):
            sha256.update("".join(f"{text}\0" for text in texts).encode("utf-8", "surrogatepass"))
            sha256.update(b"\1")
        for column in (self.head, self.relation, self.tail, self.starts):
            sha256.update(np.ascontiguousarray(column).astype("<i8").tobytes())
        return sha256.hexdigest()
