"""The evidence funnel of a stored run: its rows compared with the chunks and graph it used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.artifacts.store import loaded
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Gold, documents_of
from graphrag_bench.errors import UserError
from graphrag_bench.explain.names import artifact_folder, artifact_roots
from graphrag_bench.explain.passages import Passage
from graphrag_bench.explain.stages import Fate, Funnel
from graphrag_bench.pipeline.steps import OperatorStep
from graphrag_bench.run.folder import Row
from graphrag_bench.run.record import documents_in
from graphrag_bench.run.results import References, read_references, reopened
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.values import DECIMALS, IntArray

RIGHT = ("accuracy", "hit")
"""The metric that says whether an answer is right: the first that the data set is scored by."""
_ROWS = ("relationships", "subgraph", "paths", "exploration")
"""The slots that hold rows of the graph which a method without chunks has retrieved."""
_STARTS = ("nodes", "step_nodes", "relationships")
"""The slots that hold rows of the graph which a first step may find."""
_OF_THE_GRAPH = frozenset({
    "nodes", "relationships", "communities", "node_scores", "relationship_scores", "chunk_scores",
    "chunks", "step_nodes", "subgraph", "paths", "exploration", "context",
})  # fmt: skip
"""Slots that hold what was found; a step that reads none of them comes from the question."""
_UNKNOWN = "extracted, linked, not cut, in the prompt: an imported run has no steps"


@dataclass(frozen=True)
class Built:
    """What a run was made over, as far as it is still there.

    `documents` are the ids of the corpus, `entries` the labels of the steps that come from the
    question to rows of the graph, `stages` those that the method has.
    """

    documents: frozenset[str]
    chunks: ChunkTable | None
    graph: Graph | None
    entries: frozenset[str]
    stages: frozenset[str]

    @cached_property
    def states_relationships(self) -> bool:
        """Whether chunks state the relationships of the graph; else its nodes alone are from them.

        They do not where every node is a chunk: what joins two chunks is stated by neither.
        """
        if self.graph is None or not self.graph.relationship_chunk.nnz:
            return False
        chunks = self.graph.node_chunk
        one_each = chunks.shape[0] == chunks.shape[1] == chunks.nnz
        return not (one_each and np.array_equal(chunks.indices, np.arange(chunks.nnz)))

    def nodes_of(self, passage: Passage) -> IntArray:
        """Return the nodes that a passage names, the ends of what it states too."""
        return passage.rows["nodes"] if self.states_relationships else passage.named


_IMPORTED = Built(frozenset(), None, None, frozenset(), frozenset({"retrieved", "answered"}))
"""What is known of somebody else's results: no chunks, graph or context."""


def answered_right(scores: Mapping[str, float]) -> bool | None:
    """Return whether a question was answered right, None without an answer or gold."""
    return next((scores[one] >= 0.5 for one in RIGHT if one in scores), None)


def run_funnel(run: StoredRun, home: Path) -> Funnel:
    """Return where a stored run lost its evidence. Calls no model and builds nothing.

    `home` holds artifacts/ when the folder of the run is not in a runs/ folder. Of an imported run
    the stages from `retrieved` on are known. Raises UserError when the data set is not at hand, or
    none of the questions has evidence.
    """
    run.require_dataset()
    names = [name for name in run.rows if name in run.gold and run.gold[name].evidence]
    if not names:
        raise UserError(f"No question of {run.folder.path} has gold evidence: there is no funnel.")
    finder = None if run.imported else _Finder(run, home)
    stages = finder.stages if finder else _IMPORTED.stages
    missing = finder.missing if finder else {_UNKNOWN: None}
    by_question: dict[str, list[Fate]] = {}
    for scope in dict.fromkeys(run.scopes[name] for name in names):
        built = finder.built(scope) if finder else _IMPORTED
        for name in names:
            if run.scopes[name] == scope:
                right = answered_right(run.scores.get(name, {}))
                by_question[name] = fates_of(run.rows[name], run.gold[name], built, right)
    every = [fate for name in names for fate in by_question[name]]
    if all(fate.verdicts["answered"] is None for fate in every):
        stages -= {"answered"}
    if "linked" in stages and not any("trace" in run.rows[name] for name in names):
        missing["linked: the rows hold no trace (trace=off)"] = None
    return Funnel(
        stages,
        tuple(every),
        title=str(run.metrics["title"]),
        dataset=str(run.metrics["dataset"]),
        folder=run.folder.path,
        n_rows=len(run.rows),
        unknown=tuple(missing),
    )


