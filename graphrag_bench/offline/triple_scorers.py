"""What scores the triples of a graph: the index of their texts, or a trained scorer's features."""

from __future__ import annotations

import re

import numpy as np

from graphrag_bench.contract import artifact
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.triple_scorer import MlpTripleScorer, MlpWeights
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.indices import index_texts
from graphrag_bench.progress import Progress

_MACHINE_ID = re.compile(r"^[mg]\.[\w.]+$")


@artifact("triple_index")
def triple_index(*, graph: Graph, embedder: Embedder, progress: Progress) -> VectorIndex:
    """One vector for each relationship row: "head relation tail", as `triple_text` writes it.

    Source: our specification of path pooling, 4.2.
    """
    names = list(graph.names)
    rows = zip(graph.source.tolist(), graph.relations, graph.target.tolist(), strict=True)
    texts = [triple_text(names[head], relation, names[tail]) for head, relation, tail in rows]
    return index_texts(texts, embedder, progress, "triples")


def triple_text(head: str, relation: str, tail: str) -> str:
    """Head, relation and tail with single spaces, dots and underscores of the relation as spaces.

    Freebase's machine ids (m.0k2, g.11b) are left out, and so is whatever is empty.
    """
    spaced = re.sub(r"[._]+", " ", relation).strip()
    return " ".join(part for part in (head, spaced, tail) if part and not _MACHINE_ID.match(part))


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
