"""Stored rows to the evidence funnel: each step's output compared with chunks and graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.analysis.funnel.stages import Fate
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Gold
from graphrag_bench.data.file_evidence import documents_of
from graphrag_bench.graph.graph import Graph
from graphrag_bench.runs.record import Row, documents_in
from graphrag_bench.values import DECIMALS

_ROWS = ("relationships", "subgraph", "paths", "exploration")
"""The slots that hold rows of the graph which a method without chunks has retrieved."""

STARTS = ("nodes", "step_nodes", "relationships")
"""The slots that hold rows of the graph which a first step may find."""


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
        held = self.graph.node_chunk
        one_each = held.shape[0] == held.shape[1] == held.nnz
        return not (one_each and np.array_equal(held.indices, np.arange(held.nnz)))

    def chunks_of(self, document: str) -> list[int]:
        """The chunks of a document; none when it has none, or the table is gone."""
        return self.chunks.chunks_of(document) if self.chunks is not None else []

    def relationships_of(self, document: str) -> NDArray[np.int64]:
        """The rows of the graph that the chunks of a document state."""
        assert self.graph is not None
        return np.unique(self.graph.chunk_relationship[self.chunks_of(document)].indices)

    def nodes_of(self, document: str) -> NDArray[np.int64]:
        """The nodes that the chunks of a document name, the ends of what they state too."""
        assert self.graph is not None
        named = np.unique(self.graph.chunk_node[self.chunks_of(document)].indices)
        if not self.states_relationships:
            return named
        rows = self.relationships_of(document)
        return np.unique(np.concatenate([named, self.graph.source[rows], self.graph.target[rows]]))


def fates(row: Row, evidence: Sequence[str], built: Built, right: bool | None) -> list[Fate]:
    """The fate of each document in a question's evidence, in order, each once.

    A document counts as extracted when one of its chunks states a relationship of the graph (or
    has a node, where chunks state none); as linked when the rows that the first steps found hold
    one of its nodes, or are joined to one through the relationships among the nodes of the
    question's evidence and through synonymy; as in the prompt when a text of it stands in the
    context; as retrieved when it is in the prompt, or a chunk of it was ranked, or a row of the
    graph that it states found. Where a document has several chunks any of them counts. After a
    failure only what was written before it is told.
    """
    named = list(dict.fromkeys(evidence))
    traced = _Traced(row, built)
    linked = _linked(traced, named, built) if "linked" in built.stages else None
    found = []
    for document in named:
        verdicts = dict(_of_document(document, traced, built))
        if linked is not None and "extracted" in verdicts:
            verdicts["linked"] = bool(verdicts["extracted"]) and document in linked
        verdicts["replied"] = row["status"] != "failed"
        verdicts["answered"] = right
        kept = {stage: told for stage, told in verdicts.items() if stage in built.stages}
        found.append(Fate(row["question"], document, kept, right))
    return found


def fates_of(row: Row, gold: Gold, built: Built, right: bool | None) -> list[Fate]:
    """The fate of each item in a question's evidence; a file has the best fate of its parts."""
    evidence = list(dict.fromkeys(gold.evidence))
    documents = [one for name in evidence for one in documents_of(gold, name)]
    told = {fate.document: fate for fate in fates(row, documents, built, right)}
    return [_any(name, [told[one] for one in documents_of(gold, name)]) for name in evidence]


def _any(name: str, parts: Sequence[Fate]) -> Fate:
    stages = dict.fromkeys(stage for part in parts for stage in part.verdicts)
    reached = {stage: [part.verdicts.get(stage) for part in parts] for stage in stages}
    verdicts = {
        stage: True if True in held else None if None in held else False
        for stage, held in reached.items()
    }
    return replace(parts[0], document=name, verdicts=verdicts)


def _of_document(document: str, traced: _Traced, built: Built) -> Iterator[tuple[str, bool | None]]:
    yield "corpus", document in built.documents
    if built.chunks is not None:
        yield "chunk", bool(built.chunks_of(document))
    if built.graph is not None and built.chunks is not None:
        stated = built.relationships_of if built.states_relationships else built.nodes_of
        yield "extracted", bool(len(stated(document)))
    in_prompt = traced.in_prompt(document)
    retrieved = in_prompt or traced.retrieved(document)
    yield "retrieved", retrieved
    if in_prompt:
        yield "cut", True
    elif traced.names(document) & traced.cut:
        yield "cut", False
    elif retrieved and in_prompt is False:
        yield "cut", True
    yield "prompt", in_prompt