class _Finder:
    """The artifacts of a run's questions, and in `missing` why some are not there."""

    def __init__(self, run: StoredRun, home: Path) -> None:
        experiment = reopened(run, home)
        self.references = read_references(run.folder) or References("", {})
        self.roots = artifact_roots(run, self.references, home)
        self.missing: dict[str, None] = {}
        steps = [op for step in experiment.method.pipeline.steps() for op in step.operators()]
        self.entries = frozenset(step.label for step in steps if _is_entry(step))
        self.ids = frozenset(document.id for document in experiment.dataset.documents)
        writes = {slot for step in steps for slot in step.operator.returns}
        writes |= experiment.method.first_slots
        stages = {"replied", "answered"}
        if {"chunks", *_ROWS} & writes:
            stages |= {"corpus", "chunk", "retrieved"}
        if "graph" in experiment.method.pipeline.needs():
            stages |= {"corpus", "chunk", "extracted"} | ({"linked"} if self.entries else set())
        if "context" in writes:
            stages |= {"corpus", "chunk", "cut", "prompt"}
        self.stages = frozenset(stages)

    def built(self, scope: str | None) -> Built:
        keys = self.references.within(scope)
        chunks = self._artifact("chunk_table", ChunkTable, keys, "chunk")
        graph = None
        if "extracted" in self.stages:
            graph = self._artifact("graph", Graph, keys, "extracted, linked")
        return Built(self.ids, chunks, graph, self.entries, self.stages)

    def _artifact(self, resource: str, kind: Any, keys: Mapping[str, str], stages: str) -> Any:
        if (folder := artifact_folder(resource, self.roots, keys)) is not None:
            return loaded(kind, folder)
        reason = f"which {resource} the run used is not known"
        if resource in keys:
            reason = f"the {resource} is gone ({self.roots[0] / resource / keys[resource]})"
        self.missing[f"{stages}: {reason}"] = None
        return None


def _is_entry(step: OperatorStep) -> bool:
    return bool(set(_STARTS).intersection(step.operator.returns)) and not any(
        read.slot in _OF_THE_GRAPH and (not read.optional or read.slot in step.use)
        for read in step.operator.reads
    )


def fates_of(row: Row, gold: Gold, built: Built, right: bool | None) -> list[Fate]:
    """Return the fate of each item in a question's evidence; a file has the best of its parts."""
    parts = {name: documents_of(gold, name) for name in gold.evidence}
    every = fates(row, [one for documents in parts.values() for one in documents], built, right)
    by_document = {fate.document: fate for fate in every}
    best = []
    for name, documents in parts.items():
        fates_of_parts = [by_document[one] for one in documents]
        verdicts: dict[str, bool | None] = {}
        for stage in dict.fromkeys(stage for part in fates_of_parts for stage in part.verdicts):
            reached = [part.verdicts.get(stage) for part in fates_of_parts]
            verdicts[stage] = True if True in reached else None if None in reached else False
        best.append(Fate(row["question"], name, verdicts))
    return best


def fates(row: Row, evidence: Sequence[str], built: Built, right: bool | None) -> list[Fate]:
    """Return the fate of each document in a question's evidence, in order, each once.

    A document counts as extracted when one of its chunks states a relationship of the graph (or
    has a node, where chunks state none); as linked when the rows that the first steps found hold
    one of its nodes, or are joined to one through the relationships among the nodes of the
    question's evidence and through synonymy; as in the prompt when a text of it stands in the
    context; as retrieved when it is in the prompt, or a chunk of it was ranked, or a row of the
    graph that it states found. Where a document has several chunks any of them counts. Of a
    failure only what was written before it is known.
    """
    chunks = ChunkTable.of([]) if built.chunks is None else built.chunks
    passages = [Passage(one, chunks, built.graph) for one in dict.fromkeys(evidence)]
    trace = _Trace(row, built)
    linked = trace.linked(passages) if "linked" in built.stages else None
    fates = []
    for passage in passages:
        verdicts = trace.verdicts(passage)
        if linked is not None and "extracted" in verdicts:
            verdicts["linked"] = bool(verdicts["extracted"]) and passage.document in linked
        verdicts |= {"replied": row["status"] != "failed", "answered": right}
        had = {stage: verdict for stage, verdict in verdicts.items() if stage in built.stages}
        fates.append(Fate(row["question"], passage.document, had))
    return fates


