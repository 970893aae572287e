"""The part of a graph that a question's steps have found: nodes, relationships, paths, and gold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrag_bench.analysis.explaining.names import Names
from graphrag_bench.data.dataset import Gold
from graphrag_bench.data.file_evidence import documents_of
from graphrag_bench.runs.record import Row
from graphrag_bench.text import normalise_name, short
from graphrag_bench.view.csr_rows import entries

Plain = dict[str, Any]
MOST_NODES = 200
"""Nodes of a drawing, chunks among them; the first found are kept, and the page tells the rest."""
MOST_CHUNKS = 20
"""Retrieved chunks of a drawing, the best first; the chunks of the gold evidence come on top."""
_TEXT = 600
_STARTS = ("nodes", "step_nodes")


@dataclass
class Found:
    """What the steps of a record have found, by row of the graph, in the order of the steps.

    `seeds` are the nodes of the first step that found any; `score` the last score of each node,
    given by the step `scored_by`; `paths` have their nodes, relationships and score.
    """

    seeds: list[int] = field(default_factory=list)
    nodes: dict[int, None] = field(default_factory=dict)
    score: dict[int, float] = field(default_factory=dict)
    scored_by: str = ""
    relationships: dict[int, float | None] = field(default_factory=dict)
    chunks: dict[int, float] = field(default_factory=dict)
    paths: list[Plain] = field(default_factory=list)

    @classmethod
    def of(cls, trace: Iterable[Mapping[str, Any]]) -> Found:
        """What a record's trace says, in its own ids; slots of plug-ins are left out."""
        found = cls()
        for step in trace:
            for slot, value in step["wrote"].items():
                found._take(step["step"], slot, value)
        return found

    def _take(self, step: str, slot: str, value: Any) -> None:
        if slot in _STARTS and _is(value, "ids"):
            self._nodes(step, value)
        elif slot == "relationships" and _is(value, "ids", "scores"):
            self.relationships |= dict(zip(value["ids"], value["scores"], strict=True))
        elif slot == "chunks" and _is(value, "ids", "scores"):
            self.chunks = dict(zip(value["ids"], value["scores"], strict=True))
        elif slot == "paths" and isinstance(value, list):
            self.paths = [path for path in value if _is(path, "nodes", "relationships")]
        elif slot == "subgraph" and _is(value, "nodes", "relationships", "paths"):
            self.nodes |= dict.fromkeys(value["nodes"])
            self.relationships = dict.fromkeys(value["relationships"]) | self.relationships
            if value["paths"]:
                self.paths = [{"nodes": path, "relationships": []} for path in value["paths"]]
        elif slot == "exploration" and _is(value, "rounds"):
            for one in value["rounds"]:
                self.relationships |= dict(zip(one["ids"], one["scores"], strict=True))

    def _nodes(self, step: str, value: Mapping[str, Any]) -> None:
        self.seeds = self.seeds or list(dict.fromkeys(value["ids"]))
        self.nodes |= dict.fromkeys(value["ids"])
        if "scores" in value:
            self.score = dict(zip(value["ids"], value["scores"], strict=True))
            self.scored_by = step.rpartition(" ")[2]


def _is(value: Any, *keys: str) -> bool:
    return isinstance(value, dict) and all(key in value for key in keys)


def answer_graph(row: Row, gold: Gold, names: Names) -> Plain:
    """The nodes, edges and paths to draw for a stored question; empty without a trace.

    A node has `id`, `label`, `kind` (node or chunk), and where it is so `type`, `score`, `seed`,
    `gold` (it is, or a chunk of it is, gold evidence), `answer` (it has the name of a gold answer)
    and `found` (a step has found it). An edge has `s`, `t`, `label`, and `found`, `score` and
    `synonym` likewise. `paths` have ids of nodes and edges and a score. `size` names the operator
    whose scores are the sizes: PageRank mass where it is `node.ppr`. At most `MOST_NODES` nodes:
    gold chunks, seeds, paths, scored nodes, ends of relationships, then chunks; `left_out` is how
    many more there were.
    """
    found = Found.of(row.get("trace", ()))
    drawing = _Drawing(found, gold, names)
    nodes = [drawing.node(*one) for one in drawing.kept]
    edges = {edge["id"]: edge for edge in drawing.edges()}
    paths = [drawing.path(path, edges) for path in found.paths]
    shown = {one["id"] for one in nodes}
    whole = [path for path in paths if shown.issuperset(path["nodes"])]
    return {
        "nodes": nodes,
        "edges": list(edges.values()),
        "paths": whole,
        "size": found.scored_by if found.score else "",
        "left_out": drawing.n_rows - len(nodes),
        "paths_left_out": len(paths) - len(whole),
    }


