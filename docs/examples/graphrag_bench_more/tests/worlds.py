"""Resources and variants of this plug-in for the tests of the project."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gnn_checkpoints import checkpoint

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.model_files import Checkpoint
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.progress import Progress
from graphrag_bench_more.gfmrag.gnn_scorers import (
    EntityScorer,
    GnnWeights,
    NetworkShape,
    entity_scorer,
)
from graphrag_bench_more.gfmrag.gnn_training import initialise
from graphrag_bench_more.ketrag.chunk_graph import KeywordGraph
from graphrag_bench_more.youtugraphrag.typed import attribute_texts


def resources(
    graph: Graph,
    sentences: Texts,
    names: VectorIndex,
    index: Callable[[Sequence[str]], VectorIndex],
    embedder: Hashing,
) -> dict[str, Any]:
    """Return the resources that only operators of this package use."""
    named = graph.node_chunk.astype(bool)
    return {
        "attribute_index": index(attribute_texts(graph)),
        "entity_scorer": network_of(graph, embedder),
        "keyword_graph": KeywordGraph(graph.names, sentences, named, named),
        "keyword_index": names,
    }


def network_of(graph: Graph, embedder: Hashing) -> EntityScorer:
    """Return a small graph network with random parameters."""
    shape = NetworkShape(embedder.dimension, 8, 2)
    network = shape.network()
    initialise(network, np.random.default_rng(0))
    weights = GnnWeights(shape, {n: v.numpy() for n, v in network.state_dict().items()})
    return entity_scorer(
        gnn_weights=weights, graph=graph, embedder=embedder, progress=Progress(quiet=True)
    )


def given(home: Path) -> dict[str, Any]:
    """Return the resources that are not built."""
    return {"checkpoint": Checkpoint(str(checkpoint(home / "checkpoint")))}


def usual() -> Mapping[str, str]:
    """Return the variants from which other artifacts are built."""
    return {"schema_extraction": "nlp", "gnn_weights": "trained"}


def otherwise() -> Mapping[str, Mapping[str, str]]:
    """Return other variants for resources that do not fit the usual graph."""
    return {"attribute_index": {"graph": "attributed"}}


def quick() -> Mapping[tuple[str, str], Mapping[str, int]]:
    """Return settings that shorten slow builders, by resource and variant."""
    small = {"hidden": 4, "layers": 1, "epochs": 1, "world_size": 12, "questions": 6}
    return {("gnn_weights", "trained"): small}


def from_nothing() -> Mapping[str, bool]:
    """Return the operators that return something for empty input."""
    return {"drift.primer.nlp": True, "chunk.clique_ppr": True}


def lenient() -> Mapping[str, bool]:
    """Return the builders that accept any reply."""
    return {"graph.heterogeneous_llm": True}
