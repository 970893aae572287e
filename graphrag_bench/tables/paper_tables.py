"""A paper's table with our figures: a table for each data set, one long list, or bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from graphrag_bench.errors import UserError
from graphrag_bench.papers.printed import PaperTable, Printed
from graphrag_bench.report.figures import Bar, plot_bars
from graphrag_bench.report.notes import cut_notes
from graphrag_bench.report.rendering import Table
from graphrag_bench.report.rows import INFLATED
from graphrag_bench.tables.figures import Cells, Figure, Filled, count_of_runs, difference
from graphrag_bench.tables.grading import MISSING

FEWEST_METHODS = 6
"""Of six methods chance gives one of two orders in 360; of five one in 60, of three one in 3."""
FEWEST_QUESTIONS = 30
"""Over fewer questions the means lie within each other's intervals, and their order is chance."""


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> tuple[float, float] | None:
    """Return Spearman's rho and Kendall's tau-b of paired figures, -1..1; ties share a rank.

    None where one side is the same everywhere, which has no order.
    """
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    from scipy.stats import kendalltau, spearmanr

    rho, tau = spearmanr(first, second).statistic, kendalltau(first, second).statistic
    return round(float(rho), 6), round(float(tau), 6)


@dataclass(frozen=True)
class Pair:
    """A printed cell and our figure for it over `n_questions`, None where there is none."""

    cell: Printed
    ours: float | None = None
    n_questions: int = 0


def rank_notes(pairs: Sequence[Pair]) -> list[str]:
    """Return a line for each metric: the rank correlation of paper and ours over the methods.

    Rows of one model and one setting are compared with each other. Of a pair of methods one side
    is taken, as the other follows from it. Of fewer than 6 methods, or fewer than 30 questions, no
    correlation is given, and the line says why.
    """
    notes = []
    for metric in dict.fromkeys(pair.cell.metric for pair in pairs):
        of_metric = [pair for pair in pairs if pair.cell.metric == metric]
        for name, group in _groups(of_metric).items():
            label = f"rank correlation with the paper, {metric}{name}"
            notes.append(f"{label}: {_correlation(group)}")
    return notes


def _correlation(group: Sequence[Pair]) -> str:
    methods = {name for pair in group for name in (pair.cell.method, pair.cell.versus) if name}
    fewest = min(pair.n_questions for pair in group)
    if len(methods) < FEWEST_METHODS:
        return (
            f"none over {len(methods)} methods: an order of fewer than {FEWEST_METHODS} is often "
            "chance"
        )
    if fewest < FEWEST_QUESTIONS:
        return (
            f"none over {fewest} questions: fewer than {FEWEST_QUESTIONS} do not settle the order "
            "of methods"
        )
    correlation = rank_correlation(
        [pair.cell.value or 0.0 for pair in group], [pair.ours or 0.0 for pair in group]
    )
    if correlation is None:
        return f"none: the figures of one side are all alike (n = {len(group)})"
    spearman, kendall = correlation
    return f"Spearman {spearman:+.2f}, Kendall {kendall:+.2f} (n = {len(group)})"


