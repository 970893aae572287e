"""The account that all processes of a run share: a small file next to its ledgers."""

from __future__ import annotations

import json
import os
import socket
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from graphrag_bench.errors import UserError
from graphrag_bench.models.spending import Balance, Spending

_BUSY_SECONDS = 120.0
_POLL_SECONDS = 0.005


@dataclass
class _Held:
    left: Spending = field(default_factory=Spending)
    there: dict[str, Balance] = field(default_factory=dict)

    @property
    def total(self) -> Balance:
        balances = list(self.there.values())
        return Balance(
            sum((one.spent for one in balances), self.left),
            sum((one.reserved for one in balances), Spending()),
            sum(one.n_calls for one in balances),
        )

    def leave(self, name: str) -> None:
        balance = self.there.pop(name, Balance())
        self.left += balance.spent + balance.reserved


class SharedAccount:
    """What all processes of a run have spent and have under way, each change in one locked step.

    Every process holds a lock file of its own for as long as it lives. Where that is free though
    its owner never left (kill -9), the owner's calls under way count as spent.
    """

    def __init__(self, path: Path, before: Spending) -> None:
        """`before` is what the run's ledgers hold by now; raises UserError for a bad place.

        What ledgers show and the file does not (calls of other runs that built for this one) is
        added.
        """
        self.path = path = path.absolute()
        self.name = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._here = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._alive = alive = _lock_of(path, self.name)
            alive.acquire()
            with _changed(path) as held:
                _bury(path, held, self.name)
                spent = held.total.spent
                held.left += spent.at_least(before) - spent
                held.there[self.name] = Balance()
        except OSError as error:
            raise UserError(f"The budget's file {path} cannot be written: {error}.") from None
        # it may run in the middle of a change of this very process, so that it never waits
        self._forgotten = weakref.finalize(self, _leave, path, self.name, alive, 0.0)

    def close(self) -> None:
        """Leave: what was spent stays, and what is still under way counts as spent."""
        if self._forgotten.detach():
            _leave(self.path, self.name, self._alive, _BUSY_SECONDS)

    def balance(self) -> Balance:
        """What all have spent and reserved by now."""
        return _read(self.path).total

    def reserve(self, most: Spending, fits: Callable[[Balance], bool]) -> Balance | None:
        """Reserve for a call; instead the balance that it does not fit into."""
        with self._here, _changed(self.path) as held:
            if not fits(held.total):
                _bury(self.path, held, self.name)
                if not fits(held.total):
                    return held.total
            own = held.there.get(self.name, Balance())
            held.there[self.name] = Balance(own.spent, own.reserved + most, own.n_calls + 1)
            return None

    def settle(self, most: Spending, actual: Spending) -> None:
        """Give back what was reserved for a call that is over, and note what it cost."""
        with self._here, _changed(self.path) as held:
            own = held.there.get(self.name, Balance(Spending(), most, 1))
            held.there[self.name] = Balance(
                own.spent + actual, own.reserved - most, own.n_calls - 1
            )


def _leave(path: Path, name: str, alive: FileLock, seconds: float) -> None:
    """The account ends: what it spent stays.

    Where the file is busy for longer than `seconds`, the lock is let go of alone: whoever looks
    next buries the name, which comes to the same.
    """
    try:
        if path.parent.is_dir():
            with _changed(path, seconds) as held:
                held.leave(name)
    except Timeout:
        alive.release()
        return
    alive.release()
    Path(alive.lock_file).unlink(missing_ok=True)


def _bury(path: Path, held: _Held, own: str) -> None:
    for name in sorted(set(held.there) - {own}):
        lock = _lock_of(path, name)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            continue
        held.leave(name)
        lock.release()
        Path(lock.lock_file).unlink(missing_ok=True)


def _lock_of(path: Path, name: str) -> FileLock:
    return FileLock(f"{path}.{name}.lock", thread_local=False)


@contextmanager
def _changed(path: Path, seconds: float = _BUSY_SECONDS) -> Iterator[_Held]:
    lock = FileLock(f"{path}.lock", seconds, poll_interval=_POLL_SECONDS, thread_local=False)
    with lock:
        held = _read(path)
        before = json.dumps(_as_json(held))
        yield held
        if (after := json.dumps(_as_json(held))) == before and path.is_file():
            return
        new = path.with_name(f"{path.name}.new")
        new.write_text(after, encoding="utf-8")
        new.replace(path)


def _as_json(held: _Held) -> dict[str, object]:
    return {
        "left": [held.left.tokens, held.left.usd],
        "there": {
            name: [one.spent.tokens, one.spent.usd, one.reserved.tokens, one.reserved.usd,
                   one.n_calls]
            for name, one in held.there.items()
        },
    }  # fmt: skip


def _read(path: Path) -> _Held:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        left, there = found["left"], found["there"]
        return _Held(
            Spending(int(left[0]), float(left[1])),
            {str(name): _balance(row) for name, row in _mapping(there).items()},
        )
    except (FileNotFoundError, ValueError, KeyError, IndexError, TypeError, OverflowError):
        return _Held()


def _mapping(found: object) -> Mapping[str, list[float]]:
    if not isinstance(found, dict):
        raise TypeError("no mapping")
    return found


def _balance(row: list[float]) -> Balance:
    tokens, usd, reserved, reserved_usd, n_calls = row
    spent = Spending(int(tokens), float(usd))
    return Balance(spent, Spending(int(reserved), float(reserved_usd)), int(n_calls))
