"""The ledger: one line for every call, written when it ends; sums and a budget over its lines."""

import json
import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import BudgetSpent, CallFailed, CallOutcome, Completion, ModelCall
from graphrag_bench.llm.settings import Prices


@dataclass(frozen=True)
class LedgerLine(ModelCall):
    """A call as the ledger has it; of a cached one tokens and price as when it was paid for.

    `item` is the question or chunk; `outcome` is `stop`, `length` or why the call failed; `kind` is
    `chat` or `embedding`.
    """

    stage: str
    step: str
    item: str
    outcome: str
    kind: str = "chat"


class Ledger:
    """A file of JSON lines; each is handed to the system whole, so that kill -9 loses none."""

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
        """Append one line; raises UserError when it cannot be written."""
        text = json.dumps(vars(line), ensure_ascii=False) + "\n"
        with self._lock:
            try:
                os.write(self._file, text.encode("utf-8", "replace"))
            except OSError as error:
                raise UserError(f"The ledger {self.path} cannot be written: {error}.") from None

    def at(
        self, stage: str, step: str, item: str = "", kind: str = "chat"
    ) -> Callable[[CallOutcome, str], None]:
        """Return a function that writes the outcomes of one step, for `attached(log=...)`.

        `item` is used where the outcome has none of its own.
        """

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
    """Return the lines of ledgers (one for each shard).

    A line that a kill cut short is left out, and so is a file that another process, having built
    its artifact, has moved in the meantime.
    """
    for path in map(Path, paths):
        with suppress(FileNotFoundError), path.open(encoding="utf-8", errors="replace") as file:
            yield from _lines(file)


def _lines(texts: Iterable[str]) -> Iterator[LedgerLine]:
    for text in texts:
        with suppress(ValueError, TypeError):
            yield LedgerLine(**json.loads(text))


def grouped(lines: Iterable[LedgerLine], field: str) -> dict[str, list[LedgerLine]]:
    """Return lines by the value of a field, sorted."""
    groups: dict[str, list[LedgerLine]] = {}
    for line in lines:
        groups.setdefault(str(getattr(line, field)), []).append(line)
    return dict(sorted(groups.items()))


def sums(lines: Sequence[LedgerLine]) -> dict[str, Any]:
    """Return what calls add up to: those `paid` for and those `cached` apart.

    Each has `calls` and the sums of tokens, `seconds`, `retries` and `usd`. `truncated` calls
    reached `max_tokens`; `failed` ones are counted by reason.
    """
    total: dict[str, Any] = {}
    for name, cached in (("paid", False), ("cached", True)):
        part = [line for line in lines if line.cached == cached]
        added = {
            of: sum((getattr(one, of) for one in part), zero)
            for of, zero in vars(ModelCall()).items()
            if type(zero) in (int, float)
        }
        rounded = {"seconds": round(added["seconds"], 3), "usd": round(added["usd"], 6)}
        total[name] = {"calls": len(part), **added, **rounded}
    outcomes = Counter(line.outcome for line in lines)
    total["truncated"] = outcomes.pop("length", 0)
    return total | {"failed": {name: n for name, n in sorted(outcomes.items()) if name != "stop"}}


def models_of(lines: Iterable[LedgerLine]) -> list[str]:
    """Return the models that served, each with its build, sorted."""
    return sorted({f"{line.model} {line.fingerprint}".strip() for line in lines} - {""})


@dataclass(frozen=True)
class Spending:
    """Tokens (prompt and completion) and US dollars."""

    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(self.tokens + other.tokens, self.usd + other.usd)

    def __sub__(self, other: "Spending") -> "Spending":
        return Spending(self.tokens - other.tokens, self.usd - other.usd)

    @classmethod
    def of(cls, *calls: ModelCall) -> "Spending":
        """Return what calls have cost; those from the cache have cost nothing."""
        paid = [call for call in calls if not call.cached]
        tokens = sum(call.prompt_tokens + call.completion_tokens for call in paid)
        return cls(tokens, sum((call.usd for call in paid), 0.0))


