"""The settings of a run with their defaults; the docstring of a setting is its help text."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

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

T = TypeVar("T", bound=BaseModel)
Profile = Literal["default", "paper", "zhou2025", "upstream"]
Fidelity = Literal["default", "paper"]
NO_SETTINGS = {"given", "row"}
"""Fields of `RunSettings` that the program fills in; users cannot set them."""
LEAST_IN_PROCESSES = 500
"""Minimum number of new texts for which `nlp_workers=auto` starts processes."""
BUDGETS = {"zhou2025": 7500}
"""Context budget in tokens by profile, for methods whose file has no budget: the window of 8,096
tokens less answer and instructions (Zhou et al. 2025, section 7.1)."""
WINDOWS = {"zhou2025": 8096}
"""Context window in tokens by profile, for any model (Zhou et al. 2025, section 7.1)."""
ANSWER_TOKENS = {"zhou2025": 4096, "paper": 2048, "upstream": 2048}
"""Maximum tokens of an open answer by profile. Zhou et al. 2025: 4,096 (LLMConfig of their code,
4e87938); the other sources state no limit."""
NLP = {"_target_": "graphrag_bench.embedding.nlp.Spacy"}
CROSS_ENCODER = {"_target_": "graphrag_bench.embedding.cross_encoder.CrossEncoder"}
Share = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, Field(strict=False, coerce_numbers_to_str=True)]
"""A text; numbers are converted."""
ON_OFF = BeforeValidator(lambda value: ("off", "on")[value] if isinstance(value, bool) else value)
"""Accepts unquoted `on` and `off`, which YAML parses as booleans."""
Switch = Annotated[Literal["on", "off"], ON_OFF]


class _Settings(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True
    )


def _absolute(settings: BaseModel, *names: str) -> dict[str, str]:
    paths = {name: Path(own) for name in names if (own := getattr(settings, name))}
    return {name: str(path.absolute()) for name, path in paths.items() if path.exists()}


class DatasetSettings(_Settings):
    """The data set and its files; the reader of a synthetic set checks further settings."""

    model_config = ConfigDict(extra="allow")
    name: str
    """Name of a card in datasets/; with dataset=beir or ir_datasets, the publisher's name."""
    card: str = ""
    """Name of the card; default: dataset.name."""
    split: Text | None = None
    """Split of a BEIR set: the queries in qrels/SPLIT.tsv are asked; default: test."""
    root: Text | None = None
    """Folder of the files; default: the folder on the card."""
    openie: Text | None = None
    """OpenIE file, if the folder has several."""
    questions: Text | None = None
    """File of `graphrag-bench questions` that replaces the set's own questions."""

    @property
    def absolute(self) -> "DatasetSettings":
        """The same settings with absolute paths."""
        return self.model_copy(update=_absolute(self, "root", "openie", "questions"))

    @property
    def own(self) -> dict[str, Any]:
        """Settings for the reader of this data set, e.g. the `hops` of a synthetic set."""
        own = {"name": self.name if self.card not in ("", self.name) else None, "split": self.split}
        return {k: v for k, v in own.items() if v is not None} | (self.model_extra or {})


class GraphSettings(_Settings):
    """How many graphs are built, and files to import instead of building."""

    per: Literal["all", "partition"] = "all"
    """all: one graph of the whole corpus; partition: one graph for each scope of the questions."""
    import_from: Text | None = None
    """Graph to import: a GraphRAG folder or a .graphml file."""
    checkpoint: Text | None = None
    """Released weights for build.gnn_weights=released: a folder or a name on the hub."""
    checkpoint_revision: str = ""
    """Revision of graph.checkpoint on the hub."""


class PathSettings(_Settings):
    """Where results are stored."""

    home: Text = "."
    """Folder with runs/ and artifacts/."""
    shared_artifacts: Text | None = None
    """A second artifacts/ folder, read only."""


class EvaluationSettings(_Settings):
    """How stored answers and evidence are scored."""

    cuts: list[PositiveInt] = [2, 5, 10]
    """Cutoffs k of evidence_recall@k."""
    containment: Literal["substring", "token_boundary"] = "substring"
    """How accuracy matches a gold answer; token_boundary: only whole words."""
    metrics: list[str] = []
    """Answer metrics in addition to those on the data set's card, e.g. [rouge_l,meteor]."""
    evidence_tokens: list[PositiveInt] = [500, 1000, 2000]
    """Numbers of context tokens B for evidence_at_tokens@B."""
    normaliser: Literal["unicode", "squad"] = "unicode"
    """Punctuation removed before comparing texts; unicode: of every script; squad: only ASCII."""
    baseline: str = "vanilla"
    """Method that all other methods are compared with; none: no comparison."""
    compared: list[str] = []
    """Metrics of the comparison; []: accuracy, f1 and evidence recall."""


