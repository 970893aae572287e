"""The settings of a run with their defaults. The docstring of a setting is its help text."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt, ValidationError

from graphrag_bench.data.dataset import DEV_SHARE, Split
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.llm.settings import check_variable
from graphrag_bench.prompts import FormName, Regime
from graphrag_bench.terminal import refuse_secrets
from graphrag_bench.text import counted

T = TypeVar("T", bound=BaseModel)
Profile = Literal["default", "paper", "zhou2025", "upstream"]
Fidelity = Literal["default", "paper"]
NO_SETTINGS = {"given", "row"}
"""Fields of `RunSettings` that the program sets. Users cannot set them."""
LEAST_IN_PROCESSES = 500
"""Minimum number of new texts for which `nlp_workers=auto` starts processes."""
BUDGETS = {"zhou2025": 7500}
"""Context budget in tokens, by profile, for methods whose file has no budget. It is the window of
8,096 tokens minus the answer and the instructions. Source: Zhou et al. (2025), Section 7.1."""
WINDOWS = {"zhou2025": 8096}
"""Context window in tokens, by profile, for any model. Source: Zhou et al. (2025), Section 7.1."""
ANSWER_TOKENS = {"zhou2025": 4096, "paper": 2048, "upstream": 2048}
"""Maximum number of tokens of an open answer, by profile. The value of zhou2025 is from the
authors' code (4e87938, LLMConfig). The other sources state no limit."""
NLP = {"_target_": "graphrag_bench.embedding.nlp.Spacy"}
CROSS_ENCODER = {"_target_": "graphrag_bench.embedding.cross_encoder.CrossEncoder"}
Share = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, Field(strict=False, coerce_numbers_to_str=True)]
ON_OFF = BeforeValidator(lambda value: ("off", "on")[value] if isinstance(value, bool) else value)
"""Accepts `on` and `off` without quotes, which YAML parses as booleans."""
Switch = Annotated[Literal["on", "off"], ON_OFF]
NONE_IF_OFF = BeforeValidator(
    lambda value: None if isinstance(value, Mapping) and value.get("mode") == "off" else value
)


def as_list(value: Any) -> list[Any]:
    """Return the items of a list or of another iterable, or the single value, or [] for None."""
    single = isinstance(value, str | Mapping) or not isinstance(value, Iterable)
    return [] if value is None else [value] if single else [*value]


class _Settings(BaseModel):
    model_config = ConfigDict(
        defer_build=True, extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True
    )


def _absolute(settings: BaseModel, *names: str) -> dict[str, str]:
    paths = {name: Path(own) for name in names if (own := getattr(settings, name))}
    return {name: str(path.absolute()) for name, path in paths.items() if path.exists()}


class DatasetSettings(_Settings):
    """The data set and its files. The reader of a synthetic data set checks further settings."""

    model_config = ConfigDict(extra="allow")
    name: str
    """Name of a card, or the publisher's name with dataset=beir or dataset=ir_datasets."""
    card: str = ""
    """Name of the card. The default is dataset.name."""
    split: Text | None = None
    """Split of a BEIR data set, from the file qrels/SPLIT.tsv. The default is test."""
    root: Text | None = None
    """Folder with the files of the data set. The default is the folder on the card."""
    openie: Text | None = None
    """OpenIE file to use if the folder has several."""
    questions: Text | None = None
    """File or folder of generated questions, which replace the questions of the data set."""

    @property
    def absolute(self) -> "DatasetSettings":
        """The same settings with absolute paths."""
        return self.model_copy(update=_absolute(self, "root", "openie", "questions"))

    @property
    def own(self) -> dict[str, Any]:
        """Settings for the reader of this data set, e.g. the `hops` of a synthetic data set."""
        own = {"name": self.name if self.card not in ("", self.name) else None, "split": self.split}
        return {k: v for k, v in own.items() if v is not None} | (self.model_extra or {})


class GraphSettings(_Settings):
    """How many graphs are built, and files to import instead of building a graph."""

    per: Literal["all", "partition"] = "all"
    """`all` builds one graph. `partition` builds a graph for each scope, e.g. for each book."""
    import_from: Text | None = None
    """Graph to import: a GraphRAG folder or a .graphml file."""
    checkpoint: Text | None = None
    """Published weights for build.gnn_weights=released: a folder, or a name on the hub."""
    checkpoint_revision: str = ""
    """Revision of graph.checkpoint on the Hugging Face hub."""


class PathSettings(_Settings):
    """Where results are stored."""

    home: Text = "."
    """Folder in which runs/ and artifacts/ are stored."""
    shared_artifacts: Text | None = None
    """Another artifacts/ folder, which runs only read."""


