"""What calls cost, and the accounts that say what is spent and what is under way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Spending:
    """Tokens (prompt and completion) and US dollars."""

    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Spending) -> Spending:
        return Spending(self.tokens + other.tokens, self.usd + other.usd)

    def __sub__(self, other: Spending) -> Spending:
        return Spending(self.tokens - other.tokens, self.usd - other.usd)

    def at_least(self, other: Spending) -> Spending:
        """The larger tokens and the larger dollars of both."""
        return Spending(max(self.tokens, other.tokens), max(self.usd, other.usd))


@dataclass(frozen=True)
class Balance:
    """What is spent, what is reserved for calls under way, and how many these are."""

    spent: Spending = field(default_factory=Spending)
    reserved: Spending = field(default_factory=Spending)
    n_calls: int = 0


class OwnAccount:
    """The account of one process."""

    def __init__(self, spent: Spending | None = None) -> None:
        self._balance = Balance(spent or Spending())
        self._lock = threading.Lock()

    def balance(self) -> Balance:
        """What is spent and reserved by now."""
        return self._balance

    def reserve(self, most: Spending, fits: Callable[[Balance], bool]) -> Balance | None:
        """Reserve for a call; instead the balance that it does not fit into."""
        with self._lock:
            held = self._balance
            if not fits(held):
                return held
            self._balance = Balance(held.spent, held.reserved + most, held.n_calls + 1)
            return None

    def settle(self, most: Spending, actual: Spending) -> None:
        """Give back what was reserved for a call that is over, and note what it cost."""
        with self._lock:
            held = self._balance
            self._balance = Balance(held.spent + actual, held.reserved - most, held.n_calls - 1)
