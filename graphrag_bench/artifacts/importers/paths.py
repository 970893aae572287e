"""Find out which resources can be imported from a path, and compute the digest of its files."""

from pathlib import Path

from graphrag_bench.artifacts.graphml import CHUNK_FILE, graphml_variant
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest, file_digest

_TABLES = {
    "graph": "relationships",
    "chunk_table": "text_units",
    "communities": "communities",
    "reports": "community_reports",
}
"""The table of Microsoft GraphRAG from which each resource is imported."""
_READ = ("entities", "relationships", "communities", "community_reports", "text_units", "documents")


def variants_for(path: Path) -> dict[str, str]:
    """Return {resource: variant} of the resources in `path`. Raises UserError if there are none."""
    if (path / "entities.parquet").is_file():
        stored = [of for of, table in _TABLES.items() if (path / f"{table}.parquet").is_file()]
        return dict.fromkeys(["graph", *stored], "msgraphrag")
    file = file_of(path)
    if file.is_file() and file.suffix.lower() == ".graphml":
        return {"graph": graphml_variant(file)}
    raise UserError(
        f"graph.import_from: '{path}' is neither a folder with entities.parquet (Microsoft "
        "GraphRAG) nor a .graphml file (LightRAG and others)."
    )


def file_of(path: Path) -> Path:
    """Return the file to import: the only .graphml file of a folder, or else the path itself."""
    if path.is_dir() and not (path / "entities.parquet").is_file():
        inside = sorted(path.glob("*.graphml"))
        return inside[0] if len(inside) == 1 else path
    return path


def content_digest(path: Path) -> str:
    """Return the digest of the files to import: tables, or a .graphml file and its chunk file."""
    if (file := file_of(path)).is_file():
        files = (file, file.parent / CHUNK_FILE)
        return digest(*[file_digest(one) for one in files if one.is_file()])
    tables = [file / f"{name}.parquet" for name in _READ]
    return digest([(one.name, file_digest(one)) for one in tables if one.is_file()])
