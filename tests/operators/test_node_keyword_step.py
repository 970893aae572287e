"""Nodes by keywords in turn, and by reasoning steps: specification 1.3 and 2.3, golden G8."""

import numpy as np
import pytest
from by_hand import Planted

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import ReasoningSteps
from graphrag_bench.contract import alone
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.values import Keywords, Question
from operators.node.queries import by_keyword, by_step

QUESTION = Question("q", "0 0 1")


def vector_in(text: str) -> list[float]:
    """The numbers at the end of a text."""
    return [float(part) for part in text.replace(",", " ").split()[-3:]]


def world(*vectors: tuple[float, float, float]) -> dict[str, object]:
    index = VectorIndex(np.array(vectors, np.float32))
    return {
        "node_index": index,
        "embedder": Planted(vector_in),
        "graph": Graph.from_arrays([], [], n_nodes=len(index)),
    }


# ---- node.by_keyword

THREE = ((1, 0, 0), (0.8, 0.6, 0), (0, 1, 0), (0, 0, 1))
X, Y = "1 0 0", "0.6 0.8 0"


def test_keywords_take_turns_and_take_the_next_node_that_is_left():
    """X likes 0, 1, then 2; Y likes 1 (.96), 2 (.8), 0 (.6): X takes 0, Y 1, X 2, Y 3."""
    found = alone(by_keyword)(QUESTION, Keywords((X, Y), ()), top_k=4, **world(*THREE))
    assert found.ids.tolist() == [0, 1, 2, 3]
    assert found.scores.tolist() == pytest.approx([1.0, 0.96, 0.0, 0.0], abs=1e-6)
    turned = alone(by_keyword)(QUESTION, Keywords((Y, X), ()), top_k=3, **world(*THREE))
    assert turned.ids.tolist() == [1, 0, 2]


# ---- node.by_step

NODES = ((1, 0, 0), (0.8, 0.6, 0), (0, 1, 0), (0, 0.6, 0.8), (0, 0, 1), (0.6, 0, 0.8))
STEPS = ReasoningSteps(
    ("one", "two", "three"),
    (("1 0 0", "0.8 0.6 0"), ("0 1 0", "0 0.8 0.6"), ("0 0 1", "0.6 0 0.8")),
)


def test_a_node_belongs_to_the_step_whose_query_it_is_most_like():
    assigned = by_step(STEPS, **world(*NODES))
    steps = dict(zip(assigned.ids.tolist(), assigned.steps.tolist(), strict=True))
    assert steps == {0: 1, 1: 1, 2: 2, 3: 2, 4: 3, 5: 3}
    assert assigned.scores.tolist() == pytest.approx([1, 1, 1, 1, 1, 0.96], abs=1e-6)
    assert assigned.ids.tolist() == [0, 1, 2, 4, 5, 3]
    assert assigned.n_steps == 3
    assert assigned.of(2)[0].tolist() == [2, 3]


def test_a_query_that_did_not_find_a_node_still_draws_it_to_its_step_unless_told():
    """Step 1 finds node 0 alone; node 1 is found by step 2 but is more like step 1's query."""
    near = ((1, 0, 0), (0.8, 0.6, 0), (0, 0, 1))
    steps = ReasoningSteps(("one", "two"), (("1 0 0",), ("0.28 0.96 0",)))
    assigned = by_step(steps, per_query=1, **world(*near))
    assert dict(zip(assigned.ids.tolist(), assigned.steps.tolist(), strict=True)) == {
        0: 1,
        1: 1 + 0,
    }
    own = by_step(steps, per_query=1, assign="retrieved_only", **world(*near))
    assert dict(zip(own.ids.tolist(), own.steps.tolist(), strict=True)) == {0: 1, 1: 2}


def test_by_rank_a_node_belongs_to_the_step_that_ranks_it_best():
    """Node 0 has .8, the best, in step 1, and .96 in step 2, where node 1 has 1; node 1 has .6."""
    near = ((0.8, 0.6, 0), (0.6, 0.8, 0))
    steps = ReasoningSteps(("one", "two"), (("1 0 0",), ("0.6 0.8 0",)))
    by_likeness = by_step(steps, **world(*near))
    assert dict(zip(by_likeness.ids.tolist(), by_likeness.steps.tolist(), strict=True)) == {
        0: 2, 1: 2,
    }  # fmt: skip
    ranked = by_step(steps, assign="rank", **world(*near))
    assert (ranked.ids.tolist(), ranked.steps.tolist()) == ([1, 0], [2, 1])
    assert ranked.scores.tolist() == pytest.approx([1, 0.8])
    near_enough = by_step(steps, assign="rank", min_score=0.9, **world(*near))
    assert (near_enough.ids.tolist(), near_enough.steps.tolist()) == ([1, 0], [2, 2])
