"""What a run folder states: its configuration, and the metrics of its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from graphrag_bench.config.settings import DatasetSettings, RunSettings
from graphrag_bench.config.sources import FILE
from graphrag_bench.experiment.answer_asking import forms_asked
from graphrag_bench.experiment.budgets import context_budget
from graphrag_bench.experiment.derived_settings import REPLACED
from graphrag_bench.experiment.estimate import estimates
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.incomplete import left_out
from graphrag_bench.experiment.long_texts import long_text_rows
from graphrag_bench.llm.ledger import Line, Part, Sums, read_ledger, sums
from graphrag_bench.pipeline.reader_prompts import common_forms, own_answers
from graphrag_bench.runs.folder import ENVIRONMENT, RunFolder
from graphrag_bench.runs.provenance import commit, environment
from graphrag_bench.runs.scoring import score, scored_by, shares
from graphrag_bench.values import Question

EXTRACTED = REPLACED | {"pseudo_questions"}
"""The artifacts that are read out of the chunks."""
_DECIDING = {
    "method", "chunking", "pooling", "build", "graph", "seed", "answers", "answer_tokens",
    "reader_prompt",
}  # fmt: skip
"""The settings that can change an answer, models aside, whose identities are kept."""


def write_provenance(experiment: Experiment, folder: RunFolder) -> None:
    """Write the resolved configuration, and once where the run comes from."""
    values = experiment.settings.model_dump(exclude={"paths", "shard", "given", "budget_asked"})
    folder.write_config(values)
    if not (folder.path / ENVIRONMENT).is_file():
        folder.write_json(ENVIRONMENT, environment(experiment.settings.seed))


def results(experiment: Experiment, selected: Sequence[Question]) -> dict[str, Any]:
    """What `metrics.json` holds: metrics of the selected questions, cost, and what was used."""
    folder, settings = experiment.folder, experiment.settings
    held = folder.rows()
    rows = [held[question.id] for question in selected if question.id in held]
    metrics = score(
        rows,
        experiment.dataset.gold,
        folder.timing(),
        settings.evaluation.cuts,
        settings.evaluation.containment,
        scored=scored_by(experiment.dataset, settings.evaluation, folder, held),
    )
    incomplete = left_out(experiment, selected)
    models = experiment.models
    needs = experiment.method.pipeline.needs()
    built = {need for item in experiment.plan for need in item.inputs}
    return metrics | {
        "dataset": experiment.dataset.name,
        "card": experiment.dataset.card.name,
        "corpus": experiment.dataset.corpus_digest,
        "method": experiment.method.name,
        "title": experiment.method.title + (" (incomplete)" if incomplete else ""),
        "role": experiment.method.role,
        "verified": experiment.method.verified,
        "profile": settings.profile,
        "fidelity": settings.fidelity,
        "parameters": dict(experiment.method.parameters),
        "settings": deciding(settings),
        "key": experiment.key,
        "limit": settings.limit,
        "split": settings.split,
        "dev_share": settings.dev_share,
        **_of_corpus(settings.dataset),
        "evaluation": settings.evaluation.model_dump(),
        "answer": settings.answer,
        **_reading(experiment, selected),
        "budget_context": context_budget(settings, experiment.method),
        "commit": commit(),
        "extraction": experiment.extraction,
        "extraction_statistics": _statistics(experiment),
        "llm": models.identity("llm") if "llm" in needs else "",
        "llm_build": models.identity("llm_build") if "llm_build" in built else "",
        "embedder": models.identity("embedder") if "embedder" in experiment.used else "",
        "long_texts": long_text_rows(experiment, selected),
        "tokenizer": models.identity("tokenizer") if "tokenizer" in needs else "",
        "selected": len(selected),
        "incomplete": incomplete,
        "build_rates": _build_rates(experiment, selected),
        "cost": cost(experiment, selected),
        "estimate": {
            row.step: asdict(row)
            for row in estimates(experiment, len(rows), metrics["answered"], learn=False)
        },
    }


def _reading(experiment: Experiment, selected: Sequence[Question]) -> dict[str, Any]:
    reader, forms = experiment.settings.reader_prompt, forms_asked(selected)
    common = common_forms(reader, forms)
    return {
        "answer_forms": forms,
        "reader_prompt": reader,
        "common_reader": common,
        "own_answers": own_answers(experiment.method.pipeline) if common else [],
    }


def deciding(settings: RunSettings) -> dict[str, Any]:
    """The settings that can change an answer, by path; models aside."""
    found = _flat(settings.model_dump(include=_DECIDING))
    return {path: value for path, value in found.items() if path != f"method.{FILE}"}


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(value, dict | list):
        return {path: value}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    rows: dict[str, Any] = {}
    for name, inner in items:
        rows |= _flat(inner, f"{path}.{name}" if path else str(name))
    return rows


def _statistics(experiment: Experiment) -> dict[str, Any]:
    store = experiment.store()
    found = [item for item in experiment.plan if item.resource in EXTRACTED]
    recipes = [store.recipe(item) for item in found if store.holds(item)]
    return dict(recipes[0].get("statistics", {})) if recipes else {}


def _build_rates(
    experiment: Experiment, selected: Sequence[Question]
) -> dict[str, dict[str, float]]:
    """For each artifact that a model read: the calls of its building, and shares that went wrong.

    As `rates` of scores has them for steps. Artifacts that did not keep count are left out.
    """
    store = experiment.store()
    totals: dict[str, Counter[str]] = {}
    for item in (item for plan in experiment.plans(selected) for item in plan):
        if item.builder.calls and store.holds(item):
            held = store.recipe(item).get("calls", {})
            totals.setdefault(f"build {item.resource}", Counter()).update(held)
    return {name: shares(total) for name, total in totals.items() if total["calls"]}


def cost(experiment: Experiment, selected: Sequence[Question]) -> dict[str, Any]:
    """The sums of the ledgers by stage and step, paid for and cached apart, building included."""
    lines = list(read_ledger(*experiment.folder.files("ledger"), *experiment.ledgers(selected)))
    whole = sums(lines).get((), Sums())
    asked = frozenset(question.id for question in selected)
    online = [line for line in lines if line.stage != "build" and line.item in asked]
    return {
        "total": _sums(whole),
        "stages": {name: _sums(held) for (name,), held in sums(lines, "stage").items()},
        "steps": {name: _sums(held) for (name,), held in sums(lines, "step").items()},
        "questions": {name: _sums(held) for (name,), held in sums(online, "item").items()},
        "models": list(whole.models),
        "mixed": _mixed(lines),
    }


def _mixed(lines: Sequence[Line]) -> bool:
    return any(held.mixed for held in sums(lines, "step").values())


def _sums(held: Sums) -> dict[str, Any]:
    return {
        "paid": _part(held.paid),
        "cached": _part(held.cached),
        "truncated": held.truncated,
        "failed": dict(held.failed),
    }


def _part(part: Part) -> dict[str, Any]:
    rounded = {"seconds": round(part.seconds, 3), "usd": round(part.usd, 6)}
    return {**vars(part), **rounded}


def _of_corpus(dataset: DatasetSettings) -> dict[str, int]:
    if dataset.parts == 1:
        return {}
    return {"dataset.part": dataset.part, "dataset.parts": dataset.parts}
