"""What a search has scored so far, so that it goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from graphrag_bench.runs.folder import append_lines, held_alone, read_lines


@dataclass(frozen=True)
class Score:
    """A candidate over the first `n` questions: means of metric and tokens, bytes of artifacts.

    `failed` says what went wrong; such a candidate is out.
    """

    key: str
    n: int
    value: float
    tokens: float
    size: int
    failed: str = ""


class Journal:
    """The scores of a search, by run key and number of questions; one process writes at a time."""

    def __init__(self, folder: Path) -> None:
        """Read what is there; a line that was cut by a kill is left out."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "journal.jsonl"
        rows = [Score(**row) for row in read_lines(self.path)] if self.path.is_file() else []
        self.held = {(row.key, row.n): row for row in rows}

    def get(self, key: str, n: int) -> Score | None:
        """The score of a candidate over so many questions."""
        return self.held.get((key, n))

    def add(self, score: Score) -> Score:
        """Keep a score, on disk at once."""
        self.held[score.key, score.n] = score
        append_lines(self.path, [asdict(score)])
        return score

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the search; raises UserError where another process is at work on it."""
        lock = self.path.with_name("search.lock")
        with held_alone(lock, f"Another process searches in {self.path.parent}. Wait for its end."):
            yield
