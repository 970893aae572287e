"""Synonymy edges: the knowledge graph with edges between nodes of similar names."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.columns import Texts
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.extraction import Extraction
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Vectors
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.knowledge_graph import (
    KG_ATTRIBUTES,
    Counted,
    Titles,
    fact_graph,
    titled,
)
from graphrag_bench.progress import Progress
from graphrag_bench.values import DECIMALS, FloatArray, IntArray

SYNONYM = "synonym of"
_BLOCK = 1024


@artifact("graph.kg_synonymy", provides=KG_ATTRIBUTES)
def kg_synonymy(
    *,
    extraction: Extraction,
    chunk_table: ChunkTable,
    name_index: VectorIndex,
    progress: Progress,
    synonyms_per_node: PositiveInt = 10,
    synonymy_threshold: Annotated[float, Field(gt=0, le=1)] = 0.8,
    synonymy: Literal["skip", "overwrite", "add"] = "skip",
    titles: Titles = "off",
    counted: Counted = "read",
) -> Graph:
    """The knowledge graph with edges between nodes of similar names.

    Each node is compared with its `synonyms_per_node` nearest names; a pair at or above the
    threshold gets one edge with its cosine as weight and no chunk. A pair that a fact already
    joins is left alone (`skip`), loses its facts' weight to it (`overwrite`) or has it added.
    `titles` as of `graph.kg`. The weight of a fact is the number of times that it was read, or with
    `counted="chunk"` the number of chunks that state it.
    Source: HippoRAG (Gutierrez et al. 2024), section 2.2 and appendix B (threshold 0.8).
    """
    graph = fact_graph(titled(extraction, chunk_table, titles), len(chunk_table), counted=counted)
    vectors = np.ascontiguousarray(name_index.vectors)
    codes, cosine = synonym_pairs(vectors, synonyms_per_node, synonymy_threshold, progress)
    known = graph.pairs.source * graph.n_nodes + graph.pairs.target
    place = np.searchsorted(known, codes)
    joined = np.append(known, -1)[place] == codes
    weight = np.array(graph.weight)
    if synonymy == "skip":
        codes, cosine = codes[~joined], cosine[~joined]
    elif synonymy == "overwrite":
        lost = np.zeros(len(known), bool)
        lost[place[joined]] = True
        weight[lost[graph.pairs.of]] = 0.0
    facts = replace(graph, weight=weight)
    return with_synonyms(facts, codes // graph.n_nodes, codes % graph.n_nodes, cosine)


def synonym_pairs(
    vectors: Vectors, per_node: int, threshold: float, progress: Progress
) -> tuple[IntArray, FloatArray]:
    """The pairs at or above the threshold, as low * n_nodes + high, ascending, and their cosines.

    Each of the vectors is compared with its `per_node` nearest others. Cosines are rounded to 6
    decimals before they are compared; of the two of a pair, which may differ by the rounding of the
    processor, the larger is taken.
    """
    import faiss

    n = len(vectors)
    k = min(per_node + 1, n)
    codes, cosines = [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
    with progress.task("comparing names", n) as advance:
        for start in range(0, n, _BLOCK):
            block = vectors[start : start + _BLOCK]
            found, ids = faiss.knn(block, vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
            rows = np.arange(start, start + len(block))
            rounded = np.round(found, DECIMALS)
            near = (rounded >= threshold) & (ids != rows[:, None])
            row, other = np.repeat(rows, near.sum(axis=1)), ids[near]
            codes.append(np.minimum(row, other) * n + np.maximum(row, other))
            cosines.append(rounded[near])
            advance(len(block))
    code, cosine = np.concatenate(codes), np.concatenate(cosines)
    order = np.lexsort((-cosine, code))
    order = order[np.diff(code[order], prepend=-1) > 0]
    return code[order], cosine[order].astype(np.float64)


def with_synonyms(graph: Graph, source: IntArray, target: IntArray, cosine: FloatArray) -> Graph:
    """The graph with synonymy rows after its facts; their chunk rows are empty."""
    from scipy.sparse import csr_matrix, vstack

    n = len(source)
    return replace(
        graph,
        source=np.concatenate([graph.source, source]),
        target=np.concatenate([graph.target, target]),
        weight=np.concatenate([graph.weight, cosine]),
        synonym=np.concatenate([graph.synonym, np.ones(n, bool)]),
        relations=Texts.of([*graph.relations, *[SYNONYM] * n]),
        relationship_chunk=vstack(
            [graph.relationship_chunk, csr_matrix((n, graph.n_chunks), dtype=bool)]
        ).tocsr(),
    )