class CacheSettings(_Settings):
    """Cache of the replies of language models and embedding services."""

    mode: Annotated[Literal["write", "read", "off"], ON_OFF] = "write"
    """write: reuse and store replies; read: reuse only; off: neither."""
    path: str | None = None
    """File of the replies; default: HOME/cache/replies.sqlite."""
    batch: str | None = None
    """Write requests without a stored reply to this file (OpenAI's batch format); send none."""


class BudgetSettings(_Settings):
    """Maximum cost of a run; a stopped run can be resumed with a larger budget."""

    tokens: PositiveInt | None = None
    """Maximum number of prompt and completion tokens."""
    usd: Annotated[float, Field(gt=0)] | None = None
    """Maximum cost in US dollars, by the prices of the model."""


class FailureSettings(_Settings):
    """Maximum share of failed model calls; a run above it stops."""

    limit: Share = 0.2
    """Maximum share of failed calls in a step."""
    after: PositiveInt = 50
    """Number of calls that failures.limit is a share of, until a step has made more calls."""
    allow_cut: bool | Share = 0.02
    """Maximum share of extraction replies cut at their token limit; true: no maximum."""


class RunSettings(_Settings):
    """Settings of one run."""

    dataset: DatasetSettings
    method: dict[str, Any]
    """The method, a file in configs/method; method.NAME=VALUE sets a parameter."""
    llm: dict[str, Any]
    """The model that answers."""
    llm_build: dict[str, Any] | None = None
    """The model that builds graphs and other artifacts; default: llm."""
    llm_judge: dict[str, Any] | None = None
    """The model that judges answers (`judge`)."""
    embedder: dict[str, Any]
    """The model that embeds."""
    nlp: dict[str, Any] = NLP
    """The tagger and parser: nlp.model=PACKAGE; nlp.device=auto, cpu or cuda."""
    cross_encoder: dict[str, Any] = CROSS_ENCODER
    """The model of chunk.rerank.cross_encoder: cross_encoder.model=NAME_OR_FOLDER."""
    chunking: dict[str, Any] = {"variant": "auto"}
    """auto, token, separator or presplit; chunking.size=600 sets the tokens of a chunk."""
    pooling: dict[str, Any] | None = None
    """Path pooling, which reranks relationships along paths; e.g. pooling.search=bfs."""
    build: dict[str, Any] = {}
    """Variants and settings of artifacts, e.g. build.graph.synonymy=add."""
    graph: GraphSettings = GraphSettings()
    profile: Profile = "default"
    """Source of a method's parameters: its paper, its code (upstream), zhou2025, or its file."""
    fidelity: Fidelity = "default"
    """paper: use a language model wherever the method's paper does."""
    limit: PositiveInt | None = None
    """Maximum number of questions, stratified by type."""
    split: Split = "all"
    """dev or test: one part of the questions, divided by a hash of their ids."""
    dev_share: Annotated[float, Field(gt=0, lt=1)] = DEV_SHARE
    """Share of the questions in split=dev."""
    objective: str | None = None
    """Metric that selects the best cell of a sweep, e.g. evidence_recall@5."""
    answer: Switch | PositiveInt = "on"
    """off: retrieve without answering; N: answer the first N questions."""
    answers: Literal["auto"] | FormName = "auto"
    """Form of the answers; auto: as on the data set's card; free: the same, but never short."""
    answer_tokens: Literal["auto"] | PositiveInt = "auto"
    """Maximum tokens of an open answer (regime=published: of any answer), within the window; auto:
    512, with a profile 2,048 (zhou2025: 4,096)."""
    regime: Regime = "house"
    """house: every method fills the same context budget, and answer prompts share one clause for a
    context without the answer and one prompt for prose; published: each method's own prompt and k;
    budget_context=N is then only an upper limit."""
    budget_context: Annotated[
        PositiveInt | Literal["auto", "native"],
        BeforeValidator(lambda value: "native" if value is None else value),
    ] = "auto"
    """Context tokens that each method fills unless method.top_k=N is set (regime=published: the
    maximum); auto: enough for 4 chunks and at least 2,400, within the window, or the budget of the
    profile; native: each method's own budget."""
    repeats: PositiveInt = 1
    """Number of answers to each question; the table has their mean and standard deviation."""
    reference_rows: Switch = "on"
    """Also run closed-book, BM25, VanillaRAG and oracle if the baseline is not a chosen method."""
    trace: Annotated[Literal["ids", "off"], ON_OFF] = "ids"
    """ids: store the ids, scores and texts that each step returns; off: store none."""
    seed: int = 0
    """Random seed."""
    workers: PositiveInt = 4
    """Number of questions answered in parallel."""
    nlp_workers: Literal["auto"] | PositiveInt = "auto"
    """Number of tagging processes; auto: one for each core with spaCy on a CPU and at least 500 new
    texts, else one."""
    parallel: Literal["local", "ray"] = "local"
    """Backend that tags and embeds texts: local processes or Ray."""
    shard: Annotated[str, Field(pattern=r"^[1-9]\d*/[1-9]\d*$")] | None = None
    """Part of the questions to run; 3/20: the third of twenty parts."""
    cache: CacheSettings = CacheSettings()
    budget: BudgetSettings = BudgetSettings()
    failures: FailureSettings = FailureSettings()
    paths: PathSettings = PathSettings()
    plugins: list[str] = []
    """Packages of your own operators, installed or in this folder."""
    evaluation: EvaluationSettings = EvaluationSettings()
    columns: Literal["main", "all"] = "main"
    """Columns of the table: main or all."""
    given: list[str] = []
    """Paths of the method's parameters that a user set."""
    row: str | None = None
    """Row of a paper's table."""

    @field_validator("pooling")
    @classmethod
    def _chosen(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if value is None or value.get("mode") == "off" else value

    @property
    def part(self) -> tuple[int, int]:
        """The number of the shard (from 1) and the number of shards; (1, 1) for the whole run."""
        which, total = map(int, (self.shard or "1/1").split("/"))
        if which > total:
            raise UserError(f"shard={self.shard}: the first number must be at most {total}.")
        return which, total

    @property
    def absolute(self) -> "RunSettings":
        """The same settings with absolute paths."""
        graph = self.graph.model_copy(update=_absolute(self.graph, "import_from", "checkpoint"))
        cache = self.cache.model_copy(update=_absolute(self.cache, "path"))
        changed: dict[str, Any] = {"dataset": self.dataset.absolute, "graph": graph, "cache": cache}
        if isinstance(prompts := self.method.get("prompts"), str):
            changed["method"] = {**self.method, "prompts": str(Path(prompts).absolute())}
        return self.model_copy(update=changed)

    @property
    def open_tokens(self) -> int | None:
        """Token limit of open answers, or of all answers with regime=published.

        None means that each answer form keeps its own limit.
        """
        own = self.answer_tokens
        return ANSWER_TOKENS.get(self.profile) if own == "auto" else own

    @property
    def answering(self) -> bool:
        """Whether the run answers questions; with answer=off it only retrieves."""
        return self.answer != "off"


def check_settings(values: Mapping[str, Any]) -> RunSettings:
    """Check and return the settings; raises one UserError that lists every problem."""
    refuse_secrets("", values)
    for model in values.values():
        if isinstance(model, Mapping) and isinstance(variable := model.get("api_key_env"), str):
            check_variable(variable)
    return _checked(RunSettings, values)


def check_evaluation(values: Mapping[str, Any]) -> EvaluationSettings:
    """Check and return the settings of scoring; raises one UserError that lists every problem."""
    return _checked(EvaluationSettings, values, "evaluation")


def _checked(kind: type[T], values: Mapping[str, Any], *above: str) -> T:
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        problems: dict[str, list[str]] = {}
        for fault in error.errors():
            setting, reason = _problem(dict(fault), [*above, *map(str, fault["loc"])])
            problems.setdefault(setting, []).append(reason)
        lines = "\n".join(f"  {name}{' or '.join(each)}" for name, each in problems.items())
        raise UserError(f"{len(problems)} invalid setting(s):\n{lines}") from None


def _problem(fault: dict[str, Any], path: Sequence[str]) -> tuple[str, str]:
    if fault["type"] == "extra_forbidden":
        name, known = ".".join(path), [name for name, *_ in described_settings()]
        return f"There is no setting '{name}'. ", did_you_mean(name, known)
    if fault["type"] == "dict_type" and path[0] in ("llm_build", "llm_judge"):
        return f"{path[0]}={fault['input']!r}: ", f"write llm@{path[0]}={fault['input']}."
    types = ("constrained", "literal", "int", "bool", "function")  # members of a union
    names = [part for part in path if not part.startswith(types)]
    return f"{'.'.join(names)}={fault['input']!r}: ", f"{fault['msg']}."


def default_settings() -> dict[str, Any]:
    """Return every setting with its default as nested mappings, without the models' settings."""
    values: dict[str, Any] = {}
    for name, field in RunSettings.model_fields.items():
        if name not in NO_SETTINGS:
            default = {} if field.is_required() or name == "chunking" else field.default
            values[name] = default.model_dump() if isinstance(default, BaseModel) else default
    values["method"]["prompts"] = None
    return values


def described_settings(
    model: type[BaseModel] = RunSettings, above: str = ""
) -> list[tuple[str, str, str]]:
    """Return the name, default and meaning of every setting, for `--help` and the docs.

    >>> [row for row in described_settings() if row[0] == "seed"]
    [('seed', '0', 'Random seed')]
    """
    rows: list[tuple[str, str, str]] = []
    for name, field in model.model_fields.items():
        inner, default = field.annotation, field.default
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            rows += described_settings(inner, f"{name}.")
        elif name not in NO_SETTINGS:
            plain = not field.is_required() and not isinstance(default, dict | None)
            meaning = " ".join(str(field.description).split()).removesuffix(".")
            rows.append((f"{above}{name}", str(default) if plain else "", meaning))
    return rows
