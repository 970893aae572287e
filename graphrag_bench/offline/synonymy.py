"""Synonymy edges: the knowledge graph with edges between nodes of similar names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.columns import Texts
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.extraction import Extraction
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Vectors
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.knowledge_graph import KG_ATTRIBUTES, Counted, fact_graph
from graphrag_bench.offline.titles import Titles, titled
from graphrag_bench.progress import Progress
from graphrag_bench.values import DECIMALS, FloatArray, IntArray

SYNONYM = "synonym of"
N_SAMPLED = 200
"""The nodes whose nearest names are found exactly as well, to tell the recall of a search."""
_BLOCK = 1024
_SEED = 0
_LISTS_PER_ROOT, _TRAINED_PER_LIST = 4, 40
"""Lists for the square root of the number of names; names that each list is trained with."""

Nearest = tuple[IntArray, Vectors, IntArray]
"""Some nodes (n,), and for each the cosines and ids of its nearest names, itself among them."""


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
    exact_up_to: NonNegativeInt = 50_000,
    probes: PositiveInt = 32,
    titles: Titles = "off",
    counted: Counted = "read",
) -> Graph:
    """The knowledge graph with edges between nodes of similar names.

    Each node is compared with its `synonyms_per_node` nearest names; a pair at or above the
    threshold gets one edge with its cosine as weight and no chunk. A pair that a fact already
    joins is left alone (`skip`), loses its facts' weight to it (`overwrite`) or has it added.
    Up to `exact_up_to` nodes the nearest names are exact. Above, names are put into about
    4 sqrt(n) lists by k-means, and a node is compared with those of the `probes` nearest lists.
    What that misses is measured against the exact search for 200 nodes, drawn with a seed, and
    is in the artifact's statistics: `neighbour_recall` in 0..1 is the share found of their nearest
    names, `synonym_recall` that of the ones at or above the threshold, `sampled_synonyms` how many
    these are; with none of them the share is 1. `titles` as of `graph.kg`. The
    weight of a fact is the number of times that it was read, or with `counted="chunk"` the number
    of chunks that state it.
    Source: HippoRAG (Gutierrez et al. 2024), section 2.2 and appendix B (threshold 0.8); lists as
    in faiss's IVF (Johnson et al. 2019), ours.
    """
    graph = fact_graph(titled(extraction, chunk_table, titles), len(chunk_table), counted=counted)
    vectors = np.ascontiguousarray(name_index.vectors)
    search = NameSearch(synonyms_per_node, synonymy_threshold, exact_up_to, probes)
    codes, cosine, statistics = search.pairs(vectors, progress)
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
    facts = replace(graph, weight=weight, statistics=statistics)
    return with_synonyms(facts, codes // graph.n_nodes, codes % graph.n_nodes, cosine)


class NameSearch(NamedTuple):
    """How names are compared: see `kg_synonymy`."""

    per_node: int
    threshold: float
    exact_up_to: int
    probes: int

    def pairs(
        self, vectors: Vectors, progress: Progress
    ) -> tuple[IntArray, FloatArray, dict[str, float]]:
        """The pairs of `synonym_pairs`, their cosines, and the statistics of `kg_synonymy`."""
        k = min(self.per_node + 1, len(vectors))
        statistics: dict[str, float] = {}
        if len(vectors) <= self.exact_up_to:
            nearest = _exact(vectors, np.arange(len(vectors)), k)
        else:
            lists = _trained(vectors, self.probes)
            statistics = _recall(vectors, lists, k, self.threshold)
            progress.say(_told(len(vectors), lists, statistics))
            nearest = _listed(vectors, lists, k)
        return *synonym_pairs(nearest, len(vectors), self.threshold), statistics


def synonym_pairs(
    nearest: Iterator[Nearest], n_nodes: int, threshold: float
) -> tuple[IntArray, FloatArray]:
    """The pairs at or above the threshold, as low * `n_nodes` + high, ascending, and their cosines.

    Cosines are rounded to 6 decimals before they are compared; of the two of a pair, which may
    differ by the rounding of the processor, the larger is taken.
    """
    codes, cosines = [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
    for rows, found, ids in nearest:
        rounded = np.round(found, DECIMALS)
        near = (rounded >= threshold) & (ids != rows[:, None])
        row, other = np.repeat(rows, near.sum(axis=1)), ids[near]
        codes.append(np.minimum(row, other) * n_nodes + np.maximum(row, other))
        cosines.append(rounded[near])
    code, cosine = np.concatenate(codes), np.concatenate(cosines)
    order = np.lexsort((-cosine, code))
    order = order[np.diff(code[order], prepend=-1) > 0]
    return code[order], cosine[order].astype(np.float64)


def _exact(vectors: Vectors, rows: IntArray, k: int) -> Iterator[Nearest]:
    import faiss

    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        cosines, ids = faiss.knn(vectors[block], vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
        yield block, cosines, ids


def _trained(vectors: Vectors, probes: int) -> Any:
    import faiss

    n, dimension = vectors.shape
    n_lists = min(int(_LISTS_PER_ROOT * np.sqrt(n)), n)
    quantizer = faiss.IndexFlatIP(dimension)
    lists = faiss.IndexIVFFlat(quantizer, dimension, n_lists, faiss.METRIC_INNER_PRODUCT)
    lists.nprobe = min(probes, n_lists)
    lists.cp.seed = _SEED
    lists.cp.min_points_per_centroid = 1  # or faiss warns of a small sample on stderr
    n_sampled = min(_TRAINED_PER_LIST * n_lists, n)
    chosen = np.random.default_rng(_SEED).choice(n, n_sampled, replace=False)
    lists.train(vectors[np.sort(chosen)])
    lists.add(vectors)
    return lists


def _listed(vectors: Vectors, lists: Any, k: int) -> Iterator[Nearest]:
    near, probed = lists.quantizer.search(vectors, lists.nprobe)
    order = np.argsort(probed[:, 0], kind="stable")  # neighbours probe the lists just read
    for start in range(0, len(order), _BLOCK):
        block = order[start : start + _BLOCK]
        cosines, ids = lists.search_preassigned(vectors[block], k, probed[block], near[block])
        yield block, np.where(ids < 0, np.float32(-1), cosines), ids


def _recall(vectors: Vectors, lists: Any, k: int, threshold: float) -> dict[str, float]:
    n = len(vectors)
    chance = np.random.default_rng(_SEED)
    rows = np.sort(chance.choice(n, min(N_SAMPLED, n), replace=False))
    cosines, ids = (
        np.concatenate(part) for part in list(zip(*_exact(vectors, rows, k), strict=True))[1:]
    )
    exact = _but_itself(rows, cosines, ids)
    found = _but_itself(rows, *lists.search(vectors[rows], k))
    neighbours, _ = _share_found(exact, found, -1.0)
    synonyms, n_synonyms = _share_found(exact, found, threshold)
    return {
        "neighbour_recall": neighbours,
        "synonym_recall": synonyms,
        "sampled_synonyms": n_synonyms,
    }


def _but_itself(rows: IntArray, cosines: Vectors, ids: IntArray) -> Vectors:
    there = (ids >= 0) & (ids != rows[:, None])
    return np.asarray(np.round(np.where(there, cosines, np.nan), DECIMALS), np.float32)


def _share_found(exact: Vectors, found: Vectors, least: float) -> tuple[float, int]:
    """The share of the exact cosines at or above `least` that was found, and how many they are.

    A name as near as the last of the exact ones stands for it; without any the share is 1.
    """
    border = np.maximum(np.nanmin(exact, axis=1, keepdims=True, initial=1), least)
    there = (exact >= border).sum(axis=1)
    n_found = np.minimum((found >= border).sum(axis=1), there).sum()
    return (float(n_found / there.sum()) if there.any() else 1.0), int(there.sum())


def _told(n_nodes: int, lists: Any, statistics: dict[str, float]) -> str:
    return (
        f"synonyms: {n_nodes:,} names in {lists.nlist:,} lists, {lists.nprobe} of them probed: "
        f"{statistics['neighbour_recall']:.1%} of the nearest names of {N_SAMPLED} nodes found, "
        f"{statistics['synonym_recall']:.1%} of their {statistics['sampled_synonyms']:,} synonyms "
        "(exact_up_to, probes)"
    )


def with_synonyms(graph: Graph, source: IntArray, target: IntArray, cosine: FloatArray) -> Graph:
    """The graph with synonymy rows after its facts; their chunk rows are empty."""
    from scipy.sparse import csr_matrix, vstack

    n, name = len(source), np.frombuffer(SYNONYM.encode(), np.uint8)
    told = graph.relations
    ends = told.offsets[-1] + len(name) * np.arange(1, n + 1)
    return replace(
        graph,
        source=np.concatenate([graph.source, source]),
        target=np.concatenate([graph.target, target]),
        weight=np.concatenate([graph.weight, cosine]),
        synonym=np.concatenate([graph.synonym, np.ones(n, bool)]),
        relations=Texts(
            np.concatenate([told.blob, np.tile(name, n)]), np.concatenate([told.offsets, ends])
        ),
        relationship_chunk=vstack(
            [graph.relationship_chunk, csr_matrix((n, graph.n_chunks), dtype=bool)]
        ).tocsr(),
    )
