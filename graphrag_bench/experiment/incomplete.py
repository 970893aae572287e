"""Runs over artifacts that lack parts because a server failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.offline.parts import Incomplete
from graphrag_bench.offline.store import Store
from graphrag_bench.progress import Progress
from graphrag_bench.runs.folder import RunFolder, read_json
from graphrag_bench.values import Question

INCOMPLETE = "incomplete.json"


def building_store(
    experiment: Experiment, progress: Progress, *, allow_incomplete: bool = False
) -> Store:
    """The store that builds what an experiment needs, with the gates of its models."""
    failures = experiment.settings.failures
    return Store(
        experiment.artifacts,
        progress,
        failures.limit,
        failures.after,
        failures.in_a_row,
        gates=experiment.models.gates,
        explains=experiment.settings.graph.per == "all",
        shared=experiment.shared_artifacts,
        allow_incomplete=allow_incomplete,
        allow_cut=float(failures.allow_cut),
        load=experiment.models.shared.load,
    )


def as_far_as_it_goes(
    experiment: Experiment, questions: Sequence[Question], progress: Progress
) -> Experiment:
    """The experiment with its artifacts built, over incomplete ones where the server failed.

    Whole artifacts are tried first, so that a server that is well again is asked for what is
    missing, and for nothing else. Raises what building raises.
    """
    found = replace(experiment, incomplete={})
    while True:
        store = building_store(found, progress, allow_incomplete=True)
        try:
            for models in found.scoped(questions).values():
                store.resources(found.plan_for(models), set(found.wanted), models)
        except Incomplete as one:
            progress.say(f"Going on without {one.missing} that the server failed to read.")
            found = replace(found, incomplete={**found.incomplete, one.whole: one.missing})
        else:
            return found


def left_out(experiment: Experiment, questions: Sequence[Question]) -> dict[str, str]:
    """What is missing of each artifact of a run that is incomplete; empty for a whole one."""
    plans = experiment.plans(questions) if experiment.incomplete else []
    found: dict[str, list[str]] = {}
    for item in (item for plan in plans for item in plan if item.missing):
        found.setdefault(item.resource, []).append(item.missing.partition(" (")[0])
    return {name: ", ".join(held) for name, held in found.items()}


def write_incomplete(experiment: Experiment) -> None:
    """Keep which artifacts of the run are incomplete, if any, so that it can be made once more."""
    if experiment.incomplete:
        experiment.folder.write_json(INCOMPLETE, experiment.incomplete)


def read_incomplete(folder: RunFolder) -> Mapping[str, str]:
    """Which artifacts of a run are incomplete, as `Experiment.incomplete` has them."""
    found = read_json(folder.path / INCOMPLETE)
    return {str(key): str(parts) for key, parts in found.items()}
