"""What a path to import from is, and the digest of its content."""

from __future__ import annotations

from pathlib import Path

from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest, file_digest

_MADE_FROM = {
    "graph": "relationships",
    "chunk_table": "text_units",
    "communities": "communities",
    "reports": "community_reports",
}
"""The table of a folder of Microsoft GraphRAG that each resource is made from."""
_READ = ("entities", "relationships", "communities", "community_reports", "text_units", "documents")
_FORMATS = (
    "a folder with entities.parquet (Microsoft GraphRAG), a .graphml file (LightRAG and others), "
    "or a .jsonl or .csv file of triples"
)


def variants_for(path: Path) -> dict[str, str]:
    """The variant of each resource that a path takes the place of; raises UserError for others.

    A folder of Microsoft GraphRAG gives communities and reports where it has them, and its text
    units as the chunk table.
    """
    if (path / "entities.parquet").is_file():
        from graphrag_bench.offline.importers.msgraphrag import has_column
        from graphrag_bench.offline.importers.rows import ATTRIBUTES

        there = {one for one, table in _MADE_FROM.items() if (path / f"{table}.parquet").is_file()}
        found = {one: "msgraphrag" for one in _MADE_FROM if one in {"graph", *there}}
        attributed = has_column(path, "entities", ATTRIBUTES)
        return {**found, "graph": "msgraphrag_attributed"} if attributed else found
    file = file_of(path)
    kind = file.suffix.lower() if file.is_file() else ""
    if kind == ".graphml":
        from graphrag_bench.offline.importers.graphml import graphml_variant

        return {"graph": graphml_variant(file)}
    if kind in (".jsonl", ".csv"):
        return {"graph": "triples"}
    raise UserError(f"graph.import_from: '{path}' is not {_FORMATS}.")


def file_of(path: Path) -> Path:
    """The file to read: the one .graphml file of a folder that holds no parquet, or the path."""
    if path.is_dir() and not (path / "entities.parquet").is_file():
        inside = sorted(path.glob("*.graphml"))
        return inside[0] if len(inside) == 1 else path
    return path


def content_digest(path: Path) -> str:
    """The digest of what is read: a file and the chunks next to it, or the tables of a folder."""
    file = file_of(path)
    if file.is_file():
        chunk_file = file.parent / "kv_store_text_chunks.json"
        with_chunks = file.suffix.lower() == ".graphml" and chunk_file.is_file()
        return digest(*(file_digest(one) for one in (file, *([chunk_file] if with_chunks else ()))))
    tables = [file / f"{name}.parquet" for name in _READ]
    return digest([(one.name, file_digest(one)) for one in tables if one.is_file()])
