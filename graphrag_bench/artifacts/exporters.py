"""Graphs as files for other tools: GraphML, and the parquet tables of Microsoft GraphRAG."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.artifacts.importers.graphml import SEPARATOR
from graphrag_bench.artifacts.importers.rows import ATTRIBUTES, chunk_id
from graphrag_bench.columns import row_ids
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.rows import pyarrow
from graphrag_bench.text import count_tokens

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"


def export_graphml(graph: Graph, chunk_table: ChunkTable, path: Path) -> None:
    """Write the graph as one GraphML file that `graph.import_from` reads back over its corpus.

    Nodes have name, type, description and attributes, edges relation, description, keywords and
    weight, as far as the graph has them; `source_id` names chunks as LightRAG does, and
    `node_attributes` is a JSON list of [name, value, ids of chunks]. Characters that XML does not
    allow are left out.
    """
    from xml.etree import ElementTree as Xml

    chunks = _chunk_ids(chunk_table)
    root = Xml.Element("graphml", xmlns=_NAMESPACE)
    body = Xml.Element("graph", id="G", edgedefault="directed")
    for row in range(graph.n_nodes):
        _fill(Xml.SubElement(body, "node", id=f"n{row}"), "n", _node(graph, row, chunks))
    for row, (source, target) in enumerate(zip(graph.source, graph.target, strict=True)):
        ends = {"id": f"e{row}", "source": f"n{source}", "target": f"n{target}"}
        _fill(Xml.SubElement(body, "edge", ends), "e", _edge(graph, row, chunks))
    declared = {(one.tag, key.get("key", "")) for one in body for key in one}
    for domain, key in sorted(declared):
        name = key.partition("_")[2]
        kind = "double" if name == "weight" else "string"
        Xml.SubElement(root, "key", {"id": key, "for": domain, "attr.name": name,
                                     "attr.type": kind})  # fmt: skip
    root.append(body)
    Xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def export_parquet(graph: Graph, chunk_table: ChunkTable, folder: Path) -> None:
    """Write entities, relationships and text_units.parquet, named as Microsoft GraphRAG does.

    `relation` and `keywords` are columns of their own, and so are `node_attributes`, structs
    of name, value and text_unit_ids, where the graph has them; a relationship without a
    description is described as "head relation tail". Raises UserError when pyarrow is not
    installed.
    """
    chunks = _chunk_ids(chunk_table)
    ends = np.concatenate([graph.pairs.source, graph.pairs.target])
    degree = np.bincount(ends, minlength=graph.n_nodes).tolist()
    names = list(graph.names)
    entities: list[dict[str, Any]] = [
        {
            "id": f"entity-{row}",
            "human_readable_id": row,
            "title": name,
            "type": _cell(graph.types, row),
            "description": _cell(graph.descriptions, row),
            "text_unit_ids": (units := _of(graph.node_chunk, row, chunks)),
            "frequency": len(units),
            "degree": degree[row],
        }
        for row, name in enumerate(names)
    ]
    for row, entity in enumerate(entities if graph.node_attributes is not None else ()):
        keys = ("name", "value", "text_unit_ids")
        stated = _attributes(graph, row, chunks)
        entity[ATTRIBUTES] = [dict(zip(keys, one, strict=True)) for one in stated]
    relationships = []
    for row, (head, tail) in enumerate(zip(graph.source, graph.target, strict=True)):
        parts = names[head], graph.relations[row], names[tail]
        relationships.append(
            {
                "id": f"relationship-{row}",
                "human_readable_id": row,
                "source": names[head],
                "target": names[tail],
                "relation": graph.relations[row],
                "description": _cell(graph.facts, row) or " ".join(filter(None, parts)),
                "keywords": _cell(graph.keywords, row),
                "weight": float(graph.weight[row]),
                "combined_degree": degree[head] + degree[tail],
                "text_unit_ids": _of(graph.relationship_chunk, row, chunks),
            }
        )
    text_units = [
        {
            "id": chunks[row],
            "human_readable_id": row,
            "text": text,
            "n_tokens": count_tokens(text),
            "document_ids": chunk_table.documents_of(row),
        }
        for row, text in enumerate(chunk_table.texts)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "entities.parquet", entities)
    _write(folder / "relationships.parquet", relationships)
    _write(folder / "text_units.parquet", text_units)


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    pyarrow("pyarrow.parquet").write_table(pyarrow("pyarrow").Table.from_pylist(rows), path)


def _node(graph: Graph, row: int, chunks: Sequence[str]) -> dict[str, str]:
    stated = _attributes(graph, row, chunks)
    return {
        "name": graph.names[row],
        "type": _cell(graph.types, row),
        "description": _cell(graph.descriptions, row),
        ATTRIBUTES: json.dumps(stated, ensure_ascii=False) if stated else "",
        "source_id": SEPARATOR.join(_of(graph.node_chunk, row, chunks)),
    }


def _edge(graph: Graph, row: int, chunks: Sequence[str]) -> dict[str, str]:
    return {
        "relation": graph.relations[row],
        "weight": repr(float(graph.weight[row])),
        "description": _cell(graph.facts, row),
        "keywords": _cell(graph.keywords, row),
        "source_id": SEPARATOR.join(_of(graph.relationship_chunk, row, chunks)),
    }


def _fill(element: Any, prefix: str, fields: Mapping[str, str]) -> None:
    from xml.etree.ElementTree import SubElement

    for name, text in fields.items():
        if text:
            SubElement(element, "data", key=f"{prefix}_{name}").text = _NOT_XML.sub("", text)


def _attributes(graph: Graph, row: int, chunks: Sequence[str]) -> list[tuple[str, str, list[str]]]:
    if (columns := graph.node_attributes) is None:
        return []
    rows = np.sort(columns.rows_of(row)).tolist()
    return [(columns.names[at], columns.values[at], _of(columns.chunk, at, chunks)) for at in rows]


def _chunk_ids(chunk_table: ChunkTable) -> list[str]:
    return [chunk_id(text) for text in chunk_table.texts]


def _of(matrix: Any, row: int, chunks: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(chunks[chunk] for chunk in row_ids(matrix, row)))


def _cell(column: Any, row: int) -> str:
    return column[row] if column is not None else ""
