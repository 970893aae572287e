"""The columns of a table laid out for the width of a terminal: no number is ever cut or broken."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphrag_bench.report.lean import folded, stacked
from graphrag_bench.report.rendering import Table

_TEXT = 14
"""Signs that a column of text keeps before the numbers next to it are moved below."""
_WORD = 28
"""Signs up to which a word of such a column is not broken either."""
_HEAD = 8
"""Signs that the head of a column of numbers may always take."""
_MOST_BLOCKS = 2
_BORDER = 3
"""Signs that a column takes in addition to its own: two spaces and a line."""


@dataclass(frozen=True)
class Column:
    """A place in the rows of a table, and the signs that it has there."""

    at: int
    width: int


def fitted(table: Table, width: int) -> tuple[Table, list[list[Column]]]:
    """A table that folds in a form of which two blocks are enough, if there is one; its blocks.

    What says the same in every row goes below; intervals go below their means where more than two
    blocks were needed, and are told shorter where that is not enough. In a table of a width of its
    own they go below where one block is not enough. Another table stays.
    """
    if table.width is not None and len(blocks(table, width)) > 1:
        form = replace(stacked(table), notes=table.notes)
        return form, blocks(form, width)
    if not table.folds:
        return table, blocks(table, width)
    lean = folded(table)
    for form in (lean, stacked(lean), stacked(lean, short=True)):
        held = blocks(form, width)
        if len(held) <= _MOST_BLOCKS:
            break
    return form, held


def blocks(table: Table, width: int) -> list[list[Column]]:
    """The columns that are drawn side by side, block below block, each within `width` signs.

    One block where that is enough, with heads and texts on several lines if need be. Otherwise
    every block begins with the columns of text that lead the table. A number has its own width
    always, so a block of one number may be wider than a very narrow terminal.
    """
    natural = [_widest(column) for column in table.columns]
    if _taken(natural) <= width:
        return [[Column(at, held) for at, held in enumerate(natural)]]
    texts = [at for at, head in enumerate(table.heads) if head in table.texts]
    numbers = [at for at in range(len(natural)) if at not in texts]
    words = [
        _widest(" ".join(column).split() if at in texts else [*_lines(column[0]), *column[1:]])
        for at, column in enumerate(table.columns)
    ]
    least = [max(min(natural[at], _TEXT), min(words[at], _WORD)) for at in range(len(natural))]
    left = width - _taken([words[at] for at in numbers]) - _BORDER * len(texts)
    if left >= sum(least[at] for at in texts):
        shrunk = _shrunk([natural[at] for at in texts], [least[at] for at in texts], left)
        held = dict(zip(texts, shrunk, strict=True))
        return [[Column(at, held.get(at, words[at])) for at in range(len(natural))]]
    n_lead = next((at for at in range(len(natural)) if at not in texts), len(natural))
    share = width - 1 - _BORDER * n_lead
    if n_lead < len(natural):
        room = share - _BORDER - max(words[at] for at in range(n_lead, len(natural)))
        share = max(width // 2 - _BORDER * n_lead, min(room, sum(least[:n_lead])))
    lead = [Column(*one) for one in enumerate(_shrunk(natural[:n_lead], least[:n_lead], share))]
    behind = [
        Column(at, min(natural[at], _WORD) if at in texts else words[at])
        for at in range(n_lead, len(natural))
    ]
    return _packed(lead, behind, width)


def _packed(lead: Sequence[Column], behind: Sequence[Column], width: int) -> list[list[Column]]:
    """The columns in order, as many in each block as fit next to the lead, and one at least."""
    found = [list(lead)]
    for column in behind:
        if len(found[-1]) > len(lead) and _taken([c.width for c in (*found[-1], column)]) > width:
            found.append(list(lead))
        found[-1].append(column)
    return found


def _lines(head: str) -> list[str]:
    """The head on the lines that it may be broken into: words, a short one with the next."""
    return textwrap.wrap(head, max(_HEAD, *map(len, head.split()), 1)) or [""]


def _widest(texts: Sequence[str]) -> int:
    """Places on the screen; signs of Chinese and the like take two."""
    from rich.cells import cell_len

    return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)


def _taken(widths: Sequence[int]) -> int:
    return sum(widths) + _BORDER * len(widths) + 1


def _shrunk(widths: Sequence[int], least: Sequence[int], total: int) -> list[int]:
    """The widths with the widest made narrower, one sign at a time, until they sum to `total`.

    None falls below its `least` while another can give; none falls below 1.
    """
    held = list(widths)
    while sum(held) > total and max(held) > 1:
        gives = [at for at, width in enumerate(held) if width > least[at]] or range(len(held))
        held[max(gives, key=held.__getitem__)] -= 1
    return held
