"""Errors that the user can fix, and messages that suggest valid names."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
Names = Iterable[str]
_LISTED = 24
"""Maximum number of names that a message lists if no name is similar."""


class UserError(Exception):
    """Error in the user's input. The message says what is wrong, where, and what is valid."""

    exit_code = 2


class MissingPackage(UserError):
    """An optional package is not installed. The message states the command that installs it."""


@contextmanager
def extra_needed(extra: str) -> Iterator[None]:
    """Replace an ImportError by MissingPackage, which states the command that installs `extra`."""
    try:
        yield
    except ImportError as error:
        package = str(error.name).partition(".")[0]
        install = f"pip install 'graphrag-bench[{extra}]'"
        raise MissingPackage(f"{package} is not installed: {install}") from None


class ErrorCollector:
    """The UserErrors of several checks, which are raised together."""

    def __init__(self) -> None:
        self.errors: list[UserError] = []

    def attempt(self, work: Callable[[], T]) -> T | None:
        """Return the result of `work`, or store the UserError that it raises and return None."""
        try:
            return work()
        except UserError as error:
            if str(error) not in map(str, self.errors):
                self.errors.append(error)
            return None

    def raise_all(self) -> None:
        """Raise the stored errors as one error. If there are no errors, do nothing."""
        if self.errors:
            one = len(self.errors) == 1
            raise self.errors[0] if one else UserError("\n".join(map(str, self.errors))) from None


def result_or_error(work: Callable[[], T]) -> T | Exception:
    """Return the result of `work` or the error that it raises. A UserError is not caught."""
    try:
        return work()
    except UserError:
        raise
    except Exception as error:  # noqa: BLE001 - the caller reports the error
        return error


def message_of(error: Exception) -> str:
    """Return the message of an error, with its type unless it is a UserError or an OSError."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror + (f": {error.filename}" if error.filename is not None else "")
    kind = "" if isinstance(error, UserError | OSError) else f"{type(error).__name__}: "
    return f"{kind}{error}"


def exit_code_of(error: Exception) -> int:
    """Return the exit code of an error. It is 2 if the user can fix the error, else 1."""
    if isinstance(error, UserError):
        return error.exit_code
    return 2 if isinstance(error, OSError) else 1


class UnreadableReply(Exception):
    """A model's reply could not be parsed.

    The prompt of the retry quotes `problem`, so another wording would change the answers.
    """

    def __init__(self, purpose: str, reply: str, problem: str = "it has not the form asked for"):
        super().__init__(f"unreadable reply for {purpose}: {reply[:200]!r}")
        self.reply, self.problem = reply, problem


def nearest(name: str, valid: Names, n: int = 3) -> list[str]:
    """Return up to `n` valid names that are similar to a name, the most similar name first."""
    names = sorted(set(valid))
    close = difflib.get_close_matches(name, names, n=n, cutoff=0.5)
    inside = [other for other in names if name and (name in other or other in name)]
    return list(dict.fromkeys(close + inside))[:n]


def did_you_mean(
    name: str, valid: Names, listed: Names | None = None, n: int = 3, prefix: str = ""
) -> str:
    """Return a hint with up to `n` valid names that are similar to `name`.

    If no name is similar, the hint lists `listed` (default: all). Each name begins with `prefix`.
    """
    names = list(valid)
    if close := nearest(name, names, n):
        return f"Did you mean {' or '.join(repr(prefix + other) for other in close)}?"
    every = [prefix + other for other in (names if listed is None else listed)]
    more = f" and {len(every) - _LISTED} more" if len(every) > _LISTED else ""
    return f"There are: {', '.join(every[:_LISTED]) or 'none'}{more}."


def unknown(kind: str, name: str, valid: Names) -> UserError:
    """Return an error such as "No method 'hiporag'. Did you mean 'hipporag'?"."""
    return UserError(f"No {kind} '{name}'. {did_you_mean(name, sorted(set(valid)))}")


def by_prefix(
    name: str, values: Mapping[str, T], what: str, place: object, shown: Callable[[T], str] = str
) -> T:
    """Return the value of the key `name`, or of the only key that begins with `name`.

    Otherwise, raise a UserError that lists keys, each with the note `shown(value)`.
    """
    keys = [name] if name in values else [key for key in values if name and key.startswith(name)]
    if len(keys) == 1:
        return values[keys[0]]
    notes = {key: shown(values[key]) for key in keys or nearest(name, values) or values}
    near = [f"{key} ({note})" if note else key for key, note in notes.items()]
    problem = f"Several {what}s begin with '{name}'" if keys else f"No {what} '{name}' in {place}"
    raise UserError(f"{problem}. There are: {', '.join(near) or 'none'}.")