class _Traced:
    def __init__(self, row: Row, built: Built) -> None:
        self.row, self.built = row, built
        self.last: dict[str, Any] = {}
        for step in row.get("trace", ()):
            self.last.update(step["wrote"])
        context = row.get("context") or self.last.get("context")
        self.has_context = context is not None
        self.held = [documents_in(piece) for piece in (context or {}).get("pieces", ())]
        self.cut = frozenset((kind, name) for kind, name in (context or {}).get("cut", ()))

    def retrieved(self, document: str) -> bool | None:
        if "documents" in self.row:
            return document in self.row["documents"]
        if "chunks" in self.last and self.built.chunks is not None:
            return bool(set(self.built.chunks_of(document)) & set(self.last["chunks"]["ids"]))
        if self.row["status"] == "failed" or "trace" not in self.row:
            return None
        if self.built.graph is None:
            return None if self._found_rows else False
        return bool(self._found_rows & set(self.built.relationships_of(document).tolist()))

    @cached_property
    def _found_rows(self) -> set[int]:
        return {row for slot in _ROWS for row in _relationship_rows(self.last.get(slot))}

    def names(self, document: str) -> set[tuple[str, str]]:
        built = self.built
        held = {("chunk", document)}
        if built.graph is None or built.chunks is None:
            return held
        rows = built.relationships_of(document).tolist()
        held |= {("relationship", str(row)) for row in rows}
        if built.graph.descriptions is not None:
            held |= {
                ("node", built.graph.names[node]) for node in built.nodes_of(document).tolist()
            }
        return held | {("path", name) for name in self._paths_with(set(rows))}

    def in_prompt(self, document: str) -> bool | None:
        if not self.has_context:
            return None
        if any(document in names for names in self.held if names is not None):
            return True
        return None if None in self.held else False

    @cached_property
    def _best_paths(self) -> list[dict[str, Any]]:
        paths: list[dict[str, Any]] = self.last.get("paths") or []
        if any(path["transition"] for path in paths):
            return []
        return sorted(
            paths, key=lambda p: (-round(p["score"], DECIMALS), len(p["nodes"]), p["nodes"])
        )

    def _paths_with(self, rows: set[int]) -> list[str]:
        return [
            str(place)
            for place, path in enumerate(self._best_paths)
            if rows.intersection(path["relationships"])
        ]

    def starts(self) -> NDArray[np.int64] | None:
        graph = self.built.graph
        steps = [s for s in self.row.get("trace", ()) if s["step"] in self.built.entries]
        wrote = [step["wrote"] for step in steps if step["wrote"]]
        if not wrote or graph is None:
            return None
        kinds = [one[slot]["ids"] for one in wrote for slot in STARTS[:2] if slot in one]
        nodes = [np.array(ids, np.int64) for ids in kinds]
        rows = [r for one in wrote for r in _relationship_rows(one.get("relationships"))]
        ends = np.array(rows, np.int64)
        return np.unique(np.concatenate([*nodes, graph.source[ends], graph.target[ends]]))


def _relationship_rows(value: Any) -> list[int]:
    if isinstance(value, list):
        return [row for path in value for row in path["relationships"]]
    if not isinstance(value, dict):
        return []
    if "rounds" in value:
        return [row for hops in value["rounds"] for row in hops["ids"]]
    return list(value["relationships"] if "relationships" in value else value.get("ids", ()))


def _linked(traced: _Traced, evidence: Sequence[str], built: Built) -> set[str] | None:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    starts, graph = traced.starts(), built.graph
    if starts is None or graph is None or built.chunks is None:
        return None
    nodes = {document: built.nodes_of(document) for document in evidence}
    inside = np.zeros(graph.n_nodes, bool)
    for held in nodes.values():
        inside[held] = True
    near = inside.copy()
    near[starts] = True
    joined = (inside[graph.source] & inside[graph.target]) | (
        graph.synonym & near[graph.source] & near[graph.target]
    )
    sources, targets = [graph.source[joined]], [graph.target[joined]]
    if not built.states_relationships:
        sources += [held[:-1] for held in nodes.values()]
        targets += [held[1:] for held in nodes.values()]
    ends = np.concatenate(sources), np.concatenate(targets)
    edges = coo_array((np.ones(len(ends[0])), ends), shape=(graph.n_nodes, graph.n_nodes))
    component = connected_components(edges, directed=False)[1]
    reached = np.isin(component, component[starts])
    return {document for document, held in nodes.items() if reached[held].any()}
