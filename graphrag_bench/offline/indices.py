"""Search indices over nodes, relationships and chunks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.extraction import Extraction
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.bm25 import Bm25
from graphrag_bench.models.embedder import Embedder, encode_in_blocks
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.knowledge_graph import node_rows
from graphrag_bench.progress import Progress


def index_texts(
    texts: Sequence[str], embedder: Embedder, scratch: Path, progress: Progress, label: str
) -> VectorIndex:
    """The vectors of some texts in the order given, committed block by block."""
    with progress.task(label, len(set(texts))) as advance:
        return VectorIndex(encode_in_blocks(texts, embedder, scratch, advance))


@artifact("chunk_index")
def chunk_index(
    *, chunk_table: ChunkTable, embedder: Embedder, scratch: Path, progress: Progress
) -> VectorIndex:
    """One vector for each chunk, of its title and text."""
    texts = [chunk_table.passage(row) for row in range(len(chunk_table))]
    return index_texts(texts, embedder, scratch, progress, "embedding chunks")


@artifact("name_index")
def name_index(
    *, extraction: Extraction, embedder: Embedder, scratch: Path, progress: Progress
) -> VectorIndex:
    """One vector for each node name, in node order."""
    names = list(node_rows(extraction))
    return index_texts(names, embedder, scratch, progress, "embedding node names")


@artifact("node_index.name")
def node_index(*, name_index: VectorIndex) -> VectorIndex:
    """The node index of a knowledge graph: its entity names.

    Source: Zhou et al. 2025, section 5 (a KG node is embedded by its entity name).
    """
    return name_index


@artifact("relationship_index")
def relationship_index(
    *, graph: Graph, embedder: Embedder, scratch: Path, progress: Progress
) -> VectorIndex:
    """One vector for each relationship row: "head relation tail", single spaces.

    Source: Zhou et al. 2025, section 5 (relation context with both entity names).
    """
    texts = [
        f"{graph.names[int(head)]} {relation} {graph.names[int(tail)]}"
        for head, relation, tail in zip(graph.source, graph.relations, graph.target, strict=True)
    ]
    return index_texts(texts, embedder, scratch, progress, "embedding relationships")


@artifact("bm25")
def bm25(
    *,
    chunk_table: ChunkTable,
    k1: Annotated[float, Field(gt=0)] = 1.5,
    b: Annotated[float, Field(ge=0, le=1)] = 0.75,
) -> Bm25:
    """A BM25 index over the titles and texts of the chunks."""
    return Bm25.of([chunk_table.passage(row) for row in range(len(chunk_table))], k1, b)
