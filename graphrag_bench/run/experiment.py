"""Prepare a run from its settings: check the pipeline, plan the artifacts, compute the key."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from graphrag_bench.algorithms.clustering import check_reduction
from graphrag_bench.artifacts.plan import PlannedArtifact, plan
from graphrag_bench.artifacts.store import Store
from graphrag_bench.config import sources
from graphrag_bench.config.compose import raw_method
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.settings import RunSettings, as_list, check_settings
from graphrag_bench.contract import builders, resources, variants
from graphrag_bench.data.dataset import Dataset, within_split
from graphrag_bench.errors import ErrorCollector, UserError, did_you_mean
from graphrag_bench.fingerprint import digest
from graphrag_bench.pipeline.combinators import Resolve
from graphrag_bench.pipeline.pipeline import Pipeline, StepOptions, build, raise_problems
from graphrag_bench.pipeline.steps import OperatorStep
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import ContextBudget, FormName, Prompt, answer_form, sub_question_form
from graphrag_bench.report.rows import group_by
from graphrag_bench.run import budgets, method
from graphrag_bench.run.folder import RunFolder
from graphrag_bench.run.method import Choices, Method, MethodKeys
from graphrag_bench.run.models import Models, ProcessCache
from graphrag_bench.run.scoring import check_scoring
from graphrag_bench.text import safe_name
from graphrag_bench.values import Question

BUDGET = "context_budget"
GIVEN = frozenset({*Models.NAMES, BUDGET})
"""Names of the resources that are not built."""


@dataclass(frozen=True, repr=False)
class Experiment:
    """A run that is prepared and checked, but not started."""

    settings: RunSettings  # with the final values of budget_context and pooling
    dataset: Dataset
    method: Method
    models: Models
    choices: Choices
    window: budgets.ContextWindow
    context_budget: ContextBudget
    budget_set: bool = False  # by the user
    trial: int = 0  # number of the repeat, counted from 0

    @classmethod
    def prepare(
        cls, values: Mapping[str, Any], dataset: Dataset | None = None,
        *, swept: bool = False, shared: ProcessCache | None = None,
    ) -> "Experiment":  # fmt: skip
        """Check settings and return their experiment, without loading a model.

        The settings of a sweep (`swept`) are shared by several methods, so a method ignores
        `build`, path pooling and the context budget if it cannot use them. Raises one UserError
        that lists every problem.
        """
        shared = shared or ProcessCache()
        settings, dataset, file = _checked_inputs(values, dataset, shared)
        keys, profiled = method.read_keys(settings.method), settings.profile != "default"
        options = StepOptions(keys.prompts, settings.pooling, settings.regime, all_rows=profiled)
        pipeline, choices = _checked_pipeline(settings, keys, options, dataset)
        names = {op.operator.name for op in pipeline.operators()}
        pooling = settings.pooling if "path.pool" in names else None
        if settings.pooling and not pooling and not swept:
            raise UserError(
                f"pooling={settings.pooling.get('mode')}: no step of '{keys.name}' has "
                f"`path_pooling`. Methods with path pooling: {', '.join(method.able_to_pool())}."
            )
        models = Models(settings, dataset, shared)
        window = budgets.context_window(settings, dataset, models)
        budget = budgets.context_budget(settings, pipeline, window, file, swept=swept)
        reported = budgets.reported_budget(settings, pipeline, budget)
        own = {key: value for key, value in settings.method.items() if key not in method.RESERVED}
        edits = method.edits_of(settings, file, pipeline, options)
        pipeline = budgets.with_budget(pipeline, budget, settings, window)
        experiment = cls(
            settings.model_copy(update={"budget_context": reported, "pooling": pooling}), dataset,
            Method(keys, own, pipeline, pooling is not None, edits),
            models, choices, window, budget,
            settings.budget_context != "auto" or "method.budget" in settings.given,
        )  # fmt: skip
        experiment._check_choices(swept)
        for item in experiment.plan:  # raises MissingPackage
            if "reduction" in item.settings and not experiment.store().holds(item):
                check_reduction(item.settings["reduction"])
        return experiment

    def _check_choices(self, swept: bool) -> None:
        planned = {item.resource for item in self.plan}
        known = planned | (resources() if swept else set())
        if self.settings.graph.import_from:
            known |= method.extractions() - set(self.settings.build)
        problems = [
            f"build.{resource} is set, but the method builds no '{resource}'. "
            + did_you_mean(resource, sorted(planned))
            for resource in {**(self.method.keys.build or {}), **self.settings.build}
            if resource not in known
        ]
        problems += [
            f"build.{item.resource}=planted needs a synthetic world: dataset=world."
            for item in self.plan
            if item.builder.variant == "planted" and not self.dataset.synthetic
        ]
        raise_problems(problems, f"the build of method '{self.method.name}'")

    @cached_property
    def needed_artifacts(self) -> frozenset[str]:
        """The names of the artifacts that the steps need. The chunk table is always included."""
        return frozenset((self.method.pipeline.needs() - GIVEN) | {"chunk_table"})

    @cached_property
    def plan(self) -> list[PlannedArtifact]:
        """The artifacts of the run, sorted so that inputs come first."""
        return self.plan_for(self.models)

    def plan_for(self, models: Models) -> list[PlannedArtifact]:
        """Return the artifacts for the corpus of `models`, sorted so that inputs come first."""
        identities = {name: partial(models.identity_of, name) for name in Models.NAMES}
        try:
            return plan(self.needed_artifacts, self.choices, identities)
        except UserError as error:
            raise UserError(str(error).replace("build.chunk_table", "chunking")) from None

    def by_scope(
        self, questions: Sequence[Question]
    ) -> list[tuple[str | None, Models, list[Question]]]:
        """Return (scope, models, questions) of each graph. The scope of a whole corpus is None."""
        if self.settings.graph.per == "all":
            return [(None, self.models, list(questions))]
        groups = group_by(sorted(questions, key=lambda q: q.scope or ""), lambda q: q.scope)
        corpora = {scope: self.dataset.within(scope) for scope in groups}
        return [(name, self.models.over_corpus(corpora[name]), groups[name]) for name in groups]

    def artifacts_for(self, questions: Sequence[Question]) -> list[PlannedArtifact]:
        """Return the artifacts of all graphs that the questions need."""
        if self.settings.graph.per == "all":
            return self.plan
        return [item for _, models, _ in self.by_scope(questions) for item in self.plan_for(models)]

    def ledgers(self, questions: Sequence[Question]) -> list[Path]:
        """Return the ledgers of the model calls that built the artifacts for these questions."""
        store = self.store()
        return [path for item in self.artifacts_for(questions) for path in store.ledgers(item)]

    @property
    def used_resources(self) -> set[str]:
        """The names of the artifacts and models that the steps or the builds need."""
        built = {need for item in self.plan for need in item.inputs}
        return built | self.method.pipeline.needs()

    @cached_property
    def key(self) -> str:
        """The key of the run: a digest of everything that can change an answer."""
        pipeline, data, settings = self.method.pipeline, self.dataset, self.settings
        needs, wanted, given = pipeline.needs(), self.needed_artifacts, self.method.keys.given
        inputs = {item.resource: item.key for item in self.plan if item.resource in wanted}
        inputs |= {name: self.models.identity_of(name) for name in Models.NAMES if name in needs}
        inputs |= {BUDGET: self.context_budget.identity} if BUDGET in needs else {}
        gold = [[q.id, list(data.gold[q.id].evidence)] for q in data.questions if given]
        return digest(
            data.corpus_digest, data.questions_digest, settings.graph.per, settings.seed,
            pipeline.describe(), inputs, gold, _forms_in_key(pipeline, data.questions),
        )  # fmt: skip

    @property
    def home(self) -> Path:
        """The folder with runs/ and artifacts/."""
        return Path(self.settings.paths.home)

    @property
    def run_path(self) -> Path:
        """The folder of the run. Each repeat after the first has a subfolder."""
        name = safe_name(self.method.keys.name)
        return self.home / "runs" / safe_name(self.dataset.name) / name / self.key

    @property
    def folder(self) -> RunFolder:
        """The folder of this repeat of the run."""
        path = self.run_path / f"trial-{self.trial}" if self.trial else self.run_path
        which, total = self.settings.part
        return RunFolder(path, f"{which}-of-{total}" if total > 1 else "")

    def store(self, progress: Progress | None = None) -> Store:
        """Return the store that holds and builds the artifacts of this run."""
        failures, shared = self.settings.failures, self.settings.paths.shared_artifacts
        if shared is not None and not Path(shared).is_dir():
            raise UserError(f"paths.shared_artifacts: there is no folder '{shared}'.")
        corpus = safe_name(self.dataset.corpus_name)
        return Store(
            self.home / "artifacts" / corpus, progress or Progress(),
            failures.limit, failures.after, self.models.gates,
            shared=Path(shared) / corpus if shared is not None else None,
            allow_cut=float(failures.allow_cut), load=self.models.shared.load,
        )  # fmt: skip

    @property
    def extraction(self) -> str:
        """The variant of the builder that extracts or imports the graph, or "" if there is none."""
        for item in self.plan:
            imported = item.resource == "graph" and "import_from" in item.builder.needs
            if imported or item.resource in method.extractions():
                return item.builder.variant
        return ""

    def selection(self) -> tuple[list[Question], frozenset[str]]:
        """Return the questions, interleaved by type, and the ids of the questions to answer."""
        settings = self.settings
        part = within_split(self.dataset.interleaved(), settings.split, settings.dev_share)
        selected = part[: settings.limit]
        n_answers = {"on": len(selected), "off": 0}.get(str(settings.answer), settings.answer)
        return selected, frozenset(question.id for question in selected[: int(n_answers)])

    def trials(self) -> "list[Experiment]":
        """Return an experiment for each repeat after the first (`trial-1`, `trial-2`, ...)."""
        n = self.settings.repeats
        if n > 1 and not self.settings.answering:
            raise UserError(f"repeats={n} needs answers. Set answer=on.")
        return [replace(self, models=self.models.on_trial(t), trial=t) for t in range(1, n)]


def _checked_pipeline(
    settings: RunSettings, keys: MethodKeys, options: StepOptions, dataset: Dataset
) -> tuple[Pipeline, Choices]:
    errors, built = ErrorCollector(), build(settings.method, options)
    choices = errors.attempt(lambda: method.artifact_choices(settings, dataset))
    graph = variants("graph").get(str((choices or {}).get("graph", {}).get("variant")))
    attributes = builders.get(graph).provides if graph else None
    errors.attempt(lambda: _check_steps(settings.method, built, attributes))
    if keys.prompts is not None:
        errors.attempt(partial(method.check_prompts, Path(keys.prompts), built[0]))
    errors.raise_all()
    assert choices is not None
    return built[0], choices


def _checked_inputs(
    values: Mapping[str, Any], dataset: Dataset | None, shared: ProcessCache
) -> tuple[RunSettings, Dataset, dict[str, Any] | None]:
    """Import plug-ins. Return the checked settings, the data set and the method's file."""
    errors, file = ErrorCollector(), None
    settings, config = errors.attempt(lambda: check_settings(values)), values.get("method") or {}
    errors.attempt(lambda: load_plugins(list(map(str, as_list(values.get("plugins"))))))
    if settings is not None:
        dataset = dataset or errors.attempt(lambda: shared.dataset(settings))
        if dataset is not None:
            form = None if settings.answers == "auto" else settings.answers
            published = settings.regime == "published"
            formed = dataset.in_form(form, settings.open_tokens, published=published)
            errors.attempt(lambda: check_scoring(formed, settings.evaluation, settings.answering))
            dataset = dataset if formed.questions == dataset.questions else formed
    if isinstance(config, Mapping):
        errors.attempt(lambda: method.read_keys(config))
        if (file := raw_method(config)) is not None:
            errors.attempt(lambda: method.check_parameters(file, config))
        if errors.errors:
            prompts = config.get("prompts")
            options = StepOptions(prompts if isinstance(prompts, str) else None)
            errors.attempt(lambda: _check_steps(config, build(config, options), None))
    errors.raise_all()
    assert settings is not None and dataset is not None
    return settings, dataset, file


