"""How texts fit into an embedder's window: numbers, and the one line that reports them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from graphrag_bench.errors import UserError

LongTexts = Literal["windows", "cut", "refuse"]
_BECOMES = {
    "windows": "are embedded in overlapping windows",
    "cut": "are cut",
    "refuse": "are refused",
}


def said_reading(window: int | None, long_texts: LongTexts, unknown: str) -> str:
    """How much of a text an embedder reads, and what becomes of longer ones, in words.

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

    def said(self, what: str) -> str:
        """One line: how many of the texts, named by `what`, are longer, and what becomes of them.

        Empty where no window is known, and where there is no text.
        """
        if self.window is None or not self.n_texts:
            return ""
        reads = f"the embedder's {self.window:,} tokens"
        of = f"of {self.counted_in}" if self.counted_in else ""
        if not self.n_long:
            return f"none of {self.n_texts:,} {what} is longer than {reads}{of and f' ({of})'}"
        noted = ", ".join(filter(None, (of, f"the longest has {self.longest:,}")))
        so = f"{self.n_long:,} of {self.n_texts:,} {what} are longer than {reads} ({noted}) and "
        so += _BECOMES[self.long_texts]
        share = f"{100 * self.n_past / self.n_tokens:.0f} % of their tokens"
        if self.long_texts == "windows":
            return f"{so}: {self.n_windows:,} windows, {share} lie past the first"
        return f"{so}: {share} are not embedded" if self.long_texts == "cut" else so

    def refuse(self, what: str) -> None:
        """Raise UserError where `long_texts=refuse` meets a text that is longer."""
        if self.long_texts == "refuse" and self.n_long:
            raise UserError(
                f"{self.said(what)} (embedder.long_texts=refuse). Set embedder.long_texts=windows, "
                "or make smaller texts (chunking=token chunking.size=N), or name an embedder that "
                "reads more."
            )

    @property
    def row(self) -> dict[str, Any]:
        """The fields as JSON."""
        return asdict(self)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Fit:
        """The fit that `row` wrote."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})

    def plus(self, other: Fit) -> Fit:
        """Both together: of the corpora of two scopes."""
        return Fit(
            self.window,
            self.long_texts,
            self.n_texts + other.n_texts,
            self.n_long + other.n_long,
            max(self.longest, other.longest),
            self.n_tokens + other.n_tokens,
            self.n_past + other.n_past,
            self.n_windows + other.n_windows,
            self.counted_in,
        )
