"""Compare a paper's table with our results, and list the commands for the missing results."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from graphrag_bench.judging.answers import MEASURES
from graphrag_bench.papers.printed import PaperTable, PrintedCell, Recipe, TableRow
from graphrag_bench.report.notes import training_notes
from graphrag_bench.report.rendering import FEW, MISSING, Table
from graphrag_bench.report.rows import INFLATED, group_by, regime_of, selection_mark
from graphrag_bench.tables.figures import CellEntry, Cells, Figure, difference, table_criteria
from graphrag_bench.tables.grading import Grade
from graphrag_bench.text import counted, model_name

DAGGER = "†"
_LONG = (
    "table", "data set", "method", "versus", "metric", "llm", "setting", "paper", "unit",
    "suspicious", "note", "ours", "low", "high", "n", "failed", "our data", "our model",
    "our embedder", "profile", "fidelity", "regime", "grade", "difference", "differs in", "run",
    "judge", "missing",
)  # fmt: skip
_OF_RUN = ("failed", "dataset", "llm", "embedder", "profile", "fidelity")


def comparison_notes(
    table: PaperTable, cells: Sequence[PrintedCell], filled: Cells, named: Mapping[TableRow, str]
) -> tuple[str, ...]:
    """Return the notes under the table of one data set; `named` maps its rows to their titles."""

    def by_words(what: str, texts: Iterable[tuple[PrintedCell, str]]) -> Iterator[str]:
        for words, group in group_by(texts, lambda one: one[1]).items():
            rows = dict.fromkeys(named[cell.row] for cell, _ in group)
            shown = ", ".join(rows) if len(rows) < len(named) else "all rows"
            if words:
                yield f"{what}, {shown}: {words}"

    units = ", ".join(dict.fromkeys(cell.unit for cell in cells))
    paper, printed = table.paper, any(cell.value is not None for cell in cells)
    figures = {cell: figure for cell in cells if (figure := filled[cell].figure)}
    metrics = [figure.metrics for figure in figures.values()]
    shared, own = _grades([figure.grade for figure in figures.values()])
    marks = [selection_mark(one) for one in metrics]
    doubts = {f"{DAGGER} {named[c.row]}, {c.metric}: {c.note}": None for c in cells if c.suspicious}
    regimes = sorted({regime_of(one) for one in metrics})
    missing = _missing(filled[cell] for cell in cells)
    return (
        f"paper: {paper.citation}, {paper.llm}, embedder {paper.embedder or 'not named'}; "
        f"{paper.conditions}. Values in {units}",
        *_about(table, cells),
        *["the paper does not print the numbers of this figure"] * (not printed),
        *[f"shown: {table.shape.shows}"] * bool(table.shape.shows),
        *shared,
        *by_words("also differs", zip(figures, own, strict=True)),
        *doubts,
        *map(str, training_notes(metrics)),
        *["! some questions failed; means are over the other questions"]
        * any(one["failed"] for one in metrics),
        *[f"! regimes differ: {', '.join(regimes)}"] * (len(regimes) > 1),
        *by_words("judge", [(cell, figure.judge) for cell, figure in figures.items()]),
        *by_words("selected", zip(figures, marks, strict=True)),
        *[INFLATED] * any(marks),
        *by_words("no value", [(c, filled[c].reason) for c in cells if c not in figures]),
        *[f"missing: {missing}"] * bool(missing),
    )


def _missing(entries: Iterable[CellEntry]) -> str:
    """Return the missing inputs as text, first the number of missing runs; "" if complete."""
    every = list(entries)
    n_runs = len({settings for one in every for settings in one.runs})
    parts = dict.fromkeys(one.missing_parts for one in every)
    return "; ".join(filter(None, [counted(n_runs, "run") * bool(n_runs), *parts]))


def _about(table: PaperTable, cells: Sequence[PrintedCell]) -> list[str]:
    dataset, paper = cells[0].dataset, table.paper
    place = paper.datasets[dataset]
    whole = " ".join([*paper.settings, *table.shape.settings])
    texts = {"settings of every row": f"{whole} ({paper.source})"}
    texts[dataset or "data set"] = place.note
    if place.abstract and paper.making and not table.counts:
        texts["questions"] = paper.making.source
    names = dict.fromkeys(name for cell in cells for name in (cell.method, cell.versus))
    for name in dict.fromkeys(place.methods.get(name, name) for name in names):
        if method := table.method(name):
            own = " ".join(filter(None, [*method.also, method.seeds]))
            said = (own, method.source, method.note, table.shape.notes.get(name, ""))
            texts[name] = "; ".join(filter(None, said))
    for cell in cells:
        for item, row in zip(cell.setting, table.rows_of(cell), strict=True):
            texts.setdefault(item, row.source)
    return [f"{name}: {text}" for name, text in texts.items() if text]


def _grades(grades: Sequence[Grade]) -> tuple[list[str], list[str]]:
    """Return notes on shared mismatches, and other mismatches of each grade (C: major ones)."""
    if not grades:
        return [], []
    every = set.intersection(*({*one.mismatches} for one in grades))
    shared = Grade.of(one for one in grades[0].mismatches if one in every)
    letters = ", ".join(sorted({one.letter for one in grades}))
    notes = [f"grade {letters}: {shared.sentence or 'no setting differs in every row'}"]
    if any({*one.mismatches} - {*one.major} - every for one in grades if one.major):
        notes.append("rows of grade C also differ in settings, which --format csv lists")
    own = [one.major or one.mismatches for one in grades]
    return notes, [Grade.of(one for one in row if one not in every).sentence for row in own]


def comparison_tables(table: PaperTable, filled: Cells, home: Path = Path()) -> list[Table]:
    """Return a table for each data set, with the paper's rows and metrics and with our values.

    Differences are shown for grades A and B. If a data set has no runs, its table shows only the
    printed values. The last table ends with the commands that produce missing results.
    """
    *first, last = [_of_dataset(table, name, filled) for name in table.datasets]
    advice = tuple(f"next: {line}" for line in commands(table, filled, home))
    return [*first, replace(last, advice=advice)]


def _of_dataset(table: PaperTable, dataset: str, filled: Cells) -> Table:
    cells = [cell for cell in table.cells if cell.dataset == dataset]
    rows = group_by(cells, lambda cell: cell.row)
    named = {row: row_name(table, row) for row in rows}
    compared = {cell.metric for cell in cells if difference(cell, filled) != MISSING}
    with_runs = any(filled[cell].figure for cell in cells)
    about_runs = ("n", "model", "profile", "regime", "grade") if with_runs else ()
    widths = {cell.metric: 1 + with_runs + (cell.metric in compared) for cell in cells}
    ends = ("", ", ours [95 %]", ", ours − paper")
    heads = [f"{name}{end}" for name, width in widths.items() for end in ends[:width]]
    lines = []
    for row, of_row in rows.items():
        printed, line = {cell.metric: cell for cell in of_row}, [named[row]]
        for name, width in widths.items():
            cell = printed.get(name)
            shown = [*_beside(cell, filled), difference(cell, filled)] if cell else [""] * 3
            line += shown[:width]
        figures = [figure for cell in printed.values() if (figure := filled[cell].figure)]
        lines.append((*line, *(_run_cells(figures) if with_runs else ())))
    return Table(
        _caption(table, dataset), ("method", *heads, *about_runs), tuple(lines),
        comparison_notes(table, cells, filled, named), ("method", *about_runs[1:]),
    )  # fmt: skip


def _caption(table: PaperTable, dataset: str) -> str:
    where = f" · {dataset}" if dataset else ""
    return f"{table.full_name}{where}: {table.shape.caption}"


def row_name(table: PaperTable, row: TableRow) -> str:
    """Return the title of a row: method, opponent, settings, and the model if there are several."""
    method, versus, llm, setting = row
    parts = [f"{method} > {versus}" if versus else method, *[llm] * (len(table.llms) > 1)]
    items = (item for item in setting if not item.startswith(("evaluator=", "qa_type=")))
    parts += [item.removeprefix("method.") for item in items]
    return ", ".join(filter(None, parts)) or MISSING


def _run_cells(figures: Sequence[Figure]) -> tuple[str, ...]:
    if not figures:
        return (MISSING,) * 5

    def every(value: Callable[[Figure], object]) -> str:
        return " / ".join(dict.fromkeys(str(value(figure)) for figure in figures))

    def grade(one: Figure) -> str:
        other = any(mismatch.field == "data" for mismatch in one.grade.major)
        return one.grade.letter + f" ({one.metrics['dataset']})" * other

    run = figures[0].metrics
    profile = run["profile"] + ", paper" * (run["fidelity"] == "paper")
    last = every(lambda one: regime_of(one.metrics)), every(grade)
    return every(lambda one: one.n), model_name(run["llm"]) or "none", profile, *last


def _beside(cell: PrintedCell, filled: Cells) -> list[str]:
    ours, figure = MISSING, filled[cell].figure
    if figure is not None:
        ours = _number(figure.value) + "!" * bool(figure.metrics["failed"])
        if figure.low is not None and figure.high is not None and figure.n >= FEW:
            ours += f" [{_number(figure.low)}, {_number(figure.high)}]"
    return [(cell.shown or MISSING) + DAGGER * cell.suspicious, ours]


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 or value == 0 else f"{value:.3g}"


def long_table(table: PaperTable, filled: Cells) -> Table:
    """Return a table for CSV export that has a row for each cell of the paper's table."""
    rows = []
    for cell in table.cells:
        one, gap = filled[cell], difference(cell, filled)
        row = [
            table.full_name, cell.dataset, cell.method, cell.versus, cell.metric, cell.llm,
            "; ".join(cell.setting), cell.shown, cell.unit, "yes" * cell.suspicious, cell.note,
        ]  # fmt: skip
        if figure := one.figure:
            ends, metrics = (figure.value, figure.low, figure.high), figure.metrics
            row += [
                *("" if n is None else f"{n:.6g}" for n in ends), str(figure.n),
                *(str(metrics[name]) for name in _OF_RUN), regime_of(metrics), figure.grade.letter,
                "" if gap == MISSING else gap, figure.grade.sentence, figure.run, figure.judge,
            ]  # fmt: skip
        rows.append((*row, *[""] * (len(_LONG) - 1 - len(row)), _missing([one]) or one.reason))
    return Table(_caption(table, ""), _LONG, tuple(rows), (), texts=_LONG)


