"""The settings of one run, checked: unknown names are answered with the nearest valid ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from graphrag_bench.addresses import refuse_secrets
from graphrag_bench.answer_forms import FormName
from graphrag_bench.config.profiles import ANSWER_TOKENS
from graphrag_bench.data.splits import DEV_SHARE, Split
from graphrag_bench.errors import RENAMED, UserError, did_you_mean
from graphrag_bench.models.api_key import check_variable

PROFILES = ("default", "paper", "zhou2025", "upstream")
FIDELITIES = ("default", "paper")
NO_SETTINGS = {"given", "budget_asked"}
"""Fields of the run settings that nobody sets: what was set of the method, and whether the context
budget was."""
LEAST_IN_PROCESSES = 500
"""New texts in a list from which on `nlp_workers=auto` starts processes."""
NLP = {"_target_": "graphrag_bench.models.nlp.Spacy"}
CROSS_ENCODER = {"_target_": "graphrag_bench.models.cross_encoder.CrossEncoder"}


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _switch(cls, value: Any, info: ValidationInfo) -> Any:
        """Read `on` and `off` as they stand in YAML unquoted, where they are truth values."""
        word = {True: "on", False: "off"}.get(value) if isinstance(value, bool) else None
        return word if word in _words(cls.model_fields[str(info.field_name)].annotation) else value


def _words(annotation: Any) -> list[object]:
    """Return the values of the literals in a type."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [word for part in get_args(annotation) for word in _words(part)]


def _number_as_text(value: Any) -> Any:
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if numeric else value


