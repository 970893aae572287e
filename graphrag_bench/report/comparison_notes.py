"""The notes under a paper's table: its conditions, grades, ranks, doubts, failures and gaps."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from graphrag_bench.report.commands import run_lines
from graphrag_bench.report.filled_cells import Cells, Filled
from graphrag_bench.report.papers import PaperTable, Printed
from graphrag_bench.report.ranks import Pair, rank_notes
from graphrag_bench.report.selection import INFLATED

DAGGER = "†"
Row = tuple[str, str, str, tuple[str, ...]]


def recipe_notes(table: PaperTable) -> list[str]:
    """The commands of a figure whose numbers are not printed."""
    return [f"recipe: {command}" for command in table.shape.recipe]


def comparison_notes(
    table: PaperTable,
    dataset: str,
    cells: Sequence[Printed],
    filled: Cells,
    named: Mapping[Row, str],
) -> tuple[str, ...]:
    """The notes of one data set's cells; `named` are the rows as the table names them."""
    units = ", ".join(dict.fromkeys(cell.unit for cell in cells))
    paper = table.paper
    notes = [
        f"paper: {paper.citation}, {paper.llm}, embedder {paper.embedder or 'not named'}; "
        f"{paper.conditions}. Figures in {units}",
        *_about(table, dataset, cells),
        *(
            []
            if any(c.value is not None for c in cells)
            else ["the figure's numbers are not printed"]
        ),
        *recipe_notes(table),
        *_grades(cells, filled, named),
        *rank_notes([_pair(cell, filled[cell]) for cell in cells]),
    ]
    doubts = {f"{named[c.row]}, {c.metric}: {c.note}": None for c in cells if c.suspicious}
    notes += [f"{DAGGER} {text}" for text in doubts]
    if any(one.figure and one.figure.failed for one in map(filled.__getitem__, cells)):
        notes.append("! some questions failed: the mean is over the rest")
    notes += _grouped(cells, named, {c: filled[c].failure for c in cells}, "failed")
    chosen = {c: figure.selected for c in cells if (figure := filled[c].figure)}
    notes += _grouped(cells, named, chosen, "chosen")
    notes += [INFLATED] if any(chosen.values()) else []
    lacking = [cell for cell in cells if filled[cell].figure is None]
    notes += _grouped(lacking, named, {c: filled[c].reason for c in lacking}, "no figure")
    commands = run_lines([settings for cell in lacking for settings in filled[cell].runs])
    commands += comparing([filled[cell] for cell in lacking])
    commands += dict.fromkeys(filled[cell].after for cell in lacking if filled[cell].after)
    return (*notes, *[f"missing cells: {line}" for line in commands])


def _pair(cell: Printed, filled: Filled) -> Pair:
    """A cell with its figure, where only ranks can be compared."""
    figure = filled.figure
    if figure is None or figure.grade.comparable:
        return Pair(cell)
    return Pair(cell, figure.value, figure.n)


def _about(table: PaperTable, dataset: str, cells: Sequence[Printed]) -> list[str]:
    said = {dataset: table.paper.datasets[dataset].note}
    for cell in cells:
        if cell.method:
            said[cell.method] = table.paper.methods[cell.method].note
    return [f"{name or 'data set'}: {text}" for name, text in said.items() if text]


def _grades(cells: Sequence[Printed], filled: Cells, named: Mapping[Row, str]) -> list[str]:
    """The grades with what differs: first what holds of all rows, then what each has beside it.

    For grade C only the reasons and what all rows share are told; the CSV has the rest.
    """
    grades = {cell: figure.grade for cell in cells if (figure := filled[cell].figure)}
    if not grades:
        return []
    held = {cell: [*one.others, *one.differences] for cell, one in grades.items()}
    shared = [
        words for words in next(iter(held.values())) if all(words in w for w in held.values())
    ]
    letters = ", ".join(sorted({one.letter for one in grades.values()}))
    notes = [f"grade {letters}: {'; '.join(shared) or 'nothing differs in all rows'}"]
    own = {
        cell: "; ".join(words for words in held[cell] if words not in shared)
        for cell, one in grades.items()
        if one.comparable
    }
    if any(len(held[c]) > len(shared) for c, one in grades.items() if not one.comparable):
        notes.append("rows of grade C differ in settings too: --format csv names them")
    return notes + _grouped(cells, named, own, "grade, further")


def _grouped(
    cells: Sequence[Printed], named: Mapping[Row, str], said: Mapping[Printed, str], what: str
) -> list[str]:
    """`what, rows: words` for each text, in order; `all rows` where it holds for every one."""
    groups: dict[str, dict[str, None]] = {}
    for cell in cells:
        if words := said.get(cell):
            groups.setdefault(words, {})[named[cell.row]] = None
    n_rows = len({cell.row for cell in cells})
    return [
        f"{what}, {', '.join(rows) if len(rows) < n_rows else 'all rows'}: {words}"
        for words, rows in groups.items()
    ]


def comparing(lacking: Sequence[Filled]) -> list[str]:
    """One command for each judge, over all runs that it has still to compare."""
    runs: dict[tuple[str, ...], dict[str, None]] = {}
    for one in lacking:
        if one.compare:
            runs.setdefault(one.judge, {}).update(dict.fromkeys(one.compare))
    return [
        shlex.join(["graphrag-bench", "compare", *held, *judge]) for judge, held in runs.items()
    ]  # fmt: skip
