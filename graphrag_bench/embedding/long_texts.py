"""Count and encode texts that are longer than the window of an embedder."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.embedding.tokenizer import Span, Tokens
from graphrag_bench.errors import UserError

_AT_ONCE = 1024

Vectors = NDArray[np.float32]
"""Float32 array (n, dimension) with one vector per row."""
Embed = Callable[[list[str]], Vectors]
LongTexts = Literal["windows", "cut"]
_TREATMENT = {"windows": "are embedded in overlapping windows", "cut": "are cut"}


@dataclass(frozen=True)
class TextLengths:
    """Number of texts that are longer than the window of an embedder, and the maximum length.

    `window` is None if the window is unknown. `long_texts` is None if the embedder accepts texts of
    any length. Lengths are numbers of tokens, including the prefix and special tokens. If the
    tokenizer is unknown, cl100k counts the tokens.
    """

    window: int | None
    long_texts: LongTexts | None
    n_texts: int
    n_long: int = 0
    longest: int = 0

    @property
    def description(self) -> str:
        """Text that states the window of the embedder, and how longer texts are embedded."""
        if self.long_texts is None:
            return "texts of any length"
        if self.window is None:
            return "its window is not known (set embedder.window=N)"
        return f"window of {self.window:,} tokens; longer texts {_TREATMENT[self.long_texts]}"

    def message(self, what: str) -> str:
        """Say how many texts exceed the window, or return "" if it is unknown or unlimited."""
        if self.window is None or self.long_texts is None or not self.n_texts:
            return ""
        share = f"{self.n_long:,} of {self.n_texts:,} {what} are longer than the window"
        treatment = f" (longest: {self.longest:,}) and {_TREATMENT[self.long_texts]}"
        return f"{share} of {self.window:,} tokens{treatment * bool(self.n_long)}"

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "TextLengths":
        """Return the text lengths from the stored statistics of an index."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})

    def plus(self, other: "TextLengths") -> "TextLengths":
        """Return the combined statistics of two groups of texts."""
        n_texts, n_long = self.n_texts + other.n_texts, self.n_long + other.n_long
        longest = max(self.longest, other.longest)
        return replace(self, n_texts=n_texts, n_long=n_long, longest=longest)


@dataclass(frozen=True)
class WindowEncoder:
    """Encoder of texts of any length, for a model with a window of `size` tokens.

    `size` includes the prefix and special tokens. It is None if the window is unlimited. In mode
    `cut`, the model truncates long texts.
    Deviation: The papers do not say what happens to a passage longer than the window. Here, the
    default mode is `windows`.
    """

    size: int | None
    mode: LongTexts
    tokens: Tokens

    def text_lengths(self, texts: Sequence[str], prefix: str = "") -> TextLengths:
        """Count the texts that are longer than the window."""
        if self.size is None:
            return TextLengths(None, self.mode, len(texts))
        starts = range(0, len(texts), _AT_ONCE)

        def part(start: int) -> list[int]:
            return self._lengths([prefix + text for text in texts[start : start + _AT_ONCE]])

        with ThreadPoolExecutor(os.cpu_count()) as cores:  # tokenizers release the GIL
            lengths = [length for lengths in cores.map(part, starts) for length in lengths]
        n_long = sum(length > self.size for length in lengths)
        return TextLengths(self.size, self.mode, len(texts), n_long, max(lengths, default=0))

    def encode(self, texts: Sequence[str], prefix: str, embed: Embed) -> Vectors:
        """Return one unit vector per text. `embed` encodes a list of texts with their prefixes.

        In mode `windows`, the vector of a long text is the normalised mean of the vectors of its
        windows, weighted by the number of tokens in each window.
        """
        prefixed = [prefix + text for text in texts]
        if self.size is None or self.mode == "cut":
            return embed(prefixed)
        groups = [
            [(whole, length)] if length <= self.size else self._windows(text, prefix, self.size)
            for text, whole, length in zip(texts, prefixed, self._lengths(prefixed), strict=True)
        ]
        vectors = embed([piece for group in groups for piece, _ in group])
        ends = np.cumsum([len(group) for group in groups], dtype=np.int64)
        rows = vectors[ends - 1]
        for row in np.flatnonzero(np.diff(ends, prepend=0) > 1).tolist():
            weights = np.array([n_tokens for _, n_tokens in groups[row]], np.float64)
            part = vectors[ends[row] - len(weights) : ends[row]].astype(np.float64)
            mean = (part * weights[:, None]).sum(axis=0)
            if not (norm := np.linalg.norm(mean)):
                raise UserError("The mean vector of a text's windows is zero.")
            rows[row] = mean / norm
        return rows

    def _lengths(self, prefixed: Sequence[str]) -> list[int]:
        return [count + self.tokens.n_special for count in self.tokens.counts(prefixed)]

    def _windows(self, text: str, prefix: str, size: int) -> list[tuple[str, int]]:
        room = size - self.tokens.n_special - self.tokens.counts([prefix])[0]
        if room < 1:
            why = f"fills the embedder's window of {size} tokens. Use a shorter prefix"
            raise UserError(f"The prefix {prefix!r} {why}.")
        spans = self.tokens.spans(text)
        begins = [not at or any(map(str.isspace, text[at - 1 : at + 1])) for at, _ in spans]
        windows = token_windows(begins, room)
        return [(prefix + text[spans[a][0] : spans[b - 1][1]], b - a) for a, b in windows]


def token_windows(begins: Sequence[bool], room: int) -> Iterator[Span]:
    """Yield overlapping windows of at most `room` tokens, as (start, end) in tokens.

    `begins` marks the tokens that begin a word. If possible, a window ends at a word boundary in
    its second half. Windows overlap by 1/8 of `room`, or by up to 1/4 to begin with a word.
    """
    overlap, start = room // 8, 0
    while len(begins) - start > room:
        end = _last_word(begins, start + room // 2, start + room)
        yield start, end
        start = _last_word(begins, max(start, end - 2 * overlap), end - overlap)
    yield start, len(begins)


def _last_word(begins: Sequence[bool], after: int, last: int) -> int:
    return next((token for token in range(last, after, -1) if begins[token]), last)
