"""A stored run reopened: its experiment from its settings, and the artifacts that it refers to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.incomplete import read_incomplete
from graphrag_bench.runs.folder import REFERENCES, DamagedRun, RunFolder, read_json
from graphrag_bench.runs.stored import StoredRun
from graphrag_bench.text import safe_name
from graphrag_bench.values import Question


def reopened(
    run: StoredRun,
    home: Path,
    shared: str | None = None,
    changed: Mapping[str, Any] | None = None,
) -> Experiment:
    """The experiment of a stored run as the code of today would make it; nothing is run.

    Its home is the one that holds the run's folder, else `home`; `shared` is a second folder of
    artifacts, which a run does not write down. `changed` settings replace its own.
    Raises UserError when its settings are not valid any more, and for an imported run.
    """
    run.require_steps()
    path = run.folder.path.resolve()
    if len(path.parents) > 3 and path.parents[2].name == "runs":
        home = path.parents[3]
    values = {
        **run.config,
        "paths": {"home": str(home), "shared_artifacts": shared},
        **(changed or {}),
    }
    try:
        made = Experiment.prepare(values, run.dataset, swept=True)  # it may be a cell
    except UserError as error:
        raise UserError(
            f"The settings of {run.folder.path} are not valid with the code of today: {error}"
        ) from error
    return replace(made, incomplete=read_incomplete(run.folder))


@dataclass(frozen=True)
class References:
    """The keys of a run's artifacts by resource, for each scope that has a graph of its own.

    A run over one graph of everything has the one scope None. `dataset` is the name of
    the folder of the corpus below artifacts/.
    """

    dataset: str
    keys: Mapping[str | None, Mapping[str, str]]

    def within(self, scope: str | None) -> Mapping[str, str]:
        """The keys of the graph that a question of this scope was asked of; none if unknown."""
        return self.keys.get(None if set(self.keys) == {None} else scope, {})

    @property
    def places(self) -> frozenset[str]:
        """All of them as `dataset/resource/key`, the paths below artifacts/."""
        return frozenset(
            f"{self.dataset}/{resource}/{key}"
            for held in self.keys.values()
            for resource, key in held.items()
        )


def references_of(experiment: Experiment, selected: Sequence[Question]) -> References:
    """What these questions of an experiment need, what it is built from included."""
    keys = {
        scope: {item.resource: item.key for item in experiment.plan_for(models)}
        for scope, models in experiment.scoped(selected).items()
    }
    return References(safe_name(experiment.dataset.corpus_name), keys)


def write_references(experiment: Experiment, selected: Sequence[Question]) -> None:
    """Write what the run refers to, what it referred to for other questions included."""
    folder = experiment.folder
    held = read_references(folder)
    new = references_of(experiment, selected)
    keys = {**(held.keys if held else {}), **new.keys}
    ordered = sorted(keys, key=lambda scope: (scope is not None, scope or ""))
    rows = [{"scope": scope, "keys": dict(keys[scope])} for scope in ordered]
    folder.write_json(REFERENCES, {"dataset": new.dataset, "artifacts": rows})


def read_references(folder: RunFolder) -> References | None:
    """What a run refers to; None for a run that did not write it down; raises DamagedRun."""
    path = folder.path / REFERENCES
    if not (held := read_json(path)):
        return None
    try:
        keys = {row["scope"]: dict(row["keys"]) for row in held["artifacts"]}
        return References(str(held["dataset"]), keys)
    except (LookupError, TypeError, ValueError) as error:
        raise DamagedRun(path, f"no list of artifacts: {error}") from None
