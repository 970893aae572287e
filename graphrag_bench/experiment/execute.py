"""Running an experiment: what is missing is built and answered, what is there is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.experiment import Experiment, safe_name
from graphrag_bench.experiment.groups import compose, names
from graphrag_bench.experiment.models import Models
from graphrag_bench.offline.store import Store
from graphrag_bench.pipeline.run import run
from graphrag_bench.pipeline.steps import World
from graphrag_bench.progress import Advance, Progress
from graphrag_bench.runs.folder import CONFIG, ENVIRONMENT, METRICS, RunFolder, write_whole
from graphrag_bench.runs.provenance import commit, environment
from graphrag_bench.runs.record import ledger_rows, record
from graphrag_bench.runs.scoring import score
from graphrag_bench.values import Chunk, Question, Ranked, RetrievalState


@dataclass(frozen=True)
class RunResult:
    """A finished run: its folder and what `metrics.json` holds."""

    folder: RunFolder
    metrics: Mapping[str, Any]


def execute(experiment: Experiment, progress: Progress | None = None) -> RunResult:
    """Build, retrieve, answer and score what the run folder does not hold yet.

    Failed questions are tried again. Raises UserError when another process is at work on the run.
    """
    shown = progress or Progress()
    folder = experiment.folder
    selected, to_answer = selection(experiment)
    with _alone(folder):
        _write_provenance(experiment, folder)
        late = [q for q in selected if q.id in to_answer]
        early = [q for q in selected if q.id not in to_answer]
        for questions, answering in ((late, True), (early, False)):
            done = folder.done(answering)
            todo = [question for question in questions if question.id not in done]
            if todo:
                _work(experiment, todo, answering, shown)
        folder.finish([question.id for question in experiment.dataset.questions])
        metrics = _score(experiment, selected)
        folder.write_json(METRICS, metrics)
    return RunResult(folder, metrics)


def selection(experiment: Experiment) -> tuple[list[Question], frozenset[str]]:
    """The questions of this call, types mixed, and the ids of those to be answered."""
    settings = experiment.settings
    selected = list(experiment.dataset.interleaved())[: settings.limit]
    n_answers = {"on": len(selected), "off": 0}.get(str(settings.answer), settings.answer)
    return selected, frozenset(question.id for question in selected[: int(n_answers)])


@contextmanager
def _alone(folder: RunFolder) -> Iterator[None]:
    from filelock import FileLock, Timeout

    folder.path.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder.path / "run.lock", timeout=0):
            yield
    except Timeout:
        raise UserError(f"Another process is at work on this run: {folder.path}") from None


def _work(
    experiment: Experiment, questions: Sequence[Question], answering: bool, progress: Progress
) -> None:
    label = f"{experiment.method.name}: {'answering' if answering else 'retrieving'}"
    groups: dict[str | None, list[Question]] = {}
    models: dict[str | None, Models] = {}
    if experiment.settings.graph.scope == "all":
        groups, models = {None: list(questions)}, {None: experiment.models}
    else:
        for question in questions:
            groups.setdefault(question.scope, []).append(question)
        for scope in groups:
            models[scope] = Models(experiment.settings, experiment.dataset.within(scope))
            for name in ("embedder", "nlp", "llm", "llm_build"):
                if name in vars(experiment.models):
                    vars(models[scope])[name] = vars(experiment.models)[name]
    for scope, part in groups.items():
        resources = build_resources(experiment, models[scope], progress, answering)
        with progress.task(label, len(part)) as advance:
            _run_block(experiment, part, resources, answering, advance)


def build_resources(
    experiment: Experiment, models: Models, progress: Progress, answering: bool = True
) -> dict[str, Any]:
    """The artifacts and models that the steps need, built where they are missing."""
    store = Store(experiment.home / "artifacts" / safe_name(experiment.dataset.name), progress)
    needs = experiment.method.pipeline.needs(answering)
    wanted = {name for name in experiment.wanted if name in needs} | {"chunk_table"}
    resources = store.resources(experiment.plan_for(models), wanted, models)
    return resources | {name: models[name] for name in Models.NAMES if name in needs}


def _run_block(
    experiment: Experiment,
    questions: Sequence[Question],
    resources: Mapping[str, Any],
    answering: bool,
    advance: Advance,
) -> None:
    world = World(resources, experiment.settings.workers)
    table: ChunkTable = resources["chunk_table"]
    finished = run(
        questions, experiment.method.pipeline, world, answering=answering,
        start=lambda question: start_state(experiment, question, table),
    )  # fmt: skip
    for one in finished:
        row = record(one, table, experiment.settings.trace)
        experiment.folder.append(row, ledger_rows(one))
        advance(1)


def start_state(experiment: Experiment, question: Question, table: ChunkTable) -> RetrievalState:
    """The state before the first step: with the gold passages where the method is given them."""
    state = RetrievalState(question)
    if experiment.method.given != "gold_chunks":
        return state
    rows = {name: row for row, name in enumerate(table.documents)}
    by_document = table.chunk_document.T.tocsr()
    evidence = [
        rows[name] for name in experiment.dataset.gold[question.id].evidence if name in rows
    ]
    ids = [int(chunk) for row in evidence for chunk in sorted(by_document[row].indices)]
    chunks = np.array(list(dict.fromkeys(ids)), np.int64)
    return state.write({"chunks": Ranked[Chunk](chunks, np.ones(len(chunks)))})


def _write_provenance(experiment: Experiment, folder: RunFolder) -> None:
    values = experiment.settings.model_dump(exclude={"paths"})
    text = yaml.safe_dump(values, sort_keys=True, allow_unicode=True)
    write_whole(folder.path / CONFIG, text)
    if not (folder.path / ENVIRONMENT).is_file():
        folder.write_json(ENVIRONMENT, environment(experiment.settings.seed))


def _score(experiment: Experiment, selected: Sequence[Question]) -> dict[str, Any]:
    """Metrics of the selected questions, with what a table must say about them."""
    held = experiment.folder.rows()
    rows = [held[question.id] for question in selected if question.id in held]
    settings = experiment.settings
    metrics = score(
        rows,
        experiment.dataset.gold,
        experiment.folder.ledger(),
        settings.evaluation.cuts,
        settings.evaluation.containment,
    )
    models = experiment.models
    needs = experiment.method.pipeline.needs()
    return metrics | {
        "dataset": experiment.dataset.name,
        "method": experiment.method.name,
        "title": experiment.method.title,
        "role": experiment.method.role,
        "parameters": dict(experiment.method.parameters),
        "key": experiment.key,
        "limit": settings.limit,
        "answer": settings.answer,
        "commit": commit(),
        "extraction": experiment.extraction,
        "extraction_statistics": _statistics(experiment),
        "llm": models.identity("llm") if "llm" in needs else "",
        "llm_build": models.identity("llm_build") if _built_by_llm(experiment) else "",
        "embedder": models.identity("embedder") if _uses(experiment, "embedder") else "",
    }


def _statistics(experiment: Experiment) -> dict[str, Any]:
    """What the extraction reports about itself, where it is built; empty otherwise."""
    store = Store(experiment.home / "artifacts" / safe_name(experiment.dataset.name))
    found = [item for item in experiment.plan if item.resource == "extraction"]
    recipes = [store.recipe(item) for item in found if store.holds(item)]
    return dict(recipes[0].get("statistics", {})) if recipes else {}


def _uses(experiment: Experiment, name: str) -> bool:
    planned = {need for item in experiment.plan for need in item.inputs}
    return name in planned | experiment.method.pipeline.needs()


def _built_by_llm(experiment: Experiment) -> bool:
    return any("llm_build" in item.inputs for item in experiment.plan)


def framed(experiment: Experiment) -> list[dict[str, Any]]:
    """The settings of the floor and ceiling runs that frame this one in a table.

    None when nothing is answered or `frame=off`; no ceiling for a set without evidence.
    """
    settings = experiment.settings
    if settings.frame == "off" or not settings.answering:
        return []
    has_gold = any(gold.evidence for gold in experiment.dataset.gold.values())
    values = {**settings.model_dump(), "build": {}}
    methods = [compose({"method": name}, {})["method"] for name in names("method")]
    roles = ("floor", "ceiling") if has_gold else ("floor",)
    return [
        {**values, "method": method}
        for role in roles
        for method in methods
        if method.get("role") == role
    ]
