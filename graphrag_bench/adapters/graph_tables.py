"""Write a graph as two tables, for other tools that read CSV files."""

from pathlib import Path

import pandas as pd

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graphs.knowledge_graph import SYNONYM


def graph_tables(graph: Graph, table: ChunkTable) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a table of nodes (id, label, name, type, title, text) and a table of links.

    The label of a node is Entity or Chunk. The name of a chunk is the id of its first document. If
    the document has several chunks, a number (`#2`) is added. The columns of links are source,
    target, kind, name, weight, description and keywords. A link between two nodes has the kind
    RELATED_TO or SYNONYM_OF. A link from a node to a chunk has the kind MENTIONED_IN. Missing texts
    are "".
    """
    names = []
    for row in range(len(table)):
        others = table.chunks_of(name := table.documents_of(row)[0])
        names.append(f"{name}#{others.index(row) + 1}" if others[1:] else name)
    inside, n = graph.node_chunk.tocoo(), [f"n{row}" for row in range(graph.n_nodes)]
    c = [f"c{row}" for row in range(len(table))]
    entities = pd.DataFrame(
        {
            "id": n,
            "label": "Entity",
            "name": graph.names,
            "type": graph.types,
            "title": "",
            "text": graph.descriptions,
        }
    )
    chunks = pd.DataFrame(
        {"id": c, "label": "Chunk", "name": names, "title": table.titles, "text": table.texts}
    )
    facts = pd.DataFrame(
        {
            "source": [n[row] for row in graph.source],
            "target": [n[row] for row in graph.target],
            "kind": ["SYNONYM_OF" if one == SYNONYM else "RELATED_TO" for one in graph.relations],
            "name": graph.relations,
            "weight": graph.weight,
            "description": graph.facts,
            "keywords": graph.keywords,
        }
    )
    mentions = pd.DataFrame(
        {
            "source": [n[row] for row in inside.row],
            "target": [c[row] for row in inside.col],
            "kind": "MENTIONED_IN",
            "weight": inside.data.astype(float),
        }
    )
    return pd.concat([entities, chunks]).fillna(""), pd.concat([facts, mentions]).fillna("")


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV in UTF-8; texts are quoted and keep their line breaks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, quoting=2, lineterminator="\n", errors="replace")
