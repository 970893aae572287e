"""Ledgers (logs of model calls as JSON lines), sums over ledger lines, and budgets."""

import json
import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed, CallOutcome, Completion, Log, ModelCall, RunStopped


@dataclass(frozen=True)
class LedgerLine(ModelCall):
    """A model call in the ledger. A cached call has the tokens and price of the original call.

    `item` is a question or chunk. `outcome` is `stop`, `length` or the reason of a failure.
    """

    stage: str
    step: str
    item: str
    outcome: str
    kind: str = "chat"


class Ledger:
    """Log of model calls as JSON lines. Each line is written to the file immediately."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._lock = threading.Lock()
        weakref.finalize(self, os.close, self._file)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")

    def write(self, line: LedgerLine) -> None:
        """Append one line to the file. Raises UserError if the file cannot be written."""
        text = json.dumps(vars(line), ensure_ascii=False) + "\n"
        with self._lock:
            try:
                os.write(self._file, text.encode("utf-8", "replace"))
            except OSError as error:
                raise UserError(f"The ledger {self.path} cannot be written: {error}.") from None

    def logger(self, stage: str, step: str, item: str = "", kind: str = "chat") -> Log:
        """Return a function that logs the calls of a step. Calls without an item get `item`."""

        def log(outcome: CallOutcome, own_item: str) -> None:
            if isinstance(outcome, CallFailed):
                reply, how = outcome.paid or Completion(""), outcome.reason
            else:
                reply, how = outcome, outcome.finish
            values = {field.name: getattr(reply, field.name) for field in fields(ModelCall)}
            values |= {"seconds": round(outcome.seconds, 6), "retries": outcome.retries}
            self.write(LedgerLine(stage, step, own_item or item, how, kind=kind, **values))

        return log


def read_ledger(*paths: str | Path) -> Iterator[LedgerLine]:
    """Yield the lines of several ledgers. Incomplete lines and missing files are skipped."""
    for path in map(Path, paths):
        with suppress(FileNotFoundError), path.open(encoding="utf-8", errors="replace") as file:
            yield from _lines(file)


def _lines(texts: Iterable[str]) -> Iterator[LedgerLine]:
    for text in texts:
        with suppress(ValueError, TypeError):
            yield LedgerLine(**json.loads(text))


def lines_by(lines: Iterable[LedgerLine], field: str) -> dict[str, list[LedgerLine]]:
    """Group lines by the value of a field, sorted by this value."""
    value = attrgetter(field)
    return {name: list(own) for name, own in groupby(sorted(lines, key=value), value)}


def sums(lines: Sequence[LedgerLine]) -> dict[str, Any]:
    """Return sums of paid and of cached calls, of truncated replies, and of failures by reason."""
    total: dict[str, Any] = {}
    zeros = {of: zero for of, zero in vars(ModelCall()).items() if type(zero) in (int, float)}
    for name, cached in (("paid", False), ("cached", True)):
        part = [line for line in lines if line.cached == cached]
        added = {of: sum((getattr(one, of) for one in part), zero) for of, zero in zeros.items()}
        rounded = {"seconds": round(added["seconds"], 3), "usd": round(added["usd"], 6)}
        total[name] = {"calls": len(part), **added, **rounded}
    outcomes = Counter(line.outcome for line in lines)
    total["truncated"] = outcomes.pop("length", 0)
    return total | {"failed": {name: n for name, n in sorted(outcomes.items()) if name != "stop"}}


def models_of(lines: Iterable[LedgerLine]) -> list[str]:
    """Return the sorted models of ledger lines, each with the fingerprint of its server."""
    return sorted({f"{line.model} {line.fingerprint}".strip() for line in lines} - {""})


@dataclass(frozen=True)
class Spending:
    """Cost of model calls: the tokens of prompts and completions, and US dollars."""

    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(self.tokens + other.tokens, self.usd + other.usd)

    @classmethod
    def of(cls, *calls: ModelCall) -> "Spending":
        """Return the total cost of model calls. Cached calls are free."""
        paid = [call for call in calls if not call.cached]
        tokens = sum(call.prompt_tokens + call.completion_tokens for call in paid)
        return cls(tokens, sum((call.usd for call in paid), 0.0))


@dataclass(eq=False)
class Budget:
    """Limit on the tokens or US dollars of a run, shared by all models and threads.

    `others` returns the ledgers of the run's other processes. The amount spent is `before` plus the
    costs of this object's calls and of the lines that were added to these ledgers. The amount may
    exceed the limit, because running calls of the other processes are not counted.
    """

    tokens: int | None = None
    usd: float | None = None
    before: Spending = Spending()
    others: Callable[[], Iterable[Path]] = tuple

    def __post_init__(self) -> None:
        self._ends: dict[Path, int] = {}  # bytes of each ledger that were already read
        self._of_others = Spending()
        self._spent_by_others()  # part of `before`
        self._own, self._of_others = self.before, Spending()
        self._reserved: list[Spending] = []  # for each running call
        self._changed = threading.Condition()

    @property
    def limited(self) -> bool:
        """Whether the budget has a limit on tokens or on dollars."""
        return self.tokens is not None or self.usd is not None

    @property
    def spent(self) -> Spending:
        """Amount spent so far, including the calls of other processes of the run."""
        return self._own + self._spent_by_others()

    def _spent_by_others(self) -> Spending:
        for path in self.others():
            with suppress(FileNotFoundError), path.open("rb") as file:
                file.seek(self._ends.get(path, 0))
                whole = file.read().rpartition(b"\n")[0]
                self._ends[path] = self._ends.get(path, 0) + len(whole) + bool(whole)
                lines = _lines(whole.decode("utf-8", "replace").splitlines())
                self._of_others += Spending.of(*lines)
        return self._of_others

    @contextmanager
    def reserve(self, most: Spending) -> Iterator[Callable[[Completion], None]]:
        """Reserve the maximum cost of a call, and yield a function that records its actual cost.

        Near the limit, wait for running calls, or raise RunStopped if no call is running.
        """
        with self._changed:
            while problem := self._problem(most):
                if not self._reserved:
                    advice = "Raise the budget and run the same command again."
                    raise RunStopped(f"{problem}. The results so far are kept. {advice}")
                self._changed.wait()
            self._reserved.append(most)
        try:
            yield self._spend
        except CallFailed as failure:
            if failure.paid is not None:
                self._spend(failure.paid)
            raise
        finally:
            with self._changed:
                self._reserved.remove(most)
                self._changed.notify_all()

    def _spend(self, call: Completion) -> None:
        with self._changed:
            self._own += Spending.of(call)

    def _problem(self, most: Spending) -> str:
        total = self.spent
        for name, limit in (("tokens", self.tokens), ("usd", self.usd)):
            now, more = getattr(total, name), getattr(most, name)
            whole = now + more + sum(getattr(one, name) for one in self._reserved)
            if limit is not None and whole > limit + 1e-12:
                spent = f"{round(now, 4)} {name} are spent"
                next_call = f"the next call may cost {round(more, 4)}"
                return f"budget.{name}={limit} could be exceeded: {spent}, and {next_call}"
        return ""
