"""HiRAG, KET-RAG, NodeRAG and Youtu-GraphRAG as a plug-in of graphrag-bench."""

from graphrag_bench_more.hirag import layered_graph
from graphrag_bench_more.ketrag import chunk_graph
from graphrag_bench_more.noderag import heterogeneous_graph
from graphrag_bench_more.youtugraphrag import communities, schema_extraction, typed

__all__ = [
    "chunk_graph",
    "communities",
    "heterogeneous_graph",
    "layered_graph",
    "schema_extraction",
    "typed",
]
