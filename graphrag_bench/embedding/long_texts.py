"""Texts longer than an embedder reads: counted; embedded in windows, cut, or refused."""

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

Rows = NDArray[np.float32]
Embed = Callable[[list[str]], Rows]


LongTexts = Literal["windows", "cut", "refuse"]
_BECOMES = {
    "windows": "are embedded in overlapping windows",
    "cut": "are cut",
    "refuse": "are refused",
}


def reading_of(window: int | None, long_texts: LongTexts, unknown: str) -> str:
    """Return in words how much of a text an embedder reads, and what becomes of longer ones.

    `unknown` says when or of what a window that is None is not known.
    """
    if window is None:
        return f"how many tokens it reads is not known {unknown} (embedder.window=N sets it)"
    return (
        f"{window:,} tokens of a text; longer ones {_BECOMES[long_texts]} "
        f"(embedder.long_texts={long_texts})"
    )


@dataclass(frozen=True)
class Fit:
    """How some texts fit into an embedder's window.

    Tokens are those of the embedder, or of `counted_in` where its own are not known; those of the
    prefix and the special ones around a text count. `longest` is the longest text; `n_tokens` and
    `n_past` are the tokens of all texts that are longer than the window, and how many of them lie
    past it; `n_windows` is how many windows these texts make,
    where they are made. A `window` of None bounds nothing.
    """

    window: int | None
    long_texts: LongTexts
    n_texts: int
    n_long: int = 0
    longest: int = 0
    n_tokens: int = 0
    n_past: int = 0
    n_windows: int = 0
    counted_in: str = ""

    def message(self, what: str) -> str:
        """Return one line: how many of the texts, named by `what`, are longer, and what becomes.

        Empty where no window is known, and where there is no text.
        """
        if self.window is None or not self.n_texts:
            return ""
        reads = f"the embedder's {self.window:,} tokens"
        of = f"of {self.counted_in}" if self.counted_in else ""
        if not self.n_long:
            return f"none of {self.n_texts:,} {what} is longer than {reads}{of and f' ({of})'}"
        notes = ", ".join(filter(None, (of, f"the longest has {self.longest:,}")))
        line = f"{self.n_long:,} of {self.n_texts:,} {what} are longer than {reads} ({notes}) and "
        line += _BECOMES[self.long_texts]
        share = f"{100 * self.n_past / self.n_tokens:.0f} % of their tokens"
        if self.long_texts == "windows":
            return f"{line}: {self.n_windows:,} windows, {share} lie past the first"
        return f"{line}: {share} are not embedded" if self.long_texts == "cut" else line

    def refuse(self, what: str) -> None:
        """Raise UserError where `long_texts=refuse` meets a text that is longer."""
        if self.long_texts == "refuse" and self.n_long:
            raise UserError(
                f"{self.message(what)} (embedder.long_texts=refuse). Set "
                "embedder.long_texts=windows, or make smaller texts (chunking=token "
                "chunking.size=N), or name an embedder that reads more."
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
        counts = ("n_texts", "n_long", "n_tokens", "n_past", "n_windows")
        sums = {name: getattr(self, name) + getattr(other, name) for name in counts}
        return replace(self, longest=max(self.longest, other.longest), **sums)


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
        """How many of the texts are longer, and what share of their tokens lies past the window."""
        if self.size is None:
            return Fit(None, self.mode, len(texts))
        starts = range(0, len(texts), _AT_ONCE)
        total = Fit(self.size, self.mode, 0, counted_in=self.tokens.counted_in)
        with ThreadPoolExecutor(os.cpu_count()) as cores:  # a tokenizer lets go of Python's lock
            for part in cores.map(lambda at: self._fit(texts[at : at + _AT_ONCE], prefix), starts):
                total = total.plus(part)
        return total

    def encode(self, texts: Sequence[str], prefix: str, embed: Embed) -> Rows:
        """Unit rows, float32, in the order of the texts; `embed` gives those of prefixed texts.

        A text that fits is given to `embed` as it is. Of one in windows comes out the mean of the
        windows' unit vectors, weighted by their tokens, at length one. Raises UserError for a
        longer text under `refuse`.
        """
        prefixed = [prefix + text for text in texts]
        if self.size is None or self.mode == "cut":
            return embed(prefixed)
        lengths = self._lengths(prefixed)
        if max(lengths, default=0) <= self.size:
            return embed(prefixed)
        if self.mode == "refuse":
            self._fit(texts, prefix).refuse("texts")
        groups = [
            [(whole, length)] if length <= self.size else self._windows(text, prefix)
            for text, whole, length in zip(texts, prefixed, lengths, strict=True)
        ]
        return _means(embed([piece for group in groups for piece, _ in group]), groups)

    def _fit(self, texts: Sequence[str], prefix: str) -> Fit:
        assert self.size is not None
        lengths = self._lengths([prefix + text for text in texts])
        long = [row for row, length in enumerate(lengths) if length > self.size]
        windowed = long if self.mode == "windows" else []
        return Fit(
            self.size,
            self.mode,
            len(texts),
            len(long),
            max(lengths, default=0),
            sum(lengths[row] for row in long),
            sum(lengths[row] - self.size for row in long),
            sum(len(self._windows(texts[row], prefix)) for row in windowed),
            self.tokens.counted_in,
        )

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


def _means(vectors: Rows, groups: Sequence[Sequence[tuple[str, int]]]) -> Rows:
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
