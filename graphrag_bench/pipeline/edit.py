"""The lists of steps of a method, those inside combinators too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Item = dict[str, Any]


def every_list(lists: Sequence[list[Item]]) -> Iterator[list[Item]]:
    """Every list of steps, a list before those inside its steps."""
    for items in lists:
        yield items
        for step in items:
            inner = [*(step.get("branch") or {}).values(), *(step.get("cases") or {}).values()]
            inner += [step[key] for key in ("steps", "answer") if step.get(key)]
            yield from every_list(inner)
