"""The settings of one run, checked: unknown names are answered with the nearest valid ones.

The text below a setting is its help.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    ValidationError,
    field_validator,
)

from graphrag_bench.data.dataset import DEV_SHARE, Split
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.llm.settings import check_variable
from graphrag_bench.prompts import FormName, Regime
from graphrag_bench.terminal import refuse_secrets

Profile = Literal["default", "paper", "zhou2025", "upstream"]
Fidelity = Literal["default", "paper"]
NO_SETTINGS = {"given", "row"}
"""What a command chose otherwise: the method's settings that it sets, and the row of a paper."""
LEAST_IN_PROCESSES = 500
"""New texts in a list from which on `nlp_workers=auto` starts processes."""
BUDGETS = {"zhou2025": 7500}
"""Tokens of context of every method under a profile whose paper gives all one window, where a
method's file has no number for it: what answer and instructions leave of 8,096 (section 7.1)."""
WINDOWS = {"zhou2025": 8096}
"""Tokens of prompt and answer, whatever the model, as a source has published it: Zhou et al. 2025,
section 7.1."""
ANSWER_TOKENS = {"zhou2025": 4096, "paper": 2048, "upstream": 2048}
"""Tokens of an open answer under a source's profile: Zhou et al. 2025 end replies
at 4,096 (LLMConfig of their code, 4e87938); no other source ends an answer."""
NLP = {"_target_": "graphrag_bench.embedding.nlp.Spacy"}
CROSS_ENCODER = {"_target_": "graphrag_bench.embedding.cross_encoder.CrossEncoder"}
Share = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, Field(strict=False, coerce_numbers_to_str=True)]
"""A text that may look like a number."""
ON_OFF = BeforeValidator(lambda value: ("off", "on")[value] if isinstance(value, bool) else value)
"""Reads `on` and `off` as they stand in YAML unquoted, where they are truth values."""
Switch = Annotated[Literal["on", "off"], ON_OFF]


class _Settings(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True
    )


def _absolute(settings: BaseModel, *names: str) -> dict[str, str]:
    """Return those of some settings that name a file or folder by its absolute path."""
    paths = {name: Path(own) for name in names if (own := getattr(settings, name))}
    return {name: str(path.absolute()) for name, path in paths.items() if path.exists()}


class DatasetSettings(_Settings):
    """Which data set, and its folder; a synthetic set checks its own settings."""

    model_config = ConfigDict(extra="allow")
    name: str
    """Name of a card in datasets/."""
    root: Text | None = None
    """Folder of the set's files, if not the card's own."""
    openie: Text | None = None
    """OpenIE file, where the folder holds several."""
    questions: Text | None = None
    """Made by graphrag-bench questions, in place of its own."""

    @property
    def found(self) -> "DatasetSettings":
        """The same with its files by absolute path: they are found from any folder."""
        return self.model_copy(update=_absolute(self, "root", "openie", "questions"))

    @property
    def own(self) -> dict[str, Any]:
        """The settings that only a synthetic set has, such as `hops`."""
        return self.model_extra or {}


class GraphSettings(_Settings):
    """What one graph is built from."""

    per: Literal["all", "partition"] = "all"
    """One graph of the corpus, or one per scope."""
    import_from: Text | None = None
    """Graph to import: GraphRAG folder, .graphml."""
    checkpoint: Text | None = None
    """Of build.gnn_weights=released: folder, or name on the hub."""
    checkpoint_revision: str = ""
    """Revision of graph.checkpoint on the hub."""


class PathSettings(_Settings):
    """Where results are stored."""

    home: Text = "."
    """Folder that holds runs/ and artifacts/."""
    shared_artifacts: Text | None = None
    """A shared artifacts/ folder, read and never written."""


class EvaluationSettings(_Settings):
    """How stored answers and evidence are scored."""

    cuts: list[PositiveInt] = [2, 5, 10]
    """The cutoffs k of evidence_recall@k."""
    containment: Literal["substring", "token_boundary"] = "substring"
    """How accuracy finds a gold answer: by characters or whole words."""
    metrics: list[str] = []
    """Answer metrics in addition to those of the card: [rouge_l,meteor]."""
    evidence_tokens: list[PositiveInt] = [500, 1000, 2000]
    """The cutoffs B of evidence_at_tokens@B."""
    normaliser: Literal["unicode", "squad"] = "unicode"
    """Punctuation of every script, or ASCII only as in papers' scripts."""
    baseline: str = "vanilla"
    """The method that all others are compared with, or none."""
    compared: list[str] = []
    """Metrics to compare; empty: accuracy, f1 and evidence recall."""