def spent(*ledgers: str | Path) -> Spending:
    """Return the cost of the calls in some ledgers that were paid for."""
    return Spending.of(*read_ledger(*ledgers))


class Budget:
    """What a run may spend, shared by all its models and threads.

    A call is let through when all that was spent, all that is under way (at its most: prompt and
    `max_tokens`) and the call itself stay within the budget. Otherwise it waits for calls under
    way, which mostly cost less than their most; when none is left, the run stops.

    What was spent is `before`, the calls made here, and what the ledgers that `others` names have
    got more since: those of processes at work on the same run. What these have under way is not
    known here, so that together they may pass the budget by as many calls.
    """

    def __init__(
        self,
        tokens: int | None = None,
        usd: float | None = None,
        before: Spending | None = None,
        others: Callable[[], Iterable[Path]] = tuple,
    ) -> None:
        self.tokens = tokens
        self.usd = usd
        self._others = _Tail(others)
        self._own = (before or Spending()) - self._others.spent()
        self._reserved = Spending()
        self._n_calls = 0
        self._changed = threading.Condition()

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.tokens is not None or self.usd is not None

    @property
    def spent(self) -> Spending:
        """What was spent by now."""
        return self._own + self._others.spent()

    def check_prices(self, prices: Prices, model: str) -> None:
        """Raise UserError for a budget in dollars and a model whose prices are not set."""
        if self.usd is not None and prices == Prices():
            raise UserError(
                f"budget.usd={self.usd:g} needs the prices of {model}: "
                "llm.prices={prompt: ..., completion: ...}, US dollars per million tokens."
            )

    @contextmanager
    def room(self, most: Spending) -> Iterator[Callable[[Completion], None]]:
        """Hold room for one call; the function it yields notes what the call did cost.

        Waits for room; raises BudgetSpent when there is none and no call is under way. What a
        failure inside was paid for is noted too.
        """
        with self._changed:
            while problem := self._problem(most):
                if self._n_calls == 0:
                    raise BudgetSpent(
                        f"{problem}. Finished work is kept: raise the budget and run the same "
                        "command again."
                    )
                self._changed.wait()
            self._reserved += most
            self._n_calls += 1
        try:
            yield self._spend
        except CallFailed as failure:
            if failure.paid is not None:
                self._spend(failure.paid)
            raise
        finally:
            with self._changed:
                self._reserved -= most
                self._n_calls -= 1
                self._changed.notify_all()

    def _spend(self, call: Completion) -> None:
        with self._changed:
            self._own += Spending.of(call)

    def _problem(self, most: Spending) -> str:
        spent = self.spent
        for name, limit in (("tokens", self.tokens), ("usd", self.usd)):
            now, reserved, more = (getattr(of, name) for of in (spent, self._reserved, most))
            if limit is not None and now + reserved + more > limit + 1e-12:
                return (
                    f"budget.{name}={limit} could be passed: {round(now, 4)} are spent and the "
                    f"next call may take {round(more, 4)}"
                )
        return ""


class _Tail:
    """What the calls in ledgers that others write have cost: only lines that are new are read."""

    def __init__(self, paths: Callable[[], Iterable[Path]]) -> None:
        self._paths = paths
        self._ends: dict[Path, int] = {}
        self._spent = Spending()

    def spent(self) -> Spending:
        for path in self._paths():
            with suppress(FileNotFoundError), path.open("rb") as file:
                file.seek(self._ends.get(path, 0))
                whole = file.read().rpartition(b"\n")[0]
                self._ends[path] = self._ends.get(path, 0) + len(whole) + bool(whole)
                lines = _lines(whole.decode("utf-8", "replace").splitlines())
                self._spent += Spending.of(*lines)
        return self._spent