class DatasetSettings(_Settings):
    """Which data set, and its folder; a synthetic set checks its own settings."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    name: str = Field(description="name of a card in datasets/")
    root: str | None = Field(None, description="folder of the set's files, if not the card's own")
    openie: str | None = Field(None, description="OpenIE file, where the folder holds several")
    questions: str | None = Field(
        None,
        description="generated questions (graphrag-bench questions) in place of its own",
    )
    part: PositiveInt = Field(
        1, description="the corpus as it grows: the first N of dataset.parts parts of its documents"
    )
    parts: PositiveInt = Field(
        1, description="with dataset.part: the questions are those that the first part answers"
    )

    _text = field_validator("root", "openie", "questions", mode="before")(_number_as_text)

    @property
    def own(self) -> dict[str, Any]:
        """The settings that only a synthetic set has, such as `hops`, and those of a part."""
        part = {"part": self.part, "parts": self.parts} if (self.part, self.parts) != (1, 1) else {}
        return {**(self.model_extra or {}), **part}


class GraphSettings(_Settings):
    """What one graph is built from."""

    per: Literal["all", "partition"] = Field(
        "all", description="all: one graph of the corpus; partition: one graph per scope"
    )
    import_from: str | None = Field(
        None, description="graph to import: GraphRAG folder, .graphml, triples as .jsonl or .csv"
    )

    checkpoint: str | None = Field(
        None,
        description="released weights of build.gnn_weights=released: folder, or name on the hub",
    )
    checkpoint_revision: str = Field("", description="revision of graph.checkpoint on the hub")

    _text = field_validator("import_from", "checkpoint", mode="before")(_number_as_text)


class PathSettings(_Settings):
    """Where results are stored."""

    home: str = Field(".", description="folder that holds runs/ and artifacts/")

    shared_artifacts: str | None = Field(
        None, description="a shared artifacts/ folder, read and never written"
    )

    verify: Literal["first", "always", "off"] = Field(
        "first",
        description="check artifacts by their hashes: when first loaded, at every load, never",
    )

    _text = field_validator("home", "shared_artifacts", mode="before")(_number_as_text)


class EvaluationSettings(_Settings):
    """How stored answers and evidence are scored."""

    cuts: list[PositiveInt] = Field([2, 5, 10], description="the cutoffs k of evidence_recall@k")
    containment: Literal["substring", "token_boundary"] = Field(
        "substring", description="how accuracy finds a gold answer: by characters or whole words"
    )
    metrics: list[str] = Field(
        [], description="answer metrics in addition to those of the card: [rouge_l,meteor]"
    )
    evidence_tokens: list[PositiveInt] = Field(
        [500, 1000, 2000],
        description="the cutoffs B of evidence_at_tokens@B, in context tokens",
    )
    normaliser: Literal["unicode", "squad"] = Field(
        "unicode",
        description="punctuation of every script, or ASCII only as in papers' scripts",
    )
    accents: Literal["keep", "strip"] = Field(
        "keep", description="whether Schrödinger and Schrodinger differ (Latin and Greek letters)"
    )
    strict_none: bool = Field(
        False, description="listed answers: drop only 'ans: none', not every line with 'none'"
    )
    baseline: str = Field(
        "vanilla", description="the method that all others are compared with, or none"
    )
    compared: list[str] = Field(
        [], description="metrics to compare; empty: accuracy, f1 and evidence recall"
    )


class CacheSettings(_Settings):
    """How replies of language models and embedding services are stored and reused."""

    mode: Literal["write", "read", "refresh", "off"] = Field(
        "write", description="reuse and store; only reuse; ask again and store; neither"
    )
    path: str | None = Field(None, description="file of the replies; HOME/cache/replies.sqlite")
    journal: Literal["auto", "wal", "rollback"] = Field(
        "auto", description="rollback works on network file systems too"
    )


class BudgetSettings(_Settings):
    """Where a run stops before it costs more; it can be resumed with a larger budget."""

    tokens: PositiveInt | None = Field(None, description="prompt and completion tokens together")
    usd: float | None = Field(
        None, gt=0, description="US dollars, at the model's configured prices"
    )


class FailureSettings(_Settings):
    """When the failures of one step stop the run."""

    limit: float = Field(0.2, ge=0, le=1, description="share of a step's calls that may fail")
    after: PositiveInt = Field(
        50, description="the share is computed over at least this many calls"
    )
    in_a_row: PositiveInt = Field(
        5, description="consecutive calls that the server fails: an outage, which stops the run"
    )
    allow_cut: bool | float = Field(
        0.02,
        ge=0,
        le=1,
        description="share of an extraction's replies that may be cut at their limit; true: all",
    )
    allow_incomplete: bool = Field(
        False, description="build without texts whose calls failed; every table marks it"
    )


class RaySettings(_Settings):
    """The cluster of executor=ray."""

    address: str | None = Field(
        None, description="cluster to join: auto or HOST:6379; else one is started here"
    )
    workers: PositiveInt | None = Field(
        None, description="tasks at a time; by default the CPUs of the cluster"
    )
    gpus: float = Field(0.0, ge=0, description="GPUs, or the share of one, that a task takes")
    llm_workers: PositiveInt | None = Field(
        None, description="servers of each local language model; by default as many as workers"
    )
    llm_gpus: float | None = Field(
        None, ge=0, description="GPUs, or the share of one, of such a server; by default ray.gpus"
    )


class RunSettings(_Settings):
    """One run: a data set, a method, models, and how much of it to do."""

    dataset: DatasetSettings
    method: dict[str, Any] = Field(description="a file of configs/method; method.NAME=VALUE")
    llm: dict[str, Any] = Field(description="the model that answers")
    llm_build: dict[str, Any] | None = Field(None, description="the model that builds, if another")
    llm_judge: dict[str, Any] | None = Field(
        None, description="the model that judges answers: `judge` and `compare`; none by default"
    )
    embedder: dict[str, Any] = Field(description="the model that embeds")
    nlp: dict[str, Any] = Field(NLP, description="the tagger and parser; nlp.model=PACKAGE")
    cross_encoder: dict[str, Any] = Field(
        CROSS_ENCODER,
        description="what reranks chunks in chunk.rerank.cross_encoder; "
        "cross_encoder.model=NAME_OR_FOLDER",
    )
    chunking: dict[str, Any] = Field(
        {"variant": "auto"}, description="auto, token, separator or presplit; chunking.size=600"
    )
    pooling: dict[str, Any] | None = Field(
        None, description="path pooling of ranked relationships: pooling.search=bfs"
    )
    build: dict[str, Any] = Field(
        {}, description="variant of an artifact: build.extraction=nlp, build.graph.synonymy=add"
    )
    graph: GraphSettings = GraphSettings()  # type: ignore[call-arg]
    profile: Literal["default", "paper", "zhou2025", "upstream"] = Field(
        "default", description="source of a method's values where sources disagree: see its README"
    )
    fidelity: Literal["default", "paper"] = Field(
        "default", description="paper: ask a language model wherever the method's paper does"
    )
    limit: PositiveInt | None = Field(
        None, description="only the first questions, stratified by type"
    )
    split: Split = Field(
        "all", description="dev or test: part of the questions, by the hash of their ids"
    )
    dev_share: float = Field(
        DEV_SHARE, gt=0, lt=1, description="share of the questions in split=dev"
    )
    objective: str | None = Field(
        None, description="in a sweep: the metric of the best cell, e.g. evidence_recall@5"
    )
    answer: Literal["on", "off"] | PositiveInt = Field(
        "on", description="off stops at the packed context; N answers only the first N questions"
    )
    answers: Literal["auto"] | FormName = Field(
        "auto",
        description="the form of every answer; auto: as the data set's card says",
    )
    answer_tokens: Literal["auto"] | PositiveInt = Field(
        "auto",
        description="most tokens of a list, a paragraph or a summary; auto: 512, under a profile "
        "2,048 (zhou2025: 4,096), or what the reader's window leaves of them",
    )
    reader_prompt: Literal["auto", "own", "common"] = Field(
        "auto",
        description="the prompt that answers: each method's own with one clause on what the "
        "context does not hold, and one prompt for all methods where a paragraph or a summary is "
        "wanted (auto); each method's own with its source's clause (own); one prompt (common)",
    )
    budget_context: PositiveInt | Literal["auto", "native"] = Field(
        "auto",
        description="context tokens in every method's prompt; auto: a profile's, or room for 4 "
        "whole chunks (2,400 at least) within the reader's window; native: each method's own",
    )
    fill_context: Literal["auto", "on", "off"] = Field(
        "auto", description="take as many chunks as fit; auto: unless method.top_k=N is given"
    )
    repeats: PositiveInt = Field(
        1, description="times the answering model is asked; the table has mean and spread"
    )
    reference_rows: Literal["on", "off"] = Field(
        "on", description="add closed-book, BM25, VanillaRAG and the oracle as rows of the table"
    )
    trace: Literal["ids", "full", "off"] = Field(
        "ids", description="what a record stores of every step; full adds the replies"
    )
    seed: int = Field(0, description="random seed")
    workers: PositiveInt = Field(4, description="questions answered at a time")
    nlp_workers: Literal["auto"] | PositiveInt = Field(
        "auto",
        description="processes that read sentences; auto: spaCy on all cores, once a list has "
        f"{LEAST_IN_PROCESSES} new texts",
    )
    executor: Literal["local", "ray"] = Field(
        "local",
        description="where texts are read and embedded, questions retrieved and local language "
        "models asked",
    )
    ray: RaySettings = RaySettings()  # type: ignore[call-arg]
    shard: str | None = Field(
        None, pattern=r"^[1-9]\d*/[1-9]\d*$", description="3/20: the third of twenty parts"
    )
    cache: CacheSettings = CacheSettings()  # type: ignore[call-arg]
    budget: BudgetSettings = BudgetSettings()  # type: ignore[call-arg]
    failures: FailureSettings = FailureSettings()  # type: ignore[call-arg]
    paths: PathSettings = PathSettings()  # type: ignore[call-arg]
    plugins: list[str] = Field(
        [], description="your own packages, installed or here, that register operators"
    )
    evaluation: EvaluationSettings = EvaluationSettings()  # type: ignore[call-arg]
    columns: Literal["main", "all"] = Field(
        "main", description="all: every column of the table, and costs"
    )
    given: list[str] = Field(
        [], description="paths of the method's parameters that were set; not a setting"
    )
    budget_asked: bool = Field(False, description="whether the run set its budget; not a setting")

    @field_validator("nlp", "cross_encoder", mode="before")
    @classmethod
    def _with_target(cls, value: Any, info: ValidationInfo) -> Any:
        target = NLP if info.field_name == "nlp" else CROSS_ENCODER
        return {**target, **value} if isinstance(value, Mapping) else value

    @field_validator("budget_context", mode="before")
    @classmethod
    def _said(cls, value: Any) -> Any:
        return "native" if value is None else value

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
    def open_tokens(self) -> int | None:
        """The most tokens of an answer in an open form; None for those of its form."""
        asked = self.answer_tokens
        return ANSWER_TOKENS.get(self.profile) if asked == "auto" else asked

    @property
    def answering(self) -> bool:
        """Whether any question is answered."""
        return self.answer != "off"


def check_settings(values: Mapping[str, Any]) -> RunSettings:
    """The checked settings; raises one UserError that lists every problem."""
    refuse_secrets("", values)
    for model in filter(lambda value: isinstance(value, Mapping), values.values()):
        if isinstance(variable := model.get("api_key_env"), str):
            check_variable(variable)
    try:
        return RunSettings.model_validate(dict(values))
    except ValidationError as error:
        problems: dict[str, list[str]] = {}
        for fault in error.errors():
            what, reason = _problem(dict(fault))
            problems.setdefault(what, []).append(reason)
        lines = "\n".join(f"  {what}{' or '.join(said)}" for what, said in problems.items())
        raise UserError(f"{len(problems)} setting(s) are wrong:\n{lines}") from None


def _problem(fault: dict[str, Any]) -> tuple[str, str]:
    path = [str(part) for part in fault["loc"]]
    if fault["type"] == "extra_forbidden":
        group = "".join(f"{part}." for part in path[:-1])
        known = sorted(_model_at(path[:-1]).model_fields)
        hint = did_you_mean(path[-1], known, prefix=group)
        return f"There is no setting '{'.'.join(path)}'. ", hint
    if fault["type"] == "dict_type" and path[0] in ("llm_build", "llm_judge"):
        return f"{path[0]}={fault['input']!r}: ", f"write llm@{path[0]}={fault['input']}."
    names = [part for part in path if not part.startswith(("constrained", "literal", "int"))]
    now = RENAMED.get(str(fault["input"])) if fault["type"] == "literal_error" else None
    hint = f" Did you mean '{now}'?" if now else ""
    return f"{'.'.join(names)}={fault['input']!r}: ", f"{fault['msg']}.{hint}"


def _model_at(path: list[str]) -> type[BaseModel]:
    model: type[BaseModel] = RunSettings
    for part in path:
        inner = model.model_fields[part].annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            model = inner
    return model


def defaults() -> dict[str, Any]:
    """Return every setting with its default, nested as they are; what models have is not told."""
    found: dict[str, Any] = {"dataset": {}, "method": {"prompts": None}, "llm": {}, "embedder": {}}
    for name, field in RunSettings.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if name not in found and name not in NO_SETTINGS:
            found[name] = default.model_dump() if isinstance(default, BaseModel) else default
    return {**found, "chunking": {}}


def explained() -> list[tuple[str, str, str]]:
    """(name, default, meaning) of every run setting, for `--help` and the docs."""
    rows: list[tuple[str, str, str]] = []
    for name, field in RunSettings.model_fields.items():
        if name in NO_SETTINGS:
            continue
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            rows += [
                (f"{name}.{part}", _default(of), of.description or "")
                for part, of in inner.model_fields.items()
            ]
        else:
            rows.append((name, _default(field), field.description or ""))
    return rows


def _default(field: Any) -> str:
    if field.is_required():
        return ""
    return "" if field.default is None or isinstance(field.default, dict) else str(field.default)