class EvaluationSettings(_Settings):
    """How stored answers and evidence are scored."""

    cuts: list[PositiveInt] = [2, 5, 10]
    """Cutoffs k of evidence_recall@k, all_evidence@k and ndcg@k."""
    containment: Literal["substring", "token_boundary"] = "substring"
    """How a gold answer is found in an answer: `substring`, or `token_boundary` for whole words."""
    metrics: list[str] = []
    """Answer metrics in addition to the metrics on the data set's card, e.g. [rouge_l,meteor]."""
    evidence_tokens: list[PositiveInt] = [500, 1000, 2000]
    """Context sizes B (in tokens) for the metric evidence_at_tokens@B."""
    normaliser: Literal["unicode", "squad"] = "unicode"
    """Punctuation removed before texts are compared: `unicode` (any script) or `squad` (ASCII)."""
    baseline: str = "vanilla"
    """Method that all other methods are compared with, or `none` for no comparison."""
    compared: list[str] = []
    """Metrics of the comparison. The default [] means accuracy, f1 and evidence recall."""


class CacheSettings(_Settings):
    """Cache of the replies of language models and embedding services."""

    mode: Annotated[Literal["write", "read", "off"], ON_OFF] = "write"
    """`write` reuses and stores replies. `read` only reuses stored replies. `off` does neither."""
    path: str | None = None
    """File of the stored replies. The default is HOME/cache/replies.sqlite."""
    batch: str | None = None
    """File in OpenAI's batch format to which new requests are written instead of being sent."""


class BudgetSettings(_Settings):
    """Maximum cost of a run. A stopped run can be resumed with a larger budget."""

    tokens: PositiveInt | None = None
    """Maximum number of prompt and completion tokens."""
    usd: Annotated[float, Field(gt=0)] | None = None
    """Maximum cost in US dollars, computed from the prices of the model."""


class FailureSettings(_Settings):
    """Maximum fraction of failed model calls. A run with more failures stops."""

    limit: Share = 0.2
    """Maximum fraction of failed calls in a step."""
    after: PositiveInt = 50
    """A step may have up to failures.limit * max(calls, failures.after) failed calls."""
    allow_cut: bool | Share = 0.02
    """Maximum fraction of extraction replies cut at their token limit. `true` allows any number."""


