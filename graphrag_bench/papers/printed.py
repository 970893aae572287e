"""The printed tables of the papers, and what their names mean here: data, read and checked.

`printed_tables/<paper>/<table>.csv` holds the figures, `printed_tables/<paper>/paper.yaml` which
method, data set, metric, model and setting of ours each printed name is. The meaning of a name is
a list of settings as on the command line, e.g. `method=pathrag method.path_order=random`.
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.files import read_yaml
from graphrag_bench.papers.names import (
    Paper,
    PrintedMethod,
    PrintedMetric,
    PrintedSet,
    PrintedSetting,
    TableShape,
    values_of,
)

FOLDER = Path(__file__).parent / "printed_tables"
_SIZES = ("answer=off", "limit=1")
"""Sizes take no answers, and no question but one."""
_COUNTING = ("method=bm25", *_SIZES)
"""A run that calls no model and has the chunks of its set, for what is only counted."""
_ALONE = ("regime=published", "reference_rows=off")
"""Every run of a table is as published, and without reference rows: it is compared with the table's
own rows."""
_SAME = 0.02
"""By how much a size may differ from a printed one, as a share of it."""
_ROUNDED = re.compile(r"printed \d+(?:\.(?P<decimals>\d+))?(?P<unit>[KM])$")
_TEXTS = ("dataset", "method", "versus", "metric", "llm", "unit", "note")


TableRow = tuple[str, str, str, tuple[str, ...]]
"""The method of a row, the other side of its win rates, its model and its settings."""


@dataclass(frozen=True)
class PrintedCell:
    """One printed cell; `shown` is "" for a dash, `setting` its items, e.g. `triples=50`.

    A win rate is the share in which `method` beats `versus`. A `suspicious` cell has its doubt in
    `note`.
    """

    dataset: str
    method: str
    versus: str
    metric: str
    llm: str
    setting: tuple[str, ...]
    shown: str
    unit: str
    note: str = ""
    suspicious: bool = False

    @property
    def value(self) -> float | None:
        """The printed number; None for a dash."""
        return float(self.shown) if self.shown else None

    @property
    def row(self) -> TableRow:
        """Its row of the table."""
        return self.method, self.versus, self.llm, self.setting

    def stated(self, name: str) -> str:
        """The value of an item of its settings as `NAME=value`; "" without it."""
        items = (item.partition("=") for item in self.setting)
        return next((value for item, _, value in items if item == name), "")


@dataclass(frozen=True)
class PrintedSize:
    """How many documents, tokens or questions a paper prints; `rounding` is half its last digit."""

    what: str
    value: int
    rounding: float = 0.0

    @classmethod
    def of(cls, cell: PrintedCell, what: str) -> "PrintedSize":
        """The size in a cell, rounded as its note says: `printed 2.3M`."""
        rounded = _ROUNDED.match(cell.note)
        digit = 1e6 if rounded and rounded["unit"] == "M" else 1e3
        rounding = digit / 10 ** len(rounded["decimals"] or "") / 2 if rounded else 0.0
        return cls(what, round(cell.value or 0), rounding)

    def agrees(self, n: float) -> bool:
        """Return whether another size is this one, within 2 % or as far as it is printed."""
        return abs(n - self.value) <= max(_SAME * self.value, self.rounding)


@dataclass(frozen=True)
class PaperTable:
    """A table or figure with its printed cells, in printed order, then those without a number."""

    paper_name: str
    name: str
    paper: Paper
    shape: TableShape
    cells: tuple[PrintedCell, ...]

    @property
    def full_name(self) -> str:
        """Its name on the command line: `zhou2025/table5`."""
        return f"{self.paper_name}/{self.name}"

    @property
    def owner(self) -> str:
        """The paper whose models and data sets it has: another one where its paper is like that."""
        return self.paper.like or self.paper_name

    @property
    def datasets(self) -> tuple[str, ...]:
        """The printed names of its data sets, in printed order."""
        return tuple(dict.fromkeys(cell.dataset for cell in self.cells))

    @property
    def llms(self) -> tuple[str, ...]:
        """The printed names of its language models, in printed order."""
        return tuple(dict.fromkeys(cell.llm for cell in self.cells if cell.llm))

    @property
    def counts(self) -> bool:
        """Whether it is a table of sizes."""
        return self.shape.kind == "counts"

    @property
    def counts_questions(self) -> bool:
        """Whether it is a table of sizes that counts questions too, and not the corpus alone."""
        metrics = (self.paper.metrics[cell.metric] for cell in self.cells)
        return self.counts and ("count", "questions") in {(one.kind, one.value) for one in metrics}

    def method(self, name: str) -> PrintedMethod | None:
        """Return our method for a printed one; None for no name or an unknown one."""
        return self.shape.methods.get(name) or self.paper.methods.get(name)

    def metric(self, cell: PrintedCell) -> PrintedMetric:
        """Return our metric for a printed one on the data set of its cell."""
        own = self.paper.datasets[cell.dataset].metrics.get(cell.metric)
        if own:
            return PrintedMetric.model_validate({"metric": own})
        return self.paper.metrics[cell.metric]

    def rows_of(self, cell: PrintedCell) -> list[PrintedSetting]:
        """Our settings for the printed ones of a cell."""
        known = self.paper.settings_of_rows
        return [known.get(item) or PrintedSetting(run=[item]) for item in cell.setting]

    def parts(self, cell: PrintedCell) -> "list[Part]":
        """Return the runs, or pairs of runs, of a cell's figure; one for most cells."""
        levels = [word for row in self.rows_of(cell) for word in values_of(row.levels)] or [""]
        own = Recipe(self, cell)
        other = Recipe(self, replace(cell, method=cell.versus, versus=cell.method))
        return [
            Part(level, own.on(level, mine), other.on(level, theirs))
            for level, mine, theirs in product(levels, own.seeds, other.seeds)
        ]