class CacheSettings(_Settings):
    """How replies of language models and embedding services are stored and reused."""

    mode: Annotated[Literal["write", "read", "off"], ON_OFF] = "write"
    """Reuse and store; only reuse; neither."""
    path: str | None = None
    """File of the replies; HOME/cache/replies.sqlite."""


class BudgetSettings(_Settings):
    """Where a run stops before it costs more; it can be resumed with a larger budget."""

    tokens: PositiveInt | None = None
    """Prompt and completion tokens together."""
    usd: Annotated[float, Field(gt=0)] | None = None
    """US dollars, at the model's configured prices."""


class FailureSettings(_Settings):
    """When the failures of one step stop the run."""

    limit: Share = 0.2
    """Share of a step's calls that may fail."""
    after: PositiveInt = 50
    """The share is computed over at least this many calls."""
    allow_cut: bool | Share = 0.02
    """Share of an extraction's replies that may be cut at their limit; true: all."""


class RunSettings(_Settings):
    """One run: a data set, a method, models, and how much of it to do."""

    dataset: DatasetSettings
    method: dict[str, Any]
    """A file of configs/method; method.NAME=VALUE."""
    llm: dict[str, Any]
    """The model that answers."""
    llm_build: dict[str, Any] | None = None
    """The model that builds, if another."""
    llm_judge: dict[str, Any] | None = None
    """The model that judges answers: `judge`."""
    embedder: dict[str, Any]
    """The model that embeds."""
    nlp: dict[str, Any] = NLP
    """The tagger and parser; nlp.model=PACKAGE."""
    cross_encoder: dict[str, Any] = CROSS_ENCODER
    """What reranks chunks in chunk.rerank.cross_encoder; cross_encoder.model=NAME_OR_FOLDER."""
    chunking: dict[str, Any] = {"variant": "auto"}
    """auto, token, separator or presplit; chunking.size=600."""
    pooling: dict[str, Any] | None = None
    """Of paths into relationships: pooling.search=bfs."""
    build: dict[str, Any] = {}
    """Variants of artifacts: build.graph.synonymy=add."""
    graph: GraphSettings = GraphSettings()
    profile: Profile = "default"
    """Source of a method's values where sources disagree."""
    fidelity: Fidelity = "default"
    """paper: ask a language model wherever the method's paper does."""
    limit: PositiveInt | None = None
    """Only the first questions, stratified by type."""
    split: Split = "all"
    """dev or test: part of the questions, by the hash of their ids."""
    dev_share: Annotated[float, Field(gt=0, lt=1)] = DEV_SHARE
    """Of the questions in split=dev."""
    objective: str | None = None
    """In a sweep: the metric of the best cell, e.g. evidence_recall@5."""
    answer: Switch | PositiveInt = "on"
    """off: stop at the packed context; N: the first N questions."""
    answers: Literal["auto"] | FormName = "auto"
    """Their form; auto: as the data set's card says; free: the same, no answer has to be short."""
    answer_tokens: Literal["auto"] | PositiveInt = "auto"
    """Most tokens of an open answer (regime=published: of any); auto: 512, under a profile 2,048
    (zhou2025: 4,096), or what the reader's window leaves of them."""
    regime: Regime = "house"
    """house: one clause in every method's prompt, one prompt for prose, budgets filled; published:
    each method's own prompt and clause, its own k, and a number of tokens only as a cap."""
    budget_context: Annotated[
        PositiveInt | Literal["auto", "native"],
        BeforeValidator(lambda value: "native" if value is None else value),
    ] = "auto"
    """Context tokens in every method's prompt, filled unless method.top_k=N (regime=published: at
    most so many); auto: a profile's, or room for 4 whole chunks (2,400 at least) within the
    reader's window; native: each method's own."""
    repeats: PositiveInt = 1
    """Times the answering model is asked; the table has mean and spread."""
    reference_rows: Switch = "on"
    """Closed-book, BM25, VanillaRAG and the oracle below the table, unless it has the baseline."""
    trace: Annotated[Literal["ids", "off"], ON_OFF] = "ids"
    """What a record stores of every step."""
    seed: int = 0
    """Random seed."""
    workers: PositiveInt = 4
    """Questions answered at a time."""
    nlp_workers: Literal["auto"] | PositiveInt = "auto"
    """Processes that read sentences; auto: spaCy on all cores, once a list has 500 new texts."""
    parallel: Literal["local", "ray"] = "local"
    """Backend that tags and embeds texts: local processes, or Ray."""
    shard: Annotated[str, Field(pattern=r"^[1-9]\d*/[1-9]\d*$")] | None = None
    """3/20: the third of twenty parts."""
    cache: CacheSettings = CacheSettings()
    budget: BudgetSettings = BudgetSettings()
    failures: FailureSettings = FailureSettings()
    paths: PathSettings = PathSettings()
    plugins: list[str] = []
    """Your own packages, installed or here, that register operators."""
    evaluation: EvaluationSettings = EvaluationSettings()
    columns: Literal["main", "all"] = "main"
    """all: every column of the table, and costs."""
    given: list[str] = []
    """Paths of the method's parameters that were set; not a setting."""
    row: str | None = None
    """Row of a paper that was chosen; not a setting."""

    @field_validator("pooling")
    @classmethod
    def _chosen(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if value is None or value.get("mode") == "off" else value

    @property
    def part(self) -> tuple[int, int]:
        """The shard as (which, of how many), counted from 1; (1, 1) for the whole run."""
        if self.shard is None:
            return 1, 1
        which, _, total = self.shard.partition("/")
        if int(which) > int(total):
            raise UserError(f"shard={self.shard}: there is no part {which} of {total}.")
        return int(which), int(total)

    @property
    def found(self) -> "RunSettings":
        """The same with its files by absolute path: they are found from any folder."""
        graph = self.graph.model_copy(update=_absolute(self.graph, "import_from", "checkpoint"))
        cache = self.cache.model_copy(update=_absolute(self.cache, "path"))
        method, prompts = self.method, self.method.get("prompts")
        if isinstance(prompts, str):
            method = {**method, "prompts": str(Path(prompts).absolute())}
        changed = {"dataset": self.dataset.found, "graph": graph, "cache": cache, "method": method}
        return self.model_copy(update=changed)

    @property
    def open_tokens(self) -> int | None:
        """The most tokens of an open answer, as published of any; None for those of its form."""
        own = self.answer_tokens
        return ANSWER_TOKENS.get(self.profile) if own == "auto" else own

    @property
    def answering(self) -> bool:
        """Whether any question is answered."""
        return self.answer != "off"


def check_settings(values: Mapping[str, Any]) -> RunSettings:
    """Return the checked settings; raise one UserError that lists every problem."""
    refuse_secrets("", values)
    for model in values.values():
        if isinstance(model, Mapping) and isinstance(variable := model.get("api_key_env"), str):
            check_variable(variable)
    try:
        return RunSettings.model_validate(dict(values))
    except ValidationError as error:
        problems: dict[str, list[str]] = {}
        for setting, reason in (_problem(dict(fault)) for fault in error.errors()):
            problems.setdefault(setting, []).append(reason)
        lines = "\n".join(f"  {name}{' or '.join(each)}" for name, each in problems.items())
        raise UserError(f"{len(problems)} setting(s) are wrong:\n{lines}") from None


def _problem(fault: dict[str, Any]) -> tuple[str, str]:
    path = [str(part) for part in fault["loc"]]
    if fault["type"] == "extra_forbidden":
        name, known = ".".join(path), [name for name, *_ in explained()]
        return f"There is no setting '{name}'. ", did_you_mean(name, known)
    if fault["type"] == "dict_type" and path[0] in ("llm_build", "llm_judge"):
        return f"{path[0]}={fault['input']!r}: ", f"write llm@{path[0]}={fault['input']}."
    types = ("constrained", "literal", "int", "bool", "function")  # how members of a union begin
    names = [part for part in path if not part.startswith(types)]
    return f"{'.'.join(names)}={fault['input']!r}: ", f"{fault['msg']}."


def defaults() -> dict[str, Any]:
    """Return every setting with its default, nested as they are; none of models."""
    values: dict[str, Any] = {}
    for name, field in RunSettings.model_fields.items():
        if name not in NO_SETTINGS:
            default = {} if field.is_required() or name == "chunking" else field.default
            values[name] = default.model_dump() if isinstance(default, BaseModel) else default
    values["method"]["prompts"] = None
    return values


def explained(model: type[BaseModel] = RunSettings, above: str = "") -> list[tuple[str, str, str]]:
    """Return (name, default, meaning) of every run setting, for `--help` and the docs."""
    rows: list[tuple[str, str, str]] = []
    for name, field in model.model_fields.items():
        inner, default = field.annotation, field.default
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            rows += explained(inner, f"{name}.")
        elif name not in NO_SETTINGS:
            plain = not field.is_required() and not isinstance(default, dict | None)
            meaning = " ".join(str(field.description).split()).removesuffix(".")
            rows.append((f"{above}{name}", str(default) if plain else "", meaning))
    return rows
