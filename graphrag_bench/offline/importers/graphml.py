"""Graphs from GraphML: LightRAG's, our own export's, and any other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.rows import json_file
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.importers.rows import (
    ATTRIBUTES,
    ChunksBy,
    Column,
    ImportedAttribute,
    ImportedNode,
    ImportedRelationship,
    chunks_by_digest,
    chunks_of_texts,
    imported_graph,
    weight_of,
)
from graphrag_bench.offline.knowledge_graph import ATTRIBUTED, KG_ATTRIBUTES
from graphrag_bench.offline.synonymy import SYNONYM
from graphrag_bench.offline.text_graph import RKG_ATTRIBUTES, TKG_ATTRIBUTES
from graphrag_bench.text import normalise_name

SEPARATOR = "<SEP>"
"""What LightRAG and nano-graphrag put between several texts in one field."""
_CHUNK_FILE = "kv_store_text_chunks.json"
_NAMES = ("name", "entity_id", "entity_name", "title", "label")
_TYPES = ("type", "entity_type")
_RELATIONS = ("relation", "name", "label", "type")


@artifact("graph.graphml", provides=KG_ATTRIBUTES, fixed={"columns": ()})
@artifact("graph.graphml_tkg", provides=TKG_ATTRIBUTES, fixed={"columns": ("described",)})
@artifact(
    "graph.graphml_rkg", provides=RKG_ATTRIBUTES, fixed={"columns": ("described", "keywords")}
)
@artifact("graph.graphml_attributed", provides=ATTRIBUTED, fixed={"columns": ("attributes",)})
def graphml(
    *,
    import_from: Path,
    chunk_table: ChunkTable,
    columns: tuple[Column, ...],
    chunks_by: ChunksBy = "auto",
) -> Graph:
    """The graph of a GraphML file, by what its nodes and relationships have.

    A node's name is its attribute name, entity_id, entity_name, title or label, else its id; a
    relationship's name is its attribute relation, name, label or type, else "related to"; its
    weight is `weight`, else 1; one named "synonym of" is a synonymy edge. `source_id` names chunks
    as LightRAG does: by the ids of kv_store_text_chunks.json next to the file, or by the md5 of
    their texts, with <SEP> between. `graphml_tkg` and `graphml_rkg` have `type` or `entity_type`
    and `description` of nodes, and `description` of relationships, which are merged by their
    unordered ends; `graphml_rkg` has `keywords` as well, split at commas, as LightRAG writes them.
    `graphml_attributed` has types and the `node_attributes` that our own export writes. Raises
    UserError for a file that cannot be read.
    """
    named = "described" not in columns
    nodes, relationships = _rows(import_from, chunk_table, unnamed="related to" if named else "")
    graph = imported_graph(import_from, nodes, relationships, chunk_table, chunks_by, columns)
    is_synonym = [name == SYNONYM for name in graph.relations]
    return replace(graph, synonym=np.array(is_synonym, bool)) if not columns else graph


def graphml_variant(path: Path) -> str:
    """The builder for what a GraphML file declares: graphml, graphml_tkg, _rkg or _attributed.

    Attributes of nodes come before descriptions, which are not read with them.
    """
    keys = set(_read(path).keys.values())
    if any((domain, ATTRIBUTES) in keys for domain in ("node", "all")):
        return "graphml_attributed"
    described = any((domain, "description") in keys for domain in ("node", "all"))
    if described and any((domain, "keywords") in keys for domain in ("edge", "all")):
        return "graphml_rkg"
    return "graphml_tkg" if described else "graphml"


Key = tuple[str, str]
"""A declared attribute: what has it (node, edge, all) and its name."""


@dataclass(frozen=True)
class _File:
    keys: Mapping[str, Key]
    nodes: list[tuple[str, dict[str, str]]]
    edges: list[tuple[str, str, dict[str, str]]]


def _read(path: Path) -> _File:
    from xml.etree import ElementTree

    try:
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}.") from None
    except (ElementTree.ParseError, LookupError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not GraphML ({error}).") from None
    if _tag(root) != "graphml":
        raise UserError(f"{path}: not GraphML, its outermost element is '{_tag(root)}'.")
    keys = {
        one.get("id", ""): (one.get("for", "all"), one.get("attr.name", one.get("id", "")))
        for one in root
        if _tag(one) == "key"
    }
    nodes, edges = [], []
    for element in root.iter():
        if _tag(element) == "node":
            nodes.append((element.get("id", ""), _fields(element, keys)))
        elif _tag(element) == "edge":
            fields = _fields(element, keys)
            edges.append((element.get("source", ""), element.get("target", ""), fields))
    return _File(keys, nodes, edges)


def _tag(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _fields(element: Any, keys: Mapping[str, Key]) -> dict[str, str]:
    return {
        keys[one.get("key", "")][1]: one.text or ""
        for one in element
        if _tag(one) == "data" and one.get("key", "") in keys
    }


def _rows(
    path: Path, chunk_table: ChunkTable, unnamed: str = ""
) -> tuple[list[ImportedNode], list[ImportedRelationship]]:
    file = _read(path)
    units = _units(path, chunk_table)
    names = {node: _first(fields, _NAMES) or node for node, fields in file.nodes}
    nodes = [
        ImportedNode(
            names[node],
            _first(fields, _TYPES).lower(),
            _text(fields.get("description", "")),
            _chunks(fields, units),
            tuple(_attributes(path, node, fields, units)),
        )
        for node, fields in file.nodes
    ]
    return nodes, list(_relationships(path, file, names, units, unnamed))


def _attributes(
    path: Path, node: str, fields: Mapping[str, str], units: Mapping[str, tuple[int, ...]]
) -> Iterator[ImportedAttribute]:
    if not (text := fields.get(ATTRIBUTES, "").strip()):
        return
    try:
        rows = [(str(name), str(value), [str(one) for one in ids])
                for name, value, ids in json.loads(text)]  # fmt: skip
    except (ValueError, TypeError, RecursionError):
        raise UserError(
            f"{path}, node '{node}': {ATTRIBUTES} is no JSON list of [name, value, [chunk id]]."
        ) from None
    for name, value, ids in rows:
        chunks = dict.fromkeys(row for one in ids for row in units.get(one, ()))
        yield ImportedAttribute(name, value, tuple(chunks))


def _relationships(
    path: Path,
    file: _File,
    names: Mapping[str, str],
    units: Mapping[str, tuple[int, ...]],
    unnamed: str,
) -> Iterator[ImportedRelationship]:
    for number, (source, target, fields) in enumerate(file.edges, 1):
        for end in (source, target):
            if end not in names:
                raise UserError(f"{path}, edge {number}: there is no node '{end}'.")
        keywords = fields.get("keywords", "").replace(SEPARATOR, ",").split(",")
        yield ImportedRelationship(
            names[source],
            names[target],
            normalise_name(_first(fields, _RELATIONS)) or unnamed,
            _text(fields.get("description", "")),
            tuple(dict.fromkeys(word.strip() for word in keywords if word.strip())),
            weight_of(fields.get("weight"), f"{path}, edge {number}"),
            _chunks(fields, units),
        )


def _first(fields: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((fields[name].strip() for name in names if fields.get(name, "").strip()), "")


def _text(text: str) -> str:
    return " ".join(part.strip() for part in text.split(SEPARATOR) if part.strip())


def _chunks(
    fields: Mapping[str, str], units: Mapping[str, tuple[int, ...]]
) -> tuple[int, ...] | None:
    named = [part.strip() for part in fields.get("source_id", "").split(SEPARATOR)]
    found = dict.fromkeys(row for name in named for row in units.get(name, ()))
    return tuple(found) if any(named) else None


def _units(path: Path, chunk_table: ChunkTable) -> dict[str, tuple[int, ...]]:
    chunk_file = path.parent / _CHUNK_FILE
    if not chunk_file.is_file():
        return chunks_by_digest(chunk_table)
    held = json_file(chunk_file)
    if not isinstance(held, dict):
        raise UserError(f"{chunk_file}: an object from chunk id to chunk was expected.")
    texts = {
        str(name): str(chunk.get("content", ""))
        for name, chunk in held.items()
        if isinstance(chunk, dict)
    }
    return {**chunks_by_digest(chunk_table), **chunks_of_texts(texts, chunk_table)}