def commands(table: PaperTable, filled: Cells, home: Path) -> list[str]:
    """Return the distinct commands that generate questions, run methods and judge answers."""
    missing, paper = {cell.dataset for cell, one in filled.items() if one.runs}, table.paper
    of_sets = [[cell for cell in table.cells if cell.dataset == name] for name in table.datasets]
    below = "" if home == Path() else f" --home {home}"
    lines, asked = [], not table.counts or table.counts_questions
    for place in (paper.datasets[name] for name in table.datasets if name in missing):
        if place.abstract and paper.making and asked and not Path(place.questions_folder).is_dir():
            words = f"dataset={place.run_card} kind=abstract out={place.questions_folder}"
            lines.append(f"questions {words} {' '.join(paper.making.run)}")
    lines += [f"run experiment={table.full_name}"] if missing else []
    for lines_of in (_compare, _judge):
        lines += [f"{line}{below}" for cells in of_sets for line in lines_of(table, cells, filled)]
    return [f"graphrag-bench {line}" for line in dict.fromkeys(lines)]


def _compare(table: PaperTable, cells: Sequence[PrintedCell], filled: Cells) -> Iterator[str]:
    compared = [cell for cell in cells if table.metric(cell).criteria]
    criteria = f"--criteria {','.join(table_criteria(table))}"
    for judge, of_judge in group_by(compared, lambda cell: Recipe(table, cell).judge).items():
        unjudged = (tuple(sorted(keys)) for cell in of_judge for keys in filled[cell].unjudged)
        for keys in whole_groups(list(dict.fromkeys(unjudged))):
            yield f"judge {' '.join(keys)} {criteria} llm@llm_judge={table.owner}.{judge}"


def whole_groups(pairs: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return all keys as one group if `pairs` has every pair of keys, else return `pairs`."""
    keys = tuple(dict.fromkeys(key for pair in pairs for key in pair))
    whole = bool(keys) and len(pairs) == len(keys) * (len(keys) - 1) // 2
    return [keys] if whole else list(pairs)


def _judge(table: PaperTable, cells: Sequence[PrintedCell], filled: Cells) -> Iterator[str]:
    unjudged = (cell for cell in cells if filled[cell].unjudged
                and table.metric(cell).kind == "judged_answer")  # fmt: skip
    for judge, of_judge in group_by(unjudged, lambda cell: Recipe(table, cell).judge).items():
        names = dict.fromkeys(table.metric(cell).value for cell in of_judge)
        keys = dict.fromkeys(key for c in of_judge for runs in filled[c].unjudged for key in runs)
        embedder = table.paper.embedder if any(MEASURES[name].embeds for name in names) else None
        own = f" embedder={table.owner}.{embedder}" if embedder else ""
        listed = f"--metrics {','.join(names)}"
        yield f"judge {' '.join(keys)} --each {listed} llm@llm_judge={table.owner}.{judge}{own}"
