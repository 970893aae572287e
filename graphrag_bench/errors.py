"""Errors a user can mend, each with one clear message; the command line exits with 2 on them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user gave is wrong; the message says what, where, and what would be right.

    `exit_code` is that of the command it ends.
    """

    exit_code = 2


class UnreadableReply(Exception):
    """A model's reply could not be read; carries the start of the reply."""

    def __init__(self, purpose: str, reply: str) -> None:
        """Keep what was asked for and at most 200 characters of what came back."""
        super().__init__(f"unreadable reply for {purpose}: {reply[:200]!r}")
        self.purpose = purpose
        self.reply = reply


def nearest(name: str, valid: Iterable[str], n: int = 3) -> list[str]:
    """Up to `n` valid names, the most similar to `name` first."""
    names = sorted(set(valid))
    close = difflib.get_close_matches(name, names, n=n, cutoff=0.5)
    inside = [other for other in names if name and (name in other or other in name)]
    return list(dict.fromkeys(close + inside))[:n]


def unknown(kind: str, name: str, valid: Iterable[str]) -> UserError:
    """The error for an unknown name: the nearest valid ones, or all when none is near."""
    names = sorted(set(valid))
    close = nearest(name, names)
    if close:
        hint = "Did you mean " + " or ".join(f"'{other}'" for other in close) + "?"
    else:
        hint = "There are: " + (", ".join(names) or "none") + "."
    return UserError(f"No {kind} '{name}'. {hint}")
