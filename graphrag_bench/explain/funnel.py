"""The evidence funnel of a stored run, which shows how much gold evidence each stage loses."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import DECIMALS, IntArray
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Gold, item_documents
from graphrag_bench.errors import UserError
from graphrag_bench.explain.names import LocatedDocument, RunArtifacts, relationships_in
from graphrag_bench.report.rendering import Table
from graphrag_bench.report.rows import group_by
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.folder import Row
from graphrag_bench.run.record import documents_in
from graphrag_bench.run.results import reopen
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.text import counted

LABELS = {
    "corpus": "in corpus", "chunk": "in a chunk", "extracted": "extracted", "linked": "linked",
    "retrieved": "retrieved", "cut": "not cut", "prompt": "in the prompt",
    "replied": "not failed", "answered": "answered",
}  # fmt: skip
"""The stages in order, with a label for the documents that passed each stage."""
STAGES = tuple(LABELS)
_RETRIEVAL = ("retrieved", "cut", "prompt")
"""Stages that can recover evidence which an earlier stage missed, as a dense fallback does."""
_ROWS = ("relationships", "subgraph", "paths", "exploration")
"""Outputs with retrieved relationships, for methods that do not rank chunks."""
_STARTS = ("nodes", "step_nodes", "relationships")
"""Outputs of the first steps, which link the question to nodes or relationships."""
_OF_THE_GRAPH = frozenset({
    "nodes", "relationships", "communities", "node_scores", "relationship_scores", "chunk_scores",
    "chunks", "step_nodes", "subgraph", "paths", "exploration", "context",
})  # fmt: skip
"""Outputs of retrieval steps. A step that reads none of them starts from the question."""


@dataclass(frozen=True)
class EvidenceDocument:
    """A gold document of a question. `passed` maps each stage to True, False or None (no data)."""

    question: str
    document: str
    passed: Mapping[str, bool | None]

    @property
    def lost(self) -> str | None:
        """The stage at which the document was finally lost, or None."""
        found = [STAGES.index(stage) for stage in _RETRIEVAL if self.passed.get(stage)]
        after = STAGES[max(found, default=-1) + 1 :]
        return next((stage for stage in after if self.passed.get(stage) is False), None)

    def state(self, stage: str) -> str:
        """Return "passed", "lost", "absent" (lost before), "recovered" (found later), "unknown"."""
        passed = self.passed.get(stage)
        if self.lost and STAGES.index(stage) >= STAGES.index(self.lost):
            return "lost" if stage == self.lost else "absent"
        if passed is None and self.passed.get("replied") is not False:
            return "unknown"
        return "recovered" if passed is False else "passed"


@dataclass(frozen=True)
class StageCount:
    """The number of documents that a stage `lost`, and the number that remained (`rest`)."""

    stage: str
    lost: int
    rest: int
    recovered: int
    unknown: int


@dataclass(frozen=True)
class Funnel:
    """The gold documents of a run. `unknown` lists the reasons why stages have no data.

    An unavailable funnel has no documents, and `unknown` contains the reason.
    """

    method_stages: frozenset[str]
    documents: tuple[EvidenceDocument, ...]
    title: str = ""
    dataset: str = ""
    n_rows: int = 0
    unknown: tuple[str, ...] = ()

    @cached_property
    def lost(self) -> dict[str, str | None]:
        """The earliest stage at which each question lost evidence, or None."""
        stages = [*STAGES, None]
        by_question = group_by(self.documents, lambda one: one.question)
        return {name: stages[min(stages.index(one.lost) for one in of)]
                for name, of in by_question.items()}  # fmt: skip

    def counts(self) -> tuple[StageCount, ...]:
        """Return the counts of each stage. All `lost` plus the last `rest` are all documents."""
        rest, rows = len(self.documents), []
        failed = any(one.passed.get("replied") is False for one in self.documents)
        shown = self.method_stages - (set() if failed else {"replied"})
        for stage in filter(shown.__contains__, STAGES):
            n = Counter(one.state(stage) for one in self.documents)
            rest -= n["lost"]
            rows.append(StageCount(stage, n["lost"], rest, n["recovered"], n["unknown"]))
        return tuple(rows)


def stage_table(funnel: Funnel) -> Table:
    """Return the funnel as a table with a row for each stage."""
    rows = []
    for one in funnel.counts():
        cells = [str(one.rest), *(str(n or "") for n in (one.lost, one.recovered, one.unknown))]
        all_unknown = one.unknown and one.unknown == one.rest + one.lost
        rows.append((LABELS[one.stage], *(["?"] * 4 if all_unknown else cells)))
    n = counted(len(funnel.documents), "gold document")
    with_gold = f"{len(funnel.lost)} of {counted(funnel.n_rows, 'question')} with gold evidence"
    caption = f"{funnel.title} on {funnel.dataset}: {n}, {with_gold}"
    notes = (
        "a document is lost at the first stage that it does not pass; a later stage may find it",
        *(f"unknown: {reason}" for reason in funnel.unknown),
    )
    heads = ("stage", "left", "lost", "recovered later", "unknown")
    return Table(caption, heads, tuple(rows), notes, texts=heads[:1])


@dataclass(frozen=True)
class FunnelArtifacts:
    """The `documents` of a corpus, and the `stages` and artifacts (None if deleted) of a method."""

    documents: frozenset[str]
    chunks: ChunkTable | None
    graph: Graph | None
    entries: frozenset[str]
    """Labels of the steps that link a question to the graph."""
    stages: frozenset[str]

    @cached_property
    def states_relationships(self) -> bool:
        """Whether chunks state the relationships; false if the nodes of the graph are chunks."""
        if self.graph is None or not self.graph.relationship_chunk.nnz:
            return False
        chunks = self.graph.node_chunk
        one_each = chunks.shape[0] == chunks.shape[1] == chunks.nnz
        return not (one_each and np.array_equal(chunks.indices, np.arange(chunks.nnz)))

    def nodes_of(self, passage: LocatedDocument) -> IntArray:
        """Return the nodes that a document mentions, and the ends of its relationships."""
        return passage.rows["nodes"] if self.states_relationships else passage.named


def _entries_and_stages(experiment: Experiment) -> tuple[set[str], set[str]]:
    pipeline = experiment.method.pipeline
    steps = [op for step in pipeline.steps() for op in step.operators()]
    from_question = [one for one in steps if _OF_THE_GRAPH.isdisjoint(s.slot for s, _ in one.reads)]
    starts = [one for one in from_question if {*_STARTS} & {*one.operator.returns}]
    entries = {one.label for one in starts}
    writes = {slot for step in steps for slot in step.operator.returns}
    writes |= {"chunks"} if experiment.method.keys.given else set()
    stages = {"replied", "answered"}
    if {"chunks", *_ROWS} & writes:
        stages |= {"corpus", "chunk", "retrieved"}
    if "graph" in pipeline.needs():
        stages |= {"corpus", "chunk", "extracted"} | ({"linked"} if entries else set())
    if "context" in writes:
        stages |= {"corpus", "chunk", "cut", "prompt"}
    return entries, stages


def is_right(scores: Mapping[str, float]) -> bool | None:
    """Return whether a question was answered correctly; None without an answer or gold answer.

    >>> is_right({"accuracy": 1.0, "f1": 0.4}), is_right({"f1": 1.0})
    (True, None)
    """
    return next((scores[one] >= 0.5 for one in ("accuracy", "hit") if one in scores), None)


def run_funnel(run: StoredRun, home: Path) -> Funnel:
    """Return the funnel of a run. Raises UserError if data set or gold evidence is missing."""
    corpus = frozenset(document.id for document in run.require_dataset().documents)
    names = [name for name in run.rows if name in run.gold and run.gold[name].evidence]
    if not names:
        raise UserError(f"No question of {run.folder.path} has gold evidence.")
    entries, stages, unknown = set[str](), {"retrieved", "answered"}, []
    if run.imported:
        unknown = ["extracted, linked, not cut, in the prompt: an imported run has no steps"]
    else:
        entries, stages = _entries_and_stages(reopen(run, home))
    by_question: dict[str, list[EvidenceDocument]] = {}
    stored = RunArtifacts(run, home)
    for scope, of_scope in group_by(names, run.scopes.__getitem__).items():
        chunks, graph = (there := stored.of_scope(scope)).chunk_table, there.graph
        built = FunnelArtifacts(corpus, chunks, graph, frozenset(entries), frozenset(stages))
        if chunks is None and not run.imported:
            unknown.append("chunk: the chunks of the run were deleted")
        if graph is None and "extracted" in stages:
            unknown.append("extracted, linked: the graph of the run was deleted")
        for name in of_scope:
            right = is_right(run.scores.get(name, {}))
            by_question[name] = evidence_documents(run.rows[name], run.gold[name], built, right)
    every = tuple(one for name in names for one in by_question[name])
    if "linked" in stages and not any("trace" in run.rows[name] for name in names):
        unknown.append("linked: the run stored no trace of its steps (trace=off)")
    stages -= {"answered"} if all(one.passed["answered"] is None for one in every) else set()
    title, dataset = (str(run.metrics[name]) for name in ("title", "dataset"))
    notes = tuple(dict.fromkeys(unknown))
    return Funnel(frozenset(stages), every, title, dataset, len(run.rows), notes)


def available_funnel(run: StoredRun, home: Path) -> Funnel:
    """Return the funnel of a run. On a UserError, it is empty, and `unknown` has the message."""
    try:
        return run_funnel(run, home)
    except UserError as error:
        return Funnel(frozenset(), (), unknown=(str(error),))


def evidence_documents(
    row: Row, gold: Gold, artifacts: FunnelArtifacts, right: bool | None
) -> list[EvidenceDocument]:
    """Return the gold documents of a question and the stages that each document passed.

    The help of `show` defines the stages. A file that was split passes the stages that any of its
    parts passes. If the question failed, only the stages before the failure are known.
    """
    parts = {name: item_documents(gold, name) for name in gold.evidence}
    chunks = ChunkTable.of([]) if artifacts.chunks is None else artifacts.chunks
    every = chain.from_iterable(parts.values())
    passages = {one: LocatedDocument(one, chunks, artifacts.graph) for one in every}
    stored = _StoredRow(row, artifacts)
    of_question = {"replied": row["status"] != "failed", "answered": right}
    passed = {name: stored.passed(one) | of_question for name, one in passages.items()}
    if "linked" in artifacts.stages and (linked := stored.linked(passages)) is not None:
        for name, of in passed.items():
            of["linked"] = bool(of["extracted"]) and name in linked
    return [
        EvidenceDocument(row["question"], name,
                         {one: _any(passed[d].get(one) for d in of) for one in artifacts.stages})
        for name, of in parts.items()
    ]  # fmt: skip


def _any(states: Iterable[bool | None]) -> bool | None:
    """Return True if any state is true, else None if any state is unknown, else False."""
    known = [*states]
    return True if True in known else None if None in known else False


class _StoredRow:
    def __init__(self, row: Row, artifacts: FunnelArtifacts) -> None:
        self.row, self.artifacts = row, artifacts
        steps = row.get("trace", ())
        self.last = {slot: value for step in steps for slot, value in step["wrote"].items()}
        context = row.get("context") or self.last.get("context")
        self.documents = [documents_in(one) for one in context["pieces"]] if context else [None]
        self.cut = {(kind, name) for kind, name in context["cut"]} if context else set()
        self.found = {at for slot in _ROWS for at in relationships_in(self.last.get(slot))}

    def passed(self, passage: LocatedDocument) -> dict[str, bool | None]:
        artifacts, row, last, document = self.artifacts, self.row, self.last, passage.document
        chunks = {*passage.rows["chunks"].tolist()}
        stated = {*passage.rows.get("relationships", np.empty(0)).tolist()}
        in_prompt = _any(None if own is None else document in own for own in self.documents)
        ranked: bool | None = None
        if "documents" in row:
            ranked = document in row["documents"]
        elif "chunks" in last and artifacts.chunks is not None:
            ranked = not chunks.isdisjoint(last["chunks"]["ids"])
        elif row["status"] == "failed" or "trace" not in row:
            ranked = None
        elif artifacts.graph is not None or not self.found:
            ranked = bool(self.found & stated)
        passed: dict[str, bool | None] = {
            "corpus": document in artifacts.documents,
            "retrieved": in_prompt or ranked,
            "prompt": in_prompt,
        }
        if artifacts.chunks is not None:
            passed["chunk"] = bool(chunks)
            if artifacts.graph is not None:
                stating = artifacts.states_relationships
                passed["extracted"] = bool(stated) if stating else len(passage.named) > 0
        if not in_prompt and self._names(passage, stated) & self.cut:
            passed["cut"] = False
        elif in_prompt or (ranked and in_prompt is False):
            passed["cut"] = True
        return passed

    def _names(self, passage: LocatedDocument, stated: set[int]) -> set[tuple[str, str]]:
        """Return (kind, id) of context items made from a document; the id of a path is its rank."""
        names = {("chunk", passage.document)}
        graph = self.artifacts.graph
        if graph is None or self.artifacts.chunks is None:
            return names
        names |= {("relationship", str(row)) for row in stated}
        if graph.descriptions is not None:
            names |= {("node", graph.names[row]) for row in self.artifacts.nodes_of(passage)}
        paths: list[dict[str, Any]] = self.last.get("paths") or []
        if not any(path["transition"] for path in paths):
            paths = sorted(
                paths, key=lambda p: (-round(p["score"], DECIMALS), len(p["nodes"]), p["nodes"])
            )
            apart = [stated.isdisjoint(path["relationships"]) for path in paths]
            names |= {("path", str(place)) for place, one in enumerate(apart) if not one}
        return names

    def linked(self, passages: Mapping[str, LocatedDocument]) -> set[str] | None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        artifacts, graph = self.artifacts, self.artifacts.graph
        wrote = [step["wrote"] for step in self.row.get("trace", ())
                 if step["step"] in artifacts.entries and step["wrote"]]  # fmt: skip
        if graph is None or artifacts.chunks is None or not wrote:
            return None
        ranked = [one[slot] for one in wrote for slot in _STARTS[:2] if slot in one]
        found = [node for ranking in ranked for node in ranking["ids"]]
        rows = [row for one in wrote for row in relationships_in(one.get("relationships"))]
        starts = np.concatenate([np.array(found, int), graph.source[rows], graph.target[rows]])
        nodes = {name: artifacts.nodes_of(passage) for name, passage in passages.items()}
        inside = np.zeros(graph.n_nodes, bool)
        inside[np.concatenate([*nodes.values()])] = True
        near = inside.copy()
        near[starts] = True
        joined = inside[graph.source] & inside[graph.target]
        joined |= graph.synonym & near[graph.source] & near[graph.target]
        sources, targets = [graph.source[joined]], [graph.target[joined]]
        if not artifacts.states_relationships:
            sources += [own[:-1] for own in nodes.values()]
            targets += [own[1:] for own in nodes.values()]
        ends = np.concatenate(sources), np.concatenate(targets)
        edges = coo_array((np.ones(len(ends[0])), ends), shape=(graph.n_nodes, graph.n_nodes))
        component = connected_components(edges, directed=False)[1]
        reached = np.isin(component, component[starts])
        return {document for document, own in nodes.items() if reached[own].any()}
