"""Import and export of graphs as GraphML, the format of LightRAG and other tools."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.artifacts.importers import rows as imported
from graphrag_bench.columns import Texts, row_ids
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.rows import json_file
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.knowledge_graph import KG_ATTRIBUTES, SYNONYM
from graphrag_bench.graphs.text_graph import RKG_ATTRIBUTES, TKG_ATTRIBUTES
from graphrag_bench.text import normalise_name

CHUNK_FILE = "kv_store_text_chunks.json"
"""Name of the file in which LightRAG stores chunks, in the same folder as the graph."""
SEPARATOR = "<SEP>"
"""Separator between several texts in one field, in LightRAG and nano-graphrag."""
Fields = Mapping[str, str]
_Elements = list[tuple[Fields, Fields]]
"""XML attributes and named data fields of each node or edge."""
Columns = Mapping[str, Texts | Sequence[str] | None]
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@artifact("graph.graphml", provides=KG_ATTRIBUTES, fixed={"columns": ()})
@artifact("graph.graphml_tkg", provides=TKG_ATTRIBUTES, fixed={"columns": ("described",)})
@artifact(
    "graph.graphml_rkg", provides=RKG_ATTRIBUTES, fixed={"columns": ("described", "keywords")}
)
def graphml(
    *, import_from: Path, chunk_table: ChunkTable, columns: tuple[imported.Column, ...]
) -> Graph:
    """Import the graph of a GraphML file.

    The name of a node is the first of its attributes name, entity_id, entity_name, title and label
    that is not blank, or else its id. The name of a relationship is the first of relation, name,
    label and type that is not blank, or else "related to". Relationships named "synonym of" are
    synonymy edges. A missing weight is 1. The attribute `source_id` lists ids of chunks, separated
    by <SEP>. These are ids in the file kv_store_text_chunks.json of the same folder, or LightRAG's
    md5 ids of the texts. `graphml_tkg` and `graphml_rkg` also read `description` and `type` (or
    `entity_type`), and merge all relationships between the same two nodes. `graphml_rkg` also reads
    `keywords`, separated by commas. Raises UserError if the file is not GraphML.
    """
    _, node_elements, edge_elements = _read(import_from)
    units = _units(import_from, chunk_table)

    def text_and_chunks(fields: Fields) -> tuple[str, imported.Chunks]:
        chunks = imported.chunks_of(_parts(fields, "source_id"), units)
        return " ".join(_parts(fields, "description")), chunks

    names, nodes, relationships = {}, [], []
    for of, fields in node_elements:
        name = _first(fields, "name", "entity_id", "entity_name", "title", "label")
        names[of["id"]] = name = name or of["id"]
        kind = _first(fields, "type", "entity_type").lower()
        nodes.append((name, kind, *text_and_chunks(fields)))
    for number, (of, fields) in enumerate(edge_elements, 1):
        place, ends = f"{import_from}, edge {number}", (of["source"], of["target"])
        if missing := [end for end in ends if end not in names]:
            raise UserError(f"{place}: there is no node '{missing[0]}'.")
        relation = normalise_name(_first(fields, "relation", "name", "label", "type"))
        words = map(str.strip, fields.get("keywords", "").replace(SEPARATOR, ",").split(","))
        description, chunks = text_and_chunks(fields)
        relationships.append(
            imported.ImportedRelationship(
                names[ends[0]], names[ends[1]], relation or ("" if columns else "related to"),
                description, tuple(dict.fromkeys(filter(None, words))),
                imported.weight_of(fields.get("weight"), place), chunks,
            )
        )  # fmt: skip
    graph = imported.imported_graph(import_from, nodes, relationships, chunk_table, columns)
    is_synonym = [name == SYNONYM for name in graph.relations]
    return replace(graph, synonym=np.array(is_synonym, bool)) if not columns else graph


def graphml_variant(path: Path) -> str:
    """Return the builder that imports a file: `graphml`, `graphml_tkg` or `graphml_rkg`."""
    keys, *_ = _read(path)
    if not {("node", "description"), ("all", "description")} & keys:
        return "graphml"
    themes = {("edge", "keywords"), ("all", "keywords")} & keys
    return "graphml_rkg" if themes else "graphml_tkg"


def _read(path: Path) -> tuple[set[tuple[str, str]], _Elements, _Elements]:
    """Return the declared (element, name) pairs of a GraphML file, its nodes and its edges."""
    from xml.etree import ElementTree

    try:
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}.") from None
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise UserError(f"{path}: not GraphML ({error}).") from None
    if (tag := root.tag.rpartition("}")[2]) != "graphml":
        raise UserError(f"{path}: not GraphML: its root element is '{tag}'.")
    keys = {
        key.get("id", ""): (key.get("for", "all"), key.get("attr.name", key.get("id", "")))
        for key in root.iterfind("{*}key")
    }

    def elements(tag: str, *of: str) -> _Elements:
        found: _Elements = []
        for one in root.iterfind(f".//{{*}}{tag}"):
            cells = [(cell.get("key", ""), cell.text or "") for cell in one.iterfind("{*}data")]
            fields = {keys[key][1]: text for key, text in cells if key in keys}
            found.append(({name: one.get(name, "") for name in of}, fields))
        return found

    return set(keys.values()), elements("node", "id"), elements("edge", "source", "target")


def _first(fields: Fields, *names: str) -> str:
    return next((fields[name].strip() for name in names if fields.get(name, "").strip()), "")


def _parts(fields: Fields, name: str) -> list[str]:
    return list(filter(None, map(str.strip, fields.get(name, "").split(SEPARATOR))))


def _units(path: Path, chunk_table: ChunkTable) -> dict[str, imported.Chunks]:
    chunk_file = path.parent / CHUNK_FILE
    stored = json_file(chunk_file) if chunk_file.is_file() else {}
    if not isinstance(stored, dict):
        raise UserError(f"{chunk_file}: expected a JSON object with chunk ids as keys.")
    chunks = [(name, chunk) for name, chunk in stored.items() if isinstance(chunk, dict)]
    texts = {name: str(chunk.get("content", "")) for name, chunk in chunks}
    by_digest = imported.chunks_by_id(map(imported.chunk_id, chunk_table.texts))
    return by_digest | imported.chunks_of_texts(texts, chunk_table)


def export_graphml(graph: Graph, chunk_table: ChunkTable, path: Path) -> None:
    """Write a graph to a GraphML file, which the setting `graph.import_from` can import.

    The chunk ids in `source_id` are those of LightRAG. Stated attributes of nodes are left out.
    """
    from xml.etree import ElementTree as Xml

    root = Xml.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    body = Xml.Element("graph", id="G", edgedefault="directed")
    keys: dict[str, Xml.Element] = {}
    chunks = [imported.chunk_id(text) for text in chunk_table.texts]

    def add(element: Xml.Element, row: int, columns: Columns, in_chunks: Any) -> None:
        texts = {name: "" if column is None else column[row] for name, column in columns.items()}
        ids = dict.fromkeys(chunks[one] for one in row_ids(in_chunks, row).tolist())
        for name, text in {**texts, "source_id": SEPARATOR.join(ids)}.items():
            if text:
                kind, key = "double" if name == "weight" else "string", f"{element.tag}_{name}"
                of = {"id": key, "for": element.tag, "attr.name": name, "attr.type": kind}
                keys.setdefault(key, Xml.Element("key", of))
                Xml.SubElement(element, "data", key=key).text = _NOT_XML.sub("", text)

    columns: Columns = {"name": graph.names, "type": graph.types, "description": graph.descriptions}
    for row in range(graph.n_nodes):
        add(Xml.SubElement(body, "node", id=f"n{row}"), row, columns, graph.node_chunk)
    columns = {
        "relation": graph.relations, "weight": [repr(one) for one in graph.weight.tolist()],
        "description": graph.facts, "keywords": graph.keywords,
    }  # fmt: skip
    ends = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    for row, (source, target) in enumerate(ends):  # the import numbers edges in this order
        of = {"id": f"e{row}", "source": f"n{source}", "target": f"n{target}"}
        add(Xml.SubElement(body, "edge", of), row, columns, graph.relationship_chunk)
    root.extend([*keys.values(), body])
    Xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
