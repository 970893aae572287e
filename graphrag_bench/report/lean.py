"""A table with less to read: no columns of dashes; what holds for every row is one line below."""

from __future__ import annotations

import re
from dataclasses import replace

from graphrag_bench.report.rendering import MISSING, Table

_WITH_INTERVAL = re.compile(
    r"([-+]?\d+\.\d+!?(?: ±\d+\.\d+)?) \[([-+]?\d+\.\d+), ([-+]?\d+\.\d+)\]"
)
_INTERVAL = " [95 %]"


def without_missing(table: Table) -> Table:
    """The table without the columns of numbers that hold nothing in any row."""
    empty = [
        head not in table.texts and bool(cells) and set(cells) == {MISSING}
        for head, *cells in table.columns
    ]
    return _kept(table, [not none for none in empty])


def folded(table: Table) -> Table:
    """The table without columns that say the same in every row; a note has what they say.

    A row that lacks the number counts as saying the same, where two others have it. The first
    column stays, and so does every column of a single row.
    """
    table = without_missing(table)
    if len(table.rows) < 2:
        return table
    same: dict[int, str] = {}
    for at, (head, *cells) in enumerate(table.columns):
        there = [cell for cell in cells if cell != MISSING]
        if at and len(there) > 1 and len(set(there)) == 1:
            name = head.removesuffix(_INTERVAL)
            some = " (where there is one)" if len(there) < len(cells) else ""
            same[at] = f"{name} {there[0]}{some}"
    if not same:
        return table
    note = f"the same in every row: {'; '.join(same.values())}"
    kept = _kept(table, [at not in same for at in range(len(table.heads))])
    told = {table.heads[at] for at in same}
    about = (*kept.about, *(one for one in table.about if one[0] in told))
    return replace(kept, notes=(note, *kept.notes), about=about)


def stacked(table: Table, *, short: bool = False) -> Table:
    """The table with every interval on a line below its mean; `short` leaves out what is 0 or 1.

    `0.567 [0.40, 1.00]` becomes `0.567` over `[0.40, 1.00]`, or over `.40–1`.
    """
    rows = tuple(
        tuple(
            cell
            if head in table.texts
            else _WITH_INTERVAL.sub(_short if short else r"\1\n[\2, \3]", cell)
            for head, cell in zip(table.heads, row, strict=True)
        )
        for row in table.rows
    )
    if rows == table.rows:
        return table
    heads = table.heads
    if short:
        heads = tuple(head.replace("@", " @").removesuffix(_INTERVAL) for head in heads)
    note = "below each mean its 95 % interval"
    return replace(table, heads=heads, rows=rows, notes=(note, *table.notes))


def _short(found: re.Match[str]) -> str:
    low, high = found[2], found[3]
    if low.startswith(("-", "+")) or high.startswith(("-", "+")):
        return f"{found[1]}\n[{low}, {high}]"
    return f"{found[1]}\n{_bare(low)}–{_bare(high)}"


def _bare(number: str) -> str:
    """A share without the zero before its point, and 0 and 1 without decimals."""
    return f"{float(number):g}" if float(number) in (0.0, 1.0) else number.removeprefix("0")


def _kept(table: Table, kept: list[bool]) -> Table:
    """The table with some of its columns, and the explanations of those."""
    if all(kept):
        return table
    heads = tuple(head for head, keep in zip(table.heads, kept, strict=True) if keep)
    rows = tuple(
        tuple(cell for cell, keep in zip(row, kept, strict=True) if keep) for row in table.rows
    )
    about = tuple(one for one in table.about if one[0] in heads)
    return replace(table, heads=heads, rows=rows, about=about)