def _groups(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    cells = [pair.cell for pair in pairs]
    shared = _shared(cells)
    several = len({cell.llm for cell in cells}) > 1
    groups: dict[str, list[Pair]] = {}
    seen: set[tuple[str, str, str]] = set()
    for pair in pairs:
        cell = pair.cell
        if pair.ours is None or cell.value is None or cell.method == cell.versus:
            continue
        parts = [cell.llm] if several else []
        parts += [item for item in cell.setting if item in shared]
        name = "".join(f", {part}" for part in parts)
        if cell.versus and (name, cell.versus, cell.method) in seen:
            continue
        seen.add((name, cell.method, cell.versus))
        groups.setdefault(name, []).append(pair)
    return groups


def _shared(cells: Sequence[Printed]) -> set[str]:
    having: dict[str, set[str]] = {}
    for cell in cells:
        for item in cell.setting:
            having.setdefault(item, set()).add(cell.method)
    every = {cell.row for cell in cells}
    return {
        item
        for item, methods in having.items()
        if len(methods) > 1 and not all(item in row[3] for row in every)
    }


DAGGER = "†"
Row = tuple[str, str, str, tuple[str, ...]]


def comparison_notes(
    table: PaperTable,
    dataset: str,
    cells: Sequence[Printed],
    filled: Cells,
    named: Mapping[Row, str],
) -> tuple[str, ...]:
    """Return the notes of one data set's cells; `named` are the rows as the table names them."""
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
    texts = {"settings of every row": f"{whole} ({paper.source})"}
    texts[dataset or "data set"] = place.note
    if place.abstract and paper.making and table.shape.kind != "counts":
        texts["questions"] = paper.making.source
    for name in dict.fromkeys(name for cell in cells for name in (cell.method, cell.versus)):
        if method := table.method(name):
            own = " ".join([*method.also, *([method.seeds] if method.seeds else [])])
            texts[name] = "; ".join(text for text in (own, method.source, method.note) if text)
    for cell in cells:
        for item, row in zip(cell.setting, table.rows_of(cell), strict=True):
            texts.setdefault(item, row.source)
    return [f"{name}: {text}" for name, text in texts.items() if text]


def _grades(cells: Sequence[Printed], filled: Cells, named: Mapping[Row, str]) -> list[str]:
    grades = {cell: figure.grade for cell in cells if (figure := filled[cell].figure)}
    if not grades:
        return []
    reasons = {cell: [*one.others, *one.differences] for cell, one in grades.items()}
    shared = [
        words for words in next(iter(reasons.values())) if all(words in w for w in reasons.values())
    ]
    letters = ", ".join(sorted({one.letter for one in grades.values()}))
    notes = [f"grade {letters}: {'; '.join(shared) or 'nothing differs in all rows'}"]
    own = {
        cell: "; ".join(
            words
            for words in (reasons[cell] if one.comparable else one.others)
            if words not in shared
        )
        for cell, one in grades.items()
    }
    if any(set(one.differences) - set(shared) for one in grades.values() if not one.comparable):
        notes.append("rows of grade C differ in settings too: --format csv names them")
    return notes + _grouped(cells, named, own, "grade, further")


def _grouped(
    cells: Sequence[Printed], named: Mapping[Row, str], texts: Mapping[Printed, str], what: str
) -> list[str]:
    groups: dict[str, dict[str, None]] = {}
    for cell in cells:
        if words := texts.get(cell):
            groups.setdefault(words, {})[named[cell.row]] = None
    n_rows = len({cell.row for cell in cells})
    return [
        f"{what}, {', '.join(rows) if len(rows) < n_rows else 'all rows'}: {words}"
        for words, rows in groups.items()
    ]


_LONG = (
    "table", "data set", "method", "versus", "metric", "llm", "setting", "paper", "unit",
    "suspicious", "note", "ours", "low", "high", "n", "failed", "our data", "our model",
    "our embedder", "profile", "fidelity", "grade", "difference", "differs in", "run", "missing",
)  # fmt: skip


def comparison_tables(table: PaperTable, filled: Cells) -> list[Table]:
    """Return a table for each data set: a row for each row of the paper, its metrics as columns.

    A difference is shown only where data and model are the paper's (grades A and B); elsewhere the
    notes give the rank correlation of the methods. A figure whose cells cannot be named gives one
    table without rows. The last note is the command of the runs that are lacking.
    """
    blocks = [_block(table, name, filled) for name in table.datasets] or [_unprinted(table)]
    if table.shape.sweeps or any(one.runs for one in filled.values()):
        run = f"graphrag-bench run experiment={table.full_name}"
        blocks[-1] = replace(blocks[-1], notes=(*blocks[-1].notes, f"its runs: {run}"))
    return blocks


def _unprinted(table: PaperTable) -> Table:
    notes = [f"{table.paper.citation}: the figure's numbers are not printed"]
    if table.shape.shows:
        notes.append(f"it shows {table.shape.shows}")
    return Table(_caption(table, ""), ("method", "paper", "ours"), (), tuple(notes))


def _caption(table: PaperTable, dataset: str) -> str:
    where = f" · {dataset}" if dataset else ""
    return f"{table.full_name}{where}: {table.shape.caption}"


def _block(table: PaperTable, dataset: str, filled: Cells) -> Table:
    cells = [cell for cell in table.cells if cell.dataset == dataset]
    metrics = list(dict.fromkeys(cell.metric for cell in cells))
    rows: dict[Row, dict[str, Printed]] = {}
    for cell in cells:
        rows.setdefault(cell.row, {})[cell.metric] = cell
    comparable = {cell.metric for cell in cells if _comparable(cell, filled)}
    compared = [name for name in metrics if name in comparable]
    heads = ["method"]
    for name in metrics:
        heads += [name, "ours [95 %]", *(["ours − paper"] if name in compared else [])]
    heads += ["n", "model", "profile", "grade"]
    named = {row: row_name(table, row) for row in rows}
    lines = [_row(named[row], printed, metrics, compared, filled) for row, printed in rows.items()]
    notes = comparison_notes(table, dataset, cells, filled, named)
    texts = ("method", "model", "profile", "grade")
    return Table(_caption(table, dataset), tuple(heads), tuple(lines), notes, texts)


def _comparable(cell: Printed, filled: Cells) -> bool:
    figure = filled[cell].figure
    return cell.value is not None and figure is not None and figure.grade.comparable


def row_name(table: PaperTable, row: Row) -> str:
    """Return the method, what it beats, and in tables over several model and settings."""
    method, versus, llm, setting = row
    parts = [f"{method} > {versus}" if versus else method]
    if len(table.llms) > 1:
        parts.append(llm)
    parts += [item for item in setting if not item.startswith(("evaluator=", "qa_type="))]
    return ", ".join(part for part in parts if part) or MISSING


def _row(
    name: str,
    printed: Mapping[str, Printed],
    metrics: Sequence[str],
    compared: Sequence[str],
    filled: Cells,
) -> tuple[str, ...]:
    line = [name]
    for metric in metrics:
        cell = printed.get(metric)
        line += [_printed(cell), _ours(filled[cell] if cell else None)]
        if metric in compared:
            line.append(difference(cell, filled) if cell else "")
    figures = [figure for cell in printed.values() if (figure := filled[cell].figure)]
    if figures:
        counts = dict.fromkeys(str(figure.n) for figure in figures)
        grades = dict.fromkeys(_graded(figure) for figure in figures)
        one = figures[0]
        profile = f"{one.profile}, paper" if one.fidelity == "paper" else one.profile
        line += [" / ".join(counts), short(one.llm), profile, " / ".join(grades)]
    else:
        line += [MISSING] * 4
    return tuple(line)


def _graded(figure: Figure) -> str:
    other = any(reason.startswith("data: ") for reason in figure.grade.others)
    return f"{figure.grade.letter} ({figure.dataset})" if other else figure.grade.letter


def short(identity: str) -> str:
    """Return an identity without its fingerprints: the part before `@`, or the first colon."""
    return (identity.partition("@")[0] if "@" in identity else identity.partition(":")[0]) or "none"


def _printed(cell: Printed | None) -> str:
    if cell is None:
        return ""
    return (cell.shown or MISSING) + (DAGGER if cell.suspicious else "")


def _ours(filled: Filled | None) -> str:
    if filled is None:
        return ""
    figure = filled.figure
    if figure is None:
        return "failed" if filled.failure else MISSING
    mark = "!" if figure.failed else ""
    if figure.low is None or figure.high is None:
        return f"{_number(figure.value)}{mark}"
    return f"{_number(figure.value)}{mark} [{_number(figure.low)}, {_number(figure.high)}]"


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 or value == 0 else f"{value:.3g}"


def long_table(table: PaperTable, filled: Cells) -> Table:
    """Return a row for each printed cell with all that is known of it, for other programs."""
    rows = tuple(_long_row(table, cell, filled) for cell in table.cells)
    return Table(_caption(table, ""), _LONG, rows, (), texts=_LONG)


def _long_row(table: PaperTable, cell: Printed, filled: Cells) -> tuple[str, ...]:
    one = filled[cell]
    printed = [
        table.full_name, cell.dataset, cell.method, cell.versus, cell.metric, cell.llm,
        "; ".join(cell.setting), cell.shown, cell.unit, "yes" if cell.suspicious else "",
        cell.note,
    ]  # fmt: skip
    missing = one.failure or one.missing or one.reason
    figure = one.figure
    if figure is None:
        return (*printed, *[""] * 14, missing)
    bounds = [("" if b is None else f"{b:.6g}") for b in (figure.low, figure.high)]
    differs = "; ".join([*figure.grade.others, *figure.grade.differences])
    gap = difference(cell, {cell: one})
    return (
        *printed, f"{figure.value:.6g}", *bounds, str(figure.n), str(figure.failed),
        figure.dataset, figure.llm, figure.embedder, figure.profile, figure.fidelity,
        figure.grade.letter, "" if gap == MISSING else gap, differs, figure.run, missing,
    )  # fmt: skip


def plot_paper(path: Path, table: PaperTable, filled: Cells, *, span: int = 1) -> None:
    """Write a group for each row of which there is a figure of ours: the paper's next to ours.

    Values are in the unit of the paper. Raises UserError where there is no figure of ours.
    """
    several = len(table.datasets) > 1
    with_ours = {(cell.dataset, cell.row) for cell in table.cells if filled[cell].figure}
    bars = []
    for cell in table.cells:
        if (cell.dataset, cell.row) not in with_ours:
            continue
        where = f"{cell.dataset}: " if several else ""
        group, figure = f"{where}{row_name(table, cell.row)}", filled[cell].figure
        if cell.value is not None:
            bars.append(Bar(group, f"{cell.metric}, paper", *[cell.value] * 3))
        if figure is not None:
            low, high = (figure.value if end is None else end for end in (figure.low, figure.high))
            bars.append(Bar(group, f"{cell.metric}, ours", figure.value, low, high))
    if not bars:
        raise UserError(
            f"{table.full_name} has no figure of ours to plot; graphrag-bench table "
            f"{table.full_name} names the commands that fill it."
        )
    plot_bars(path, bars, table.shape.caption, span=span)
