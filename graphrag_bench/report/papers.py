"""The printed tables of the papers, and what their names stand for here: data, read and checked.

`paper_tables/<paper>/<table>.csv` holds the figures, `paper_tables/<paper>/paper.yaml` which
method, data set, metric, model and setting of ours each printed name is. What a name stands for is
a list of settings as on the command line, e.g. `method=pathrag method.path_order=random`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from graphrag_bench.errors import UserError, nearest
from graphrag_bench.plain_yaml import read_yaml

FOLDER = Path(__file__).parent / "paper_tables"
_COUNTING = ("method=bm25", "answer=off")
"""A run that calls no model and has the chunks of its set, for what is only counted."""
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
    def row(self) -> tuple[str, str, str, tuple[str, ...]]:
        """What its row of the table is: method, other side, model and settings."""
        return self.method, self.versus, self.llm, self.setting


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Method(_Entry):
    """`run`: what must hold of a run, None for no method of ours; `also`: the paper's values."""

    run: list[str] | None
    also: list[str] = []
    note: str = ""


class DataSet(_Entry):
    """The card that holds the set, None for none, and what is set beside it.

    `abstract` says that its questions are not those of the card.
    """

    card: str | None
    run: list[str] = []
    questions: int | None = None
    abstract: bool = False
    note: str = ""


class Model(_Entry):
    """A language model or embedder: `found_by` is a regular expression over our identities."""

    found_by: str = Field(alias="is")
    run: list[str]


class Metric(_Entry):
    """Where our figure comes from: exactly one of the fields; `none` says why there is none.

    Of metrics divided by `|` the first that a run has counts.
    """

    metric: str | None = None
    judged: str | None = None
    judged_answer: str | None = None
    usage: str | None = None
    cost: Literal["usd"] | None = None
    count: Literal["documents", "questions", "chunks"] | None = None
    graph: Literal["nodes", "relationships"] | None = None
    build: Literal["tokens", "report_tokens"] | None = None
    time: Literal["mean"] | None = None
    none: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Metric:
        if len(self.model_dump(exclude_none=True)) != 1:
            raise ValueError("exactly one source was expected")
        return self

    @property
    def kind(self) -> str:
        """The name of its source."""
        return next(iter(self.model_dump(exclude_none=True)))


class Grid(_Entry):
    """The cells of a figure whose numbers are not printed: every combination of these names."""

    datasets: list[str]
    methods: list[str]
    metrics: list[str]
    rows: list[str] = [""]
    llm: str = ""


class Shape(_Entry):
    """One table or figure: what it is about, and for an unprinted one the commands to run.

    `graph` is the method whose graph a table of sizes is about.
    """

    kind: Literal["runs", "winrates", "counts", "unprinted"]
    caption: str
    shows: str = ""
    recipe: list[str] = []
    grid: Grid | None = None
    graph: str | None = None


class Paper(_Entry):
    """`paper.yaml`: what the paper's names stand for."""

    title: str
    citation: str
    llm: str
    embedder: str | None
    conditions: str
    settings: list[str]
    llms: dict[str, Model]
    embedders: dict[str, Model]
    methods: dict[str, Method]
    datasets: dict[str, DataSet]
    metrics: dict[str, Metric]
    settings_of_rows: dict[str, list[str]] = Field(alias="rows")
    tables: dict[str, Shape]
    like: str | None = None


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
        """As the command line has it: `zhou2025/table5`."""
        return f"{self.paper_name}/{self.name}"

    @property
    def datasets(self) -> tuple[str, ...]:
        """The printed names of its data sets, in printed order."""
        return tuple(dict.fromkeys(cell.dataset for cell in self.cells))

    @property
    def llms(self) -> tuple[str, ...]:
        """The printed names of its language models, in printed order."""
        return tuple(dict.fromkeys(cell.llm for cell in self.cells if cell.llm))

    def settings_of(self, cell: Printed) -> tuple[str, ...] | None:
        """What must hold of a run to stand beside a cell; None when no method of ours does."""
        held = self.paper.methods.get(cell.method)
        if cell.method and (held is None or held.run is None):
            return None
        own = [*(held.run or [])] if held else []
        if self.shape.graph and self.paper.metrics[cell.metric].graph:
            own.append(f"method={self.shape.graph}")
        for item in cell.setting:
            own += self.paper.settings_of_rows[item]
        return merged(own)

    def settings_of_paper(self, cell: Printed) -> tuple[str, ...] | None:
        """All that the paper sets for a cell, data set and models included; None as above."""
        own = self.settings_of(cell)
        place = self.paper.datasets[cell.dataset]
        if own is None or place.card is None:
            return None
        held = self.paper.methods.get(cell.method)
        model = self.paper.llms.get(cell.llm or self.paper.llm)
        embedder = self.paper.embedders.get(self.paper.embedder or "")
        said = [f"dataset={place.card}", *place.run, *self.paper.settings]
        said += [*(held.also if held else []), *own]
        if not any(text.startswith("method=") for text in own):
            return merged([f"dataset={place.card}", *place.run, *own, *_COUNTING])
        return merged([*said, *(model.run if model else []), *(embedder.run if embedder else [])])


def merged(settings: list[str]) -> tuple[str, ...]:
    """The settings, each name once: the last word holds, in the place of the first."""
    held = {text.partition("=")[0]: text for text in settings}
    return tuple(held.values())


def paper_names() -> list[str]:
    """The papers, sorted."""
    return sorted(path.parent.name for path in FOLDER.glob("*/paper.yaml"))


def table_names() -> list[str]:
    """All tables and figures as `paper/table`, in each paper's own order."""
    return [f"{name}/{table}" for name in paper_names() for table in load_paper(name).tables]


@cache
def load_paper(name: str) -> Paper:
    """The checked `paper.yaml` of a paper, with what it takes over from the one it is `like`."""
    held: dict[str, Any] = _content(name)
    return Paper.model_validate({**_content(held["like"]), **held} if "like" in held else held)


def _content(name: str) -> Any:
    return read_yaml((FOLDER / name / "paper.yaml").read_text("utf-8"), f"the paper '{name}'")


def load_table(full_name: str) -> PaperTable:
    """The table of a name such as `zhou2025/table5`; raises UserError with the nearest names."""
    names = table_names()
    if full_name not in names:
        close = nearest(full_name, names, n=5) or paper_names()
        raise UserError(
            f"No paper has a table '{full_name}'. Nearest: {', '.join(close)}. "
            "`graphrag-bench table` lists all."
        )
    paper_name, _, name = full_name.partition("/")
    paper = load_paper(paper_name)
    shape = paper.tables[name]
    file = FOLDER / paper_name / f"{name}.csv"
    cells = _cells(file) if file.is_file() else _unprinted(shape.grid, paper)
    return PaperTable(paper_name, name, paper, shape, tuple(cells))


def _unprinted(grid: Grid | None, paper: Paper) -> list[Printed]:
    """The cells of a figure without printed numbers: shares in percent, all else in tokens."""
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
        dataset=row["dataset"],
        method=row["method"],
        versus=row["versus"],
        metric=row["metric"],
        llm=row["llm"],
        setting=_items(row["setting"]),
        value=float(value) if value else None,
        shown=value,
        unit=row["unit"],
        note=row["note"],
    )


def _items(setting: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in setting.split(";") if part.strip())
