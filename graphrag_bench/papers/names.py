"""Schema of `printed_tables/<paper>/paper.yaml`, which explains the names in a paper's tables."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


def setting_values(text: str) -> tuple[str, ...]:
    """Return a setting `NAME=value` for each value of `NAME=a,b,c` or `NAME=0..9`; () for ""."""
    name, _, listed = text.partition("=")
    first, to, last = listed.partition("..")
    values = map(str, range(int(first), int(last) + 1)) if to else listed.split(",")
    return tuple(f"{name}={value}" for value in values) if text else ()


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PrintedMethod(_Entry):
    """What a printed method means here.

    `run` lists the settings that a run must have; it is None if the method is not implemented here.
    `also` lists the paper's values of other settings. `seeds` names a setting and the values over
    which the paper averages (`NAME=0..9`). `ignores` lists prefixes of settings that do not affect
    the method. `source` is the section of the paper.
    """

    run: list[str] | None
    also: list[str] = []
    seeds: str = ""
    ignores: list[str] = []
    note: str = ""
    source: str = ""


class PrintedSetting(_Entry):
    """What a printed setting means here; in `paper.yaml`, a list alone is the field `run`.

    `run` lists the settings that a run must have. `also` lists further settings to run with. If
    `over` is set, the row prints the lowest or highest figure of several runs, and `levels` lists
    the values of the setting in which these runs differ. `layer` is a layer of a tree: `0`, `1`, or
    `>1` for all higher layers.
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
    """What a printed data set means here: its card and further settings (`run`).

    `card` is None if the project has no card for the set. The questions of an `abstract` set are
    generated from its corpus. If the paper does not name the set, runs use the card `stand_in`.
    If a printed name has another meaning for this set, `metrics` or `methods` maps it to the name
    that has this meaning elsewhere.
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
        """The card of the data set that runs use; None if there is none."""
        return self.card or self.stand_in

    @property
    def questions_folder(self) -> str:
        """The folder of the generated questions."""
        return f"questions/{self.run_card}/abstract"

    def words(self, *, corpus: bool = False) -> list[str]:
        """Return the settings that select the set; with `corpus`, without its questions."""
        questions = [f"dataset.questions={self.questions_folder}"] if self.abstract else []
        return [f"dataset={self.run_card}", *([] if corpus else questions), *self.run]


class QuestionMaking(_Entry):
    """Settings of `graphrag-bench questions` that generate the abstract questions."""

    run: list[str]
    source: str


class PrintedModel(_Entry):
    """What a printed model means here: the settings that select it.

    `pattern` is a regular expression that matches the model's identity in runs.
    """

    pattern: str = Field(alias="is")
    run: list[str]


class PrintedMetric(_Entry):
    """Source of the figure for a printed metric; in `paper.yaml`, a mapping `kind: value`.

    If the value of `metric` is `a|b`, the first of these metrics that the run has is used. `judged`
    is the mean win rate over the `criteria`. `seconds` and `tokens` are measured for one stage or
    operator, `time` for all steps. `layers` is the share of retrieved nodes in the row's `layer` of
    a tree. The value of `none` says why there is no figure.
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
    """Cells without a printed number: all combinations of the listed names.

    Each entry of `over` lists the values of a setting (`NAME=a,b,c`): a printed setting that `rows`
    in `paper.yaml` explains, or a setting of this project. `versus` lists the opponents in win
    rates.
    """

    datasets: list[str]
    methods: list[str]
    metrics: list[str]
    over: list[str] = []
    llms: list[str] = [""]
    versus: list[str] = [""]


class TableShape(_Entry):
    """One table or figure of a paper; `grids` are its cells without a printed number.

    `shows` describes these cells. `graph` is the method whose graph sizes are printed. `settings`
    and `methods` override the settings and methods of the paper. `notes` explains for each
    method why our figures differ from the printed figures.
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
    """The content of `paper.yaml`.

    `settings` apply to all rows; `source` names the sections of the paper. Missing fields are taken
    from the paper that `like` names.
    """

    title: str
    citation: str
    llm: str
    embedder: str | None
    conditions: str
    settings: list[str]
    source: str
    making: QuestionMaking | None = None
    llms: dict[str, PrintedModel]
    embedders: dict[str, PrintedModel]
    methods: dict[str, PrintedMethod]
    datasets: dict[str, PrintedSet]
    metrics: dict[str, PrintedMetric]
    settings_of_rows: dict[str, PrintedSetting] = Field(alias="rows")
    tables: dict[str, TableShape]
    like: str | None = None
