"""The evidence funnel of a stored run: what each stage lost of the gold evidence.

The rows of the run are compared with the chunks and the graph that it used.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Gold, documents_of
from graphrag_bench.errors import UserError
from graphrag_bench.explain.names import LocatedDocument, RunArtifacts, relationships_in
from graphrag_bench.report.rendering import Table
from graphrag_bench.report.rows import grouped
from graphrag_bench.run.folder import Row
from graphrag_bench.run.record import documents_in
from graphrag_bench.run.results import reopened
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.values import DECIMALS, IntArray

LABELS = {
    "corpus": "in corpus",
    "chunk": "in a chunk",
    "extracted": "extracted",
    "linked": "linked",
    "retrieved": "retrieved",
    "cut": "not cut",
    "prompt": "in the prompt",
    "replied": "not failed",
    "answered": "answered",
}
"""The stages of a run in order, and what a document that passed each of them is."""
STAGES = tuple(LABELS)
_RETRIEVAL = ("retrieved", "cut", "prompt")
"""Stages at which evidence that an earlier stage has lost may be found on another way."""
State = Literal["passed", "lost", "otherwise", "unknown", "gone"]
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


@dataclass(frozen=True)
class EvidenceDocument:
    """A document in the evidence of a question, and which stages of the method it passed.

    `passed` is None for a stage of which this is not known.
    """

    question: str
    document: str
    passed: Mapping[str, bool | None]

    @property
    def lost(self) -> str | None:
        """The first stage that it did not pass, None where it passed all that are known.

        A stage that was not passed does not count when a later one, up to the prompt, was.
        """
        found = [STAGES.index(stage) for stage in _RETRIEVAL if self.passed.get(stage)]
        after = STAGES[max(found, default=-1) + 1 :]
        return next((stage for stage in after if self.passed.get(stage) is False), None)

    def state(self, stage: str) -> State:
        """Return what became of it at a stage.

        It is "gone" behind the stage that lost it, and "otherwise" where it did not pass and was
        found on another way. Of a question that failed nothing is "unknown".
        """
        end = STAGES.index(self.lost) if self.lost else len(STAGES)
        if STAGES.index(stage) >= end:
            return "lost" if stage == self.lost else "gone"
        if self.passed.get(stage) is False:
            return "otherwise"
        failed = self.passed.get("replied") is False
        return "unknown" if self.passed.get(stage) is None and not failed else "passed"


@dataclass(frozen=True)
class StageCount:
    """The documents that a stage `lost`, and the `rest` behind it.

    `otherwise` and `unknown` count the documents of these states.
    """

    stage: str
    lost: int
    rest: int
    otherwise: int
    unknown: int


@dataclass(frozen=True)
class Funnel:
    """The evidence of a run, over the stages that its method `has`.

    `unknown` says which stages are not known, and why.
    """

    has: frozenset[str]
    documents: tuple[EvidenceDocument, ...]
    title: str = ""
    dataset: str = ""
    n_rows: int = 0
    unknown: tuple[str, ...] = ()

    @property
    def stages(self) -> list[str]:
        """The stages in order; `replied` is left out when no question failed."""
        failed = any(one.passed.get("replied") is False for one in self.documents)
        return [stage for stage in STAGES if stage in self.has and (stage != "replied" or failed)]

    @cached_property
    def lost(self) -> dict[str, str | None]:
        """The earliest stage at which each question lost any evidence, None for no loss."""
        lost: dict[str, list[str]] = {}
        for one in self.documents:
            lost.setdefault(one.question, []).extend([one.lost] if one.lost else [])
        return {name: min(stages, key=STAGES.index, default=None) for name, stages in lost.items()}

    def counts(self) -> tuple[StageCount, ...]:
        """Return a row for each stage; the losses and what is left in the end sum to all."""
        rest, rows = len(self.documents), []
        for stage in self.stages:
            n = Counter(one.state(stage) for one in self.documents)
            rest -= n["lost"]
            rows.append(StageCount(stage, n["lost"], rest, n["otherwise"], n["unknown"]))
        return tuple(rows)


def stage_table(funnel: Funnel) -> Table:
    """Return a row for each stage: the documents left behind it, and those that it lost."""
    rows = []
    for one in funnel.counts():
        cells = [str(one.rest), *(str(n or "") for n in (one.lost, one.otherwise, one.unknown))]
        all_unknown = one.unknown and one.unknown == one.rest + one.lost
        rows.append((LABELS[one.stage], *(["?"] * 4 if all_unknown else cells)))
    n = f"{len(funnel.documents)} documents of evidence, {len(funnel.lost)} of {funnel.n_rows}"
    caption = f"{funnel.title} on {funnel.dataset}: {n} questions have some"
    notes = (
        "documents, each lost at the first stage that it did not pass",
        *(f"not known: {reason}" for reason in funnel.unknown),
    )
    heads = ("stage", "left", "lost", "found otherwise", "not known")
    return Table(caption, heads, tuple(rows), notes, texts=heads[:1])


@dataclass(frozen=True)
class FunnelArtifacts:
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

    def nodes_of(self, passage: LocatedDocument) -> IntArray:
        """Return the nodes that a passage names, the ends of what it states too."""
        return passage.rows["nodes"] if self.states_relationships else passage.named


_IMPORTED = FunnelArtifacts(
    frozenset(), None, None, frozenset(), frozenset({"retrieved", "answered"})
)
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
        raise UserError(f"No question of {run.folder.path} has gold evidence.")
    reader = None if run.imported else _ArtifactReader(run, home)
    by_question: dict[str, list[EvidenceDocument]] = {}
    for scope, of_scope in grouped(names, run.scopes.__getitem__).items():
        artifacts = reader.of_scope(scope) if reader else _IMPORTED
        for name in of_scope:
            right = answered_right(run.scores.get(name, {}))
            by_question[name] = of_evidence(run.rows[name], run.gold[name], artifacts, right)
    every = tuple(one for name in names for one in by_question[name])
    stages = reader.stages if reader else _IMPORTED.stages
    if all(one.passed["answered"] is None for one in every):
        stages -= {"answered"}
    unknown = ["extracted, linked, not cut, in the prompt: an imported run has no steps"]
    if reader:
        unknown = list(dict.fromkeys(reader.missing))
        if "linked" in stages and not any("trace" in run.rows[name] for name in names):
            unknown.append("linked: the rows hold no trace (trace=off)")
    title, dataset = (str(run.metrics[name]) for name in ("title", "dataset"))
    return Funnel(stages, every, title, dataset, len(run.rows), tuple(unknown))


def funnel_or_reason(run: StoredRun, home: Path) -> Funnel | str:
    """Return the funnel of a run, or why there is none."""
    try:
        return run_funnel(run, home)
    except UserError as error:
        return str(error)


class _ArtifactReader:
    """Reader of the artifacts of a run's questions; `missing` says which are not there."""

    def __init__(self, run: StoredRun, home: Path) -> None:
        experiment = reopened(run, home)
        self.artifacts, self.missing = RunArtifacts(run, home), list[str]()
        steps = [op for step in experiment.method.pipeline.steps() for op in step.operators()]
        from_question = [one for one in steps if not {s.slot for s, _ in one.reads} & _OF_THE_GRAPH]
        starts = [one for one in from_question if {*_STARTS} & {*one.operator.returns}]
        self.entries = frozenset(one.label for one in starts)
        self.ids = frozenset(document.id for document in experiment.dataset.documents)
        writes = {slot for step in steps for slot in step.operator.returns}
        writes |= experiment.method.keys.first_slots
        stages = {"replied", "answered"}
        if {"chunks", *_ROWS} & writes:
            stages |= {"corpus", "chunk", "retrieved"}
        if "graph" in experiment.method.pipeline.needs():
            stages |= {"corpus", "chunk", "extracted"} | ({"linked"} if self.entries else set())
        if "context" in writes:
            stages |= {"corpus", "chunk", "cut", "prompt"}
        self.stages = frozenset(stages)

    def of_scope(self, scope: str | None) -> FunnelArtifacts:
        names = self.artifacts.of_scope(scope)
        if names.chunk_table is None:
            self.missing.append("chunk: the chunks of the run are gone")
        if names.graph is None and "extracted" in self.stages:
            self.missing.append("extracted, linked: the graph of the run is gone")
        return FunnelArtifacts(self.ids, names.chunk_table, names.graph, self.entries, self.stages)


