"""The values that flow through a pipeline, all frozen, and the slot each type lives in."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrag_bench.prompts import AnswerForm, FormName, answer_form
from graphrag_bench.text import show_briefly

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

DECIMALS = 6
"""Scores are ranked after rounding to this many decimals, so that the last bits of a float, which
change with the batch and the processor, never decide an order."""


@dataclass(frozen=True)
class Question:
    """A question without its gold answers, so that no operator can see them.

    `scope` names the part of the corpus (a book, a script) the question is asked of, if any;
    `entities` are the names that it is about, where the data set gives them with the question.
    `form` is the form of answer that it wants, `open_tokens` the most tokens of an open one where
    the run says, of every one as published. `abstract` says whether it asks about the corpus as a
    whole, where the data set knows better than the form.
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
        """The form of answer that it wants, with its words and the most tokens."""
        return answer_form(self.form, self.open_tokens, every=self.published)


class Node:
    """Marks rows of a graph's node table."""


class Relationship:
    """Marks rows of a graph's relationship table."""


class Chunk:
    """Marks rows of the chunk table."""


class Community:
    """Marks rows of a graph's community table."""


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Ranked(Generic[T]):
    """Rows of one table in ranked order.

    `ids` is int64 (k,), `scores` float64 (k,), higher is better. The order is the order given;
    score order with ties by lower id is the rule, and an operator that orders otherwise says so.
    """

    ids: IntArray
    scores: FloatArray

    def __post_init__(self) -> None:
        ids = np.array(self.ids, dtype=np.int64)
        scores = np.array(self.scores, dtype=np.float64)
        if ids.ndim != 1 or ids.shape != scores.shape:
            raise ValueError(f"ids {ids.shape} and scores {scores.shape} must be one list each")
        ids.flags.writeable = scores.flags.writeable = False
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "scores", scores)

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def empty(cls) -> "Ranked[T]":
        """No rows."""
        return cls(np.empty(0, np.int64), np.empty(0))

    @classmethod
    def top(cls, scores: ArrayLike, k: int | None, among: ArrayLike | None = None) -> "Ranked[T]":
        """The `k` best rows of a score vector (all of them for None), ties by lower id.

        `among` restricts the choice to these rows. Scores that are not finite rank last.
        """
        values = np.asarray(scores, dtype=np.float64)
        rows = np.arange(len(values)) if among is None else np.unique(np.asarray(among, np.int64))
        return best_of(rows, values[rows], len(rows) if k is None else k)

    @classmethod
    def of(cls, scores: Mapping[int, float]) -> "Ranked[T]":
        """The rows with their scores in the order of the mapping."""
        return cls(np.array(list(scores), np.int64), np.array(list(scores.values())))

    def head(self, k: int | None) -> "Ranked[T]":
        """The first `k` rows, all of them for None."""
        return type(self)(self.ids[:k], self.scores[:k])

    def take(self, places: IntArray | BoolArray | Sequence[int]) -> "Ranked[T]":
        """Return the rows at some places in that order, or those where a mask is true."""
        return type(self)(self.ids[places], self.scores[places])

    def distinct(self) -> "Ranked[T]":
        """Each row once, at its first place; itself where none comes twice."""
        first = np.unique(self.ids, return_index=True)[1]
        return self if len(first) == len(self) else self.take(np.sort(first))

    def items(self) -> list[tuple[int, float]]:
        """Row and score, in order."""
        return list(zip(self.ids.tolist(), self.scores.tolist(), strict=True))


