"""Texts longer than an embedder reads: counted, and embedded in windows or cut."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.embedding.tokenizer import Span, Tokens
from graphrag_bench.errors import UserError

OVERLAP = 8
"""A window shares an eighth of its tokens with the next one."""
_AT_ONCE = 1024

Vectors = NDArray[np.float32]
"""A row for each text."""
Embed = Callable[[list[str]], Vectors]


LongTexts = Literal["windows", "cut"]
_BECOMES = {"windows": "are embedded in overlapping windows", "cut": "are cut"}


@dataclass(frozen=True)
class Fit:
    """How many of some texts are longer than an embedder's window; None: none, or not known.

    Tokens are those of the embedder, those of the prefix and special ones included, or of a
    stand-in where its own are not known. `longest` is the longest text. `long_texts` of None are
    read whole, however long.
    """

    window: int | None
    long_texts: LongTexts | None
    n_texts: int
    n_long: int = 0
    longest: int = 0

    @property
    def reading(self) -> str:
        """In words: how much of a text is read, and what becomes of a longer one."""
        if self.long_texts is None:
            return "texts of any length"
        if self.window is None:
            return "how many tokens it reads is not known (embedder.window=N sets it)"
        return f"{self.window:,} tokens of a text; longer ones {_BECOMES[self.long_texts]}"

    def message(self, what: str) -> str:
        """Return one line: how many of the texts, named by `what`, are longer, and what becomes.

        Empty where no window is known, and where there is no text.
        """
        if self.window is None or self.long_texts is None or not self.n_texts:
            return ""
        reads = f"longer than the embedder's {self.window:,} tokens"
        if not self.n_long:
            return f"none of {self.n_texts:,} {what} is {reads}"
        return (
            f"{self.n_long:,} of {self.n_texts:,} {what} are {reads} (the longest has "
            f"{self.longest:,}) and {_BECOMES[self.long_texts]}"
        )

    @property
    def row(self) -> dict[str, Any]:
        """The fields as JSON."""
        return asdict(self)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Fit":
        """Return the fit that `row` wrote."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})

    def plus(self, other: "Fit") -> "Fit":
        """Return both together: of the corpora of two scopes."""
        return replace(
            self,
            n_texts=self.n_texts + other.n_texts,
            n_long=self.n_long + other.n_long,
            longest=max(self.longest, other.longest),
        )


@dataclass(frozen=True)
class Windowing:
    """What an embedder does with texts of more than `size` tokens; a size of None bounds nothing.

    The prefix of a text and its special tokens count. `cut` is what models do by themselves.
    Deviation: the papers say nothing of passages that their embedder does not read whole; by
    default all of a passage counts.
    """

    size: int | None
    mode: LongTexts
    tokens: Tokens

    def fit(self, texts: Sequence[str], prefix: str = "") -> Fit:
        """How many of the texts are longer than the window."""
        if self.size is None:
            return Fit(None, self.mode, len(texts))
        starts = range(0, len(texts), _AT_ONCE)

        def part(start: int) -> list[int]:
            return self._lengths([prefix + text for text in texts[start : start + _AT_ONCE]])

        with ThreadPoolExecutor(os.cpu_count()) as cores:  # a tokenizer lets go of Python's lock
            lengths = [length for lengths in cores.map(part, starts) for length in lengths]
        n_long = sum(length > self.size for length in lengths)
        return Fit(self.size, self.mode, len(texts), n_long, max(lengths, default=0))

    def encode(self, texts: Sequence[str], prefix: str, embed: Embed) -> Vectors:
        """Unit rows, float32, in the order of the texts; `embed` gives those of prefixed texts.

        A text that fits is given to `embed` as it is. Of one in windows comes out the mean of the
        windows' unit vectors, weighted by their tokens, at length one.
        """
        prefixed = [prefix + text for text in texts]
        if self.size is None or self.mode == "cut":
            return embed(prefixed)
        groups = [
            [(whole, length)] if length <= self.size else self._windows(text, prefix)
            for text, whole, length in zip(texts, prefixed, self._lengths(prefixed), strict=True)
        ]
        return _means(embed([piece for group in groups for piece, _ in group]), groups)

    def _lengths(self, prefixed: Sequence[str]) -> list[int]:
        return [count + self.tokens.n_special for count in self.tokens.counts(prefixed)]

    def _windows(self, text: str, prefix: str) -> list[tuple[str, int]]:
        assert self.size is not None
        room = self.size - self.tokens.n_special - self.tokens.counts([prefix])[0]
        if room < 1:
            raise UserError(
                f"The prefix {prefix!r} leaves no room in the embedder's {self.size} tokens."
            )
        spans = self.tokens.spans(text)
        begins = [_begins_word(text, start) for start, _ in spans]
        return [
            (prefix + text[spans[start][0] : spans[end - 1][1]], end - start)
            for start, end in cuts(begins, room)
        ]


def cuts(begins: Sequence[bool], room: int) -> Iterator[Span]:
    """First token and the one after the last of each window of at most `room` tokens.

    `begins` says of every token whether a word begins with it: windows begin and end between words
    where one ends in the second half of a window. The next window begins an eighth of the room
    before the end of the last (at most two eighths, to begin with a word).
    """
    overlap = room // OVERLAP
    start = 0
    while len(begins) - start > room:
        end = _last_word(begins, start + room // 2, start + room)
        yield start, end
        start = _last_word(begins, max(start, end - 2 * overlap), end - overlap)
    yield start, len(begins)


def _last_word(begins: Sequence[bool], after: int, last: int) -> int:
    return next((token for token in range(last, after, -1) if begins[token]), last)


def _begins_word(text: str, start: int) -> bool:
    return start == 0 or text[start : start + 1].isspace() or text[start - 1].isspace()


def _means(vectors: Vectors, groups: Sequence[Sequence[tuple[str, int]]]) -> Vectors:
    rows = np.empty((len(groups), vectors.shape[1]), np.float32)
    first = 0
    for row, group in enumerate(groups):
        part = vectors[first : first + len(group)]
        first += len(group)
        if len(group) == 1:
            rows[row] = part[0]
            continue
        weights = np.array([n_tokens for _, n_tokens in group], np.float64)
        mean = (part.astype(np.float64) * weights[:, None]).sum(axis=0)
        norm = np.linalg.norm(mean)
        if not norm:
            raise UserError("The windows of a text have vectors that cancel each other out.")
        rows[row] = mean / norm
    return rows
