"""Schemas of `paper.yaml`, which explains names in a paper's tables, and `conditions.yaml`."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

NOT_STATED = "not stated"


def setting_values(text: str) -> tuple[str, ...]:
    """Expand `NAME=a,b,c` or `NAME=0..9` into one `NAME=value` per value; return () for ""."""
    name, _, listed = text.partition("=")
    first, to, last = listed.partition("..")
    values = map(str, range(int(first), int(last) + 1)) if to else listed.split(",")
    return tuple(f"{name}={value}" for value in values) if text else ()


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class PrintedMethod(_Entry):
    """Settings that correspond to a method in a paper's table.

    A run must have the settings `run`. `also` lists the paper's values of other settings. The paper
    averages over the values of `seeds` (`NAME=0..9`). `ignores` lists prefixes of settings that do
    not affect the method.
    """

    run: list[str]
    also: list[str] = []
    seeds: str = ""
    ignores: list[str] = []
    note: str = ""
    source: str = ""


class PrintedSetting(_Entry):
    """Settings that correspond to a setting in a paper's table. A plain list is short for `run`.

    A run must have the settings `run`. `also` lists further settings. `levels` is a setting with
    several values. If `over` is set, the row prints the lowest or highest result over these values.
    `layer` is a layer of a tree (`0`, `1`, or `>1` for all higher layers).
    """

    run: list[str] = []
    also: list[str] = []
    levels: str = ""
    over: Literal["lowest", "highest"] | None = None
    layer: str | None = None
    source: str = ""

    @model_validator(mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return {"run": value} if isinstance(value, list) else value


class PrintedSet(_Entry):
    """Card and further settings (`run`) that correspond to a data set in a paper's table.

    Without a `card`, runs use the card `stand_in`. If `abstract` is true, questions are generated
    from the corpus. `metrics` and `methods` rename metrics and methods for this data set.
    """

    card: str | None
    run: list[str] = []
    questions: int | None = None
    abstract: bool = False
    stand_in: str | None = None
    metrics: dict[str, str] = {}
    methods: dict[str, str] = {}
    note: str = ""

    @property
    def run_card(self) -> str | None:
        """The card that runs use: the card of the data set, else its stand-in, else None."""
        return self.card or self.stand_in

    @property
    def questions_folder(self) -> str:
        """The folder of the generated questions."""
        return f"questions/{self.run_card}/abstract"

    def words(self, *, corpus: bool = False) -> list[str]:
        """Return overrides that select the data set. If `corpus`, leave out generated questions."""
        generated = self.abstract and not corpus
        questions = [f"dataset.questions={self.questions_folder}"] if generated else []
        return [f"dataset={self.run_card}", *questions, *self.run]


class PrintedModel(_Entry):
    """Settings of a model. The regular expression `pattern` matches its name in stored runs."""

    pattern: str = Field(alias="is")
    run: list[str]


class PrintedMetric(_Entry):
    """How to measure a metric of a paper's table; in `paper.yaml`, a mapping `kind: value`.

    The value of a `metric` can be `a|b`: `b` is used if a run has no `a`. `judged` is the mean win
    rate over the `criteria`. `time` covers all steps. `seconds` and `tokens` cover one stage or
    operator. `layers` is the fraction of retrieved nodes in one layer of a tree. The value of
    `none` explains why there is no measurement.
    """

    kind: Literal[
        "metric", "judged", "judged_answer", "usage", "cost", "count", "graph", "build", "time",
        "seconds", "tokens", "layers", "none",
    ]  # fmt: skip
    value: str = ""
    criteria: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _of_one_source(cls, source: dict[str, Any]) -> dict[str, Any]:
        if len(source) != 1:
            raise ValueError("a metric needs exactly one source, KIND: VALUE")
        ((kind, value),) = source.items()
        if kind in ("judged", "judged_mean"):
            return {"kind": "judged", "criteria": [value] if kind == "judged" else value}
        return {"kind": kind, "value": value}


class Grid(_Entry):
    """Cells of a table for which the paper prints no number: all combinations of the listed names.

    Each entry of `over` is a setting with its values (`NAME=a,b,c`), as printed or of this project.
    `versus` lists the opponents of win rates.
    """

    datasets: list[str]
    methods: list[str]
    metrics: list[str]
    over: list[str] = []
    llms: list[str] = [""]
    versus: list[str] = [""]


class TableShape(_Entry):
    """One table or figure of a paper. `settings` and `methods` override those of the paper.

    `shows` describes the cells of the `grids`. `graph` is the method whose graph sizes are printed.
    `notes` explains for each method why our results differ.
    """

    kind: Literal["runs", "winrates", "counts", "unprinted"]
    caption: str
    shows: str = ""
    grids: list[Grid] = []
    graph: str | None = None
    settings: list[str] = []
    methods: dict[str, PrintedMethod] = {}
    notes: dict[str, str] = {}


class Paper(_Entry):
    """The content of `paper.yaml`. `source` names the sections that state the common `settings`.

    `making` has the settings of `graphrag-bench questions` for the abstract questions.
    """

    title: str
    citation: str
    llm: str
    embedder: str | None
    conditions: str
    settings: list[str]
    source: str
    making: PrintedMethod | None = None
    llms: dict[str, PrintedModel]
    embedders: dict[str, PrintedModel]
    methods: dict[str, PrintedMethod]
    datasets: dict[str, PrintedSet]
    metrics: dict[str, PrintedMetric]
    settings_of_rows: dict[str, PrintedSetting] = Field(alias="rows")
    tables: dict[str, TableShape]
    like: str | None = None


class Condition(_Entry):
    """Statement of a paper about some rows of its tables, and the setting that follows from it.

    `tables` and `rows` are glob patterns. `paper` is the quoted sentence and `place` its section.
    If `paper` is NOT_STATED, `by` gives the source of the value. A condition has no `value` if the
    setting differs between rows.
    """

    name: str
    tables: tuple[str, ...] = ("*",)
    rows: tuple[str, ...] = ("*",)
    setting: str = ""
    value: Any = None
    paper: str
    place: str = ""
    by: str = ""

    @model_validator(mode="after")
    def _stated_or_sourced(self) -> "Condition":
        if (self.paper == NOT_STATED) == bool(self.place) or not (self.place or self.by):
            raise ValueError("needs a `place`, or `paper: not stated` and the source in `by`")
        return self

    def applies_to(self, row: str) -> bool:
        """Return whether the condition applies to the row with this name (as in `row=NAME`)."""
        _, table, own = row.split(".", 2)
        places = (table.partition("+")[0], self.tables), (own, self.rows)
        return all(any(fnmatchcase(name, one) for one in globs) for name, globs in places)

    def differs(self, resolved: Mapping[str, object]) -> bool:
        """Return whether the value of the condition differs from a run's settings (`resolved`)."""
        return "value" in self.model_fields_set and resolved.get(self.setting) != self.value

    @property
    def source(self) -> str:
        """The quoted sentence and its section; for NOT_STATED, the source of the value."""
        stated = f'"{self.paper}" ({self.place})' if self.place else self.paper
        return "; ".join(filter(None, [stated, self.by]))
