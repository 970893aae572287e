"""What a user names by the beginning of its key: a run, a sweep, an artifact, a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from graphrag_bench.errors import UserError, nearest

T = TypeVar("T")


def by_beginning(
    name: str,
    held: Mapping[str, T],
    what: str,
    place: object,
    shown: Callable[[T], str] = lambda _: "",
) -> T:
    """The value of the key `name`, else of the only key that begins so.

    Raises UserError when there is none, or more than one, with the keys that are near, each with
    what `shown` says of its value.
    """
    found = [key for key in held if key == name] or [k for k in held if name and k.startswith(name)]
    if len(found) == 1:
        return held[found[0]]
    near = found or nearest(name, held) or list(held)[:5]
    told = [f"{key} ({said})" if (said := shown(held[key])) else key for key in near]
    if found:
        raise UserError(f"'{name}' begins several {what}s: {', '.join(told)}.")
    close = nearest(name, held)
    hint = (
        f"Did you mean {' or '.join(told)}?"
        if close
        else f"There are: {', '.join(told) or 'none'}."
    )
    raise UserError(f"No {what} '{name}' in {place}. {hint}")
