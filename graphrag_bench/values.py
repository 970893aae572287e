"""The immutable values that operators exchange. Each type has a slot of its own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from itertools import chain, zip_longest
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from graphrag_bench.arrays import DECIMALS, BoolArray, FloatArray, IntArray, best_first
from graphrag_bench.prompts import AnswerForm, FormName, answer_form
from graphrag_bench.text import show_briefly

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """A question without its gold answers, so that operators cannot see the answers.

    `scope` is the part of the corpus (e.g. a book) that the question is about. `entities` are given
    in the data set. `open_tokens` replaces the token limit of open forms, such as "paragraph", and
    of all forms if `published` is true. `abstract` is true if the question is about the whole
    corpus, and None if this is unknown.
    """

    id: str
    text: str
    scope: str | None = None
    entities: tuple[str, ...] = ()
    form: FormName = "short"
    open_tokens: int | None = None
    published: bool = False
    abstract: bool | None = None

    @property
    def answer_form(self) -> AnswerForm:
        """The form of the answer, with its instruction and its token limit."""
        return answer_form(self.form, self.open_tokens, all_forms=self.published)


class Node:
    """Type parameter of a ranking of nodes: `Ranked[Node]`."""


class Relationship:
    """Type parameter of a ranking of relationships: `Ranked[Relationship]`."""


class Chunk:
    """Type parameter of a ranking of chunks: `Ranked[Chunk]`."""


class Community:
    """Type parameter of a ranking of communities: `Ranked[Community]`."""


@dataclass(frozen=True, eq=False)
class Ranked(Generic[T]):
    """Ranking of nodes, relationships, chunks or communities, best first.

    `ids` are row numbers, int64 (k,). `scores` are float64 (k,), and higher is better. Ties are
    broken by the lower id, unless an operator documents another order.

    >>> Ranked.top([0.1, 0.9, 0.5], k=2).items()
    [(1, 0.9), (2, 0.5)]
    """

    ids: IntArray
    scores: FloatArray

    def __post_init__(self) -> None:
        ids = np.array(self.ids, dtype=np.int64)
        scores = np.array(self.scores, dtype=np.float64)
        if ids.ndim != 1 or ids.shape != scores.shape:
            raise ValueError(f"ids {ids.shape}, scores {scores.shape}: not vectors of equal length")
        ids.flags.writeable = scores.flags.writeable = False
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "scores", scores)

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def empty(cls) -> "Ranked[T]":
        """Return a ranking without rows."""
        return cls(np.empty(0, np.int64), np.empty(0))

    @classmethod
    def top(cls, scores: ArrayLike, k: int | None, among: ArrayLike | None = None) -> "Ranked[T]":
        """Return the `k` rows with the highest scores. Ties are broken by the lower id.

        If `k` is None, all rows are returned. If `among` is given, only these rows are ranked.
        Scores that are not finite rank last.
        """
        values = np.asarray(scores, dtype=np.float64)
        rows = np.arange(len(values)) if among is None else np.unique(np.asarray(among, np.int64))
        return cls.best(rows, values[rows], k)

    @classmethod
    def best(cls, rows: IntArray, scores: FloatArray, k: int | None = None) -> "Ranked[T]":
        """Rank distinct rows, and keep the `k` best or all. Ties are broken by the lower id."""
        places = np.arange(len(rows))
        if k is not None and 0 < k < len(rows) and np.isfinite(scores).all():
            cut = np.partition(scores, len(rows) - k)[len(rows) - k]
            places = np.flatnonzero(scores >= cut - 10.0**-DECIMALS)
        finite = np.where(np.isfinite(scores[places]), scores[places], -np.inf)
        order = places[best_first(finite, rows[places])[:k]]
        return cls(rows[order], scores[order])

    @classmethod
    def of(cls, scores: Mapping[int, float]) -> "Ranked[T]":
        """Return a ranking of the rows in a mapping {row: score}, in the order of the mapping."""
        return cls(np.array(list(scores), np.int64), np.array(list(scores.values())))

    def head(self, k: int | None) -> "Ranked[T]":
        """Return the first `k` rows of the ranking, or all rows if `k` is None."""
        return type(self)(self.ids[:k], self.scores[:k])

    def take(self, places: IntArray | BoolArray | Sequence[int]) -> "Ranked[T]":
        """Return the rows at these positions, in this order, or the rows where a mask is true."""
        return type(self)(self.ids[places], self.scores[places])

    def distinct(self) -> "Ranked[T]":
        """Return the ranking without repeated rows. Each row keeps its first position."""
        return self.take(np.sort(np.unique(self.ids, return_index=True)[1]))

    def items(self) -> list[tuple[int, float]]:
        """Return the (row, score) pairs of the ranking, in order."""
        return list(zip(self.ids.tolist(), self.scores.tolist(), strict=True))


class RowScores:
    """Read-only scores of all rows of a table: dense, sparse, or `lazy` (computed on each access).

    `some_rows` holds the rows and values of sparse scores, and is None for other scores.
    """

    def __init__(self, values: ArrayLike) -> None:
        dense = np.asarray(values, np.float64)
        self.lazy, self._n_rows = False, len(dense)
        self.some_rows: tuple[IntArray, FloatArray] | None = None
        self._read: Callable[[], FloatArray] = lambda: dense

    @classmethod
    def sparse(cls, rows: IntArray, values: FloatArray, n_rows: int) -> Self:
        """Return scores of distinct rows in a table of `n_rows` rows, with 0 for all other rows."""

        def read() -> FloatArray:
            dense = np.zeros(n_rows)
            dense[rows] = values
            return dense

        scores = cls.later(read, n_rows)
        scores.lazy, scores.some_rows = False, (rows, values)
        return scores

    @classmethod
    def later(cls, read: Callable[[], FloatArray], n_rows: int) -> Self:
        """Return lazy scores. `read` computes the scores on each access, as float64 (n_rows,)."""
        scores = cls(())
        scores.lazy, scores._n_rows, scores._read = True, n_rows, read
        return scores

    def __len__(self) -> int:
        return self._n_rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._n_rows:,} rows)"

    @property
    def values(self) -> FloatArray:
        """The scores of all rows, float64 (n_rows,)."""
        return self._read()

    @property
    def nonzero(self) -> tuple[IntArray, FloatArray]:
        """Distinct rows and their scores. All other rows have the score 0."""
        if self.some_rows is not None:
            return self.some_rows
        rows = np.flatnonzero(values := self.values)
        return rows, values[rows]

    def top(self, k: int) -> Ranked[Any]:
        """Return the `k` best rows. Ties are broken by the lower id."""
        if self.some_rows is None:
            return Ranked[Any].top(self._read(), k)
        rows, values = self.some_rows
        best = Ranked[Any].best(rows, values, k)
        if len(best) == k and np.round(best.scores[-1], DECIMALS) > 0:
            return best
        others = np.setdiff1d(np.arange(min(self._n_rows, len(rows) + k)), rows)[:k]
        zeros = np.zeros(len(others))
        return Ranked.best(np.append(rows, others), np.append(values, zeros), k)


class NodeScores(RowScores):
    """Scores of all nodes, e.g. their PageRank. Exact PageRank scores sum to 1."""


class RelationshipScores(RowScores):
    """Scores of all relationships."""


class ChunkScores(RowScores):
    """Scores of all chunks."""


@dataclass(frozen=True)
class Mentions:
    """Entity names in the question, normalised or as given in the data set."""

    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class Keywords:
    """Low-level keywords (entities, details) and high-level keywords (themes)."""

    low: tuple[str, ...]
    high: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.low) + len(self.high)


@dataclass(frozen=True)
class Query:
    """The query texts of a search."""

    texts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Path:
    """A path in the graph: its nodes in order, and the relationship row of each hop.

    `transition` is i for a path from step i (counted from 1) to step i + 1 of a reasoning chain. It
    is 0 for any other path.
    """

    nodes: tuple[int, ...]
    relationships: tuple[int, ...]
    score: float = 0.0
    transition: int = 0


@dataclass(frozen=True)
class Subgraph:
    """A subgraph: distinct nodes and relationship rows, and the paths on which they were found.

    `texts` are triples that a model wrote and that match no relationship of the graph.
    """

    nodes: tuple[int, ...] = ()
    relationships: tuple[int, ...] = ()
    paths: tuple[Path, ...] = ()
    texts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.nodes) + len(self.relationships) + len(self.texts)


@dataclass(frozen=True)
class Piece:
    """A text in the context of a prompt, e.g. a chunk or the description of a node.

    `kind` is "chunk", "node" and so on. For a chunk, `id` is its first document, and `also` lists
    its other documents. For other kinds, `id` is a name or a row number. `chunks` are the chunks
    that the text quotes, ascending, or None if they are unknown.
    """

    kind: str
    id: str
    text: str
    score: float
    n_tokens: int
    also: tuple[str, ...] = ()
    chunks: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Context:
    """The context of a prompt: its texts, in order.

    `cut` lists the (kind, id) of each text that the token budget or a map step left out, with one
    entry per document of a chunk. `share` is the fraction of the token budget assigned so far.
    """

    pieces: tuple[Piece, ...]
    cut: tuple[tuple[str, str], ...] = ()
    share: float = 0.0

    @property
    def n_tokens(self) -> int:
        """The total number of tokens of the pieces."""
        return sum(piece.n_tokens for piece in self.pieces)


@dataclass(frozen=True)
class Answer:
    """The answer of a method. `cut` is true if the reply was cut at its token limit."""

    text: str
    cut: bool = False


SLOTS: dict[str, Any] = {
    "question": Question,
    "nodes": Ranked[Node],
    "relationships": Ranked[Relationship],
    "chunks": Ranked[Chunk],
    "communities": Ranked[Community],
    "node_scores": NodeScores,
    "relationship_scores": RelationshipScores,
    "chunk_scores": ChunkScores,
    "mentions": Mentions,
    "keywords": Keywords,
    "query": Query,
    "subgraph": Subgraph,
    "context": Context,
    "answer": Answer,
}
"""The type of the value in each slot."""
for _kind in (Ranked, Path, Piece, *SLOTS.values()):
    if isinstance(_kind, type) and is_dataclass(_kind):
        show_briefly(_kind)


def value(slot: str) -> Any:
    """Return a class decorator that assigns a slot to a type. Raises ValueError for a used slot."""

    def register(kind: type[T]) -> type[T]:
        known = SLOTS.get(slot, kind)
        if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
            raise ValueError(f"slot '{slot}' already belongs to {known.__qualname__}")
        SLOTS[slot] = kind
        return kind

    return register


def slot_of(annotation: Any) -> str | None:
    """Return the slot of a value type, or None if the type has no slot."""
    return next((slot for slot, kind in SLOTS.items() if kind == annotation), None)


@dataclass(frozen=True)
class RetrievalState:
    """State of retrieval: the question, and the values that steps have written, by slot."""

    question: Question
    slots: Mapping[str, Any] = field(default_factory=dict)

    def get(self, slot: str) -> Any:
        """Return the value of a slot, or None if no step has written to it."""
        return self.question if slot == "question" else self.slots.get(slot)

    def write(self, values: Mapping[str, Any]) -> "RetrievalState":
        """Return a copy of the state with these values in their slots. None values are ignored."""
        new = {slot: value for slot, value in values.items() if value is not None}
        return RetrievalState(new.pop("question", self.question), {**self.slots, **new})

    def __iter__(self) -> Iterator[str]:
        return iter(self.slots)


def interleave(lists: Sequence[Ranked[Any]]) -> Ranked[Any]:
    """Interleave rankings rank by rank. A repeated row keeps its first position and score."""
    first: dict[int, float] = {}
    for pair in filter(None, chain.from_iterable(zip_longest(*(one.items() for one in lists)))):
        first.setdefault(*pair)
    return Ranked.of(first)