class RunSettings(_Settings):
    """Settings of a run."""

    dataset: DatasetSettings
    method: dict[str, Any]
    """The method, which is a file in configs/method. Set a parameter with method.NAME=VALUE."""
    llm: dict[str, Any]
    """The model that answers questions."""
    llm_build: dict[str, Any] | None = None
    """The model that builds graphs and other artifacts. The default is llm."""
    llm_judge: dict[str, Any] | None = None
    """The model that judges answers (`graphrag-bench judge`)."""
    embedder: dict[str, Any]
    """The model that embeds texts."""
    nlp: dict[str, Any] = NLP
    """The tagger and parser. Set it with nlp.model=PACKAGE and nlp.device=auto, cpu or cuda."""
    cross_encoder: dict[str, Any] = CROSS_ENCODER
    """The model of chunk.rerank.cross_encoder. Set it with cross_encoder.model=NAME_OR_FOLDER."""
    chunking: dict[str, Any] = {"variant": "auto"}
    """Splitting of documents into chunks, e.g. chunking.size=600 for chunks of 600 tokens."""
    pooling: Annotated[dict[str, Any] | None, NONE_IF_OFF] = None
    """Path pooling, which reranks relationships along paths (see configs/pooling)."""
    build: dict[str, Any] = {}
    """Variants and settings of artifacts, e.g. build.graph.synonymy=add."""
    graph: GraphSettings = GraphSettings()
    profile: Profile = "default"
    """Source of the method's parameters: its file (`default`), its paper (`paper`), the authors'
    code (`upstream`), or Zhou et al. (`zhou2025`)."""
    fidelity: Fidelity = "default"
    """With `paper`, a language model is used wherever the method's paper uses one."""
    limit: PositiveInt | None = None
    """Maximum number of questions, stratified by type."""
    split: Split = "all"
    """`dev` or `test` runs one part of the questions, which are divided by a hash of their ids."""
    dev_share: Annotated[float, Field(gt=0, lt=1)] = DEV_SHARE
    """Fraction of the questions that are in split=dev."""
    objective: str | None = None
    """Metric by which the best configuration of a sweep is selected, e.g. evidence_recall@5."""
    answer: Switch | PositiveInt = "on"
    """`off` retrieves without answering. A number N answers only the first N questions."""
    answers: Literal["auto"] | FormName = "auto"
    """Form of the answers. `auto` is the form on the data set's card. With `free`, short answers
    become free text, and other forms stay."""
    answer_tokens: Literal["auto"] | PositiveInt = "auto"
    """Maximum number of tokens of an open answer, within the model's window. With
    regime=published, it limits all answers. `auto` means 512 tokens by default, 4,096 with
    profile=zhou2025, and 2,048 with any other profile."""
    regime: Regime = "house"
    """Conditions of the comparison. With `house`, all methods share the context budget, the prompt
    for prose answers, and the instruction for a context without the answer. With `published`, each
    method has its own prompt and its own top-k, and budget_context=N is only an upper limit."""
    budget_context: Annotated[
        PositiveInt | Literal["auto", "native"],
        BeforeValidator(lambda value: "native" if value is None else value),
    ] = "auto"
    """Number of context tokens. Every method fills this budget, unless method.top_k=N is set. With
    regime=published, it is only a maximum. `auto` leaves room for 4 chunks: at least 2,400 tokens,
    within the model's window. `native` means the method's own budget. With a profile or
    method.budget=N, `auto` is the same as `native`."""
    repeats: PositiveInt = 1
    """Number of answers to each question. The table has their mean and standard deviation."""
    reference_rows: Switch = "on"
    """Also run closed-book, BM25, VanillaRAG and oracle, unless `method` includes the baseline."""
    trace: Annotated[Literal["ids", "off"], ON_OFF] = "ids"
    """`ids` stores what each step returns. `off` stores no trace and no context texts."""
    seed: int = 0
    """Random seed."""
    workers: PositiveInt = 4
    """Number of questions that are answered in parallel."""
    nlp_workers: Literal["auto"] | PositiveInt = "auto"
    """Number of tagging processes. `auto` starts one per core if spaCy runs on a CPU and has at
    least 500 new texts, else a single process."""
    parallel: Literal["local", "ray"] = "local"
    """Backend for tagging and embedding texts in parallel: local processes or Ray."""
    shard: Annotated[str, Field(pattern=r"^[1-9]\d*/[1-9]\d*$")] | None = None
    """Part of the questions to run. For example, 3/20 is the third of twenty parts."""
    cache: CacheSettings = CacheSettings()
    budget: BudgetSettings = BudgetSettings()
    failures: FailureSettings = FailureSettings()
    paths: PathSettings = PathSettings()
    plugins: Annotated[list[str], BeforeValidator(as_list)] = []
    """Packages of your own operators, which are installed or in the current folder."""
    evaluation: EvaluationSettings = EvaluationSettings()
    columns: Literal["main", "all"] = "main"
    """Columns of the table: main or all."""
    given: list[str] = []
    """Paths of the method's parameters that the user set."""
    row: str | None = None
    """Row of a paper's table."""

    @property
    def part(self) -> tuple[int, int]:
        """The number of the shard, counted from 1, and the number of shards, by default (1, 1)."""
        which, total = map(int, (self.shard or "1/1").split("/"))
        if which > total:
            raise UserError(f"shard={self.shard}: the first number must not exceed {total}.")
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
        """Token limit of answers (see `answer_tokens`). None means the limit of the answer form."""
        own = self.answer_tokens
        return ANSWER_TOKENS.get(self.profile) if own == "auto" else own

    @property
    def answering(self) -> bool:
        """Whether the run answers questions. With `answer=off`, it only retrieves."""
        return self.answer != "off"


def check_settings(values: Mapping[str, Any]) -> RunSettings:
    """Check and return the settings. Raises one UserError that lists every problem."""
    refuse_secrets("", values)
    for model in values.values():
        if isinstance(model, Mapping) and isinstance(variable := model.get("api_key_env"), str):
            check_variable(variable)
    return _checked(RunSettings, values)


def check_evaluation(values: Mapping[str, Any]) -> EvaluationSettings:
    """Check and return the settings of scoring. Raises one UserError that lists every problem."""
    return _checked(EvaluationSettings, values, "evaluation")


def _checked(kind: type[T], values: Mapping[str, Any], *above: str) -> T:
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        faults = error.errors()
    problems: dict[str, list[str]] = {}
    for fault in faults:
        path, value = [*above, *map(str, fault["loc"])], fault["input"]
        name, setting, reason = ".".join(path), "", f"{fault['msg']}."
        if fault["type"] == "extra_forbidden":
            setting = f"There is no setting '{name}'. "
            reason = did_you_mean(name, [known for known, *_ in described_settings()])
        elif fault["type"] == "dict_type" and path[0] in ("llm_build", "llm_judge"):
            reason = f"write llm@{path[0]}={value}."
        types = ("constrained", "literal", "int", "bool", "function")  # members of a union
        names = ".".join(part for part in path if not part.startswith(types))
        problems.setdefault(setting or f"{names}={value!r}: ", []).append(reason)
    lines = "\n".join(f"  {name}{' or '.join(each)}" for name, each in problems.items())
    raise UserError(f"{counted(len(problems), 'invalid setting')}:\n{lines}") from None


def default_settings() -> dict[str, Any]:
    """Return nested mappings of settings to defaults. The settings of models are left out."""
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
    """Return the name (after the prefix `above`), default and help text of every setting."""
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
