"""Replace ids in the record of a question by names, and find the rank of a document."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from graphrag_bench.algorithms.communities import Reports
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import IntArray
from graphrag_bench.artifacts.store import is_stored, load_artifact, read_recipe
from graphrag_bench.contract import operators
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.explain.text import row_text
from graphrag_bench.run.folder import Row
from graphrag_bench.run.results import References, read_references
from graphrag_bench.run.stored import StoredRun

Named = dict[str, Any]
_HOPS = ("nodes", "relationships")
_KINDS: Mapping[str, Any] = {"chunk_table": ChunkTable, "graph": Graph, "reports": Reports}


@dataclass(frozen=True)
class ArtifactNames:
    """Artifacts with the names of nodes, chunks and communities; `missing` lists deleted ones."""

    chunk_table: ChunkTable | None = None
    graph: Graph | None = None
    reports: Reports | None = None
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, resources: Mapping[str, Any]) -> "ArtifactNames":
        """Return the names in loaded artifacts; the keys of `resources` are kinds of artifacts."""
        table, graph, reports = (resources.get(name) for name in _KINDS)
        return cls(table, graph, reports)

    def row(self, kind: str, row: int) -> Named:
        """Return the id and the known names of a node, relationship, chunk or community."""
        graph, table, reports = self.graph, self.chunk_table, self.reports
        named: Named = {"id": row}
        if kind == "nodes" and graph is not None and 0 <= row < len(graph.names):
            named["name"] = graph.names[row]
            named |= {"type": graph.types[row]} if graph.types else {}
        elif kind == "relationships" and graph is not None and 0 <= row < graph.n_relationships:
            head, tail = (graph.names[int(end[row])] for end in (graph.source, graph.target))
            relation = "is a synonym of" if graph.synonym[row] else graph.relations[row]
            relation = relation or (graph.keywords[row] if graph.keywords else "") or "related to"
            named |= {"head": head, "relation": relation, "tail": tail}
            named |= {"description": text} if graph.facts and (text := graph.facts[row]) else {}
        elif kind == "chunks" and table is not None and 0 <= row < len(table):
            named |= {"title": table.titles[row], "documents": table.documents_of(row)}
        elif kind == "communities" and reports is not None and 0 <= row < len(reports):
            named["title"] = reports.titles[row]
        return named


class RunArtifacts:
    """The artifacts of a stored run. The artifacts of a moved run are in `home`/artifacts."""

    def __init__(self, run: StoredRun, home: Path) -> None:
        self._references = read_references(run.folder) or References("", {})
        stores = filter(None, [str((run.home or home) / "artifacts"), self._references.shared])
        self._roots = [Path(store, self._references.dataset) for store in stores]
        self._loaded: tuple[Mapping[str, str], ArtifactNames] = ({}, ArtifactNames())

    def of_scope(self, scope: str | None) -> ArtifactNames:
        """Return the names in the artifacts of a scope, i.e. of one part of the corpus."""
        of_scopes = self._references.keys
        keys = of_scopes.get(None if of_scopes.keys() == {None} else scope, {})
        if keys != self._loaded[0]:
            loaded: dict[str, Any] = {}
            for name in keys.keys() & _KINDS:
                with suppress(UserError):
                    if (place := self._folder(name, keys)) is not None:
                        loaded[name] = load_artifact(_KINDS[name], place)
            gone = tuple(name for name in _KINDS if name in keys and name not in loaded)
            self._loaded = keys, ArtifactNames(**loaded, missing=gone)
        return self._loaded[1]

    def _folder(self, resource: str, keys: Mapping[str, str]) -> Path | None:
        places = [root / resource / keys.get(resource, "") for root in self._roots]
        place = next((one for one in places if is_stored(one)), None)
        same = read_recipe(place).get("same_as") if place is not None else None
        return self._folder(same, keys) if same else place


def named_value(slot: str, value: Any, names: ArtifactNames) -> Any:
    """Return a recorded result with ids replaced by names; results of plug-ins are unchanged."""

    def ranked(kind: str, one: Mapping[str, Any]) -> list[Named]:
        pairs = zip(one["ids"], one["scores"], strict=True)
        return [{**names.row(kind, row), "score": score} for row, score in pairs]

    def hops(one: Mapping[str, Any]) -> Named:
        return {kind: [names.row(kind, row) for row in one[kind]] for kind in _HOPS}

    if slot in (*_HOPS, "chunks", "communities") and has_keys(value, "ids", "scores"):
        return ranked(slot, value)
    if slot == "step_nodes" and has_keys(value, "ids", "steps"):
        pairs = zip(value["ids"], value["steps"], strict=True)
        return [{**names.row("nodes", row), "step": step} for row, step in pairs]
    if slot == "paths" and isinstance(value, list):
        return [{**one, **hops(one)} if has_keys(one, *_HOPS) else one for one in value]
    if slot == "routes" and isinstance(value, list):
        ends = ("parent", "child")
        return [{**one, **{end: names.row("chunks", one[end]) for end in ends}} for one in value]
    if slot == "subgraph" and has_keys(value, *_HOPS):
        paths = [{"nodes": [names.row("nodes", row) for row in path]} for path in value["paths"]]
        return {**hops(value), "paths": paths, "texts": value["texts"]}
    if slot == "exploration" and has_keys(value, "chosen", "rounds"):
        chosen = [{**one, "node": names.row("nodes", one["node"])} for one in value["chosen"]]
        return {"chosen": chosen, "rounds": [ranked("relationships", o) for o in value["rounds"]]}
    return value


def has_keys(value: Any, *keys: str) -> TypeGuard[dict[str, Any]]:
    """Return whether a value is a dict with all these keys."""
    return isinstance(value, dict) and all(key in value for key in keys)


def relationships_in(value: Any) -> dict[int, float | None]:
    """Map the relationships in a recorded ranking, subgraph or path list to scores or None."""
    if isinstance(value, list):
        return {row: None for path in value for row in path["relationships"]}
    if has_keys(value, "rounds"):
        return {row: score for hops in value["rounds"] for row, score in scores_of(hops).items()}
    if has_keys(value, "relationships"):
        return dict.fromkeys(value["relationships"])
    return {**scores_of(value)} if has_keys(value, "ids", "scores") else {}


def scores_of(value: Mapping[str, Any]) -> dict[int, float]:
    """Return the score of each id in a recorded ranking, in rank order."""
    return dict(zip(value["ids"], value["scores"], strict=True))


def named_steps(row: Row, seconds: Mapping[str, float], names: ArtifactNames) -> list[Named]:
    """Return the steps of a question with inputs, outputs, seconds and usage; names replace ids."""
    steps: list[Named] = []
    known = {one.name: one for one in operators.all()}
    usage = dict(row.get("steps", {}))
    for step in row.get("trace", ()):
        label, wrote = step["step"], step["wrote"]
        plain: Named = {"step": label}
        if label in seconds:
            plain["seconds"] = seconds[label]
        if label in usage:  # the first entry of a repeated step has the usage of all repetitions
            plain["usage"] = usage.pop(label)
        if operator := known.get(label.rpartition(" ")[2]):
            plain["reads"] = [read.slot for read in operator.reads if not read.optional]
        plain["wrote"] = {slot: named_value(slot, wrote[slot], names) for slot in wrote}
        steps.append(plain)
    return steps


@dataclass(frozen=True)
class PassageRank:
    """The best rank (1 is first) of a passage in a ranking of `n` rows; None if not ranked."""

    step: str
    slot: str
    rank: int | None
    n: int
    rows: tuple[tuple[str, int, float], ...] = ()

    def __str__(self) -> str:
        place = f"not among {self.n:,}" if self.rank is None else f"{self.rank:,} of {self.n:,}"
        return f"{self.slot}: {place}"


@dataclass(frozen=True)
class LocatedDocument:
    """A document with its chunks, and with its nodes and relationships in the graph."""

    document: str
    chunks: ChunkTable
    graph: Graph | None

    @cached_property
    def rows(self) -> dict[str, IntArray]:
        """The `chunks` of the document, and the `relationships` and `nodes` in these chunks."""
        chunks = np.array(self.chunks.chunks_of(self.document), np.int64)
        if self.graph is None:
            return {"chunks": chunks}
        stated = np.unique(self.graph.chunk_relationship[chunks].indices)
        ends = (self.graph.source[stated], self.graph.target[stated])
        nodes = np.unique(np.concatenate([self.named, *ends])).astype(np.int64)
        return {"chunks": chunks, "relationships": stated, "nodes": nodes}

    @property
    def named(self) -> IntArray:
        """The nodes that the chunks of the document mention."""
        assert self.graph is not None
        return np.unique(self.graph.chunk_node[self.chunks.chunks_of(self.document)].indices)

    def ranks(self, row: Row) -> list[PassageRank]:
        """Return the rank of the document after each step that ranks rows or builds a context."""
        ranks, names = [], ArtifactNames(self.chunks, self.graph)
        for step in row.get("trace", ()):
            for slot, value in step["wrote"].items():
                if has_keys(value, "pieces"):
                    scores = [one["score"] for one in value["pieces"]]
                    texts = {place: self.document for place, one in enumerate(value["pieces"])
                             if one["kind"] == "chunk"
                             and self.document in (one["id"], *one.get("also", ()))}  # fmt: skip
                elif slot in self.rows and has_keys(value, "ids", "scores"):
                    scores, own = value["scores"], {*self.rows[slot].tolist()}
                    texts = {place: row_text(names.row(slot, one))
                             for place, one in enumerate(value["ids"]) if one in own}  # fmt: skip
                else:
                    continue
                rows = [(text, place + 1, scores[place]) for place, text in texts.items()]
                best, shown = rows[0][1] if rows else None, tuple(rows[:3])
                ranks.append(PassageRank(step["step"], slot, best, len(scores), shown))
        return ranks


def lost_step(ranks: Sequence[PassageRank]) -> PassageRank | None:
    """Return the step at which the passage was finally lost; None if it was not lost."""
    lost = list(takewhile(lambda one: one.rank is None, reversed(ranks)))
    return lost[-1] if lost else None
