"""Write a graph as a data set for GFM-RAG 2 and G-reasoner."""

import json
from pathlib import Path

import pandas as pd

from graphrag_bench.adapters.graph_tables import write_csv

_RELATION = {"SYNONYM_OF": "equivalent", "MENTIONED_IN": "is_mentioned_in"}


def export_gfm(nodes: pd.DataFrame, links: pd.DataFrame, folder: Path) -> None:
    """Write processed/stage1/{nodes,relations,edges}.csv and raw/documents.json.

    `nodes` and `links` are the tables from `graph_tables`. Chunks have the type `document`. If an
    entity has the same name as a chunk, " (document)" is added to the name of the chunk. Attributes
    are written as Python literals.
    Source: gfm-rag 2.0.0, docs/workflow/data_format.md.
    """
    is_chunk, stage = nodes["label"] == "Chunk", folder / "processed" / "stage1"
    taken = is_chunk & nodes["name"].isin(nodes["name"][~is_chunk])
    names = nodes["name"] + taken.map({True: " (document)", False: ""})
    passages = (nodes["title"] + "\n" + nodes["text"]).str.removeprefix("\n")
    about = nodes[["type"]].assign(description=nodes["text"].mask(is_chunk, ""))
    about["content"] = passages.where(is_chunk, "")
    kinds = is_chunk.map({True: "document", False: "entity"})
    table = {"name": names, "type": kinds, "attributes": _literals(about)}
    write_csv(pd.DataFrame(table), stage / "nodes.csv")
    relation = links["kind"].map(_RELATION).fillna(links["name"].replace("", "related to"))
    by_id = dict(zip(nodes["id"], names, strict=True))
    ends = {end: links[end].map(by_id) for end in ("source", "target")}
    table = {"source": ends["source"], "relation": relation, "target": ends["target"]}
    table["attributes"] = _literals(links[["description", "keywords", "weight"]])
    write_csv(pd.DataFrame(table), stage / "edges.csv")
    relations = pd.DataFrame({"name": relation.unique(), "attributes": "{}"})
    write_csv(relations, stage / "relations.csv")
    (folder / "raw").mkdir(exist_ok=True)
    texts = dict(zip(names[is_chunk], passages[is_chunk], strict=True))
    (folder / "raw" / "documents.json").write_text(json.dumps(texts, indent=1))


def _literals(table: pd.DataFrame) -> list[str]:
    return [repr({k: v for k, v in row.items() if v != ""}) for row in table.to_dict("records")]
