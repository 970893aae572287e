"""What a run folder states: the metrics of its records and repeats, and what it refers to."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from graphrag_bench.artifacts.plan import Planned
from graphrag_bench.embedding.long_texts import Fit
from graphrag_bench.errors import UserError
from graphrag_bench.llm.ledger import grouped, models_of, read_ledger, sums
from graphrag_bench.pipeline.reader_prompts import common_forms, own_answers
from graphrag_bench.run.budgets import packers
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

StoredArtifact = tuple[Planned, Mapping[str, Any]]
"""An artifact, and what it was made of."""
_STATED = ("profile", "fidelity", "regime", "limit", "split", "dev_share", "answer")


def results(experiment: Experiment, selected: Sequence[Question]) -> dict[str, Any]:
    """Return what `metrics.json` holds: metrics of the selected questions, cost, what was used."""
    folder, settings, method = experiment.folder, experiment.settings, experiment.method
    dataset, evaluation = experiment.dataset, settings.evaluation
    by_id = folder.rows()
    rows = [by_id[question.id] for question in selected if question.id in by_id]
    scoring = scoring_of(dataset, evaluation, folder, by_id)
    metrics = score(rows, dataset.gold, folder.timing(), scoring)
    forms, shared = forms_of(selected), settings.budget_context
    recipes = list(_recipes(experiment, selected))
    common = common_forms(settings.regime, forms)
    return metrics | {
        "dataset": dataset.name,
        "card": dataset.card.name,
        "corpus": dataset.corpus_digest,
        "gold": dataset.gold_digest,
        "method": method.name,
        "title": method.title,
        "role": method.role,
        "verified": str(method.keys.verified).lower(),
        "parameters": dict(method.parameters),
        "settings": {**result_settings(settings), "method.name": method.name},
        "key": experiment.key,
        **{name: getattr(settings, name) for name in _STATED},
        "evaluation": evaluation.model_dump(),
        "answer_forms": forms,
        "own_answers": own_answers(method.pipeline.operators()) if common else [],
        "budget_context": shared if isinstance(shared, int) and packers(method.pipeline) else None,
        "fill_context": _filled(experiment),
        "commit": commit(),
        "extraction": experiment.extraction,
        "extraction_statistics": _statistics(recipes),
        **_models(experiment),
        "prices": _prices(experiment),
        "long_texts": _long_texts(recipes),
        "training": _training(recipes),
        "selected": len(selected),
        "build_rates": _build_rates(recipes),
        "cost": cost(experiment, selected),
        "estimate": _estimate(experiment, len(rows), metrics["answered"]),
    }


def _estimate(experiment: Experiment, n_rows: int, n_answered: int) -> dict[str, Any]:
    """Return the calls and tokens expected of each step, those stored by this code for the key.

    Loading a tokenizer to count them again is a third of the start of a finished run.
    """
    stored = experiment.folder.metrics()
    same = {"commit": commit(), "n": n_rows, "answered": n_answered}
    same |= {name: getattr(experiment.settings, name) for name in ("split", "limit", "dev_share")}
    if not commit().endswith("+") and same.items() <= stored.items():
        estimate: dict[str, Any] = stored["estimate"]
        return estimate
    rows = estimates(experiment, n_rows, n_answered, unpaid=False)
    return {row.step: asdict(row.expected if row.stage == "build" else row.most) for row in rows}


def _filled(experiment: Experiment) -> str | None:
    """Return whether an equal context budget is filled; None for a native one and without one."""
    budget = experiment.context_budget
    if budget.mode == "native" or budget.tokens is None:
        return None
    return "on" if budget.filling else "off"


def _models(experiment: Experiment) -> dict[str, str]:
    needs = experiment.method.pipeline.needs()
    built = {need for item in experiment.plan for need in item.inputs}
    users = {"llm": needs, "llm_build": built, "embedder": needs | built, "tokenizer": needs}
    identity = experiment.models.identity
    return {name: identity(name) if name in of else "" for name, of in users.items()}


def _prices(experiment: Experiment) -> dict[str, str]:
    """Return the prices of the language models that a run may call, by identity."""
    models = experiment.models
    priced = {
        name: getattr(models.unwrapped(name), "prices", None) for name in ("llm", "llm_build")
    }
    return {
        models.identity(name): f"{prices.prompt:g} / {prices.completion:g}"
        for name, prices in priced.items()
        if name in experiment.used and prices is not None
    }


def _recipes(experiment: Experiment, selected: Sequence[Question]) -> Iterator[StoredArtifact]:
    store = experiment.store()
    for item in experiment.artifacts_for(selected):
        if store.holds(item):
            yield item, store.recipe(item)


def _statistics(recipes: Sequence[StoredArtifact]) -> dict[str, Any]:
    """Add up what was counted in reading the chunks for every graph; a share is their mean."""
    columns: dict[str, list[float]] = {}
    for item, recipe in recipes:
        counted = recipe.get("statistics", {})
        if item.resource in extractions() or "failed_chunks" in counted:
            for name, value in counted.items():
                columns.setdefault(name, []).append(value)
    return {
        name: round(sum(of) / len(of), 4) if name.endswith("_share") else sum(of)
        for name, of in columns.items()
    }


def _build_rates(recipes: Sequence[StoredArtifact]) -> dict[str, dict[str, float]]:
    totals: dict[str, Counter[str]] = {}
    for item, recipe in recipes:
        if item.builder.calls:
            totals.setdefault(f"build {item.resource}", Counter()).update(recipe.get("calls", {}))
    return {name: shares(total) for name, total in totals.items() if total["calls"]}


def _long_texts(recipes: Sequence[StoredArtifact]) -> list[dict[str, Any]]:
    fits: dict[str, tuple[str, Fit]] = {}
    for item, recipe in recipes:
        row = recipe.get("statistics", {})
        if "embedder" in item.builder.needs and row.get("window") is not None:
            earlier, fit = fits.get(item.builder.name), Fit.of(row)
            fits[item.builder.name] = (row["what"], earlier[1].plus(fit) if earlier else fit)
    return [{"what": what, **fit.row} for what, fit in fits.values()]


def _training(recipes: Sequence[StoredArtifact]) -> dict[str, Any]:
    """What each trained artifact was trained on, and whether that was all there is."""
    rows = {item.resource: recipe["statistics"] for item, recipe in recipes if item.trained_on}
    return {name: {k: row[k] for k in ("trained_on", "whole")} for name, row in rows.items()}


def cost(experiment: Experiment, selected: Sequence[Question]) -> dict[str, Any]:
    """Return the ledgers' sums, paid and cached, by stage, step and question; building included."""
    lines = list(read_ledger(*experiment.folder.files("ledger"), *experiment.ledgers(selected)))
    ids = frozenset(question.id for question in selected)
    online = [line for line in lines if line.stage != "build" and line.item in ids]
    by_step = grouped(lines, "step")
    groups = {"stages": grouped(lines, "stage"), "steps": by_step,
              "questions": grouped(online, "item")}  # fmt: skip
    return {
        "total": sums(lines),
        **{kind: {name: sums(part) for name, part in by.items()} for kind, by in groups.items()},
        "models": models_of(lines),
        "mixed": any(len(models_of(part)) > 1 for part in by_step.values()),
    }