class _Trace:
    """What a row says of its steps: the last value of each slot, its context, rows of the graph."""

    def __init__(self, row: Row, built: Built) -> None:
        self.row, self.built = row, built
        self.last: dict[str, Any] = {}
        for step in row.get("trace", ()):
            self.last.update(step["wrote"])
        self.context = row.get("context") or self.last.get("context")
        context = self.context or {}
        self.documents = [documents_in(piece) for piece in context.get("pieces", ())]
        self.cut = {(kind, name) for kind, name in context.get("cut", ())}
        self.hits = {at for slot in _ROWS for at in _relationship_rows(self.last.get(slot))}

    def verdicts(self, passage: Passage) -> dict[str, bool | None]:
        built = self.built
        verdicts: dict[str, bool | None] = {"corpus": passage.document in built.documents}
        if built.chunks is not None:
            verdicts["chunk"] = len(passage.rows["chunks"]) > 0
            if built.graph is not None:
                stated = passage.rows["relationships"]
                stated = stated if built.states_relationships else passage.named
                verdicts["extracted"] = len(stated) > 0
        in_prompt = self._in_prompt(passage.document)
        retrieved = verdicts["retrieved"] = in_prompt or self._retrieved(passage)
        if not in_prompt and self._names(passage) & self.cut:
            verdicts["cut"] = False
        elif in_prompt or (retrieved and in_prompt is False):
            verdicts["cut"] = True
        verdicts["prompt"] = in_prompt
        return verdicts

    def _in_prompt(self, document: str) -> bool | None:
        if self.context is None:
            return None
        if any(document in names for names in self.documents if names is not None):
            return True
        return None if None in self.documents else False

    def _retrieved(self, passage: Passage) -> bool | None:
        if "documents" in self.row:
            return passage.document in self.row["documents"]
        if "chunks" in self.last and self.built.chunks is not None:
            return bool(set(passage.rows["chunks"].tolist()) & set(self.last["chunks"]["ids"]))
        if self.row["status"] == "failed" or "trace" not in self.row:
            return None
        if self.built.graph is None:
            return None if self.hits else False
        return bool(self.hits & set(passage.rows["relationships"].tolist()))

    def _names(self, passage: Passage) -> set[tuple[str, str]]:
        """The kinds and ids under which a context may name a passage; paths count from the best."""
        names = {("chunk", passage.document)}
        graph = self.built.graph
        if graph is None or self.built.chunks is None:
            return names
        rows = set(passage.rows["relationships"].tolist())
        names |= {("relationship", str(row)) for row in rows}
        if graph.descriptions is not None:
            names |= {("node", graph.names[row]) for row in self.built.nodes_of(passage).tolist()}
        paths: list[dict[str, Any]] = self.last.get("paths") or []
        if not any(path["transition"] for path in paths):
            paths = sorted(
                paths, key=lambda p: (-round(p["score"], DECIMALS), len(p["nodes"]), p["nodes"])
            )
            hits = [bool(rows.intersection(path["relationships"])) for path in paths]
            names |= {("path", str(place)) for place, one in enumerate(hits) if one}
        return names

    def _starts(self, graph: Graph) -> IntArray | None:
        """The nodes that the first steps found, ends of relationships too; None for no trace."""
        steps = [s for s in self.row.get("trace", ()) if s["step"] in self.built.entries]
        wrote = [step["wrote"] for step in steps if step["wrote"]]
        if not wrote:
            return None
        slots = [one[slot]["ids"] for one in wrote for slot in _STARTS[:2] if slot in one]
        rows = [row for one in wrote for row in _relationship_rows(one.get("relationships"))]
        ends = np.array(rows, np.int64)
        nodes = [np.array(ids, np.int64) for ids in slots]
        return np.unique(np.concatenate([*nodes, graph.source[ends], graph.target[ends]]))

    def linked(self, passages: Sequence[Passage]) -> set[str] | None:
        """The documents that the first steps reach through what the evidence states."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        graph = self.built.graph
        if graph is None or self.built.chunks is None or (starts := self._starts(graph)) is None:
            return None
        nodes = {passage.document: self.built.nodes_of(passage) for passage in passages}
        inside = np.zeros(graph.n_nodes, bool)
        for own in nodes.values():
            inside[own] = True
        near = inside.copy()
        near[starts] = True
        joined = (inside[graph.source] & inside[graph.target]) | (
            graph.synonym & near[graph.source] & near[graph.target]
        )
        sources, targets = [graph.source[joined]], [graph.target[joined]]
        if not self.built.states_relationships:
            sources += [own[:-1] for own in nodes.values()]
            targets += [own[1:] for own in nodes.values()]
        ends = np.concatenate(sources), np.concatenate(targets)
        edges = coo_array((np.ones(len(ends[0])), ends), shape=(graph.n_nodes, graph.n_nodes))
        component = connected_components(edges, directed=False)[1]
        reached = np.isin(component, component[starts])
        return {document for document, own in nodes.items() if reached[own].any()}


def _relationship_rows(value: Any) -> list[int]:
    if isinstance(value, list):
        return [row for path in value for row in path["relationships"]]
    if not isinstance(value, dict):
        return []
    if "rounds" in value:
        return [row for hops in value["rounds"] for row in hops["ids"]]
    return list(value["relationships"] if "relationships" in value else value.get("ids", ()))
