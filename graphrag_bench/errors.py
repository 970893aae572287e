"""Errors that the user can fix, each with one clear message; the command line exits with 2."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


class UserError(Exception):
    """Something the user gave is wrong; the message says what, where, and what would be right."""

    exit_code = 2


class MissingPackage(UserError):
    """A package of an extra is not installed; the message has the line that installs it."""


class ErrorCollector:
    """The errors of several pieces of work, raised together: what one finds hides no other."""

    def __init__(self) -> None:
        self.errors: list[UserError] = []

    def attempt(self, work: Callable[[], T]) -> T | None:
        """Return what `work` returns; None when it raises a UserError, which is kept."""
        try:
            return work()
        except UserError as error:
            if str(error) not in map(str, self.errors):
                self.errors.append(error)
            return None

    def refuse(self) -> None:
        """Raise what was kept: the error itself when there is one, all their messages otherwise."""
        if self.errors:
            one = len(self.errors) == 1
            raise self.errors[0] if one else UserError("\n".join(map(str, self.errors))) from None


def result_or_error(work: Callable[[], T]) -> T | Exception:
    """Return what `work` returns, which runs the code of others, or the error that it raised.

    A UserError goes through as it is.
    """
    try:
        return work()
    except UserError:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary: the caller shows it with its place
        return error


def message_of(error: Exception) -> str:
    """Return the message of an error; of the operating system the file and what is wrong."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror + (f": {error.filename}" if error.filename is not None else "")
    kind = "" if isinstance(error, UserError | OSError) else f"{type(error).__name__}: "
    return f"{kind}{error}"


def exit_code_of(error: Exception) -> int:
    """Return the exit code of a command that an error ends: 2 for what the user can fix."""
    if isinstance(error, UserError):
        return error.exit_code
    return 2 if isinstance(error, OSError) else 1


class UnreadableReply(Exception):
    """A model's reply could not be read; `problem` says why, for the corrective retry."""

    def __init__(
        self, purpose: str, reply: str, problem: str = "it has not the form asked for"
    ) -> None:
        super().__init__(f"unreadable reply for {purpose}: {reply[:200]!r}")
        self.purpose = purpose
        self.reply = reply
        self.problem = problem


_LISTED = 24
"""Names of a message where none is near."""


def nearest(name: str, valid: Iterable[str], n: int = 3) -> list[str]:
    """Return up to `n` valid names, the most similar first."""
    names = sorted(set(valid))
    close = difflib.get_close_matches(name, names, n=n, cutoff=0.5)
    inside = [other for other in names if name and (name in other or other in name)]
    return list(dict.fromkeys(close + inside))[:n]


def did_you_mean(
    name: str,
    valid: Iterable[str],
    listed: Iterable[str] | None = None,
    n: int = 3,
    prefix: str = "",
) -> str:
    """Return the hint of an error: `Did you mean 'a' or 'b'?`, with up to `n` nearest names.

    `There are: a, b.` where none is near: `listed`, by default all of `valid`, in their order.
    Each name is shown behind `prefix`.
    """
    names = list(valid)
    if close := nearest(name, names, n):
        return f"Did you mean {' or '.join(repr(prefix + other) for other in close)}?"
    every = [prefix + other for other in (names if listed is None else listed)]
    more = f" and {len(every) - _LISTED} more" if len(every) > _LISTED else ""
    return f"There are: {', '.join(every[:_LISTED]) or 'none'}{more}."


def unknown(kind: str, name: str, valid: Iterable[str]) -> UserError:
    """Return the error for an unknown name: the nearest valid ones, or all when none is near."""
    return UserError(f"No {kind} '{name}'. {did_you_mean(name, sorted(set(valid)))}")


def by_prefix(
    name: str,
    values: Mapping[str, T],
    what: str,
    place: object,
    shown: Callable[[T], str] = lambda _: "",
) -> T:
    """Return the value of the key `name`, else of the only key that begins so.

    Raises UserError when there is none, or more than one, with the keys that are near, or all, each
    with what `shown` says of its value.
    """
    keys = [name] if name in values else [key for key in values if name and key.startswith(name)]
    if len(keys) == 1:
        return values[keys[0]]
    near = [
        f"{key} ({note})" if (note := shown(values[key])) else key
        for key in keys or nearest(name, values) or values
    ]
    problem = f"'{name}' begins several {what}s" if keys else f"No {what} '{name}' in {place}"
    raise UserError(f"{problem}. There are: {', '.join(near) or 'none'}.")
