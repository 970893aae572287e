"""What a DRIFT search has asked and answered so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphrag_bench.values import Query, value


@dataclass(frozen=True)
class FollowUp:
    """A follow-up question and its depth: 1 of the primer, one more than that of its search."""

    text: str
    depth: int


@dataclass(frozen=True)
class Finding:
    """An intermediate answer and how well it serves the question, 1..100.

    `chunks` are those that it quotes, none where a model wrote it.
    """

    text: str
    score: int
    chunks: tuple[int, ...] = ()


@value("trail")
@dataclass(frozen=True)
class Trail:
    """Follow-up questions in order of appearance, each once, and the answers found, in order.

    The first `n_searched` follow-ups were searched for; the next one is being searched for.
    """

    follow_ups: tuple[FollowUp, ...]
    findings: tuple[Finding, ...] = ()
    n_searched: int = 0

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def current(self) -> FollowUp | None:
        """The follow-up that is searched for, or None when all have been."""
        return self.follow_ups[self.n_searched] if self.n_searched < len(self.follow_ups) else None

    @property
    def query(self) -> Query:
        """The text of the current follow-up; no text when all have been searched for."""
        return Query((self.current.text,) if self.current else ())

    def searched(self, findings: Sequence[Finding], new: Sequence[str], depth: int) -> Trail:
        """The trail after the current search: its answers and, down to `depth`, new follow-ups.

        A follow-up that was asked for before is passed over.
        """
        below = 1 + (self.current.depth if self.current else 0)
        known = {one.text for one in self.follow_ups}
        added = [text for text in dict.fromkeys(new) if text not in known] if below <= depth else []
        return replace(
            self,
            follow_ups=(*self.follow_ups, *(FollowUp(text, below) for text in added)),
            findings=(*self.findings, *findings),
            n_searched=self.n_searched + 1,
        )


@value("none_open")
@dataclass(frozen=True)
class NoneOpen:
    """That every follow-up question has been searched for, and how many there were."""

    n_searched: int
