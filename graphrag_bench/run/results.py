"""The content of a run's `metrics.json`, and the list of the artifacts that it used."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from graphrag_bench.artifacts.plan import PlannedArtifact
from graphrag_bench.embedding.long_texts import TextLengths
from graphrag_bench.errors import UserError
from graphrag_bench.llm.ledger import lines_by, models_of, read_ledger, sums
from graphrag_bench.pipeline.reader_prompts import common_forms, own_answers
from graphrag_bench.run.budgets import holds_corpus, packers
from graphrag_bench.run.conditions import result_settings
from graphrag_bench.run.estimates import estimates
from graphrag_bench.run.experiment import Experiment, forms_of
from graphrag_bench.run.folder import REFERENCES, DamagedRun, RunFolder, read_json
from graphrag_bench.run.method import extractions
from graphrag_bench.run.scoring import score, scoring_of, shares
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.text import safe_name
from graphrag_bench.values import Question
from graphrag_bench.version import commit

_STATED = ("profile", "fidelity", "regime", "limit", "split", "dev_share", "answer")


def results(experiment: Experiment, selected: Sequence[Question]) -> dict[str, Any]:
    """Return the content of `metrics.json`: metrics, cost, models and settings of a run."""
    folder, settings, method = experiment.folder, experiment.settings, experiment.method
    dataset, evaluation, budget = experiment.dataset, settings.evaluation, experiment.context_budget
    by_id, pipeline, store = folder.rows(), method.pipeline, experiment.store()
    rows = [by_id[question.id] for question in selected if question.id in by_id]
    scoring = scoring_of(dataset, evaluation, folder, by_id)
    metrics = score(rows, dataset.gold, folder.timing(), scoring)
    built = [item for item in experiment.artifacts_for(selected) if store.holds(item)]
    recipes = [(item, store.recipe(item)) for item in built]
    forms, shared = forms_of(selected), settings.budget_context
    equal = budget.mode != "native" and budget.tokens is not None
    common = common_forms(settings.regime, forms)
    return metrics | {
        "dataset": dataset.name, "card": dataset.card.name,
        "corpus": dataset.corpus_digest, "gold": dataset.gold_digest,
        **({"gold_notes": list(dataset.notes)} if dataset.notes else {}),
        "method": method.name, "title": method.title, "edits": method.edits, "role": method.role,
        "verified": str(method.keys.verified).lower(), "parameters": dict(method.parameters),
        "settings": {**result_settings(settings), "method.name": method.name},
        "key": experiment.key, "commit": commit(), "selected": len(selected),
        **{name: getattr(settings, name) for name in _STATED},
        "evaluation": evaluation.model_dump(), "answer_forms": forms,
        "own_answers": own_answers(pipeline.operators()) if common else [],
        "budget_context": shared if isinstance(shared, int) and packers(pipeline) else None,
        "fill_context": ("on" if budget.filling else "off") if equal else None,
        "extraction": experiment.extraction, **_models(experiment), **_of_builds(recipes),
        "cost": cost(experiment, selected), **_counted(experiment, len(rows), metrics["answered"]),
    }  # fmt: skip


def _counted(experiment: Experiment, n_rows: int, n_answered: int) -> dict[str, Any]:
    """Return the values that need a tokenizer. Unchanged values are copied from `metrics.json`."""
    stored, settings = experiment.folder.metrics(), experiment.settings
    same = {"commit": commit(), "n": n_rows, "answered": n_answered}
    same |= {name: getattr(settings, name) for name in ("split", "limit", "dev_share")}
    if not commit().endswith("+") and same.items() <= stored.items():
        return {name: stored[name] for name in ("whole_corpus", "estimate")}
    loads = {
        row.step: asdict(row.expected if row.stage == "build" else row.most)
        for row in estimates(experiment, n_rows, n_answered, unpaid=False)
    }
    budget, pipeline = experiment.context_budget, experiment.method.pipeline
    return {"whole_corpus": holds_corpus(experiment.dataset, pipeline, budget), "estimate": loads}


def _models(experiment: Experiment) -> dict[str, Any]:
    models, needs = experiment.models, experiment.method.pipeline.needs()
    built = {need for item in experiment.plan for need in item.inputs}
    users = {"llm": needs, "llm_build": built, "embedder": needs | built, "tokenizer": needs}
    prices = {
        models.identity(name): f"{price.prompt:g} / {price.completion:g}"
        for name in ("llm", "llm_build")
        if name in needs | built and (price := getattr(models.unwrapped(name), "prices", None))
    }
    identities = {n: models.identity(n) if n in of else "" for n, of in users.items()}
    return {**identities, "prices": prices}


def _of_builds(recipes: Sequence[tuple[PlannedArtifact, Mapping[str, Any]]]) -> dict[str, Any]:
    """Return the statistics of all builds. Counts are summed over graphs; shares are averaged."""
    columns: dict[str, list[float]] = {}
    calls: dict[str, Counter[str]] = {}
    lengths: dict[tuple[str, str], TextLengths] = {}
    for item, recipe in recipes:
        counted = recipe.get("statistics", {})
        if item.resource in extractions() or "failed_chunks" in counted:
            for name, value in counted.items():
                columns.setdefault(name, []).append(value)
        if item.builder.calls:
            calls.setdefault(f"build {item.resource}", Counter()).update(recipe.get("calls", {}))
        if "embedder" in item.builder.needs and counted.get("window") is not None:
            key, own = (item.builder.name, counted["what"]), TextLengths.from_row(counted)
            lengths[key] = lengths[key].plus(own) if key in lengths else own
    return {
        "extraction_statistics": {
            name: round(fmean(of), 4) if name.endswith("_share") else sum(of)
            for name, of in columns.items()
        },
        "build_rates": {name: shares(total) for name, total in calls.items() if total["calls"]},
        "long_texts": [{"what": what, **asdict(of)} for (_, what), of in lengths.items()],
        "training": {
            item.resource: {name: recipe["statistics"][name] for name in ("trained_on", "whole")}
            for item, recipe in recipes
            if item.trained_on
        },
    }


def cost(experiment: Experiment, selected: Sequence[Question]) -> dict[str, Any]:
    """Return the paid and cached costs of a run by stage, step and question.

    Calls for questions that are not in `selected` are left out. Calls of an embedding API belong to
    no question.
    """
    every = read_ledger(*experiment.folder.files("ledger"), *experiment.ledgers(selected))
    ids = frozenset(question.id for question in selected)
    others = {question.id for question in experiment.dataset.questions} - ids
    lines = [line for line in every if line.stage == "build" or line.item not in others]
    online = [line for line in lines if line.stage != "build" and line.item in ids]
    steps, stages = lines_by(lines, "step"), lines_by(lines, "stage")
    groups = {"stages": stages, "steps": steps, "questions": lines_by(online, "item")}
    return {
        "total": sums(lines),
        **{kind: {name: sums(part) for name, part in by.items()} for kind, by in groups.items()},
        "models": models_of(lines),
        "mixed": any(len(models_of(part)) > 1 for part in steps.values()),
    }


def reopen(run: StoredRun, home: Path, changed: Mapping[str, Any] | None = None) -> Experiment:
    """Prepare a stored run again with `changed` settings. Raises UserError for an imported run."""
    run.require_steps()
    values = {**run.config, "paths": {"home": str(run.home or home)}, **(changed or {})}
    try:
        return Experiment.prepare(values, run.dataset, swept=True)  # the run may be a cell
    except UserError as error:
        if values["method"] != run.config["method"]:
            raise  # the change is invalid, not the run
        raise UserError(
            f"The settings of {run.folder.path} are not valid in this version: {error}"
        ) from error


@dataclass(frozen=True)
class References:
    """Keys of a run's artifacts by scope and resource. The scope of the whole corpus is None."""

    dataset: str  # the folder of the corpus in artifacts/
    keys: Mapping[str | None, Mapping[str, str]]
    shared: str = ""  # the shared store


