"""Write a graph as CSV files for GFM-RAG 2, G-reasoner and Neo4j."""

import json
from pathlib import Path

import pandas as pd

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graphs.knowledge_graph import SYNONYM

_RELATION = {"SYNONYM_OF": "equivalent", "MENTIONED_IN": "is_mentioned_in"}
_LINKS = {"source": ":START_ID", "target": ":END_ID", "kind": ":TYPE", "weight": "weight:double"}


def graph_tables(graph: Graph, table: ChunkTable) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a table of nodes and a table of links. The label of a node is Entity or Chunk.

    The name of a chunk is the id of its first document, with a number (`#2`) if the document has
    several chunks. The kind of a link is RELATED_TO, SYNONYM_OF, or MENTIONED_IN.
    """
    names = []
    for row in range(len(table)):
        others = table.chunks_of(name := table.documents_of(row)[0])
        names.append(f"{name}#{others.index(row) + 1}" if others[1:] else name)
    inside, n = graph.node_chunk.tocoo(), [f"n{row}" for row in range(graph.n_nodes)]
    c = [f"c{row}" for row in range(len(table))]
    kinds = ["SYNONYM_OF" if one == SYNONYM else "RELATED_TO" for one in graph.relations]
    entities = pd.DataFrame({
        "id": n, "label": "Entity", "name": graph.names, "type": graph.types, "title": "",
        "text": graph.descriptions,
    })  # fmt: skip
    chunks = pd.DataFrame({
        "id": c, "label": "Chunk", "name": names, "title": table.titles, "text": table.texts,
    })  # fmt: skip
    facts = pd.DataFrame({
        "source": [n[row] for row in graph.source], "target": [n[row] for row in graph.target],
        "kind": kinds, "name": graph.relations, "weight": graph.weight,
        "description": graph.facts, "keywords": graph.keywords,
    })  # fmt: skip
    mentions = pd.DataFrame({
        "source": [n[row] for row in inside.row], "target": [c[row] for row in inside.col],
        "kind": "MENTIONED_IN", "weight": inside.data.astype(float),
    })  # fmt: skip
    return pd.concat([entities, chunks]).fillna(""), pd.concat([facts, mentions]).fillna("")


def export_neo4j(graph: Graph, table: ChunkTable, folder: Path) -> None:
    """Write nodes.csv and relationships.csv for `neo4j-admin database import full`.

    Neo4j limits the number of types, so the relation is the property `name` and not the type.
    """
    nodes, links = graph_tables(graph, table)
    _write_csv(nodes.rename(columns={"id": ":ID", "label": ":LABEL"}), folder / "nodes.csv")
    _write_csv(links.rename(columns=_LINKS), folder / "relationships.csv")


def export_gfm(graph: Graph, table: ChunkTable, folder: Path) -> None:
    """Write processed/stage1/{nodes,relations,edges}.csv and raw/documents.json.

    If an entity has the same name as a chunk, " (document)" is added to the name of the chunk.
    Source: gfm-rag 2.0.0, docs/workflow/data_format.md.
    """
    nodes, links = graph_tables(graph, table)
    is_chunk, stage = nodes["label"] == "Chunk", folder / "processed" / "stage1"
    taken = is_chunk & nodes["name"].isin(nodes["name"][~is_chunk])
    names = nodes["name"] + taken.map({True: " (document)", False: ""})
    passages = (nodes["title"] + "\n" + nodes["text"]).str.removeprefix("\n")
    about = nodes[["type"]].assign(description=nodes["text"].mask(is_chunk, ""))
    about["content"] = passages.where(is_chunk, "")
    kinds = is_chunk.map({True: "document", False: "entity"})
    rows = {"name": names, "type": kinds, "attributes": _literals(about)}
    _write_csv(pd.DataFrame(rows), stage / "nodes.csv")
    relation = links["kind"].map(_RELATION).fillna(links["name"].replace("", "related to"))
    by_id = dict(zip(nodes["id"], names, strict=True))
    rows = {"source": links["source"].map(by_id), "relation": relation}
    rows |= {"target": links["target"].map(by_id)}
    rows["attributes"] = _literals(links[["description", "keywords", "weight"]])
    _write_csv(pd.DataFrame(rows), stage / "edges.csv")
    relations = pd.DataFrame({"name": relation.unique(), "attributes": "{}"})
    _write_csv(relations, stage / "relations.csv")
    (folder / "raw").mkdir(exist_ok=True)
    texts = dict(zip(names[is_chunk], passages[is_chunk], strict=True))
    (folder / "raw" / "documents.json").write_text(json.dumps(texts, indent=1))


def _literals(table: pd.DataFrame) -> list[str]:
    return [repr({k: v for k, v in row.items() if v != ""}) for row in table.to_dict("records")]


def _write_csv(table: pd.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, quoting=2, lineterminator="\n", errors="replace")
