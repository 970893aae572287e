"""The tokens of a prompt's context, which packers need as a resource."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

Filling = Literal["", "chunk", "node"]


@dataclass(frozen=True)
class ContextBudget:
    """The most tokens of a prompt's context, and how packers keep within them.

    Without `tokens` nothing bounds a context. Rows of the kind `filling` are as many as fit,
    whatever `top_k` says. With `own` the budget is that of the method, not one for all methods;
    `whole` is the number that the method states, of which tokens of a block's own are parts.
    With `all_rows` a block whose step states no `top_k` takes every row. `group_tokens` bounds
    each group of a context that is read in groups.
    """

    tokens: int | None = None
    filling: Filling = ""
    own: bool = False
    whole: int | None = None
    all_rows: bool = False
    group_tokens: int | None = None

    @property
    def identity(self) -> str:
        """Its part of keys: what differs from a context without a bound."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return ", ".join(f"{name}={value}" for name, value in values.items() if value) or "none"

    def most_rows(self, kind: str, top_k: int | Literal["auto"] | None, default: int) -> int | None:
        """Return how many rows of a kind a block takes at most; None for any number.

        `default` stands in place of "auto".
        """
        if kind == self.filling or (top_k == "auto" and self.all_rows):
            return None
        return default if top_k == "auto" else top_k

    def share(self, share: float) -> float:
        """Return a block's share, tokens of its own (above 1) in proportion to this budget."""
        if share <= 1 or self.tokens is None or self.whole is None:
            return share
        return max(round(share * self.tokens / self.whole), 2)

    def at_most(self, tokens: int | None) -> ContextBudget:
        """Return the budget of a block that the method gives so many tokens, where it is its own.

        A budget for all methods stays.
        """
        bounds = [n for n in (self.tokens, tokens) if n is not None]
        shared = self.tokens is not None and not self.own
        return self if shared or not bounds else replace(self, tokens=min(bounds))


UNBOUNDED = ContextBudget()
"""No bound."""
