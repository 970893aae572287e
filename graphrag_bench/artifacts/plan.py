"""Plan the artifacts that a run needs, such as graphs and indices, and compute their keys."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from graphrag_bench.algorithms.graph import Share, drop_edges
from graphrag_bench.contract import REQUIRED, Builder, Setting, builders, resources, variants
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.fingerprint import code, digest

UNKEYED_NEEDS = frozenset({"scratch", "progress"})
"""Arguments of builders that do not change the artifact, and so are not part of its key."""

THINNING = {
    "edge_drop": Setting("edge_drop", Share, 0.0),
    "edge_drop_seed": Setting("edge_drop_seed", int, 0),
}
"""Settings that remove edges. Every builder of graphs has these settings besides its own."""

Choice = str | Mapping[str, Any]
Identities = Mapping[str, Callable[[], str]]


@dataclass(frozen=True)
class PlannedArtifact:
    """Artifact that a run will build or load. `inputs` maps each input resource to its key."""

    builder: Builder
    settings: Mapping[str, Any]
    inputs: Mapping[str, str]
    thinning: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The digest of the builder's name and code, the settings, and the inputs."""
        return str(self.recipe["key"])

    @property
    def resource(self) -> str:
        """The name of the resource that the artifact provides."""
        return self.builder.resource

    @property
    def trained_on(self) -> str:
        """A description of the training data of the artifact, or "" if it is not trained."""
        return self.builder.trained_on(self.settings) if self.builder.trained_on else ""

    @cached_property
    def recipe(self) -> Mapping[str, Any]:
        """The part of `recipe.json` that determines the key, and the key itself."""
        settings: dict[str, Any] = {}
        for name, value in self.settings.items():
            settings[name] = list(value) if isinstance(value, tuple) else value
            if hasattr(value, "digest"):
                settings[name] = {"prompt": value.name, "digest": value.digest}
        if self.thinning:
            settings |= {**self.thinning, "edge_drop_code": code(drop_edges)}
        inputs = dict(self.inputs)
        key = digest(self.builder.name, self.builder.code, settings, inputs)
        about = {"builder": self.builder.name, "code": self.builder.code, "settings": settings}
        return {**about, "inputs": inputs, "key": key}


def plan(
    wanted: Iterable[str], choices: Mapping[str, Choice], identities: Identities
) -> list[PlannedArtifact]:
    """Return all artifacts needed for the wanted resources, in dependency order.

    `choices` maps a resource to its variant (`"kg"`), or to a mapping with `variant` and settings.
    `identities` maps each resource that is not built, e.g. a model, to a function that returns its
    identity. Raises a UserError that lists all problems.
    """
    planner = _Planner(choices, identities)
    for resource in sorted(set(wanted)):
        planner.visit(resource, ())
    if planner.problems:
        problems = dict.fromkeys(planner.problems)
        raise UserError("\n  ".join(["The build cannot be planned:", *problems]))
    return list(planner.planned.values())


class _Planner:
    def __init__(self, choices: Mapping[str, Choice], identities: Identities) -> None:
        self.choices, self.identities = choices, identities
        self.planned: dict[str, PlannedArtifact] = {}
        self.problems: list[str] = []

    def visit(self, resource: str, path: tuple[str, ...]) -> str:
        if resource in self.identities:
            return self.identities[resource]()
        if resource in self.planned:
            return self.planned[resource].key
        if resource in path:
            circle = " <- ".join((*path, resource))
            self.problems.append(f"{resource} is built from itself: {circle}.")
            return ""
        choice = self.choices.get(resource, {})
        chosen = {"variant": choice} if isinstance(choice, str) else dict(choice)
        builder = self._builder(resource, chosen.pop("variant", None), path)
        if builder is None:
            return ""
        needs = [need for need in builder.needs if need not in UNKEYED_NEEDS]
        inputs = {need: self.visit(need, (*path, resource)) for need in needs}
        thins = THINNING if builder.resource == "graph" else {}
        known, settings = {**builder.settings, **thins}, {}
        for name in chosen:
            if name not in known:
                hint = did_you_mean(name, known)
                self.problems.append(f"build.{builder.resource} has no setting '{name}'. {hint}")
        for name, setting in known.items():
            if name not in chosen and setting.default is REQUIRED:
                self.problems.append(f"build.{builder.resource} needs the setting '{name}'.")
                continue
            try:
                settings[name] = setting.check(chosen.get(name, setting.default))
            except UserError as error:
                self.problems.append(f"build.{builder.resource}: {error}")
        thinning = {name: settings.pop(name) for name in thins if name in settings}
        thinning = thinning if thinning.get("edge_drop") else {}
        self.planned[resource] = PlannedArtifact(builder, settings, inputs, thinning)
        return self.planned[resource].key

    def _builder(self, resource: str, chosen: Any, path: tuple[str, ...]) -> Builder | None:
        known = variants(resource)
        variant = chosen or (next(iter(known)) if len(known) == 1 else "")
        if variant in known:
            return builders.get(known[variant])
        needed = f", which {path[-1]} is built from" if path else ""
        if not known:
            hint = did_you_mean(resource, sorted(resources() | set(self.identities)))
            self.problems.append(f"Nothing builds '{resource}'{needed}. {hint}")
        elif not variant:
            self.problems.append(f"build.{resource} must name one of: {', '.join(sorted(known))}.")
        else:
            hint = did_you_mean(str(variant), sorted(known))
            self.problems.append(f"build.{resource}: no variant '{variant}'. {hint}")
        return None
