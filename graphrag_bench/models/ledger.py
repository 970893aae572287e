"""The ledger: one line for every call, written when it ends; and sums over its lines."""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path

from graphrag_bench.errors import UserError
from graphrag_bench.models.outcomes import Completion, Outcome, paid_reply
from graphrag_bench.models.spending import Spending


@dataclass(frozen=True)
class Line:
    """One call. `item` is the question or chunk; `outcome` is `stop`, `length` or why it failed.

    Tokens, seconds and price of a cached call are those of the reply when it was paid for, except
    `seconds`, which are 0. `kind` is `chat` or `embedding`. `key` is the row of the store of
    replies, where prompt and reply are; "" without one.
    """

    stage: str
    step: str
    item: str
    outcome: str
    model: str = ""
    fingerprint: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    seconds: float = 0.0
    retries: int = 0
    cached: bool = False
    usd: float = 0.0
    kind: str = "chat"
    key: str = ""


@dataclass(frozen=True)
class Part:
    """Sums over calls."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    seconds: float = 0.0
    retries: int = 0
    usd: float = 0.0

    def plus(self, line: Line) -> Part:
        """With one call more."""
        return Part(
            self.calls + 1,
            self.prompt_tokens + line.prompt_tokens,
            self.completion_tokens + line.completion_tokens,
            self.reasoning_tokens + line.reasoning_tokens,
            self.seconds + line.seconds,
            self.retries + line.retries,
            self.usd + line.usd,
        )


@dataclass(frozen=True)
class Sums:
    """Calls paid for and calls from the cache apart; failures by reason; the models that served."""

    paid: Part = field(default_factory=Part)
    cached: Part = field(default_factory=Part)
    truncated: int = 0
    failed: tuple[tuple[str, int], ...] = ()
    models: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """All calls, paid for or not."""
        return self.paid.calls + self.cached.calls

    @property
    def mixed(self) -> bool:
        """Whether more than one model, or more than one build of it, has served."""
        return len(self.models) > 1

    def plus(self, line: Line) -> Sums:
        """With one call more."""
        failed = dict(self.failed)
        if line.outcome not in ("stop", "length"):
            failed[line.outcome] = failed.get(line.outcome, 0) + 1
        served = f"{line.model} {line.fingerprint}".strip()
        return Sums(
            self.paid if line.cached else self.paid.plus(line),
            self.cached.plus(line) if line.cached else self.cached,
            self.truncated + (line.outcome == "length"),
            tuple(sorted(failed.items())),
            tuple(sorted({*self.models, served} - {""})),
        )


class Ledger:
    """A file of JSON lines; each is handed to the system whole, so that kill -9 loses none."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._lock = threading.Lock()
        self._end = weakref.finalize(self, os.close, self._file)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")

    def write(self, line: Line) -> None:
        """Append one line; raises UserError when it cannot be written."""
        text = json.dumps(vars(line), ensure_ascii=False) + "\n"
        with self._lock:
            try:
                os.write(self._file, text.encode("utf-8", "replace"))
            except OSError as error:
                raise UserError(f"The ledger {self.path} cannot be written: {error}.") from None

    def at(
        self, stage: str, step: str, item: str = "", kind: str = "chat"
    ) -> Callable[[Outcome, str], None]:
        """A function that writes the outcomes of one step, for `Metered(log=...)`.

        `item` is used where the outcome has none of its own.
        """

        def log(outcome: Outcome, own_item: str) -> None:
            self.write(line_of(outcome, stage, step, own_item or item, kind))

        return log

    def close(self) -> None:
        """Close the file; that happens too when nobody holds the ledger any more."""
        self._end()


def line_of(outcome: Outcome, stage: str, step: str, item: str, kind: str = "chat") -> Line:
    """The line of one outcome."""
    paid = paid_reply(outcome)
    reply = paid or Completion("", 0, 0)
    failed = None if isinstance(outcome, Completion) else outcome
    return Line(
        stage,
        step,
        item,
        reply.finish if failed is None else failed.reason,
        reply.model,
        reply.fingerprint,
        reply.prompt_tokens,
        reply.completion_tokens,
        reply.reasoning_tokens,
        round(failed.seconds if failed else reply.seconds, 6),
        failed.retries if failed else reply.retries,
        reply.cached,
        reply.usd,
        kind,
        reply.key,
    )


def read_ledger(*paths: str | Path) -> Iterator[Line]:
    """The lines of ledgers (one for each shard).

    A line that a kill cut short is left out, and so is a file that another process, having built
    its artifact, has moved in the meantime. Lines that were written before calls had keys are read.
    """
    for path in paths:
        with (
            suppress(FileNotFoundError),
            Path(path).open(encoding="utf-8", errors="replace") as file,
        ):
            yield from _lines(file)


def _lines(texts: Iterable[str]) -> Iterator[Line]:
    names = {field.name for field in fields(Line)}
    for text in texts:
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and set(row) in (names, names - {"key"}):
            yield Line(**row)


def sums(lines: Iterable[Line], *by: str) -> dict[tuple[str, ...], Sums]:
    """Sums for each value of the named fields, e.g. `sums(lines, "stage", "step")`; sorted keys."""
    found: dict[tuple[str, ...], Sums] = {}
    for line in lines:
        key = tuple(str(getattr(line, name)) for name in by)
        found[key] = found.get(key, Sums()).plus(line)
    return dict(sorted(found.items()))


def spent(lines: Iterable[Line]) -> Spending:
    """The cost of the calls that were paid for: the start of a resumed run's budget."""
    total = Spending()
    for line in lines:
        if not line.cached:
            total += Spending(line.prompt_tokens + line.completion_tokens, line.usd)
    return total
