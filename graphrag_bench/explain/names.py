"""The names of a record's ids: names of nodes, facts of relationships, titles of chunks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphrag_bench.algorithms.communities import Reports
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.artifacts.store import is_stored, loaded, read_recipe
from graphrag_bench.contract import operators
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.run.folder import Row
from graphrag_bench.run.results import References
from graphrag_bench.run.stored import StoredRun

Named = dict[str, Any]
_HOPS = ("nodes", "relationships")
_RANKED = (*_HOPS, "chunks", "communities")
_KINDS: Mapping[str, Any] = {"chunk_table": ChunkTable, "graph": Graph, "reports": Reports}


@dataclass(frozen=True)
class Names:
    """The names of what a run was made over: its chunks, its graph, and reports of communities.

    Ids of artifacts in `missing`, which the run refers to and which are gone, are shown without a
    name.
    """

    chunk_table: ChunkTable | None = None
    graph: Graph | None = None
    reports: Reports | None = None
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, resources: Mapping[str, Any]) -> "Names":
        """Return the names of loaded artifacts."""
        artifacts: dict[str, Any] = {name: resources.get(name) for name in _KINDS}
        return cls(**artifacts)

    @classmethod
    def read(cls, roots: Sequence[Path], keys: Mapping[str, str]) -> "Names":
        """Return the names of artifacts, `keys` by resource, below the folders `roots` of a set."""
        artifacts = {name: _artifact(name, roots, keys) for name in _KINDS}
        gone = (name for name, there in artifacts.items() if name in keys and there is None)
        return cls(**artifacts, missing=tuple(gone))

    def node(self, row: int) -> Named:
        """Return a node's name, and its type where it has one."""
        graph = self.graph
        if graph is None or not 0 <= row < len(graph.names):
            return {"id": row}
        types = {"type": graph.types[row]} if graph.types else {}
        return {"id": row, "name": graph.names[row], **types}

    def relationship(self, row: int) -> Named:
        """Return the ends of a relationship and its name, or its keywords without one."""
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
        """Return the title and the documents of a chunk."""
        table = self.chunk_table
        if table is None or not 0 <= row < len(table):
            return {"id": row}
        return {"id": row, "title": table.titles[row], "documents": table.documents_of(row)}

    def community(self, row: int) -> Named:
        """Return the title of a community's report."""
        if self.reports is None or not 0 <= row < len(self.reports):
            return {"id": row}
        return {"id": row, "title": self.reports.titles[row]}

    def row(self, kind: str, row: int) -> Named:
        """Return a row of nodes, relationships, chunks or communities, as the slots are called."""
        named = {"nodes": self.node, "relationships": self.relationship, "chunks": self.chunk,
                 "communities": self.community}  # fmt: skip
        return named[kind](row)

    def path(self, path: Mapping[str, Any]) -> Named:
        """Return a path with its nodes and the relationships between them."""
        nodes = [self.node(row) for row in path["nodes"]]
        rows = [self.relationship(row) for row in path["relationships"]]
        return {**path, "nodes": nodes, "relationships": rows}

    def route(self, route: Mapping[str, Any]) -> Named:
        """Return a route with its two chunks."""
        return {**route, **{end: self.chunk(route[end]) for end in ("parent", "child")}}


def artifact_roots(run: StoredRun, references: References, home: Path) -> list[Path]:
    """Return where the artifacts of a run may be: in its home, and in the store it shares.

    `home` is that of a run which lies in none.
    """
    stores = [
        (run.home or home) / "artifacts",
        *([Path(references.shared)] * bool(references.shared)),
    ]
    return [store / references.dataset for store in stores]


def artifact_folder(resource: str, roots: Sequence[Path], keys: Mapping[str, str]) -> Path | None:
    """Return the folder of a stored artifact, or of the equal one it refers to; None if gone."""
    if resource not in keys:
        return None
    places = [root / resource / keys[resource] for root in roots]
    place = next((one for one in places if is_stored(one)), None)
    same = read_recipe(place).get("same_as") if place is not None else None
    return artifact_folder(same, roots, keys) if same else place


def _artifact(resource: str, roots: Sequence[Path], keys: Mapping[str, str]) -> Any:
    place = artifact_folder(resource, roots, keys)
    try:
        return None if place is None else loaded(_KINDS[resource], place)
    except UserError:
        return None


def explained(slot: str, value: Any, names: Names) -> Any:
    """Return what a step wrote into a slot, with names in place of ids.

    `value` is what `summary` makes of it. Of a slot that only a plug-in knows it stays as it is.
    """
    if slot in _RANKED and has(value, "ids", "scores"):
        return _ranked(value, slot, names)
    if slot == "step_nodes" and has(value, "ids", "steps"):
        pairs = zip(value["ids"], value["steps"], strict=True)
        return [{**names.node(row), "step": step} for row, step in pairs]
    if slot == "paths" and isinstance(value, list):
        return [names.path(path) if has(path, *_HOPS) else path for path in value]
    if slot == "routes" and isinstance(value, list):
        return [names.route(route) for route in value]
    if slot == "subgraph" and has(value, *_HOPS):
        paths = [{"nodes": [names.node(row) for row in path]} for path in value["paths"]]
        rows = {kind: [names.row(kind, row) for row in value[kind]] for kind in _HOPS}
        return {**rows, "paths": paths, "texts": value["texts"]}
    if slot == "exploration" and has(value, "chosen", "rounds"):
        chosen = [{**one, "node": names.node(one["node"])} for one in value["chosen"]]
        rounds = [_ranked(one, "relationships", names) for one in value["rounds"]]
        return {"chosen": chosen, "rounds": rounds}
    return value


def has(value: Any, *keys: str) -> bool:
    """Return whether a value is a mapping with these keys."""
    return isinstance(value, dict) and all(key in value for key in keys)


def _ranked(value: Mapping[str, Any], kind: str, names: Names) -> list[Named]:
    pairs = zip(value["ids"], value["scores"], strict=True)
    return [{**names.row(kind, row), "score": score} for row, score in pairs]


def explained_steps(row: Row, seconds: Mapping[str, float], names: Names) -> list[Named]:
    """Return every step of a record by names: reads, writes, seconds and calls.

    `reads` are the slots that its operator reads, as far as the operator is known. Seconds and
    `usage` (calls and tokens) are those of all rounds of a step, and stand at its first.
    """
    steps: list[Named] = []
    known = {one.name: one for one in operators.all()}
    usage = dict(row.get("steps", {}))
    for step in row.get("trace", ()):
        label = step["step"]
        plain: Named = {"step": label}
        if label in seconds:
            plain["seconds"] = seconds[label]
        if label in usage:
            plain["usage"] = usage.pop(label)
        if operator := known.get(label.rpartition(" ")[2]):
            plain["reads"] = [read.slot for read in operator.reads if not read.optional]
        wrote = {slot: explained(slot, value, names) for slot, value in step["wrote"].items()}
        steps.append({**plain, "wrote": wrote})
    return steps
