"""Read the tables that papers print, and derive the runs that reproduce them."""

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, product
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from graphrag_bench.arrays import unique
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.files import read_yaml
from graphrag_bench.papers import names

FOLDER = Path(__file__).parent / "printed_tables"
_SIZES = ("answer=off", "limit=1")  # of a run that only measures sizes
_PUBLISHED = ("regime=published", "reference_rows=off")  # of all runs
_TEXTS = ("dataset", "method", "versus", "metric", "llm", "unit", "note")

TableRow = tuple[str, str, str, tuple[str, ...]]
"""Method, opponent (for win rates), model and settings of a row in a paper's table."""


@dataclass(frozen=True)
class PrintedCell:
    """One cell of a paper's table; `shown` is its text, or "" for a dash.

    `setting` lists settings as printed, such as `triples=50`. A win rate is the percentage of
    questions that `method` wins. `note` says why a value is `suspicious`.
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
        """The method, opponent, model and settings, which identify the row of the table."""
        return self.method, self.versus, self.llm, self.setting

    def setting_value(self, name: str) -> str:
        """Return the printed value of a setting, or "" if the cell does not have the setting."""
        return dict(item.partition("=")[::2] for item in self.setting).get(name, "")


@dataclass(frozen=True)
class PrintedSize:
    """A printed number of documents, tokens or questions, and its largest rounding error."""

    what: str
    value: int
    rounding: float = 0.0

    @classmethod
    def of(cls, cell: PrintedCell, what: str) -> "PrintedSize":
        """Return the size in a cell; a note such as `printed 2.3M` tells how it was rounded."""
        size, rounding = round(cell.value or 0), 0.0
        if rounded := re.match(r"printed \d+(?:\.(\d+))?([KM])$", cell.note):
            rounding = {"K": 1e3, "M": 1e6}[rounded[2]] / 10 ** len(rounded[1] or "") / 2
        return cls(what, size, rounding)

    def agrees(self, n: float) -> bool:
        """Return whether `n` is within 2 % or within `rounding` of the printed size."""
        return abs(n - self.value) <= max(0.02 * self.value, self.rounding)


@dataclass(frozen=True)
class PaperTable:
    """A table or figure of a paper, named as in `zhou2025/table5`. Unprinted cells come last."""

    full_name: str
    paper_name: str
    paper: names.Paper
    shape: names.TableShape
    cells: tuple[PrintedCell, ...]

    @property
    def owner(self) -> str:
        """The paper that defines models and data sets: the paper in `like`, or else this paper."""
        return self.paper.like or self.paper_name

    @property
    def datasets(self) -> tuple[str, ...]:
        """The printed names of the data sets, in the order of the table."""
        return unique([cell.dataset for cell in self.cells])

    @property
    def llms(self) -> tuple[str, ...]:
        """The names of the language models, as printed and in the order of the table."""
        return unique([cell.llm for cell in self.cells if cell.llm])

    @property
    def counts(self) -> bool:
        """Whether the table lists the sizes of data sets."""
        return self.shape.kind == "counts"

    @property
    def counts_questions(self) -> bool:
        """Whether the table lists the sizes of data sets, including their numbers of questions."""
        metrics = (self.paper.metrics[cell.metric] for cell in self.cells)
        return self.counts and any((m.kind, m.value) == ("count", "questions") for m in metrics)

    def method(self, name: str) -> names.PrintedMethod | None:
        """Return the entry of a method in `paper.yaml`, or None if there is no such entry."""
        return self.shape.methods.get(name) or self.paper.methods.get(name)

    def metric(self, cell: PrintedCell) -> names.PrintedMetric:
        """Return the entry in `paper.yaml` for the metric of a cell."""
        if own := self.paper.datasets[cell.dataset].metrics.get(cell.metric):
            return names.PrintedMetric.model_validate({"metric": own})
        return self.paper.metrics[cell.metric]

    def rows_of(self, cell: PrintedCell) -> list[names.PrintedSetting]:
        """Return the entries in `paper.yaml` for the settings of a cell."""
        known = self.paper.settings_of_rows
        return [known.get(item) or names.PrintedSetting(run=[item]) for item in cell.setting]

    def parts(self, cell: PrintedCell) -> "list[Part]":
        """Return the runs, or pairs of runs, that give the value of a cell; usually only one."""
        levels = chain.from_iterable(names.setting_values(row.levels) for row in self.rows_of(cell))
        turned = replace(cell, method=cell.versus, versus=cell.method)
        own, other = Recipe(self, cell), Recipe(self, turned)
        return [
            Part(level, own.on(level, mine), other.on(level, theirs))
            for level, mine, theirs in product([*levels] or [""], own.seeds, other.seeds)
        ]


@dataclass(frozen=True)
class Recipe:
    """Settings of a run that measures a cell. `extra` sets the level and seed."""

    table: PaperTable
    cell: PrintedCell
    extra: tuple[str, ...] = ()

    @property
    def method_name(self) -> str:
        """The name of the method in `paper.yaml`, which can differ from the printed name."""
        return self.place.methods.get(self.cell.method, self.cell.method)

    @property
    def method(self) -> names.PrintedMethod:
        """The entry of the method in `paper.yaml`. It is empty for a cell without a method."""
        return self.table.method(self.method_name) or names.PrintedMethod(run=[])

    @property
    def seeds(self) -> tuple[str, ...]:
        """One setting for each run that the paper averages over; ("",) for a single run."""
        return names.setting_values(self.method.seeds) or ("",)

    @property
    def place(self) -> names.PrintedSet:
        """The entry of the data set in `paper.yaml`."""
        return self.table.paper.datasets[self.cell.dataset]

    @property
    def metric(self) -> names.PrintedMetric:
        """The entry of the metric in `paper.yaml`."""
        return self.table.metric(self.cell)

    def on(self, *extra: str) -> "Recipe":
        """Return the recipe with the settings `extra`, except those that the method ignores."""
        return replace(self, extra=self.relevant(extra))

    @property
    def required(self) -> tuple[str, ...]:
        """The settings that a run must have."""
        graph = self.table.shape.graph if self.metric.kind == "graph" else None
        of_rows = self.relevant(word for row in self.table.rows_of(self.cell) for word in row.run)
        of_graph = [f"method={graph}"] if graph else []
        return _merge_settings([*self.method.run, *of_graph, *of_rows, *self.extra])

    @property
    def set_words(self) -> list[str]:
        """The overrides that select the data set. Tables of corpus sizes need no questions."""
        return self.place.words(corpus=self.table.counts and not self.table.counts_questions)

    @property
    def row_words(self) -> tuple[str, ...] | None:
        """The overrides of the run without its data set, or None if the data set has no card."""
        own, table, paper = self.required, self.table, self.table.paper
        if self.place.run_card is None:
            return None
        if not any(word.startswith("method=") for word in own):
            return _merge_settings([*own, "method=bm25", *_SIZES, *_PUBLISHED])
        of_rows = self.relevant(word for row in table.rows_of(self.cell) for word in row.also)
        models = {"llm": self.model if self.model in paper.llms else "", "embedder": paper.embedder}
        return _merge_settings([  # a later setting replaces an earlier one
            *paper.settings, *table.shape.settings, *self.method.also, *of_rows, *own,
            *(f"{kind}={table.owner}.{model}" for kind, model in models.items() if model),
            *_PUBLISHED, *(_SIZES if table.counts else ()),
        ])  # fmt: skip

    @property
    def words(self) -> tuple[str, ...] | None:
        """All overrides of the run: first the data set, then the row."""
        row = self.row_words
        return None if row is None else _merge_settings([*self.set_words, *row])

    @property
    def model(self) -> str:
        """The printed name of the model. If it has two names, this table's name is used."""
        name, known = self.cell.llm or self.table.paper.llm, self.table.paper.llms
        listed = self.table.llms if name in known else ()
        return next((one for one in listed if known[one].run == known[name].run), name)

    @property
    def judge(self) -> str:
        """The printed name of the judge model; by default it is the paper's answering model."""
        return self.cell.setting_value("evaluator") or self.table.paper.llm

    def relevant(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return the settings that the method does not ignore."""
        ignored = tuple(self.method.ignores)
        return tuple(word for word in words if word and not word.startswith(ignored))


@dataclass(frozen=True)
class Part:
    """The run of a cell at one level (see `PrintedSetting`), or the two runs of a win rate."""

    level: str
    own: Recipe
    other: Recipe

    @property
    def sides(self) -> tuple[Recipe, ...]:
        """The two runs of a win rate, or the single run."""
        return (self.own, self.other) if self.own.cell.versus else (self.own,)


def _merge_settings(settings: Iterable[str]) -> tuple[str, ...]:
    return tuple({text.partition("=")[0]: text for text in settings}.values())


def paper_names() -> list[str]:
    """Return the names of all papers, sorted."""
    return sorted(path.parent.name for path in FOLDER.glob("*/paper.yaml"))


def table_names() -> list[str]:
    """Return the names of all tables and figures, such as `zhou2025/table5`, paper by paper."""
    return [f"{name}/{table}" for name in paper_names() for table in load_paper(name).tables]


@cache
def printed_sizes(paper_name: str, card: str) -> tuple[PrintedSize, ...]:
    """Return the numbers of documents and tokens that a paper prints for a data set.

    The "chunks" of Zhou et al. are texts before chunking, and count as documents.
    """
    paper = load_paper(paper_name)
    counted = {"documents": "documents", "chunks": "documents", "tokens": "tokens"}
    sizes: dict[str, PrintedSize] = {}
    tables = (name for name, shape in paper.tables.items() if shape.kind == "counts")
    for cell in chain.from_iterable(_cells(paper_name, name) for name in tables):
        metric = paper.metrics[cell.metric]
        what = counted.get(metric.value) if metric.kind == "count" else None
        if what and cell.value and paper.datasets[cell.dataset].card == card:
            sizes.setdefault(what, PrintedSize.of(cell, what))
    return tuple(sizes.values()) or (printed_sizes(paper.like, card) if paper.like else ())


@cache
def load_paper(name: str) -> names.Paper:
    """Load and check a `paper.yaml`; missing fields come from the paper that `like` names."""

    def content(of: str) -> Any:
        return read_yaml((FOLDER / of / "paper.yaml").read_text("utf-8"), f"the paper '{of}'")

    own = content(name)
    return names.Paper.model_validate({**(content(own["like"]) if "like" in own else {}), **own})


@cache
def load_conditions(paper_name: str) -> tuple[names.Condition, ...]:
    """Return the conditions of a paper, or of the paper that its `like` names."""
    name = load_paper(paper_name).like or paper_name
    text = (FOLDER / name / "conditions.yaml").read_text("utf-8")
    rows = read_yaml(text, f"the conditions of '{name}'")
    return TypeAdapter(tuple[names.Condition, ...]).validate_python(rows)


def conditions_of(row: str) -> list[names.Condition]:
    """Return the conditions that apply to the row with this name (as in `row=NAME`)."""
    return [one for one in load_conditions(row.partition(".")[0]) if one.applies_to(row)]


def load_table(full_name: str) -> PaperTable:
    """Return a paper's table by its name. Raises UserError if the name is unknown."""
    if full_name not in (known := table_names()):
        hint = did_you_mean(full_name, known, paper_names(), n=5)
        raise UserError(f"No paper has a table '{full_name}'. {hint} See `graphrag-bench table`.")
    paper_name, _, name = full_name.partition("/")
    paper, cells = load_paper(paper_name), tuple(_cells(paper_name, name))
    table = PaperTable(full_name, paper_name, paper, paper.tables[name], cells)

    def place(cell: PrintedCell) -> tuple[object, ...]:
        of_run = frozenset(Recipe(table, cell).required)
        return cell.dataset, cell.versus, cell.metric, cell.llm, of_run

    printed = {place(cell) for cell in cells}
    units = {
        name: "percent" if metric.kind in ("metric", "judged", "judged_answer") else "tokens"
        for name, metric in paper.metrics.items()
    } | {cell.metric: cell.unit for cell in cells}
    every = (
        PrintedCell(dataset, method, versus, metric, llm, setting, "", units[metric])
        for grid in table.shape.grids
        for dataset, llm in product(grid.datasets, grid.llms)
        for setting in product(*map(names.setting_values, grid.over))
        for method, versus, metric in product(grid.methods, grid.versus, grid.metrics)
    )
    return replace(table, cells=(*cells, *(cell for cell in every if place(cell) not in printed)))


def _cells(paper_name: str, table_name: str) -> Iterator[PrintedCell]:
    file = FOLDER / paper_name / f"{table_name}.csv"
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    for row in csv.DictReader(lines):
        setting = tuple(filter(None, map(str.strip, row["setting"].split(";"))))
        of_paper = {name: row[name] for name in _TEXTS}
        suspicious = row["doubtful"] == "yes"
        yield PrintedCell(setting=setting, shown=row["value"], suspicious=suspicious, **of_paper)
