"""The names of a record's ids: names of nodes, facts of relationships, titles of chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphrag_bench.contract import operators
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.communities import Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.tri_graph import TriGraph
from graphrag_bench.offline.recipe import is_stored, read_recipe
from graphrag_bench.offline.store import loaded
from graphrag_bench.runs.record import Row

Named = dict[str, Any]
_HOPS = ("nodes", "relationships")
_KINDS: Mapping[str, Any] = {
    "chunk_table": ChunkTable, "graph": Graph, "tri_graph": TriGraph, "reports": Reports,
}  # fmt: skip


@dataclass(frozen=True)
class Names:
    """The names of what a run was made over: its chunks, its graph, and reports of communities.

    `tri_graph` is in place of a graph with relationships. Ids of artifacts in `missing`, which the
    run refers to and which are gone, are shown without a name.
    """

    chunk_table: ChunkTable | None = None
    graph: Graph | None = None
    tri_graph: TriGraph | None = None
    reports: Reports | None = None
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, resources: Mapping[str, Any]) -> Names:
        """The names of artifacts that are loaded already."""
        held: dict[str, Any] = {name: resources.get(name) for name in _KINDS}
        return cls(**held)

    @classmethod
    def read(cls, roots: Sequence[Path], keys: Mapping[str, str]) -> Names:
        """The names of artifacts: `keys` by resource, below the folders `roots` of a data set."""
        held = {name: _artifact(name, kind, roots, keys) for name, kind in _KINDS.items()}
        gone = (name for name, there in held.items() if name in keys and there is None)
        return cls(**held, missing=tuple(gone))

    def node(self, row: int) -> Named:
        """A node's name, and its type where it has one."""
        graph = self.graph or self.tri_graph
        if graph is None or not 0 <= row < len(graph.names):
            return {"id": row}
        types = self.graph.types if self.graph else None
        return {"id": row, "name": graph.names[row], **({"type": types[row]} if types else {})}

    def relationship(self, row: int) -> Named:
        """The ends of a relationship and what it says: its name, or its keywords without one."""
        graph = self.graph
        if graph is None or not 0 <= row < graph.n_relationships:
            return {"id": row}
        head, tail = (graph.names[int(end[row])] for end in (graph.source, graph.target))
        relation = "is a synonym of" if graph.synonym[row] else graph.relations[row]
        if not relation:
            relation = (graph.keywords[row] if graph.keywords else "") or "related to"
        fact = graph.facts[row] if graph.facts else ""
        more = {"description": fact} if fact else {}
        return {"id": row, "head": head, "relation": relation, "tail": tail, **more}

    def chunk(self, row: int) -> Named:
        """The title and the documents of a chunk."""
        table = self.chunk_table
        if table is None or not 0 <= row < len(table):
            return {"id": row}
        return {"id": row, "title": table.titles[row], "documents": table.documents_of(row)}

    def community(self, row: int) -> Named:
        """The title of a community's report."""
        if self.reports is None or not 0 <= row < len(self.reports):
            return {"id": row}
        return {"id": row, "title": self.reports.titles[row]}

    def path(self, held: Mapping[str, Any]) -> Named:
        """A path whole: its nodes and the relationships between them, each as it is walked."""
        nodes = [self.node(row) for row in held["nodes"]]
        rows = [self.relationship(row) for row in held["relationships"]]
        return {**held, "nodes": nodes, "relationships": rows}


def _artifact(resource: str, kind: Any, roots: Sequence[Path], keys: Mapping[str, str]) -> Any:
    if resource not in keys:
        return None
    places = [root / resource / keys[resource] for root in roots]
    place = next((one for one in places if is_stored(one)), None)
    if place is None:
        return None
    same = read_recipe(place).get("same_as")
    try:
        return _artifact(same, kind, roots, keys) if same else loaded(kind, place)
    except UserError:
        return None


def explained(slot: str, value: Any, names: Names) -> Any:
    """What a step wrote into a slot, with names in place of ids.

    `value` is what `summary` makes of it. Of a slot that only a plug-in knows it stays as it is.
    """
    single: Mapping[str, Callable[[int], Named]] = {
        "nodes": names.node,
        "relationships": names.relationship,
        "chunks": names.chunk,
        "communities": names.community,
    }
    if slot in single and _has(value, "ids", "scores"):
        return _ranked(value, single[slot])
    if slot == "step_nodes" and _has(value, "ids", "steps"):
        pairs = zip(value["ids"], value["steps"], strict=True)
        return [{**names.node(row), "step": step} for row, step in pairs]
    if slot == "paths" and isinstance(value, list):
        return [names.path(held) if _has(held, *_HOPS) else held for held in value]
    if slot == "subgraph" and _has(value, *_HOPS):
        return {
            "nodes": [names.node(row) for row in value["nodes"]],
            "relationships": [names.relationship(row) for row in value["relationships"]],
            "paths": [{"nodes": [names.node(row) for row in path]} for path in value["paths"]],
            "texts": value["texts"],
        }
    if slot == "exploration" and _has(value, "chosen", "rounds"):
        chosen = [{**one, "node": names.node(one["node"])} for one in value["chosen"]]
        return {
            "chosen": chosen,
            "rounds": [_ranked(r, names.relationship) for r in value["rounds"]],
        }
    return value


def _has(value: Any, *keys: str) -> bool:
    return isinstance(value, dict) and all(key in value for key in keys)


def _ranked(value: Mapping[str, Any], named: Callable[[int], Named]) -> list[Named]:
    pairs = zip(value["ids"], value["scores"], strict=True)
    return [{**named(row), "score": score} for row, score in pairs]


def explained_steps(row: Row, seconds: Mapping[str, float], names: Names) -> list[Named]:
    """Every step of a record: what it read and wrote, by name, its seconds, calls and replies.

    `reads` are the slots that its operator reads, as far as the operator is known. Seconds and
    `usage` (calls and tokens) are those of all rounds of a step, told with its first. `replies` are
    there with trace=full alone.
    """
    steps: list[Named] = []
    usage, known = row.get("steps", {}), {one.name: one for one in operators.all()}
    for step in row.get("trace", ()):
        label = step["step"]
        wrote = {slot: explained(slot, value, names) for slot, value in step["wrote"].items()}
        told: Named = {"step": label}
        if label in seconds:
            told["seconds"] = seconds[label]
        if label in usage and label not in {one["step"] for one in steps}:
            told["usage"] = usage[label]
        operator = known.get(label.rpartition(" ")[2])
        if operator is not None:
            told["reads"] = [read.slot for read in operator.reads if not read.optional]
        if step.get("replies"):
            told["replies"] = list(step["replies"])
        steps.append({**told, "wrote": wrote})
    return steps
