"""The index of a released engine as an artifact, and its graph in the form that importers read."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.expected import Sizes
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.engine import Built, Engine, Mode
from graphrag_bench.models.engine_index import GRAPH, EngineIndex
from graphrag_bench.models.engine_replies import chunk_name, chunk_row
from graphrag_bench.models.llm import LLM
from graphrag_bench.offline.exporters import export_graphml
from graphrag_bench.offline.importers.rows import (
    ImportedNode,
    ImportedRelationship,
    imported_graph,
    weight_of,
)
from graphrag_bench.offline.importers.sources import chunks_by_digest

_CALLS_A_CHUNK = 2
"""Extraction with one more round, as most engines have it by default."""


def _tokens(_: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    """Instructions with examples, the chunk, and names with descriptions: a rough guess."""
    return 1500.0 + sizes.chunk, 2.0 * sizes.chunk


@artifact("original_index", calls=_CALLS_A_CHUNK, tokens=_tokens)
def original_index(
    *,
    engine: Engine,
    corpus: Dataset,
    chunk_table: ChunkTable,
    llm_build: LLM,
    embedder: Embedder,
    scratch: Path,
    mode: Mode = "equal",
) -> EngineIndex:
    """The index that the engine has built of the corpus, with its graph as GraphML.

    `equal` gives it our chunks, each with its title, to be indexed as they are; `as_released` the
    documents, which it cuts as its release does. All calls are those of the build model and the
    embedder of the run. A graph without nodes has no file. Raises RunStopped when the engine
    builds nothing.
    """
    folder = scratch / "engine"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    documents = [{"id": d.id, "title": d.title, "text": d.text} for d in corpus.documents]
    chunks = _chunks(chunk_table) if mode == "equal" else None
    built = engine.build(folder, mode, documents, chunks, llm=llm_build, embedder=embedder)
    return EngineIndex(folder, built.told, _graph(built, chunk_table, scratch / GRAPH))


def _chunks(table: ChunkTable) -> list[dict[str, str]]:
    return [
        {"id": chunk_name(row), "document": table.documents_of(row)[0], "text": table.passage(row)}
        for row in range(len(table))
    ]


def _graph(built: Built, table: ChunkTable, path: Path) -> Path | None:
    """The file of the engine's graph over our chunks; None for a graph without nodes."""
    if not any(str(row.get("name") or "").strip() for row in built.nodes):
        return None
    by_digest = chunks_by_digest(table)
    n_named = len(table) if built.told.mode == "equal" else 0

    def chunks(row: Mapping[str, Any]) -> tuple[int, ...] | None:
        names = row.get("chunks")
        found = _rows_of(names, by_digest, n_named) if isinstance(names, list) else ()
        return found or None

    nodes = [
        ImportedNode(_text(row, "name"), _text(row, "type"), _text(row, "description"), chunks(row))
        for row in built.nodes
    ]
    relationships = [
        ImportedRelationship(
            _text(row, "source"),
            _text(row, "target"),
            description=_text(row, "description"),
            weight=weight_of(row.get("weight"), "the engine's graph"),
            chunks=chunks(row),
        )
        for row in built.relationships
    ]
    where = f"the graph of {built.told.engine}"
    export_graphml(imported_graph(where, nodes, relationships, table, "auto"), table, path)
    return path


def _rows_of(
    names: Sequence[object], by_digest: Mapping[str, tuple[int, ...]], n_named: int
) -> tuple[int, ...]:
    """The rows of chunks that an engine names: `n_named` by our names, others by LightRAG's."""
    found: dict[int, None] = {}
    for name in names:
        row = chunk_row(str(name), n_named)
        rows = by_digest.get(str(name), ()) if row is None else (row,)
        found |= dict.fromkeys(rows)
    return tuple(found)


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""
