"""Graphs as GraphML, for other tools."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.artifacts.importers.graphml import SEPARATOR
from graphrag_bench.artifacts.importers.rows import chunk_id
from graphrag_bench.columns import row_ids
from graphrag_bench.data.chunks import ChunkTable

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"


def export_graphml(graph: Graph, chunk_table: ChunkTable, path: Path) -> None:
    """Write the graph as one GraphML file that `graph.import_from` reads back over its corpus.

    Nodes have name, type and description, edges relation, description, keywords and weight, as far
    as the graph has them; `source_id` names chunks as LightRAG does. Attributes of nodes are not
    written, and neither are characters that XML does not allow.
    """
    from xml.etree import ElementTree as Xml

    chunks = [chunk_id(text) for text in chunk_table.texts]
    nodes = {
        "name": list(graph.names),
        "type": _texts(graph.types, graph.n_nodes),
        "description": _texts(graph.descriptions, graph.n_nodes),
        "source_id": map(SEPARATOR.join, _units(graph.node_chunk, chunks)),
    }
    edges = {
        "relation": list(graph.relations),
        "weight": map(repr, graph.weight.tolist()),
        "description": _texts(graph.facts, graph.n_relationships),
        "keywords": _texts(graph.keywords, graph.n_relationships),
        "source_id": map(SEPARATOR.join, _units(graph.relationship_chunk, chunks)),
    }
    root = Xml.Element("graphml", xmlns=_NAMESPACE)
    for domain, names in (("node", nodes), ("edge", edges)):
        for name in names:
            kind = "double" if name == "weight" else "string"
            key = {"id": f"{domain}_{name}", "for": domain, "attr.name": name, "attr.type": kind}
            Xml.SubElement(root, "key", key)
    body = Xml.SubElement(root, "graph", id="G", edgedefault="directed")
    for row, cells in enumerate(zip(*nodes.values(), strict=True)):
        _fill(Xml.SubElement(body, "node", id=f"n{row}"), dict(zip(nodes, cells, strict=True)))
    ends = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    for row, ((source, target), *cells) in enumerate(zip(ends, *edges.values(), strict=True)):
        edge = Xml.SubElement(body, "edge", id=f"e{row}", source=f"n{source}", target=f"n{target}")
        _fill(edge, dict(zip(edges, cells, strict=True)))
    used = {data.get("key") for element in body for data in element}
    root[:] = [one for one in root if one is body or one.get("id") in used]
    Xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _fill(element: Any, fields: Mapping[str, str]) -> None:
    from xml.etree.ElementTree import SubElement

    for name, text in fields.items():
        if text:
            data = SubElement(element, "data", key=f"{element.tag}_{name}")
            data.text = _NOT_XML.sub("", text)


def _texts(column: Any, n_rows: int) -> list[str]:
    return [""] * n_rows if column is None else list(column)


def _units(matrix: Any, chunks: Sequence[str]) -> list[list[str]]:
    rows = (row_ids(matrix, row).tolist() for row in range(matrix.shape[0]))
    return [list(dict.fromkeys(chunks[chunk] for chunk in row)) for row in rows]
