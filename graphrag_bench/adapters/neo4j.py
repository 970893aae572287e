"""Write a graph as CSV files for `neo4j-admin database import full`."""

from pathlib import Path

import pandas as pd

from graphrag_bench.adapters.graph_tables import write_csv

_NODES = {"id": ":ID", "label": ":LABEL"}
_LINKS = {"source": ":START_ID", "target": ":END_ID", "kind": ":TYPE", "weight": "weight:double"}


def export_neo4j(nodes: pd.DataFrame, links: pd.DataFrame, folder: Path) -> None:
    """Write nodes.csv and relationships.csv from the tables of `graph_tables`.

    Neo4j limits the number of relationship types. Therefore the type of a relationship is the kind
    of the link, and its property `name` is the relation. Texts may contain line breaks, so import
    the files with --multiline-fields=true.
    """
    write_csv(nodes.rename(columns=_NODES), folder / "nodes.csv")
    write_csv(links.rename(columns=_LINKS), folder / "relationships.csv")
