"""The evidence funnel of a stored run, from its rows, chunks and graph; nothing is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphrag_bench.analysis.funnel.fates import STARTS, Built, fates_of
from graphrag_bench.analysis.funnel.stages import STAGES, Fate, Funnel, funnel
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.reopen import References, read_references, references_of, reopened
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.recipe import is_stored, read_recipe
from graphrag_bench.offline.store import loaded
from graphrag_bench.pipeline.steps import OperatorStep
from graphrag_bench.runs.stored import StoredRun

_RIGHT = ("accuracy", "hit")
"""The metric that says whether an answer is right: the first that the data set is scored by."""

_OF_THE_GRAPH = frozenset({
    "nodes", "relationships", "communities", "node_scores", "relationship_scores", "chunk_scores",
    "chunks", "step_nodes", "subgraph", "paths", "exploration", "context",
})  # fmt: skip
"""Slots that hold what was found; a step that reads none of them comes from the question."""

_IMPORTED = Built(frozenset(), None, None, frozenset(), frozenset({"retrieved", "answered"}))
"""What is known of somebody else's results: no chunks, graph or context."""
_NOT_TOLD = "extracted, linked, not cut, in the prompt: an imported run has no steps"


@dataclass(frozen=True)
class RunFunnel:
    """The funnel of one run; `unknown` says which stages cannot be told, and why."""

    title: str
    folder: Path
    dataset: str
    n_rows: int
    funnel: Funnel
    unknown: tuple[str, ...]


def run_funnel(run: StoredRun, home: Path, shared: str | None = None) -> RunFunnel:
    """Where a stored run lost its evidence. Calls no model and builds nothing.

    `home` holds artifacts/ when the folder of the run is not in a runs/ folder; `shared` is a
    second artifacts/ folder that the run read. Of an imported run the stages from `retrieved` on
    are known. Raises UserError when the data set is not at hand, or none of the questions has
    evidence.
    """
    if run.dataset is None:
        raise UserError(f"The data set of {run.folder.path} is not at hand; its gold is needed.")
    asked = [name for name in run.rows if name in run.gold and run.gold[name].evidence]
    if not asked:
        raise UserError(f"No question of {run.folder.path} has gold evidence: there is no funnel.")
    finder = None if run.imported else _finder(run, run.dataset, home, shared)
    stages = finder.stages if finder else _IMPORTED.stages
    missing = finder.missing if finder else {_NOT_TOLD: None}
    found: dict[str, list[Fate]] = {}
    for scope in dict.fromkeys(run.rows[name].get("scope") for name in asked):
        built = finder.built(scope) if finder else _IMPORTED
        for name in asked:
            if (row := run.rows[name]).get("scope") == scope:
                right = _right(run, name)
                found[name] = fates_of(row, run.gold[name], built, right)
    if not any(fate.right is not None for held in found.values() for fate in held):
        stages -= {"answered"}
    if "linked" in stages and not any("trace" in run.rows[name] for name in asked):
        missing["linked: the rows hold no trace (trace=off)"] = None
    made = funnel(sorted(stages), [fate for name in asked for fate in found[name]])
    title, dataset = str(run.metrics["title"]), str(run.metrics["dataset"])
    return RunFunnel(title, run.folder.path, dataset, len(run.rows), made, tuple(missing))


def _finder(run: StoredRun, dataset: Dataset, home: Path, shared: str | None) -> _Finder:
    experiment = reopened(run, home, shared)
    references = read_references(run.folder)
    if references is None and experiment.key == run.folder.path.name:
        questions = [q for q in dataset.questions if q.id in run.rows]
        references = references_of(experiment, questions)
    return _Finder(experiment, references or References("", {}))


def _right(run: StoredRun, question: str) -> bool | None:
    scores = run.scores.get(question, {})
    return next((scores[name] >= 0.5 for name in _RIGHT if name in scores), None)


def stages_of(experiment: Experiment) -> frozenset[str]:
    """The stages that the method of an experiment has."""
    pipeline = experiment.method.pipeline
    steps = [op for step in pipeline.steps() for op in step.operators()]
    writes = {slot for op in steps for slot in op.operator.returns} | experiment.method.given_slots
    needs = pipeline.needs()
    found = {"replied", "answered"}
    if {"chunks", "relationships", "subgraph", "paths", "exploration"} & writes:
        found |= {"corpus", "chunk", "retrieved"}
    if "graph" in needs:
        found |= {"corpus", "chunk", "extracted"}
        found |= {"linked"} if _entries(steps) else set()
    if "context" in writes:
        found |= {"corpus", "chunk", "cut", "prompt"}
    assert found <= set(STAGES)
    return frozenset(found)


def _entries(steps: Sequence[OperatorStep]) -> frozenset[str]:
    return frozenset(
        op.label
        for op in steps
        if set(STARTS).intersection(op.operator.returns)
        and not any(
            read.slot in _OF_THE_GRAPH and (not read.optional or read.slot in op.use)
            for read in op.operator.reads
        )
    )


class _Finder:
    def __init__(self, experiment: Experiment, references: References) -> None:
        self.experiment, self.references = experiment, references
        self.stages = stages_of(experiment)
        self.missing: dict[str, None] = {}
        steps = [op for step in experiment.method.pipeline.steps() for op in step.operators()]
        self.entries = _entries(steps)
        self.ids = frozenset(document.id for document in experiment.dataset.documents)

    def built(self, scope: str | None) -> Built:
        keys = self.references.within(scope)
        chunks = graph = None
        if (place := self._place("chunk_table", keys, "chunk")) is not None:
            chunks = loaded(ChunkTable, place)
        if "extracted" in self.stages:
            place = self._place("graph", keys, "extracted, linked")
            graph = loaded(Graph, place) if place is not None else None
        return Built(self.ids, chunks, graph, self.entries, self.stages)

    def _place(self, resource: str, keys: Mapping[str, str], stages: str) -> Path | None:
        if resource not in keys:
            self.missing[f"{stages}: which {resource} the run used is not known"] = None
            return None
        roots = [self.experiment.artifacts, self.experiment.shared_artifacts]
        places = [root / resource / keys[resource] for root in roots if root is not None]
        place = next((one for one in places if is_stored(one)), None)
        if place is None:
            self.missing[f"{stages}: the {resource} is gone ({places[0]})"] = None
            return None
        same = read_recipe(place).get("same_as")
        return self._place(same, keys, stages) if same else place