class RowScores:
    """One score for every row of a table, read-only: as a vector, for some rows, or when read.

    So that the scores of a block of questions need not all be vectors over the whole table.
    """

    lazy = False
    """Whether the scores are computed whenever they are read."""
    some_rows: tuple[IntArray, FloatArray] | None = None
    """The rows with their scores, of scores that were given for some rows; None for others."""

    def __init__(self, values: ArrayLike) -> None:
        dense = np.asarray(values, np.float64)
        self._n_rows = len(dense)
        self._read: Callable[[], FloatArray] = lambda: dense

    @classmethod
    def sparse(cls, rows: IntArray, values: FloatArray, n_rows: int) -> Self:
        """Scores of some rows, each once, of a table of `n_rows`; the others have 0."""

        def read() -> FloatArray:
            dense = np.zeros(n_rows)
            dense[rows] = values
            return dense

        scores = cls.later(read, n_rows)
        scores.lazy, scores.some_rows = False, (rows, values)
        return scores

    @classmethod
    def later(cls, read: Callable[[], FloatArray], n_rows: int) -> Self:
        """Scores that `read` gives, float64 (n_rows,), computed whenever they are read."""
        scores = cls(())
        scores.lazy, scores._n_rows, scores._read = True, n_rows, read
        return scores

    def __len__(self) -> int:
        return self._n_rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._n_rows:,} rows)"

    @property
    def values(self) -> FloatArray:
        """The score of every row, float64 (n_rows,)."""
        return self._read()

    @property
    def nonzero(self) -> tuple[IntArray, FloatArray]:
        """Rows, each once, and their scores; rows that are not among them have 0."""
        if self.some_rows is not None:
            return self.some_rows
        values = self._read()
        rows = np.flatnonzero(values)
        return rows, values[rows]

    def top(self, k: int) -> Ranked[Any]:
        """The `k` best rows, ties by lower id, as `Ranked.top` of all values."""
        if self.some_rows is None:
            return Ranked[Any].top(self._read(), k)
        rows, values = self.some_rows
        best: Ranked[Any] = best_of(rows, values, k)
        if len(best) == k and np.round(best.scores[-1], DECIMALS) > 0:
            return best
        others = np.setdiff1d(np.arange(min(self._n_rows, len(rows) + k)), rows)[:k]
        return best_of(
            np.concatenate([rows, others]), np.concatenate([values, np.zeros(len(others))]), k
        )


class NodeScores(RowScores):
    """One score for every node; exact PageRank mass sums to 1."""


class RelationshipScores(RowScores):
    """One score for every relationship."""


class ChunkScores(RowScores):
    """One score for every chunk."""


@dataclass(frozen=True)
class Mentions:
    """Entity names of the question, in order: normalised, or as the data set gives them."""

    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class Keywords:
    """Low-level keywords (entities, details) and high-level keywords (themes) of the question."""

    low: tuple[str, ...]
    high: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.low) + len(self.high)


@dataclass(frozen=True)
class Query:
    """The texts that vector or keyword search looks for."""

    texts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Path:
    """A walk: its nodes in walking order, and the relationship row of every hop between them.

    `score` is what the search that found it says; `transition` numbers, from 1, the two reasoning
    steps that it leads between (0 where there are none).
    """

    nodes: tuple[int, ...]
    relationships: tuple[int, ...]
    score: float = 0.0
    transition: int = 0


@dataclass(frozen=True)
class Subgraph:
    """Nodes and relationship rows, each once, and the paths they were found on.

    `texts` holds triples that a model wrote in place of rows, where no row says the same.
    """

    nodes: tuple[int, ...] = ()
    relationships: tuple[int, ...] = ()
    paths: tuple[Path, ...] = ()
    texts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.nodes) + len(self.relationships) + len(self.texts)


