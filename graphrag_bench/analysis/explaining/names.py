"""The names of a record's ids: names of nodes, facts of relationships, titles of chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.communities import Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.tri_graph import TriGraph
from graphrag_bench.offline.manifest import is_stored, read_recipe
from graphrag_bench.offline.store import loaded
from graphrag_bench.runs.record import Row

Named = dict[str, Any]
_HOPS = ("nodes", "relationships")


class Names:
    """The names of what a run was made over, read from its artifacts when first asked for.

    `roots` are the folders of the artifacts of its data set, `keys` those it refers to by resource.
    Ids of deleted artifacts are shown without a name.
    """

    def __init__(self, roots: Sequence[Path], keys: Mapping[str, str]) -> None:
        """Nothing is read yet."""
        self.roots, self.keys = roots, keys

    @classmethod
    def of(cls, resources: Mapping[str, Any]) -> Names:
        """The names of artifacts that are loaded already."""
        made = cls((), {})
        for name in ("chunk_table", "graph", "tri_graph", "reports"):
            vars(made)[name] = resources.get(name)
        return made

    @cached_property
    def chunk_table(self) -> ChunkTable | None:
        """The chunks."""
        found: ChunkTable | None = self._of("chunk_table", ChunkTable)
        return found

    @cached_property
    def graph(self) -> Graph | None:
        """The graph that has relationships."""
        found: Graph | None = self._of("graph", Graph)
        return found

    @cached_property
    def tri_graph(self) -> TriGraph | None:
        """The graph of entities and sentences, in place of one with relationships."""
        found: TriGraph | None = self._of("tri_graph", TriGraph)
        return found

    @cached_property
    def reports(self) -> Reports | None:
        """The reports of communities."""
        found: Reports | None = self._of("reports", Reports)
        return found

    @property
    def missing(self) -> list[str]:
        """The resources with names that the run refers to and that are gone."""
        held = {"chunk_table": self.chunk_table, "graph": self.graph, "tri_graph": self.tri_graph,
                "reports": self.reports}  # fmt: skip
        return [name for name, there in held.items() if name in self.keys and there is None]

    def _of(self, resource: str, kind: Any) -> Any:
        if resource not in self.keys:
            return None
        places = [root / resource / self.keys[resource] for root in self.roots]
        place = next((one for one in places if is_stored(one)), None)
        if place is None:
            return None
        same = read_recipe(place).get("same_as")
        try:
            return self._of(same, kind) if same else loaded(kind, place)
        except UserError:
            return None

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
    """Every step of a record with its seconds, where they are known, and what it wrote, by name."""
    steps = []
    for step in row.get("trace", ()):
        wrote = {slot: explained(slot, value, names) for slot, value in step["wrote"].items()}
        told = {"seconds": seconds[step["step"]]} if step["step"] in seconds else {}
        steps.append({"step": step["step"], **told, "wrote": wrote})
    return steps
