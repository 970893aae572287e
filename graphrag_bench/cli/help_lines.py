"""Lines of a help text that no terminal of 100 columns breaks."""

from __future__ import annotations

import textwrap

WIDTH = 100


def entry(head: str, meaning: str, at: int) -> str:
    """The head, and its meaning from column `at` on, over several lines where one is too short.

    A head that is longer than that has its meaning below it.
    """
    lines = textwrap.wrap(meaning, WIDTH - at, break_on_hyphens=False)
    if lines and len(head) < at:
        head = f"{head:<{at}}{lines.pop(0)}"
    return "\n".join([head, *(" " * at + line for line in lines)])
