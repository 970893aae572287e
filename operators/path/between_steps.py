"""PathCoRAG's paths between the nodes of adjacent reasoning steps."""

from __future__ import annotations

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.ranked_paths import RankedPaths
from graphrag_bench.graph.reasoning_steps import StepNodes
from graphrag_bench.graph.step_paths import EdgeCost, Scope, Search, likely_pairs, step_paths
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
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
    max_path_edges: PositiveInt = 4,
    max_pairs_per_transition: PositiveInt | None = 2000,
    edge_cost: EdgeCost = "unit",
    k_scope: Scope = "pair",
    top_k: PositiveInt = 15,
) -> RankedPaths:
    """The `top_k` paths from one reasoning step to the next that are most similar to the question.

    For each pair of a node of step i and one of step i + 1 the `k` shortest loopless paths (of each
    transition with `k_scope="stage"`) of at most `max_path_edges` relationships, in either
    direction, over any nodes. A relationship's length is 1, 1 / weight, or 1 - its similarity.
    Score: the mean cosine of the question and the path's relationships, -1..1. Ties between equally
    short paths go to the higher score, then to the lower node tuple. Order: score, fewer
    relationships, transition (in `Path.transition`, from 1), node tuple. Pairs beyond
    `max_pairs_per_transition` (None: no bound) are left out, those with the lowest product of the
    similarities of both ends to their steps. The text of a relationship is that of
    `build.relationship_index.text`: `description` is the paper's. Every relationship's similarity
    is computed, which costs one product with the whole index.
    Source: PathCoRAG, section 4.3, equation 5 and appendix B; the bounds and unit length are ours.
    Deviation: the same paths as Yen's algorithm, found by bidirectional search.
    """
    transitions = [
        likely_pairs(*_ends(step_nodes, step), max_pairs_per_transition)
        for step in range(1, step_nodes.n_steps)
    ]
    if not any(len(pairs) for pairs in transitions):
        return RankedPaths()
    (vector,) = embedder.encode([question.text], kind="question")
    similarity = relationship_index.scores(vector).astype(np.float64)
    search = Search(k, max_path_edges, edge_cost, k_scope)
    return RankedPaths(tuple(step_paths(graph, transitions, similarity, search, top_k)))


def _ends(step_nodes: StepNodes, step: int) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """The nodes of a step and of the next one, and their scores."""
    sources, source_scores = step_nodes.of(step)
    targets, target_scores = step_nodes.of(step + 1)
    return sources, targets, source_scores, target_scores
