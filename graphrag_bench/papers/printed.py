"""The printed tables of the papers, and what their names mean here: data, read and checked.

`printed_tables/<paper>/<table>.csv` holds the figures, `printed_tables/<paper>/paper.yaml` which
method, data set, metric, model and setting of ours each printed name is. The meaning of a name is
a list of settings as on the command line, e.g. `method=pathrag method.path_order=random`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.files import read_yaml
from graphrag_bench.papers.names import (
    Grid,
    Method,
    Metric,
    Paper,
    PrintedSetting,
    Shape,
    values_of,
)

FOLDER = Path(__file__).parent / "printed_tables"
_SIZES = ("answer=off", "limit=1")
"""Sizes take no answers, and no question but one."""
_COUNTING = ("method=bm25", *_SIZES)
"""A run that calls no model and has the chunks of its set, for what is only counted."""
_ALONE = "reference_rows=off"
"""No run of a table has reference rows: it is compared with the table's own rows."""
_SAME = 0.02
"""By how much a size may differ from a printed one, as a share of it."""
_ROUNDED = re.compile(r"printed \d+(?:\.(?P<decimals>\d+))?(?P<unit>[KM])$")
_SUSPICIOUS = (
    "doubtful", "implausible", "pair sums to", "swapped", "transposed", "printed identically",
    "mean of the two data sets is", "equals DALK", "calls this an improvement",
)  # fmt: skip


@dataclass(frozen=True)
class Printed:
    """One printed cell. `value` is None for a dash; `setting` are its items, e.g. `triples=50`.

    A win rate has the other side in `versus`: the share in which `method` beats it.
    """

    dataset: str
    method: str
    versus: str
    metric: str
    llm: str
    setting: tuple[str, ...]
    value: float | None
    shown: str
    unit: str
    note: str

    @property
    def suspicious(self) -> bool:
        """Whether its note gives a reason to doubt the printed figure."""
        return any(words in self.note for words in _SUSPICIOUS)

    @property
    def opposite(self) -> Printed:
        """The cell of the other side of a pair, as far as its settings go."""
        sides = replace(self, method=self.versus, versus=self.method)
        return replace(sides, value=None, shown="", note="")

    @property
    def row(self) -> tuple[str, str, str, tuple[str, ...]]:
        """What its row of the table is: method, other side, model and settings."""
        return self.method, self.versus, self.llm, self.setting


@dataclass(frozen=True)
class PrintedSize:
    """How many documents, tokens or questions a paper prints; `rounding` is half its last digit."""

    what: str
    value: int
    rounding: float = 0.0

    @classmethod
    def of(cls, cell: Printed, what: str) -> PrintedSize:
        """The size in a cell, rounded as its note says: `printed 2.3M`."""
        rounded = _ROUNDED.match(cell.note)
        digit = 1e6 if rounded and rounded["unit"] == "M" else 1e3
        rounding = digit / 10 ** len(rounded["decimals"] or "") / 2 if rounded else 0.0
        return cls(what, round(cell.value or 0), rounding)

    def differs(self, n: float) -> str:
        """`tokens: 10, not 20` for another size than this; "" within 2 %, or as far as printed."""
        if abs(n - self.value) <= max(_SAME * self.value, self.rounding):
            return ""
        return f"{self.what}: {n:,.0f}, not {self.value:,}"


@dataclass(frozen=True)
class Part:
    """One run, or pair of runs, of a cell's figure: what else is set for each side.

    `level` is the value of the setting that the row runs over; "" where it runs over none.
    """

    level: str = ""
    own: tuple[str, ...] = ()
    other: tuple[str, ...] = ()


