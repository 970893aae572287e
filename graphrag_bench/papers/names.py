"""The names of a paper's tables and what they mean here: `printed_tables/<paper>/paper.yaml`."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


def values_of(text: str) -> tuple[str, ...]:
    """Return the settings of `NAME=a,b,c` or `NAME=0..9`, one for each value; () for ""."""
    name, _, listed = text.partition("=")
    first, to, last = listed.partition("..")
    values = map(str, range(int(first), int(last) + 1)) if to else listed.split(",")
    return tuple(f"{name}={value}" for value in values) if text else ()


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PrintedMethod(_Entry):
    """`run`: what must hold of a run, None for no method of ours; `also`: the paper's values.

    `seeds` are the values of a setting over which the paper averages (`NAME=0..9`), `ignores` how
    settings of rows begin that do not concern the method, `source` the section that says so.
    """

    run: list[str] | None
    also: list[str] = []
    seeds: str = ""
    ignores: list[str] = []
    note: str = ""
    source: str = ""


class PrintedSetting(_Entry):
    """A printed setting: `run` must hold for a run, `also` is set in addition; a list is `run`.

    `levels` are values of a setting of which the row prints the lowest or the highest figure
    (`over`). `layer` is a layer of a tree: `0`, `1`, or `>1` for all above.
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
    """The card of a data set, None for none, and what else is set.

    The questions of an `abstract` set are made for its corpus; `stand_in` is the card that is run
    where the paper does not name the set. `metrics` and `methods` are what the paper's names mean
    for this set alone.
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
    def ran(self) -> str | None:
        """The card that a run of it names."""
        return self.card or self.stand_in

    @property
    def questions_folder(self) -> str:
        """The folder of the questions made for it."""
        return f"questions/{self.ran}/abstract"

    def words(self, *, corpus: bool = False) -> list[str]:
        """Return the settings that choose the set with its questions, or its corpus alone."""
        questions = [f"dataset.questions={self.questions_folder}"] if self.abstract else []
        return [f"dataset={self.ran}", *([] if corpus else questions), *self.run]


class QuestionMaking(_Entry):
    """How the paper made its abstract questions: the settings of `graphrag-bench questions`."""

    run: list[str]
    source: str


class PrintedModel(_Entry):
    """A language model or embedder: `pattern` is a regular expression over our identities."""

    pattern: str = Field(alias="is")
    run: list[str]


class PrintedMetric(_Entry):
    """Where our figure comes from, in `paper.yaml` one `kind: value`.

    Of metrics divided by `|` the first that a run has counts. A judged one is the mean win rate of
    its `criteria`. `seconds` and `tokens` are of one stage or operator, `time` of all; `layers` is
    the share of the row's layer of a tree. `none` says why there is no figure.
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
            raise ValueError("exactly one source was expected")
        ((kind, value),) = source.items()
        if kind in ("judged", "judged_mean"):
            return {"kind": "judged", "criteria": [value] if kind == "judged" else value}
        return {"kind": kind, "value": value}


class Grid(_Entry):
    """Cells without a printed number: every combination of these names.

    `over` are the values of settings (`NAME=a,b,c`), printed ones where `rows` has them, else ours;
    `versus` the other sides of win rates.
    """

    datasets: list[str]
    methods: list[str]
    metrics: list[str]
    over: list[str] = []
    llms: list[str] = [""]
    versus: list[str] = [""]


class TableShape(_Entry):
    """One table or figure: what it is about, and the `grids` of its cells without numbers.

    `shows` says what these cells show. `graph` is the method whose graph a table of sizes is about.
    `settings` and `methods` hold in place of the paper's. `notes` say of a printed method why our
    figures are far from the printed ones.
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
    """`paper.yaml`: what the paper's names mean here.

    `settings` hold for every row, by the sections in `source`. A paper that is `like` another has
    the models and data sets of that one.
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