def write_references(experiment: Experiment, selected: Sequence[Question]) -> None:
    """Add the artifacts of these questions to the list of artifacts in the run's folder."""
    folder, shared = experiment.folder, experiment.settings.paths.shared_artifacts
    stored = read_references(folder)
    keys = dict(stored.keys) if stored else {}
    for scope, models, _ in experiment.by_scope(selected):
        keys[scope] = {item.resource: item.key for item in experiment.plan_for(models)}
    ordered = sorted(keys.items(), key=lambda item: item[0] or "")
    rows = [{"scope": scope, "keys": own} for scope, own in ordered]
    references = {"dataset": safe_name(experiment.dataset.corpus_name), "artifacts": rows}
    where = {"shared": str(Path(shared).resolve())} if shared else {}
    folder.write_json(REFERENCES, references | where)


def read_references(folder: RunFolder) -> References | None:
    """Return a run's artifacts, or None if no list is stored. Raises DamagedRun for a bad list."""
    if not (stored := read_json(path := folder.path / REFERENCES)):
        return None
    try:
        keys = {row["scope"]: dict(row["keys"]) for row in stored["artifacts"]}
        return References(str(stored["dataset"]), keys, str(stored.get("shared", "")))
    except (LookupError, TypeError, ValueError) as error:
        raise DamagedRun(path, f"not a list of artifacts: {error}") from None
