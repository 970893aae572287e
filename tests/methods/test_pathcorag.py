"""PathCoRAG: steps in the forms that models write, and its paths against a slow reference."""

import json
from collections import defaultdict
from itertools import pairwise

import networkx
import numpy as np
from by_hand import Planted, at
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import ReasoningSteps, StepNodes
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.values import Question
from methods.pathcorag.k_shortest_paths import Likeness, likely_pairs, shortest_paths
from methods.pathcorag.steps import k_shortest, reasoning_steps_llm

QUESTION = Question("q", "How did Norvik change comets?")


def steps(reply, **settings):
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return reasoning_steps_llm(QUESTION, llm=Scripted(answer=lambda chat: text), **settings)


def test_steps_are_read_in_many_forms() -> None:
    for reply in (
        {"reasoning_steps": ["a", "b"], "extended_queries": [["a1", "a2"], ["b1", "b2"]]},
        {"reasoning steps": ["a", "b"], "extended queries": {"b": ["b1", "b2"], "a": ["a1", "a2"]}},
        {"reasoningSteps": ["a", "b"], "ExtendedQueries": {"A ": ["a1", "a2"], "B": ["b1", "b2"]}},
        {"Reasoning_Steps": ["a", "b"], "extended_queries": {"one": ["a1", "a2"],
                                                            "two": ["b1", "b2"]}},
        {"reasoning_steps": ["a", "b", "c"], "extended_queries": [["a1", "a2", "a3"],
                                                                 ["b1", "b2"], []]},
    ):  # fmt: skip
        result = steps(reply, n_steps=2, n_queries=2)
        assert result == ReasoningSteps(("a", "b"), (("a1", "a2"), ("b1", "b2")))

    # a step replaces its missing queries, and the question missing steps
    result = steps({"reasoning_steps": ["a"], "extended_queries": [["a1"]]}, n_queries=3)
    assert result == ReasoningSteps(("a",), (("a1", "a", "a"),))
    for reply in ("no steps", {"reasoning_steps": [], "extended_queries": []}):
        assert steps(reply) == ReasoningSteps((QUESTION.text,), ((QUESTION.text,),))


def test_steps_without_a_pair_of_nodes_cost_no_embedding():
    for numbers in ([], [1, 1], [1, 3]):
        step_nodes = StepNodes(np.arange(len(numbers)), np.array(numbers), np.ones(len(numbers)), 3)
        needs = {"graph": Graph.from_arrays([0], [1], n_nodes=6), "relationship_index": at(0)}
        embedder = Planted()
        found = k_shortest(QUESTION, step_nodes, **needs, embedder=embedder)
        assert (found.paths, embedder.batches) == ((), [])


def test_pairs_are_ranked_by_the_product_of_their_ends():
    """.9 * .8 = .72, .9 * .3 = .27, .5 * .8 = .40, and -.1 counts as 0."""
    sources, targets = np.array([4, 2]), np.array([7, 1])
    pairs = likely_pairs((sources, np.array([0.5, 0.9])), (targets, np.array([0.8, 0.3])), 3)
    assert pairs.tolist() == [[2, 7], [4, 7], [2, 1]]
    ties = likely_pairs((sources, np.array([-0.1, 0.0])), (targets, np.ones(2)), 9)
    assert ties.tolist() == [[2, 1], [2, 7], [4, 1], [4, 7]]


sims = st.sampled_from([-0.25, 0.0, 0.2, 0.2, 0.5, 0.5000001, 0.9, 1.0])
weights = st.sampled_from([0.5, 1.0, 1.0, 2.0, 4.0])


@st.composite
def likenesses(draw, most_nodes: int = 9):
    n = draw(st.integers(2, most_nodes))
    node = st.integers(0, n - 1)
    rows = draw(st.lists(st.tuples(node, node, sims, weights), max_size=28))
    source, target, like, weight = ([row[column] for row in rows] for column in range(4))
    graph = Graph.from_arrays(source, target, weight=weight, n_nodes=n)
    pairs = draw(st.lists(st.tuples(node, node), min_size=1, max_size=8, unique=True))
    apart = np.array([pair for pair in pairs if pair[0] != pair[1]], np.int64).reshape(-1, 2)
    return graph, np.array(like, np.float64), apart


@settings(max_examples=50)
@given(world=likenesses(), k=st.integers(1, 5), most=st.none() | st.integers(1, 7))
def test_the_shortest_paths_are_the_first_of_all_simple_paths(world, k, most):
    """By hops, then by similarity up to four hops, then by nodes."""
    graph, like, pairs = world
    view, want, alike = graph.igraph.to_networkx(), [], defaultdict(list)
    for *ends, value in zip(graph.source, graph.target, like, strict=True):
        alike[frozenset(ends)].append(round(value * 1e6))
    for pair, (source, target) in enumerate(pairs.tolist()):
        ranked = set()
        for nodes in networkx.all_simple_paths(view, source, target, cutoff=most):
            total = sum(max(alike[frozenset(hop)]) for hop in pairwise(nodes))
            ranked.add((len(nodes), -total if len(nodes) <= 5 else 0, tuple(nodes)))
        want += [(pair, walk) for *_, walk in sorted(ranked)[:k]]
    pair, nodes = shortest_paths(graph, pairs, Likeness.of(graph, like), k=k, most=most)
    walks = [tuple(node for node in row if node >= 0) for row in nodes.tolist()]
    assert sorted(zip(pair.tolist(), walks, strict=True)) == sorted(want)