def of_evidence(
    row: Row, gold: Gold, artifacts: FunnelArtifacts, right: bool | None
) -> list[EvidenceDocument]:
    """Return each document in a question's evidence with the stages it passed, in order.

    A document counts as extracted when one of its chunks states a relationship of the graph (or
    has a node, where chunks state none); as linked when the rows that the first steps found hold
    one of its nodes, or are joined to one through the relationships among the nodes of the
    question's evidence and through synonymy; as in the prompt when a text of it stands in the
    context; as retrieved when it is in the prompt, or a chunk of it was ranked, or a row of the
    graph that it states found. Of several chunks any counts, and of the parts of a file any too. Of
    a failure only what was written before it is known.
    """
    parts = {name: documents_of(gold, name) for name in gold.evidence}
    chunks = ChunkTable.of([]) if artifacts.chunks is None else artifacts.chunks
    passages = {
        one: LocatedDocument(one, chunks, artifacts.graph)
        for documents in parts.values()
        for one in documents
    }
    stored = _StoredRow(row, artifacts)
    linked = stored.linked(list(passages.values())) if "linked" in artifacts.stages else None
    passed = {}
    for name, passage in passages.items():
        stages = stored.passed(passage)
        if linked is not None and "extracted" in stages:
            stages["linked"] = bool(stages["extracted"]) and name in linked
        stages |= {"replied": row["status"] != "failed", "answered": right}
        passed[name] = {one: state for one, state in stages.items() if one in artifacts.stages}
    items = []
    for name, documents in parts.items():
        best: dict[str, bool | None] = {}
        for stage in dict.fromkeys(stage for one in documents for stage in passed[one]):
            states = [passed[one].get(stage) for one in documents]
            best[stage] = True if True in states else None if None in states else False
        items.append(EvidenceDocument(row["question"], name, best))
    return items


