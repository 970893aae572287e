"""The notes under a paper's table: its conditions, grades, ranks, doubts, failures and gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphrag_bench.analysis.papers.filled_cells import Cells, Filled, count_of_runs
from graphrag_bench.analysis.papers.ranks import Pair, rank_notes
from graphrag_bench.papers.printed import PaperTable, Printed
from graphrag_bench.report.notes import cut_notes
from graphrag_bench.report.rows import INFLATED

DAGGER = "†"
Row = tuple[str, str, str, tuple[str, ...]]


def comparison_notes(
    table: PaperTable,
    dataset: str,
    cells: Sequence[Printed],
    filled: Cells,
    named: Mapping[Row, str],
) -> tuple[str, ...]:
    """The notes of one data set's cells; `named` are the rows as the table names them."""
    units = ", ".join(dict.fromkeys(cell.unit for cell in cells))
    paper, printed = table.paper, any(cell.value is not None for cell in cells)
    notes = [
        f"paper: {paper.citation}, {paper.llm}, embedder {paper.embedder or 'not named'}; "
        f"{paper.conditions}. Figures in {units}",
        *_about(table, dataset, cells),
        *([] if printed else ["the figure's numbers are not printed"]),
        *_grades(cells, filled, named),
        *rank_notes([_pair(cell, filled[cell]) for cell in cells]),
    ]
    doubts = {f"{named[c.row]}, {c.metric}: {c.note}": None for c in cells if c.suspicious}
    notes += [f"{DAGGER} {text}" for text in doubts]
    if any(one.figure and one.figure.failed for one in map(filled.__getitem__, cells)):
        notes.append("! some questions failed: the mean is over the rest")
    notes += cut_notes(
        (named[cell.row], figure.embedder) for cell in cells if (figure := filled[cell].figure)
    )
    notes += _grouped(cells, named, {c: filled[c].failure for c in cells}, "failed")
    chosen = {c: figure.selected for c in cells if (figure := filled[c].figure)}
    notes += _grouped(cells, named, chosen, "chosen")
    notes += [INFLATED] if any(chosen.values()) else []
    lacking = [cell for cell in cells if filled[cell].figure is None]
    notes += _grouped(lacking, named, {c: filled[c].reason for c in lacking}, "no figure")
    runs = {settings for cell in cells for settings in filled[cell].runs}
    missing = [count_of_runs(len(runs)), *dict.fromkeys(filled[cell].lacks for cell in cells)]
    if words := "; ".join(filter(None, missing)):
        notes.append(f"missing: {words}")
    return tuple(notes)


def _pair(cell: Printed, filled: Filled) -> Pair:
    figure = filled.figure
    if figure is None or figure.grade.comparable:
        return Pair(cell)
    return Pair(cell, figure.value, figure.n)


def _about(table: PaperTable, dataset: str, cells: Sequence[Printed]) -> list[str]:
    paper, place = table.paper, table.paper.datasets[dataset]
    whole = " ".join([*paper.settings, *table.shape.settings])
    said = {"settings of every row": f"{whole} ({paper.source})"}
    said[dataset or "data set"] = place.note
    if place.abstract and paper.making and table.shape.kind != "counts":
        said["questions"] = paper.making.source
    for name in dict.fromkeys(name for cell in cells for name in (cell.method, cell.versus)):
        if held := table.method(name):
            own = " ".join([*held.also, *([held.seeds] if held.seeds else [])])
            said[name] = "; ".join(text for text in (own, held.source, held.note) if text)
    for cell in cells:
        for item, row in zip(cell.setting, table.rows_of(cell), strict=True):
            said.setdefault(item, row.source)
    return [f"{name}: {text}" for name, text in said.items() if text]


def _grades(cells: Sequence[Printed], filled: Cells, named: Mapping[Row, str]) -> list[str]:
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
        cell: "; ".join(
            words for words in (held[cell] if one.comparable else one.others) if words not in shared
        )
        for cell, one in grades.items()
    }
    if any(set(one.differences) - set(shared) for one in grades.values() if not one.comparable):
        notes.append("rows of grade C differ in settings too: --format csv names them")
    return notes + _grouped(cells, named, own, "grade, further")


def _grouped(
    cells: Sequence[Printed], named: Mapping[Row, str], said: Mapping[Printed, str], what: str
) -> list[str]:
    groups: dict[str, dict[str, None]] = {}
    for cell in cells:
        if words := said.get(cell):
            groups.setdefault(words, {})[named[cell.row]] = None
    n_rows = len({cell.row for cell in cells})
    return [
        f"{what}, {', '.join(rows) if len(rows) < n_rows else 'all rows'}: {words}"
        for words, rows in groups.items()
    ]