@dataclass(frozen=True)
class PaperTable:
    """A table or figure with its printed cells, in printed order; none for an unprinted figure."""

    paper_name: str
    name: str
    paper: Paper
    shape: Shape
    cells: tuple[Printed, ...]

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

    def method(self, name: str) -> Method | None:
        """Return our method for a printed one; None for no name or an unknown one."""
        return self.shape.methods.get(name) or self.paper.methods.get(name)

    def metric(self, cell: Printed) -> Metric:
        """Return our metric for a printed one on the data set of its cell."""
        own = self.paper.datasets[cell.dataset].metrics.get(cell.metric)
        return Metric(metric=own) if own else self.paper.metrics[cell.metric]

    def rows_of(self, cell: Printed) -> list[PrintedSetting]:
        """Our settings for the printed ones of a cell."""
        return [self.paper.settings_of_rows[item] for item in cell.setting]

    def effective(self, cell: Printed) -> list[str]:
        """The printed settings of a cell that set anything for its method, on every run of it."""
        own = self.method(cell.method)
        rows = zip(cell.setting, self.rows_of(cell), strict=True)
        return [item for item, row in rows if _heeded(own, *row.run, *row.also)]

    def parts(self, cell: Printed) -> tuple[Part, ...]:
        """Return the runs, or pairs of runs, of a cell's figure; one for most cells."""
        rows = self.rows_of(cell)
        levels = [word for row in rows for word in values_of(row.levels)] or [""]
        shared = [word for row in rows for word in values_of(row.seeds)] or [""]
        sides = [self.method(name) for name in (cell.method, cell.versus)]
        own, other = (values_of(side.seeds if side else "") or ("",) for side in sides)
        return tuple(
            Part(
                level, _heeded(sides[0], level, seed, mine), _heeded(sides[1], level, seed, theirs)
            )
            for level, seed, mine, theirs in product(levels, shared, own, other)
        )

    def over(self, cell: Printed) -> Literal["lowest", "highest"] | None:
        """Which figure of its levels a cell prints."""
        return next((row.over for row in self.rows_of(cell) if row.over), None)

    def layer(self, cell: Printed) -> str | None:
        """The layer of a tree that a cell is about."""
        return next((row.layer for row in self.rows_of(cell) if row.layer), None)

    def settings_of(self, cell: Printed, part: Sequence[str] = ()) -> tuple[str, ...] | None:
        """Return what must hold for a run to qualify for a cell; None when no method of ours does.

        `part` are the settings of one of several runs of the cell (`parts`).
        """
        method = self.method(cell.method)
        if cell.method and (method is None or method.run is None):
            return None
        own = [*(method.run or [])] if method else []
        if self.shape.graph and self.paper.metrics[cell.metric].graph:
            own.append(f"method={self.shape.graph}")
        own += _heeded(method, *(word for row in self.rows_of(cell) for word in row.run))
        return merged([*own, *part])

    def settings_of_paper(self, cell: Printed, part: Sequence[str] = ()) -> tuple[str, ...] | None:
        """Return all settings of the run of a cell: of its data set, then of its row."""
        row = self.row_words(cell, part)
        return None if row is None else merged([*self.set_words(cell), *row])

    def set_words(self, cell: Printed) -> list[str]:
        """Return the settings that choose the set of a cell; its corpus alone where it is counted.

        A table of sizes asks no questions made for a corpus, unless it counts them.
        """
        corpus_alone = self.counts and not self.counts_questions
        return self.paper.datasets[cell.dataset].words(corpus=corpus_alone)

    def row_words(self, cell: Printed, part: Sequence[str] = ()) -> tuple[str, ...] | None:
        """Return the settings of the run of a cell apart from its data set.

        What a row says goes before its method, its method before the table, the table before the
        paper. The run has no reference rows, and a table of sizes needs no answers. None where
        `settings_of` is None, and where no set of ours can be run.
        """
        own = self.settings_of(cell, part)
        if own is None or self.paper.datasets[cell.dataset].ran is None:
            return None
        if not any(word.startswith("method=") for word in own):
            return merged([*own, *_COUNTING, _ALONE])
        method = self.method(cell.method)
        added = [*self.paper.settings, *self.shape.settings, *(method.also if method else [])]
        added += _heeded(method, *(word for row in self.rows_of(cell) for word in row.also))
        end = [_ALONE, *(_SIZES if self.counts else ())]
        return merged([*added, *own, *self._models(cell), *end])

    def model(self, cell: Printed) -> str:
        """The printed name of the model of a cell: of two names of one, that of this table."""
        name, known = cell.llm or self.paper.llm, self.paper.llms
        same = (one for one in self.llms if name in known and known[one].run == known[name].run)
        return next(same, name)

    def _models(self, cell: Printed) -> list[str]:
        llm, embedder = self.model(cell), self.paper.embedder
        chosen = [f"llm={self.owner}.{llm}"] if llm in self.paper.llms else []
        return chosen + ([f"embedder={self.owner}.{embedder}"] if embedder else [])

    @property
    def counts(self) -> bool:
        """Whether it is a table of sizes."""
        return self.shape.kind == "counts"

    @property
    def counts_questions(self) -> bool:
        """Whether it is a table of sizes that counts questions too, and not the corpus alone."""
        counted = (self.paper.metrics[cell.metric].count for cell in self.cells)
        return self.counts and "questions" in counted


def _heeded(method: Method | None, *words: str) -> tuple[str, ...]:
    ignored = tuple(method.ignores) if method else ()
    return tuple(word for word in words if word and not word.startswith(ignored))


def merged(settings: Sequence[str]) -> tuple[str, ...]:
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

    The chunks of a table of sizes are the texts of a set before they are cut: passages of sets that
    come in passages, and documents of the others (the notes of zhou2025/table4 say why).
    """
    paper = load_paper(paper_name)
    counted = {"documents": "documents", "chunks": "documents", "tokens": "tokens"}
    sizes: dict[str, PrintedSize] = {}
    names = [name for name, shape in paper.tables.items() if shape.kind == "counts"]
    for name in names:
        for cell in _cells(FOLDER / paper_name / f"{name}.csv"):
            what = counted.get(paper.metrics[cell.metric].count or "")
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
    cells = _cells(file) if file.is_file() else _unprinted(shape.grid, paper)
    return PaperTable(paper_name, name, paper, shape, tuple(cells))


def _unprinted(grid: Grid | None, paper: Paper) -> list[Printed]:
    if grid is None:
        return []
    return [
        Printed(
            dataset, method, "", metric, grid.llm, _items(row), None, "",
            "percent" if paper.metrics[metric].metric else "tokens", "",
        )
        for dataset in grid.datasets
        for row in grid.rows
        for method in grid.methods
        for metric in grid.metrics
    ]  # fmt: skip


def _cells(file: Path) -> list[Printed]:
    with file.open(encoding="utf-8", newline="") as lines:
        return [_cell(row) for row in csv.DictReader(lines)]


def _cell(row: dict[str, str]) -> Printed:
    value = row["value"]
    return Printed(
        row["dataset"], row["method"], row["versus"], row["metric"], row["llm"],
        _items(row["setting"]), float(value) if value else None, value, row["unit"], row["note"],
    )  # fmt: skip


def _items(setting: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in setting.split(";") if part.strip())
