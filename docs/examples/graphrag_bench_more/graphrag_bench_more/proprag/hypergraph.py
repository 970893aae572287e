"""PropRAG: a hypergraph of facts, with synonymy edges between entities of similar names."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.extraction import FactExtraction
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.graphs.hypergraph import PROVIDES, hypergraph
from graphrag_bench.graphs.knowledge_graph import SYNONYM, add_relationships, synonym_pairs
from graphrag_bench.graphs.sentences import vectors_of
from graphrag_bench.progress import Progress


@artifact("graph.hypergraph_synonymy", provides=PROVIDES)
def hypergraph_synonymy(
    *,
    fact_extraction: FactExtraction,
    chunk_table: ChunkTable,
    embedder: Embedder,
    progress: Progress,
    description_tokens: NonNegativeInt | None = 0,
    synonyms_per_node: PositiveInt = 10,
    synonymy_threshold: Annotated[float, Field(gt=0, le=1)] = 0.8,
) -> Graph:
    """Build a hypergraph with synonymy edges between entities that have similar names.

    The facts are as in `graph.hypergraph`, and synonymy edges are as in `graph.kg_synonymy`.
    Source: PropRAG (Wang and Han 2025), and the authors' code.
    """
    graph = hypergraph(
        fact_extraction=fact_extraction, chunk_table=chunk_table,
        description_tokens=description_tokens,
    )  # fmt: skip
    names = graph.names.take(range(int(graph.statistics["entities"])))
    vectors = np.ascontiguousarray(vectors_of(names, embedder, progress, "embedding node names"))
    codes, cosine = synonym_pairs(vectors, synonyms_per_node, synonymy_threshold, progress)
    graph = replace(graph, statistics={**graph.statistics, "synonyms": len(codes)})
    return add_relationships(graph, *np.divmod(codes, len(names)), cosine, SYNONYM)
