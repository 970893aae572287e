"""The evidence funnel in the terminal: a bar for each stage, and one table over several runs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from graphrag_bench.analysis.funnel.stages import STAGES, Funnel, StageCount
from graphrag_bench.report.rendering import MISSING, Table

SAID = {
    "corpus": "in corpus",
    "chunk": "in a chunk",
    "extracted": "extracted",
    "linked": "linked",
    "retrieved": "retrieved",
    "cut": "not cut",
    "prompt": "in the prompt",
    "replied": "not failed",
    "answered": "answered",
}
"""What a piece of evidence that passed the stage is."""

_WIDTH = 30
_LINE = 100
_FULL, _GONE, _EMPTY = "█", "▒", "·"
LEGEND = (
    f"{_FULL} left after the stage, {_GONE} lost there, {_EMPTY} lost before; counted: documents "
    "of the questions' evidence"
)


def funnel_lines(made: Funnel) -> Iterator[str]:
    """A line for each stage: what is left as a bar and a number, then what was lost there.

    Remarks that are longer than the line go on below themselves.
    """
    for count in made.counts():
        head = f"  {SAID[count.stage]:<14}{_bar(count, made.n_documents)} {count.left:>6}  "
        remarks = textwrap.wrap(_remarks(count, made.n_documents), _LINE - len(head)) or [""]
        yield head + remarks[0]
        yield from (" " * len(head) + line for line in remarks[1:])


def _bar(count: StageCount, total: int) -> str:
    if count.unknown and count.unknown == count.left + count.lost:
        return "?" * _WIDTH
    before = round(_WIDTH * (count.left + count.lost) / total)
    left = round(_WIDTH * count.left / total)
    if count.lost and left == before:
        left, before = (left - 1, before) if left else (left, 1)
    return _FULL * left + _GONE * (before - left) + _EMPTY * (_WIDTH - before)


def _remarks(count: StageCount, total: int) -> str:
    said = []
    if count.lost:
        what = "first loss of {} question(s)"
        if count.stage == "answered":
            what = "{} question(s) had all in hand"
        share = f"{count.lost / total:.1%}"
        said.append(f"-{count.lost} ({share}; {what.format(count.questions)})")
    if count.anyway and count.stage != "answered":
        said.append(f"{count.anyway} of them answered all the same")
    if count.otherwise:
        said.append(f"{count.otherwise} not, but found otherwise")
    if count.unknown:
        said.append(f"{count.unknown} not known")
    return ", ".join(said)


def funnel_table(caption: str, runs: Sequence[tuple[str, Funnel]]) -> Table:
    """A row for each run with the documents of evidence lost at each stage, and those that passed.

    A stage that a method does not have shows a dash, one that cannot be told a question mark.
    """
    had = [stage for stage in STAGES if any(stage in made.stages for _, made in runs)]
    heads = ("method", "questions", "evidence", *map(_loss, had), "passed")
    rows = []
    for title, made in runs:
        counts = {count.stage: count for count in made.counts()}
        cells = [_cell(counts.get(stage)) for stage in had]
        passed = sum(fate.lost is None for fate in made.fates)
        rows.append((title, str(made.n_questions), str(made.n_documents), *cells, str(passed)))
    notes = (
        "documents of the questions' evidence, each counted at the first stage that lost it; "
        f"{MISSING}: the method has no such stage; ?: cannot be told",
    )
    return Table(caption, heads, tuple(rows), notes)


def _loss(stage: str) -> str:
    return {"cut": "cut", "replied": "failed"}.get(stage, f"not {SAID[stage]}")


def _cell(count: StageCount | None) -> str:
    if count is None:
        return MISSING
    if count.unknown and count.unknown == count.left + count.lost:
        return "?"
    return str(count.lost)