@dataclass(frozen=True)
class Piece:
    """One text of a context: `kind` of row, `id` (a chunk's document, `also` its further ones).

    `chunks` are those of which a text stands in it word for word, ascending; None: not known.
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
    """What went into the prompt, in order, and the (kind, id) of what was left out of it.

    `cut` is what the budget cut off and what a map step left unread, a chunk by each of its
    documents; `share` the part of the budget, in 0..1, that the blocks so far were allotted.
    """

    pieces: tuple[Piece, ...]
    cut: tuple[tuple[str, str], ...] = ()
    share: float = 0.0

    @property
    def n_tokens(self) -> int:
        """Tokens of all pieces together."""
        return sum(piece.n_tokens for piece in self.pieces)


@dataclass(frozen=True)
class Answer:
    """The text a method answers with; `cut` says that the reply ended at its limit."""

    text: str
    cut: bool = False


_slots: dict[Any, str] = {
    Question: "question",
    Ranked[Node]: "nodes",
    Ranked[Relationship]: "relationships",
    Ranked[Chunk]: "chunks",
    Ranked[Community]: "communities",
    NodeScores: "node_scores",
    RelationshipScores: "relationship_scores",
    ChunkScores: "chunk_scores",
    Mentions: "mentions",
    Keywords: "keywords",
    Query: "query",
    Subgraph: "subgraph",
    Context: "context",
    Answer: "answer",
}
show_briefly(Ranked, Path, Piece)
show_briefly(*(kind for kind in _slots if isinstance(kind, type) and is_dataclass(kind)))


def value(slot: str) -> Any:
    """A class decorator that gives a plug-in's own value type its slot; refuses a taken name."""

    def register(kind: type[T]) -> type[T]:
        known = next((one for one, name in _slots.items() if name == slot), None)
        if known is not None:
            own, other = ((one.__module__, one.__qualname__) for one in (kind, known))
            if own != other:
                raise ValueError(f"slot '{slot}' already holds {known.__qualname__}")
            del _slots[known]
        _slots[kind] = slot
        return kind

    return register


def slot_names() -> frozenset[str]:
    """Return the name of every slot."""
    return frozenset(_slots.values())


def slot_of(annotation: Any) -> str | None:
    """The slot a type lives in, or None when it is not a value type."""
    return _slots.get(annotation) if isinstance(annotation, Hashable) else None


@dataclass(frozen=True)
class RetrievalState:
    """The question and what the steps have written so far; a slot that is absent is not written."""

    question: Question
    slots: Mapping[str, Any] = field(default_factory=dict)

    def get(self, slot: str) -> Any:
        """The value of a slot, or None when no step has written it."""
        return self.question if slot == "question" else self.slots.get(slot)

    def write(self, values: Mapping[str, Any]) -> "RetrievalState":
        """A new state with these slots written, the question too; None values are left out."""
        new = {slot: value for slot, value in values.items() if value is not None}
        question = new.pop("question", self.question)
        return RetrievalState(question, {**self.slots, **new})

    def __iter__(self) -> Iterator[str]:
        return iter(self.slots)


def unique(items: Sequence[T]) -> tuple[T, ...]:
    """The items in order of first appearance, each once."""
    return tuple(dict.fromkeys(items))


def in_turn(lists: Sequence[Ranked[Any]]) -> Ranked[Any]:
    """Rank 1 of every list, then rank 2, and so on; each row once, with the score it first has."""
    rows = [one.items() for one in lists]
    first: dict[int, float] = {}
    for rank in range(max(map(len, rows), default=0)):
        for one in rows:
            if rank < len(one):
                first.setdefault(*one[rank])
    return Ranked.of(first)


def best_of(rows: IntArray, scores: FloatArray, k: int) -> Ranked[Any]:
    """The `k` best of some rows, each given once, ties by lower id, as `Ranked.top` says."""
    places = np.arange(len(rows))
    if 0 < k < len(rows) and np.isfinite(scores).all():
        cut = np.partition(scores, len(rows) - k)[len(rows) - k]
        places = np.flatnonzero(scores >= cut - 10.0**-DECIMALS)
    rounded = np.round(scores[places], DECIMALS)
    keys = np.where(np.isfinite(rounded), rounded, -np.inf)
    order = places[np.lexsort((rows[places], -keys))[:k]]
    return Ranked(rows[order], scores[order])


def best_of_each(
    ids: IntArray, scores: FloatArray, least: float = -np.inf
) -> tuple[IntArray, FloatArray]:
    """Each id once, ascending, and its best score, which is at least `least`."""
    rows, places = np.unique(ids, return_inverse=True)
    best: FloatArray = np.full(len(rows), least)
    np.maximum.at(best, places, scores)
    return rows, best


def best_first(scores: FloatArray, ids: IntArray | None = None) -> IntArray:
    """Positions by score (six decimals), highest first; ties by lower id, without ids as given."""
    keys = -np.round(scores, DECIMALS)
    return np.argsort(keys, kind="stable") if ids is None else np.lexsort((ids, keys))