class _Drawing:
    def __init__(self, found: Found, gold: Gold, names: Names) -> None:
        self.found, self.names = found, names
        table = names.chunk_table
        documents = [one for name in gold.evidence for one in documents_of(gold, name)]
        held = [chunk for one in documents for chunk in table.chunks_of(one)] if table else []
        self.gold_chunks = dict.fromkeys(held)
        self.answers = {normalise_name(one) for one in gold.answers}
        self.incidence = _incidence(names)
        rows = self._rows()
        self.n_rows, self.kept = len(rows), rows[:MOST_NODES]
        self.in_gold = {node for node, _ in self._inside(self._kept("n"), self.gold_chunks)}

    def _kept(self, kind: str) -> list[int]:
        return sorted(row for other, row in self.kept if other == kind)

    def _rows(self) -> list[tuple[str, int]]:
        found = self.found
        ends = [end for row in found.relationships for end in self._ends(row)]
        on_paths = [node for path in found.paths for node in path["nodes"]]
        best = sorted(found.score, key=lambda node: (-found.score[node], node))
        nodes = [*found.seeds, *on_paths, *best, *ends, *found.nodes]
        chunks = list(found.chunks)[:MOST_CHUNKS]
        return list(
            dict.fromkeys(
                [("c", chunk) for chunk in self.gold_chunks]
                + [("n", node) for node in nodes]
                + [("c", chunk) for chunk in chunks]
            )
        )

    def node(self, kind: str, row: int) -> Plain:
        said = self._chunk(row) if kind == "c" else self._node(row)
        return {"id": f"{kind}{row}"} | {key: held for key, held in said.items() if held}

    def _node(self, row: int) -> Plain:
        named, found = self.names.node(row), self.found
        graph = self.names.graph
        name = str(named.get("name", f"row {row}"))
        described = graph.descriptions[row] if graph and graph.descriptions else ""
        return {
            "kind": "node",
            "label": name,
            "type": named.get("type", ""),
            "text": short(described, _TEXT) if described else "",
            "score": found.score.get(row),
            "seed": row in found.seeds,
            "found": row in found.nodes or row in found.score,
            "gold": row in self.in_gold,
            "answer": normalise_name(name) in self.answers,
        }

    def _chunk(self, row: int) -> Plain:
        named, table = self.names.chunk(row), self.names.chunk_table
        documents = named.get("documents", [])
        return {
            "kind": "chunk",
            "label": named.get("title") or ", ".join(documents) or f"chunk {row}",
            "documents": documents,
            "text": short(table.texts[row], _TEXT) if table and 0 <= row < len(table) else "",
            "score": self.found.chunks.get(row),
            "found": row in self.found.chunks,
            "gold": row in self.gold_chunks,
        }

    def _ends(self, row: int) -> tuple[int, ...]:
        graph = self.names.graph
        if graph is None or not 0 <= row < graph.n_relationships:
            return ()
        return int(graph.source[row]), int(graph.target[row])

    def edges(self) -> Iterator[Plain]:
        kept = set(self.kept)
        drawn: set[tuple[int, int]] = set()
        of_paths = [row for path in self.found.paths for row in path["relationships"]]
        for row in dict.fromkeys([*of_paths, *self.found.relationships]):
            ends = self._ends(row)
            if ends and all(("n", end) in kept for end in ends):
                drawn.add((min(ends), max(ends)))
                yield self._edge(row, found=True)
        for row in self._among(self._kept("n")):
            ends = self._ends(row)
            if (min(ends), max(ends)) not in drawn:
                yield self._edge(row, found=False)
        for node, chunk in self._inside(self._kept("n"), self._kept("c")):
            yield {"id": f"i{node}-{chunk}", "s": f"n{node}", "t": f"c{chunk}", "in": True}

    def _inside(self, nodes: Sequence[int], chunks: Iterable[int]) -> list[tuple[int, int]]:
        if self.incidence is None:
            return []
        known = [node for node in nodes if 0 <= node < self.incidence.shape[0]]
        of, places = entries(self.incidence.indptr, known)
        held = self.incidence.indices[places]
        there = np.isin(held, list(chunks))
        return sorted(zip(of[there].tolist(), held[there].tolist(), strict=True))

    def _among(self, nodes: Sequence[int]) -> list[int]:
        graph = self.names.graph
        if graph is None or not nodes:
            return []
        of, places = entries(graph.neighbours.starts, nodes)
        ends = graph.neighbours.nodes[places]
        there = (ends > of) & np.isin(ends, nodes)
        rows: list[int] = graph.neighbours.rows[places[there]].tolist()
        return rows

    def _edge(self, row: int, *, found: bool) -> Plain:
        named, (source, target) = self.names.relationship(row), self._ends(row)
        assert self.names.graph is not None
        said = {
            "label": named["relation"],
            "text": short(str(named.get("description", "")), _TEXT),
            "found": found,
            "score": self.found.relationships.get(row),
            "synonym": bool(self.names.graph.synonym[row]),
        }
        ends = {"id": f"e{row}", "s": f"n{source}", "t": f"n{target}"}
        return ends | {key: held for key, held in said.items() if held}

    def path(self, path: Mapping[str, Any], edges: Mapping[str, Plain]) -> Plain:
        ends = {frozenset((edge["s"], edge["t"])): name for name, edge in edges.items()}
        nodes = [f"n{row}" for row in path["nodes"]]
        rows = [f"e{row}" for row in path["relationships"]]
        if not rows:
            hops = zip(nodes, nodes[1:], strict=False)
            rows = [ends[hop] for pair in hops if (hop := frozenset(pair)) in ends]
        score = path.get("score")
        return {"nodes": nodes, "edges": rows} | ({} if score is None else {"score": score})


