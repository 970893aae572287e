"""Resources and variants of this plug-in for the tests of the project."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench_more.ketrag.chunk_graph import KeywordGraph
from graphrag_bench_more.youtugraphrag.typed import attribute_texts


def resources(
    graph: Graph,
    sentences: Texts,
    names: VectorIndex,
    index: Callable[[Sequence[str]], VectorIndex],
) -> dict[str, Any]:
    """Return the resources that only operators of this package use."""
    named = graph.node_chunk.astype(bool)
    return {
        "attribute_index": index(attribute_texts(graph)),
        "keyword_graph": KeywordGraph(graph.names, sentences, named, named),
        "keyword_index": names,
    }


def usual() -> Mapping[str, str]:
    """Return the variants from which other artifacts are built."""
    return {"schema_extraction": "nlp"}


def otherwise() -> Mapping[str, Mapping[str, str]]:
    """Return other variants for resources that do not fit the usual graph."""
    return {"attribute_index": {"graph": "attributed"}}


def lenient() -> Mapping[str, bool]:
    """Return the builders that accept any reply."""
    return {"graph.heterogeneous_llm": True}
