"""What is said of a released engine: in the title of its row, in a plan, and in the notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.models.engine import BUILDER, READER
from graphrag_bench.offline.plan import Planned

INDEX = "original_index"
ALWAYS = (
    "temperature and seed are those of our model, whatever the engine asks for",
    "texts are embedded as passages while the index is built, and as questions afterwards",
)
"""What holds for every engine that asks our models."""
_SAID_OF_MODE = {
    "equal": "our chunks, our context budget, our reader prompt",
    "as_released": "its own chunks, context and answer; the context budget does not bound it",
}


def engine_index(experiment: Experiment) -> Planned | None:
    """The planned index of the run's engine; None for a method without one."""
    return next((item for item in experiment.plan if item.resource == INDEX), None)


def engine_title(experiment: Experiment) -> str:
    """Engine, version and mode, the title of the row; "" for a method without an engine."""
    item = engine_index(experiment)
    if item is None:
        return ""
    release = experiment.models.engine.release
    return f"{release.name} {release.version} ({item.settings['mode']})"


def engine_told(experiment: Experiment, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What `metrics.json` says of the engine; None for a method without one.

    `passages` and `foreign` count what it retrieved, and what of that holds no chunk of ours.
    """
    item = engine_index(experiment)
    if item is None:
        return None
    release = experiment.models.engine.release
    held = [row["engine_passages"] for row in rows if row.get("engine_passages")]
    n_passages = sum(one["passages"] for one in held)
    return {
        "name": release.name,
        "version": release.version,
        "mode": item.settings["mode"],
        "equal": item.settings["mode"] == "equal",
        "identity": experiment.models.identity("engine"),
        "passages": n_passages,
        "foreign": n_passages - sum(one["ours"] for one in held),
        **_of_index(experiment, item),
    }


def _of_index(experiment: Experiment, item: Planned) -> dict[str, Any]:
    """What the engine said when it built its index, where that is stored."""
    store = experiment.store()
    found = [
        store.recipe(one)["statistics"]
        for plan in experiment.plans(experiment.dataset.questions)
        for one in plan
        if one.resource == INDEX and store.holds(one)
    ]
    if not found:
        return {}
    counted = {name: sum(int(one[name]) for one in found) for name in found[0] if name[:2] == "n_"}
    said = dict.fromkeys(line for one in found for line in one["not_equal"])
    return {"settings": found[0]["settings"], "not_equal": list(said), **counted}


def engine_lines(experiment: Experiment) -> Iterator[str]:
    """What a plan says of the engine: release, mode, limits, and what is not equal."""
    item = engine_index(experiment)
    if item is None:
        return
    engine, mode = experiment.models.engine, item.settings["mode"]
    yield f"engine: {engine_title(experiment)}: {_SAID_OF_MODE[mode]}"
    yield f"  it asks the models '{BUILDER}' and '{READER}' and the embedder of this run"
    yield (
        f"  a question may take {engine.seconds:g} s, building {engine.build_seconds:g} s; "
        f"a reply has {engine.max_tokens:,} tokens at most where the engine states none"
    )
    for name, value in engine.settings.items():
        yield f"  engine.settings.{name} = {value}"
    if engine.release.missing:
        yield f"  {engine.release.missing}"
    told = _of_index(experiment, item)
    for name, value in (told.get("settings") or {}).items():
        yield f"  {name} = {value} (in force)"
    for line in (*ALWAYS, *told.get("not_equal", ())):
        yield f"  not equal: {line}"
    if not told and engine.release.differs:
        yield f"  not equal: {engine.release.differs}"
    if not told:
        yield "  what else is not equal, it says when it has built its index"