class _StoredRow:
    """What a row says of its steps: the last value of each slot, its context, rows of the graph."""

    def __init__(self, row: Row, artifacts: FunnelArtifacts) -> None:
        self.row, self.artifacts = row, artifacts
        self.last: dict[str, Any] = {}
        for step in row.get("trace", ()):
            self.last.update(step["wrote"])
        self.context = row.get("context") or self.last.get("context")
        context = self.context or {}
        self.documents = [documents_in(piece) for piece in context.get("pieces", ())]
        self.cut = {(kind, name) for kind, name in context.get("cut", ())}
        self.found = {at for slot in _ROWS for at in relationships_in(self.last.get(slot))}

    def passed(self, passage: LocatedDocument) -> dict[str, bool | None]:
        artifacts = self.artifacts
        passed: dict[str, bool | None] = {"corpus": passage.document in artifacts.documents}
        if artifacts.chunks is not None:
            passed["chunk"] = len(passage.rows["chunks"]) > 0
            if artifacts.graph is not None:
                states = artifacts.states_relationships
                passed["extracted"] = (
                    len(passage.rows["relationships"] if states else passage.named) > 0
                )
        in_prompt = self._in_prompt(passage.document)
        retrieved = passed["retrieved"] = in_prompt or self._retrieved(passage)
        if not in_prompt and self._names(passage) & self.cut:
            passed["cut"] = False
        elif in_prompt or (retrieved and in_prompt is False):
            passed["cut"] = True
        passed["prompt"] = in_prompt
        return passed

    def _in_prompt(self, document: str) -> bool | None:
        if self.context is None:
            return None
        if any(document in names for names in self.documents if names is not None):
            return True
        return None if None in self.documents else False

    def _retrieved(self, passage: LocatedDocument) -> bool | None:
        if "documents" in self.row:
            return passage.document in self.row["documents"]
        if "chunks" in self.last and self.artifacts.chunks is not None:
            return bool({*passage.rows["chunks"].tolist()} & {*self.last["chunks"]["ids"]})
        if self.row["status"] == "failed" or "trace" not in self.row:
            return None
        if self.artifacts.graph is None:
            return None if self.found else False
        return bool(self.found & set(passage.rows["relationships"].tolist()))

    def _names(self, passage: LocatedDocument) -> set[tuple[str, str]]:
        """The kinds and ids under which a context may name a passage; paths count from the best."""
        names = {("chunk", passage.document)}
        graph = self.artifacts.graph
        if graph is None or self.artifacts.chunks is None:
            return names
        rows = set(passage.rows["relationships"].tolist())
        names |= {("relationship", str(row)) for row in rows}
        if graph.descriptions is not None:
            nodes = self.artifacts.nodes_of(passage).tolist()
            names |= {("node", graph.names[row]) for row in nodes}
        paths: list[dict[str, Any]] = self.last.get("paths") or []
        if not any(path["transition"] for path in paths):
            paths = sorted(
                paths, key=lambda p: (-round(p["score"], DECIMALS), len(p["nodes"]), p["nodes"])
            )
            over = [bool(rows.intersection(path["relationships"])) for path in paths]
            names |= {("path", str(place)) for place, one in enumerate(over) if one}
        return names

    def _starts(self, graph: Graph) -> IntArray | None:
        """The nodes that the first steps found, ends of relationships too; None for no trace."""
        entries = self.artifacts.entries
        steps = [step for step in self.row.get("trace", ()) if step["step"] in entries]
        wrote = [step["wrote"] for step in steps if step["wrote"]]
        if not wrote:
            return None
        slots = [one[slot]["ids"] for one in wrote for slot in _STARTS[:2] if slot in one]
        rows = [row for one in wrote for row in relationships_in(one.get("relationships"))]
        ends = np.array(rows, np.int64)
        nodes = [np.array(ids, np.int64) for ids in slots]
        return np.unique(np.concatenate([*nodes, graph.source[ends], graph.target[ends]]))

    def linked(self, passages: Sequence[LocatedDocument]) -> set[str] | None:
        """The documents that the first steps reach through what the evidence states."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        graph = self.artifacts.graph
        if graph is None or self.artifacts.chunks is None:
            return None
        if (starts := self._starts(graph)) is None:
            return None
        nodes = {passage.document: self.artifacts.nodes_of(passage) for passage in passages}
        inside = np.zeros(graph.n_nodes, bool)
        inside[np.concatenate([*nodes.values()])] = True
        near = inside.copy()
        near[starts] = True
        joined = (inside[graph.source] & inside[graph.target]) | (
            graph.synonym & near[graph.source] & near[graph.target]
        )
        sources, targets = [graph.source[joined]], [graph.target[joined]]
        if not self.artifacts.states_relationships:
            sources += [own[:-1] for own in nodes.values()]
            targets += [own[1:] for own in nodes.values()]
        ends = np.concatenate(sources), np.concatenate(targets)
        edges = coo_array((np.ones(len(ends[0])), ends), shape=(graph.n_nodes, graph.n_nodes))
        component = connected_components(edges, directed=False)[1]
        reached = np.isin(component, component[starts])
        return {document for document, own in nodes.items() if reached[own].any()}
