"""Seven methods as a plug-in of graphrag-bench.

DRIFT, GFM-RAG, HiRAG, KET-RAG, NodeRAG, PropRAG and Youtu-GraphRAG.
"""

from graphrag_bench_more.drift import search
from graphrag_bench_more.gfmrag import gnn_scorers, gnn_training
from graphrag_bench_more.hirag import layered_graph
from graphrag_bench_more.ketrag import chunk_graph
from graphrag_bench_more.noderag import heterogeneous_graph
from graphrag_bench_more.proprag import beam, hypergraph, walks
from graphrag_bench_more.youtugraphrag import communities, schema_extraction, typed

__all__ = [
    "beam",
    "chunk_graph",
    "communities",
    "gnn_scorers",
    "gnn_training",
    "heterogeneous_graph",
    "hypergraph",
    "layered_graph",
    "schema_extraction",
    "search",
    "typed",
    "walks",
]
