"""Markdown cut at its headings."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")


@dataclass(frozen=True)
class Part:
    """A section or page: its title, its text, and the mark (`#2`, `#p3`) that ends its id."""

    title: str
    text: str
    mark: str


def sections(text: str, name: str = "") -> list[Part]:
    """The sections of a markdown text that hold words, cut at its `#` headings.

    They are marked `#1`, `#2` in the order of the text.

    A section's title is that of the text (its first heading of level 1, when it is the only one
    on that level, or else `name`) and the headings above it, joined by ` > `; "" without any.
    Lines in code fences are not headings.
    """
    cut = _cut(text)
    tops = [heading for level, heading, _ in cut if level == 1]
    root = tops[0] if len(tops) == 1 else name
    trail: list[tuple[int, str]] = []
    parts: list[Part] = []
    for level, heading, body in cut:
        trail = [held for held in trail if held[0] < level]
        if level and not (level == 1 and len(tops) == 1):
            trail.append((level, heading))
        if body.strip():
            title = " > ".join(filter(None, [root, *(above for _, above in trail)]))
            parts.append(Part(title, body.strip(), f"#{len(parts) + 1}"))
    return parts


def _cut(text: str) -> list[tuple[int, str, str]]:
    found: list[tuple[int, str, list[str]]] = [(0, "", [])]
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        heading = None if fence or mark else _HEADING.match(line)
        if heading:
            found.append((len(heading[1]), heading[2].strip(), []))
        else:
            found[-1][2].append(line)
    return [(level, heading, "\n".join(lines)) for level, heading, lines in found]