@dataclass(frozen=True)
class Recipe:
    """How a paper made the figure of a cell: a run in our words; `extra` is of one of several."""

    table: PaperTable
    cell: PrintedCell
    extra: tuple[str, ...] = ()

    @property
    def method_name(self) -> str:
        """The paper's name of the method that is run: on some sets another than the printed one."""
        return self.place.methods.get(self.cell.method, self.cell.method)

    @property
    def method(self) -> PrintedMethod | None:
        """Our method; None for no name or an unknown one."""
        return self.table.method(self.method_name)

    @property
    def seeds(self) -> tuple[str, ...]:
        """The settings over whose runs the paper averages; ("",) for one run."""
        return values_of(self.method.seeds if self.method else "") or ("",)

    @property
    def place(self) -> PrintedSet:
        """Our data set."""
        return self.table.paper.datasets[self.cell.dataset]

    @property
    def metric(self) -> PrintedMetric:
        """Our metric."""
        return self.table.metric(self.cell)

    @property
    def llm(self) -> str:
        """The printed name of the answering model; "" where no method answers."""
        return self.cell.llm or (self.table.paper.llm if self.cell.method else "")

    @property
    def sampled(self) -> str:
        """The number of questions that the row itself gives; "" where it is of all."""
        return self.cell.stated("sampled queries")

    @property
    def n_questions(self) -> int | None:
        """The printed number of questions; None where the paper gives none."""
        return int(self.sampled) if self.sampled else self.place.questions

    def on(self, *extra: str) -> "Recipe":
        """Return one of several runs, by the settings that concern its method."""
        return replace(self, extra=self.heeded(extra))

    @property
    def required(self) -> tuple[str, ...] | None:
        """What must hold for a run to qualify for the cell; None when no method of ours does."""
        method, table = self.method, self.table
        if self.cell.method and (method is None or method.run is None):
            return None
        own = [*(method.run or [])] if method else []
        if table.shape.graph and self.metric.kind == "graph":
            own.append(f"method={table.shape.graph}")
        of_rows = self.heeded(word for row in table.rows_of(self.cell) for word in row.run)
        return merged([*own, *of_rows, *self.extra])

    @property
    def set_words(self) -> list[str]:
        """The settings that choose the set; the corpus alone for sizes that count no questions."""
        corpus_alone = self.table.counts and not self.table.counts_questions
        return self.place.words(corpus=corpus_alone)

    @property
    def row_words(self) -> tuple[str, ...] | None:
        """The settings of the run apart from its data set; None where no set or method of ours can.

        What a row says goes before its method, its method before the table, the table before the
        paper.
        """
        own, table = self.required, self.table
        if own is None or self.place.ran is None:
            return None
        if not any(word.startswith("method=") for word in own):
            return merged([*own, *_COUNTING, *_ALONE])
        added = [*table.paper.settings, *table.shape.settings]
        added += self.method.also if self.method else []
        added += self.heeded(word for row in table.rows_of(self.cell) for word in row.also)
        models = [f"llm={table.owner}.{self.model}"] if self.model in table.paper.llms else []
        if table.paper.embedder:
            models.append(f"embedder={table.owner}.{table.paper.embedder}")
        return merged([*added, *own, *models, *_ALONE, *(_SIZES if table.counts else ())])

    @property
    def words(self) -> tuple[str, ...] | None:
        """All settings of the run: of its data set, then of its row."""
        row = self.row_words
        return None if row is None else merged([*self.set_words, *row])

    @property
    def model(self) -> str:
        """The printed name of the model: of two names of one, that of the table."""
        name, known = self.cell.llm or self.table.paper.llm, self.table.paper.llms
        same = (
            one for one in self.table.llms if name in known and known[one].run == known[name].run
        )
        return next(same, name)

    @property
    def judge(self) -> str:
        """The printed name of the judge: the answering model where the paper names none."""
        return self.cell.stated("evaluator") or self.table.paper.llm

    def heeded(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return those settings of a row that concern the method."""
        ignored = tuple(self.method.ignores) if self.method else ()
        return tuple(word for word in words if word and not word.startswith(ignored))


@dataclass(frozen=True)
class Part:
    """One run, or pair of runs, of a cell's figure, at a `level` that the row runs over."""

    level: str
    own: Recipe
    other: Recipe

    @property
    def sides(self) -> tuple[Recipe, ...]:
        """The runs of its figure: both of a win rate, else one."""
        return (self.own, self.other) if self.own.cell.versus else (self.own,)


def merged(settings: Iterable[str]) -> tuple[str, ...]:
    """Return the settings, each name once: the last word holds, in place of the first."""
    by_name = {text.partition("=")[0]: text for text in settings}
    return tuple(by_name.values())


def paper_names() -> list[str]:
    """Return the papers, sorted."""
    return sorted(path.parent.name for path in FOLDER.glob("*/paper.yaml"))


def table_names() -> list[str]:
    """Return all tables and figures as `paper/table`, in each paper's own order."""
    return [f"{name}/{table}" for name in paper_names() for table in load_paper(name).tables]


@cache
def printed_sizes(paper_name: str, card: str) -> tuple[PrintedSize, ...]:
    """Return the documents and tokens of a card's corpus as the paper prints them; () for none.

    The chunks of a table of sizes are a set's texts before they are cut (zhou2025/table4, notes).
    """
    paper = load_paper(paper_name)
    counted = {"documents": "documents", "chunks": "documents", "tokens": "tokens"}
    sizes: dict[str, PrintedSize] = {}
    names = [name for name, shape in paper.tables.items() if shape.kind == "counts"]
    for name in names:
        for cell in _cells(FOLDER / paper_name / f"{name}.csv"):
            metric = paper.metrics[cell.metric]
            what = counted.get(metric.value) if metric.kind == "count" else None
            if what and cell.value and paper.datasets[cell.dataset].card == card:
                sizes.setdefault(what, PrintedSize.of(cell, what))
    return tuple(sizes.values()) or (printed_sizes(paper.like, card) if paper.like else ())


@cache
def load_paper(name: str) -> Paper:
    """Return the checked `paper.yaml` of a paper, with that of the one it is `like`."""
    content: dict[str, Any] = _content(name)
    inherited = _content(content["like"]) if "like" in content else {}
    return Paper.model_validate({**inherited, **content})


def _content(name: str) -> Any:
    return read_yaml((FOLDER / name / "paper.yaml").read_text("utf-8"), f"the paper '{name}'")


def load_table(full_name: str) -> PaperTable:
    """Return the table of a name as `zhou2025/table5`; raise UserError with the nearest names."""
    names = table_names()
    if full_name not in names:
        hint = did_you_mean(full_name, names, paper_names(), n=5)
        raise UserError(
            f"No paper has a table '{full_name}'. {hint} `graphrag-bench table` lists all."
        )
    paper_name, _, name = full_name.partition("/")
    paper = load_paper(paper_name)
    shape = paper.tables[name]
    file = FOLDER / paper_name / f"{name}.csv"
    cells = _cells(file) if file.is_file() else []
    table = PaperTable(paper_name, name, paper, shape, tuple(cells))
    return replace(table, cells=(*cells, *_without_number(table)))


def _without_number(table: PaperTable) -> list[PrintedCell]:
    """The cells of the grids but for those that are printed, in the units of these."""

    def place(cell: PrintedCell) -> tuple[object, ...]:
        of_run = frozenset(Recipe(table, cell).required or ())
        return cell.dataset, cell.versus, cell.metric, cell.llm, of_run

    printed = {place(cell) for cell in table.cells}
    units = {
        name: "percent" if metric.kind in ("metric", "judged", "judged_answer") else "tokens"
        for name, metric in table.paper.metrics.items()
    } | {cell.metric: cell.unit for cell in table.cells}
    cells = [
        PrintedCell(dataset, method, versus, metric, llm, setting, "", units[metric])
        for grid in table.shape.grids
        for dataset, llm in product(grid.datasets, grid.llms)
        for setting in product(*map(values_of, grid.over))
        for method, versus, metric in product(grid.methods, grid.versus, grid.metrics)
    ]
    return [cell for cell in cells if place(cell) not in printed]


def _cells(file: Path) -> list[PrintedCell]:
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [
        PrintedCell(
            setting=tuple(filter(None, map(str.strip, row["setting"].split(";")))),
            shown=row["value"],
            suspicious=row["doubtful"] == "yes",
            **{name: row[name] for name in _TEXTS},
        )
        for row in rows
    ]