def reopen(run: StoredRun, home: Path, changed: Mapping[str, Any] | None = None) -> Experiment:
    """Prepare the experiment of a stored run with the code of today; nothing is run.

    Its home is the one that holds the run's folder, else `home`; `changed` replaces settings.
    Raises UserError for settings that are not valid any more, and for an imported run.
    """
    run.require_steps()
    values = {**run.config, "paths": {"home": str(run.home or home)}, **(changed or {})}
    try:
        return Experiment.prepare(values, run.dataset, swept=True)  # it may be a cell
    except UserError as error:
        raise UserError(
            f"The settings of {run.folder.path} are not valid with the code of today: {error}"
        ) from error


@dataclass(frozen=True)
class References:
    """The keys of a run's artifacts by resource, for each scope that has a graph of its own.

    A single graph has the scope None. `dataset` is the folder of the corpus below artifacts/,
    `shared` the second store that it read; "" for none.
    """

    dataset: str
    keys: Mapping[str | None, Mapping[str, str]]
    shared: str = ""

    def within(self, scope: str | None) -> Mapping[str, str]:
        """Return the keys of the graph of a question of this scope; none if unknown."""
        return self.keys.get(None if set(self.keys) == {None} else scope, {})

    @property
    def places(self) -> frozenset[str]:
        """All of them as `dataset/resource/key`, the paths below artifacts/."""
        places = (place for of_scope in self.keys.values() for place in of_scope.items())
        return frozenset(f"{self.dataset}/{resource}/{key}" for resource, key in places)


def write_references(experiment: Experiment, selected: Sequence[Question]) -> None:
    """Write what these questions and those of earlier calls need, and what it is built from."""
    folder, shared = experiment.folder, experiment.settings.paths.shared_artifacts
    stored = read_references(folder)
    keys = dict(stored.keys) if stored else {}
    for scope, models, _ in experiment.by_scope(selected):
        keys[scope] = {item.resource: item.key for item in experiment.plan_for(models)}
    ordered = sorted(keys, key=lambda scope: (scope is not None, scope or ""))
    rows = [{"scope": scope, "keys": dict(keys[scope])} for scope in ordered]
    references = {"dataset": safe_name(experiment.dataset.corpus_name), "artifacts": rows}
    where = {"shared": str(Path(shared).resolve())} if shared else {}
    folder.write_json(REFERENCES, {**references, **where})


def read_references(folder: RunFolder) -> References | None:
    """Read what a run refers to; None where it is not written down; raises DamagedRun."""
    path = folder.path / REFERENCES
    if not (stored := read_json(path)):
        return None
    try:
        keys = {row["scope"]: dict(row["keys"]) for row in stored["artifacts"]}
        return References(str(stored["dataset"]), keys, str(stored.get("shared", "")))
    except (LookupError, TypeError, ValueError) as error:
        raise DamagedRun(path, f"no list of artifacts: {error}") from None
