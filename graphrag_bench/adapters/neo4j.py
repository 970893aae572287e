"""Write a graph as the CSV files that `neo4j-admin database import full` reads."""

from pathlib import Path

import pandas as pd

from graphrag_bench.adapters.graph_tables import write_csv

_NODES = {"id": ":ID", "label": ":LABEL"}
_LINKS = {"source": ":START_ID", "target": ":END_ID", "kind": ":TYPE", "weight": "weight:double"}


def export_neo4j(nodes: pd.DataFrame, links: pd.DataFrame, folder: Path) -> None:
    """Write nodes.csv and relationships.csv from the tables of `graph_tables`.

    The type of a relationship in Neo4j is the kind of the link, because Neo4j limits the number of
    types; the relation is its property `name`. Texts may have line breaks, so import the files with
    --multiline-fields=true.
    """
    write_csv(nodes.rename(columns=_NODES), folder / "nodes.csv")
    write_csv(links.rename(columns=_LINKS), folder / "relationships.csv")
