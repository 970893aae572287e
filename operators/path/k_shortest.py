"""PathCoRAG's paths between the nodes of adjacent reasoning steps."""

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.k_shortest_paths import (
    Counted,
    KeptOf,
    Search,
    likely_pairs,
    step_paths,
)
from graphrag_bench.algorithms.path_values import RankedPaths, StepNodes
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.values import FloatArray, IntArray, Question


@operator("path.k_shortest")
def k_shortest(
    question: Question,
    step_nodes: StepNodes,
    *,
    graph: Graph,
    relationship_index: VectorIndex,
    embedder: Embedder,
    k: PositiveInt = 4,
    max_path_edges: PositiveInt | None = 4,
    max_pairs_per_transition: PositiveInt | None = 2000,
    top_k: PositiveInt = 15,
    top_k_of: KeptOf = "all",
    counted: Counted = "all",
    min_score: float | None = None,
) -> RankedPaths:
    """The `top_k` paths from one reasoning step to the next that are most similar to the question.

    For each pair of a node of step i and one of step i + 1 the `k` shortest loopless paths of at
    most `max_path_edges` relationships (None: any number), in either direction, over any nodes.
    Score: the mean cosine of the question and the path's relationships, -1..1; with
    `counted="sorted"` of those walked from the alphabetically lower name to the higher, with
    `min_score` of those above it, and a path with none of them is dropped. Ties between equally
    short paths go to the higher mean of all, then to the lower node tuple (beyond four
    relationships: to the latter). `top_k_of="transition"` keeps `top_k` of each transition. Order:
    score, fewer relationships, transition (in `Path.transition`, from 1), node tuple. Pairs beyond
    `max_pairs_per_transition` (None: no bound) are left out, those with the lowest product of the
    similarities of both ends to their steps. The text of a relationship is that of
    `build.relationship_index.text`: `description` is the paper's. Every relationship's similarity
    is computed, which costs one product with the whole index.
    Source: PathCoRAG, section 4.3, equation 5 and appendix B; `sorted`, `min_score` and
    `transition` as its released code; the bounds and unit length are ours.
    Deviation: up to four relationships, the paths of Yen's algorithm are found by bidirectional
    search.
    """
    transitions = [
        likely_pairs(*_ends(step_nodes, step), max_pairs_per_transition)
        for step in range(1, step_nodes.n_steps)
    ]
    if not any(len(pairs) for pairs in transitions):
        return RankedPaths()
    (vector,) = embedder.encode([question.text], kind="question")
    similarity = relationship_index.scores(vector).astype(np.float64)
    search = Search(k, max_path_edges, counted, min_score, top_k_of)
    return RankedPaths(tuple(step_paths(graph, transitions, similarity, search, top_k)))


def _ends(step_nodes: StepNodes, step: int) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    sources, source_scores = step_nodes.of(step)
    targets, target_scores = step_nodes.of(step + 1)
    return sources, targets, source_scores, target_scores
