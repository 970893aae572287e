"""An experiment: settings become a checked pipeline, an artifact plan and a run key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from graphrag_bench.contract import builders, operators
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError, nearest
from graphrag_bench.experiment.budgets import within_budget
from graphrag_bench.experiment.context_room import Room, room_of
from graphrag_bench.experiment.groups import load, names
from graphrag_bench.experiment.implied import DEFAULTS, REPLACED, complete, imported_choices
from graphrag_bench.experiment.method import Method, check_parameters, read_method
from graphrag_bench.experiment.models import Models
from graphrag_bench.experiment.pooling import pooled, why_not
from graphrag_bench.experiment.scoring import check_scoring
from graphrag_bench.experiment.settings import RunSettings, check_settings
from graphrag_bench.fingerprint import digest
from graphrag_bench.offline.plan import Planned, plan
from graphrag_bench.offline.store import Store
from graphrag_bench.pipeline.build import refuse
from graphrag_bench.runs.folder import RunFolder
from graphrag_bench.values import Question

_BUILDERS = (
    "graphrag_bench.offline.chunking",
    "graphrag_bench.offline.extraction",
    "graphrag_bench.offline.planted",
    "graphrag_bench.offline.subgraphs",
    "graphrag_bench.offline.llm_extraction",
    "graphrag_bench.offline.knowledge_graph",
    "graphrag_bench.offline.indices",
    "graphrag_bench.offline.triple_index",
    "graphrag_bench.offline.triple_scorers",
    "graphrag_bench.offline.triple_training",
    "graphrag_bench.offline.passage_graph",
    "graphrag_bench.offline.tri_graph",
    "graphrag_bench.offline.tree",
    "graphrag_bench.offline.communities",
    "graphrag_bench.offline.reports",
    "graphrag_bench.offline.llm_reports",
    "graphrag_bench.offline.text_extraction",
    "graphrag_bench.offline.text_llm_extraction",
    "graphrag_bench.offline.text_graph",
    "graphrag_bench.offline.importers.msgraphrag",
    "graphrag_bench.offline.importers.graphml",
    "graphrag_bench.offline.importers.triples",
)


def load_plugins(names: list[str]) -> None:
    """Import the built-in builders and the plug-in packages, which register what they hold."""
    for name in (*_BUILDERS, *names):
        if not all(part.isidentifier() for part in name.split(".")):
            raise UserError(
                f"plugins: '{name}' is no name of a package, such as mylab or mylab.operators."
            )
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise
            raise UserError(f"plugins: there is no package '{name}' to import.") from None
    operators.freeze()
    builders.freeze()


@dataclass(frozen=True)
class Experiment:
    """One method on one data set with its models, checked, and nothing run yet.

    `trial` counts the repeats of the answering model from 0.
    """

    settings: RunSettings
    dataset: Dataset
    method: Method
    models: Models
    trial: int = 0

    @classmethod
    def prepare(
        cls, values: Mapping[str, Any], dataset: Dataset | None = None, *, swept: bool = False
    ) -> Experiment:
        """The checked experiment of resolved settings.

        A cell of a sweep (`swept`) may set up the build of an artifact that its method lacks, and
        leaves out a path pooling or context budget that its method cannot have.
        Raises UserError, with every problem of the pipeline in one message. No model is loaded.
        """
        settings = check_settings(values)
        if settings.match_tokens is not None:
            raise UserError("match_tokens takes the questions of a data set: use it with run.")
        load_plugins(settings.plugins)
        asked = settings.dataset
        found = dataset or read_dataset(
            asked.name, asked.root, asked.openie, asked.own, home=settings.paths.home
        )
        check_scoring(found, settings.evaluation, settings.answering)
        if settings.method.get("name") in names("method"):
            check_parameters(load("method", settings.method["name"]), settings.method)
        if swept and settings.pooling and why_not(settings.method):
            settings = settings.model_copy(update={"pooling": None})
        if not read_method(settings.method).problems:
            room = cache(partial(room_of, settings, found, Models(settings, found)))
            settings = within_budget(settings, room, swept=swept)
        pooling = settings.pooling
        method = read_method(pooled(settings.method, pooling) if pooling else settings.method)
        experiment = cls(settings, found, method, Models(settings, found))
        problems = list(method.problems)
        if not problems:
            resources = {builder.resource for builder in builders.all()} | set(Models.NAMES)
            problems = method.pipeline.check(
                frozenset(resources), experiment._attributes, method.given_slots
            )
        refuse(problems, f"the pipeline of method '{method.name}'")
        experiment._check_choices(swept)
        return experiment

    @property
    def _attributes(self) -> frozenset[str] | None:
        """What the chosen graph will have; None when the method chooses none."""
        choice = self.choices.get("graph")
        variant = choice if isinstance(choice, str) else (choice or {}).get("variant")
        found = [b for b in builders.all() if b.resource == "graph" and b.variant == variant]
        return found[0].provides if found else None

    @cached_property
    def choices(self) -> dict[str, Any]:
        """The variant and settings of every resource that the method or the run chooses."""
        merged: dict[str, dict[str, Any]] = {}
        chunking = {"chunk_table": self.settings.chunking}
        imported = imported_choices(self.settings)
        build = self.settings.build
        for source in (DEFAULTS, self.method.choices, chunking, imported, build):
            for resource, choice in source.items():
                new = _as_settings(resource, choice)
                held = merged.setdefault(resource, {})
                if "variant" in new and new["variant"] != held.get("variant"):
                    held.clear()
                held.update(new)
        complete(merged, self.dataset)
        return dict(merged)

    def _check_choices(self, swept: bool) -> None:
        """Refuse a `build` entry for what nothing builds, or, unless swept, this run does not."""
        planned = {item.resource for item in self.plan}
        known = planned | ({builder.resource for builder in builders.all()} if swept else set())
        replaced = REPLACED if self.settings.graph.import_from else frozenset()
        problems = []
        for resource in {**self.method.choices, **self.settings.build}:
            if resource not in known | (replaced - set(self.settings.build)):
                close = ", ".join(nearest(resource, planned) or sorted(planned))
                problems.append(
                    f"build.{resource} is set, but this method builds no '{resource}'; "
                    f"nearest: {close}."
                )
        problems += [
            f"build.{item.resource}=planted reads a synthetic world alone: dataset=world."
            for item in self.plan
            if item.builder.variant == "planted" and self.dataset.world is None
        ]
        refuse(problems, f"the build of method '{self.method.name}'")

    @cached_property
    def wanted(self) -> frozenset[str]:
        """The artifacts that the steps need, and the chunk table that records need."""
        needs = self.method.pipeline.needs() - set(Models.NAMES)
        return frozenset(needs | {"chunk_table"})

    @cached_property
    def plan(self) -> list[Planned]:
        """The artifacts to build or reuse, each after what it is built from."""
        return self.plan_for(self.models)

    def plan_for(self, models: Models) -> list[Planned]:
        """The plan over another corpus: that of one scope."""
        identities = {name: partial(models.identity, name) for name in Models.NAMES}
        try:
            return plan(self.wanted, self.choices, identities)
        except UserError as error:
            raise UserError(str(error).replace("build.chunk_table", "chunking")) from None

    def plans(self, questions: Sequence[Question]) -> list[list[Planned]]:
        """The plan of every graph that these questions are asked of: one, or one for each scope."""
        if self.settings.graph.scope == "all":
            return [self.plan]
        asked = {question.scope for question in questions}
        scopes = sorted({d.scope for d in self.dataset.documents} & asked, key=lambda s: s or "")
        return [self.plan_for(self.models.over(self.dataset.within(scope))) for scope in scopes]

    @cached_property
    def key(self) -> str:
        """The run key: everything that can change an answer, and nothing else."""
        pipeline = self.method.pipeline
        inputs = {item.resource: item.key for item in self.plan if item.resource in self.wanted}
        for name in sorted(pipeline.needs() & set(Models.NAMES)):
            inputs[name] = self.models.identity(name)
        gold = []
        if self.method.given:
            gold = [[q.id, list(self.dataset.gold[q.id].evidence)] for q in self.dataset.questions]
        return digest(
            self.dataset.corpus_digest,
            self.dataset.questions_digest,
            self.settings.graph.scope,
            self.settings.seed,
            pipeline.describe(),
            inputs,
            gold,
        )

    @cached_property
    def room(self) -> Room:
        """How many tokens of context the run's prompts may hold, and why."""
        return room_of(self.settings, self.dataset, self.models)

    @property
    def home(self) -> Path:
        """The folder that holds runs/ and artifacts/."""
        return Path(self.settings.paths.home)

    def on_trial(self, trial: int) -> Experiment:
        """The same experiment in a further repeat of its answering model."""
        return replace(self, models=self.models.on_trial(trial), trial=trial)

    @property
    def run_path(self) -> Path:
        """The folder of the run; its repeats after the first stand in folders of it."""
        name = safe_name(self.method.name)
        return self.home / "runs" / safe_name(self.dataset.name) / name / self.key

    @property
    def folder(self) -> RunFolder:
        """Where the run is stored, or this repeat of it."""
        path = self.run_path / f"trial-{self.trial}" if self.trial else self.run_path
        which, total = self.settings.part
        return RunFolder(path, f"{which}-of-{total}" if total > 1 else "")

    @property
    def artifacts(self) -> Path:
        """Where the artifacts of this data set are stored."""
        return self.home / "artifacts" / safe_name(self.dataset.name)

    @property
    def shared_artifacts(self) -> Path | None:
        """Where those of a second store stand; raises UserError when that is no folder."""
        given = self.settings.paths.shared_artifacts
        if given is None:
            return None
        if not Path(given).is_dir():
            raise UserError(f"paths.shared_artifacts: there is no folder '{given}'.")
        return Path(given) / safe_name(self.dataset.name)

    def store(self) -> Store:
        """The artifacts as they stand; what builds them is given the rest."""
        verify = self.settings.paths.verify
        return Store(self.artifacts, shared=self.shared_artifacts, verify=verify)

    @property
    def extraction(self) -> str:
        """How entities were read, as tables name it; empty when the method has no graph."""
        made = [item for item in self.plan if item.resource in REPLACED or _is_imported(item)]
        return made[0].builder.variant if made else ""


def _as_settings(resource: str, choice: Any) -> dict[str, Any]:
    """The settings of a choice that is the name of a variant, or settings already."""
    if isinstance(choice, str):
        return {"variant": choice}
    if not isinstance(choice, Mapping):
        raise UserError(f"build.{resource}={choice!r}: a variant's name or settings were expected.")
    return dict(choice)


def _is_imported(item: Planned) -> bool:
    return item.resource == "graph" and "import_from" in item.builder.needs


def safe_name(name: str) -> str:
    """A name as a folder: letters, digits, dot, dash and underscore, never empty or hidden."""
    return re.sub(r"[^\w.-]", "-", name).lstrip(".") or "unnamed"