def _check_steps(
    config: Mapping[str, Any], built: tuple[Pipeline, list[str]], attributes: frozenset[str] | None
) -> None:
    slots = frozenset({"chunks"} if config.get("given") else ())
    problems = [*method.unresolved(config), *built[1]]
    problems = problems or built[0].check(resources() | GIVEN, attributes, slots)
    name = str(config.get("name"))
    if problems and name in sources.IN_PLUGIN and name not in sources.names("method"):
        raise sources.unknown_choice("method", name)  # a run that was stored with the plug-in
    raise_problems(list(dict.fromkeys(problems)), f"the pipeline of method '{name}'")


_FORM = frozenset({"form", "manner", "cue", "licence"})
"""The variables of a prompt that depend on the form of the answer."""


def forms_of(questions: Sequence[Question]) -> dict[FormName, int]:
    """Return the number of questions of each answer form, the most frequent form first."""
    return dict(Counter(sorted(question.form for question in questions)).most_common())


def _forms_in_key(pipeline: Pipeline, questions: Sequence[Question]) -> list[Any]:
    """Return the answer forms for the key of a run, or [] if no answer depends on its form."""
    settings = [op.settings for op in answering_steps(pipeline)]
    prompts = [one for own in settings for one in own.values() if isinstance(one, Prompt)]
    is_limited = all(own.get("max_tokens") is not None for own in settings)
    if is_limited and not any(_FORM & prompt.variables for prompt in prompts):
        return []
    used: set[FormName] = {question.form for question in questions}
    if any(isinstance(step, Resolve) for step in pipeline.steps()):
        used |= {sub_question_form(form, abstract=kind) for form in used for kind in (False, True)}
    contents = [vars(answer_form(name)) for name in sorted(used)]
    forms = [[question.id, question.form] for question in questions]
    limits = {n for question in questions if (n := question.open_tokens)}
    every = ["every form"] * (bool(limits) and questions[0].published)
    return [forms, contents, *sorted(limits), *every]


def answering_steps(pipeline: Pipeline) -> list[OperatorStep]:
    """Return the steps that write an answer in the form that the question asks for."""
    ops = pipeline.operators()
    return [op for op in ops if "answer" in op.operator.returns and _FORM & op.operator.supplies]
