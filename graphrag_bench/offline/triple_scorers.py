"""What scores the triples of a graph: the index of their texts, or a trained scorer's features."""

from __future__ import annotations

import numpy as np

from graphrag_bench.contract import artifact
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.triple_scorer import MlpTripleScorer, MlpWeights
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.indices import index_texts
from graphrag_bench.offline.triple_index import triple_text
from graphrag_bench.progress import Progress


@artifact("triple_scorer.cosine")
def cosine_scorer(*, triple_index: VectorIndex) -> VectorIndex:
    """The index of the triples as texts: the scorer without training.

    Source: our specification of path pooling, 4.2.
    """
    return triple_index


@artifact("triple_scorer.mlp")
def mlp_scorer(
    *,
    triple_weights: MlpWeights,
    graph: Graph,
    embedder: Embedder,
    progress: Progress,
) -> MlpTripleScorer:
    """The trained weights with the vectors of a graph's names and relations, each text once.

    Raises UserError when the weights were trained with vectors of another length.
    Source: SubgraphRAG (Li et al. 2025), section 3.1.
    """
    names = [triple_text(name, "", "") for name in graph.names]
    kinds: dict[str, int] = {}
    relation = np.array([kinds.setdefault(name, len(kinds)) for name in graph.relations], np.int64)
    texts = [*names, *(triple_text("", name, "") for name in kinds)]
    vectors = index_texts(texts, embedder, progress, "names").vectors
    if vectors.shape[1] != triple_weights.dimension:
        raise UserError(
            f"The triple scorer was trained with vectors of {triple_weights.dimension} numbers; "
            f"the embedder gives {vectors.shape[1]}."
        )
    readable = np.array([bool(name) for name in names], bool)
    split = len(names)
    return MlpTripleScorer(triple_weights, vectors[:split], readable, vectors[split:], relation)