def _incidence(names: Names) -> Any:
    if names.graph is not None:
        return names.graph.node_chunk
    return names.tri_graph.entity_chunk if names.tri_graph is not None else None


def plan_graph(row: Row) -> Plain | None:
    """A question's plan of sub-questions with their answers, as it was resolved; None without one.

    `sub_questions` have `id`, `text`, `kind`, `needs` (ids) and, where as many answers as
    sub-questions are recorded, `answer`; the final one has the answer of the question.
    """
    plan: Plain | None = None
    answers: list[str] = []
    for step in row.get("trace", ()):
        plan = step["wrote"].get("plan", plan)
        if ".answer." in step["step"] and isinstance(step["wrote"].get("answer"), str):
            answers.append(step["wrote"]["answer"])
    if not _is(plan, "sub_questions"):
        return None
    assert plan is not None
    ordered = _resolved([one for one in plan["sub_questions"] if one["id"] != "final"])
    pairs = zip(ordered, answers, strict=True) if len(ordered) == len(answers) else ()
    held = {one["id"]: text for one, text in pairs} | {"final": str(row.get("answer", ""))}
    said = [{**one, "answer": held.get(one["id"], "")} for one in plan["sub_questions"]]
    return {"sub_questions": said, "fixes": plan.get("fixes", [])}


def _resolved(questions: Sequence[Plain]) -> list[Plain]:
    known = {one["id"] for one in questions}
    done: list[Plain] = []
    waiting = list(questions)
    while waiting:
        there = {one["id"] for one in done}
        ready = [one for one in waiting if known.intersection(one["needs"]) <= there]
        done += ready or waiting
        waiting = [one for one in waiting if one not in done]
    return done
