"""Subgraph and community operators by hand, with scripted replies."""

import networkx
import numpy as np
import pytest
from by_hand import Planted, at, falling
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.communities import Communities, Reports
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.llm.calls import Completion
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.values import Question, Subgraph
from methods.pankrag.planning import leaf_or_theme
from operators.community.of_graph import layer
from operators.subgraph.of_graph import agent_path, khop_path, prized_subgraph, relationship_prizes

A, B, C, D, E = range(5)
QUESTION = Question("q", "Who taught whom?")


LINE = Graph.from_arrays([A, C, C], [B, B, D], names=["ada", "bruno", "carla", "dina", "egon"])
"""A - B - C - D, and E without neighbours; B - C is stored from C to B."""
STAR = Graph.from_arrays([A, A, A, D], [B, C, D, E])
SQUARE = Graph.from_arrays([A, A, C, B], [C, B, D, D])
PARALLEL = Graph.from_arrays([B, A, B], [C, B, A])


def test_a_path_continues_to_the_nearest_unvisited_node():
    for graph, nodes, walks in (
        (LINE, (C, A, D), [(C, D)]),  # starts at the first node
        (LINE, (D, A, C), [(D, C, B, A)]),
        (LINE, (A, E), []),
        (STAR, (A, E, D), [(A, D, E)]),  # nearest first, ties by lower id
        (STAR, (A, C, B), [(A, B, A, C)]),
        (SQUARE, (A, D), [(A, B, D)]),  # ties on the way by lower id,
    ):
        result = khop_path(falling(*nodes), graph=graph)
        assert [path.nodes for path in result.paths] == walks


def test_path_lengths_match_networkx():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        graph = Graph.from_arrays(*rng.integers(0, 30, (2, 35)), n_nodes=30)
        start, end = rng.choice(30, 2, replace=False).tolist()
        paths = khop_path(falling(start, end), graph=graph, khop=30).paths
        view = graph.igraph.to_networkx()
        if networkx.has_path(view, start, end):
            assert len(paths[0].nodes) == networkx.shortest_path_length(view, start, end) + 1
            assert networkx.is_path(view, paths[0].nodes)
        else:
            assert paths == ()


def test_the_steiner_tree_weighs_prizes_against_costs():
    for graph, node_prizes, prizes, expected in (
        (LINE, [2, 0, 1, 0, 0], [0, 0, 0], ([A, B, C], [0, 1])),
        # C - D has a virtual node with the prize 1.99 - 0.5
        (LINE, [0] * 5, [0, 0, 1.99], ([C, D], [2])),
        # a row costs about 0.5, more than the prize of B; a prize of 0.4 lowers it to 0.1
        (LINE, [5, 0.2, 0, 0, 0], [0, 0, 0.5], ([A], [])),
        (LINE, [5, 0.2, 0, 0, 0], [0.4, 0, 0.5], ([A, B], [0])),
        (PARALLEL, [1, 1, 0], [0, 0, 0.9], ([A, B], [2])),  # the row with a prize,
    ):
        given = np.array(node_prizes, float), np.array(prizes, float)
        nodes, rows = prized_subgraph(graph, *given, cost=0.5)
        assert (nodes.tolist(), rows.tolist()) == expected
    with pytest.raises(ZeroDivisionError):
        relationship_prizes(np.array([0.5, np.nan]), 2)


def chosen(reply):
    llm = Scripted([("", reply)])
    return agent_path(QUESTION, None, falling(0, 1, 2), graph=LINE, llm=llm), llm


def test_triples_of_the_reply_become_relationships_or_texts():
    first = "Reranked Triple 1: carla -> related to -> dina"
    result, _ = chosen(f"{first}\nReranked Triple2: ada——>related to——>bruno")
    assert result == Subgraph((C, D, A, B), (2, 0))
    result, _ = chosen("1. Bruno → related to → Carla\n2) dina --> carla")
    assert result.relationships == (1, 2)
    result, _ = chosen("ada -> taught -> bruno\nada -> related to -> bruno")
    assert result.relationships == (0,)
    assert result.texts == ("ada -> taught -> bruno",)


def test_agent_path_retries_once_and_skips_truncated_lines():
    result, llm = chosen("I do not know.")
    assert result.relationships == (0, 1, 2)
    assert (llm.meter.usage.calls, llm.meter.fallbacks) == (2, 1)
    cut = Completion("carla -> related to -> dina\nada -> related to -> bru", finish="length")
    result, _ = chosen(cut)
    assert (result.relationships, result.texts) == ((2,), ())


X, Y, Z, BARE, FINE = range(5)


def layers(*ratings: float) -> dict[str, object]:
    """X and Y at level 0, Z below X, BARE without a report, FINE below Z at level 3."""
    chunks = csr_matrix([[1, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1], [0, 0, 1]])
    levels, parents = np.array([0, 0, 1, 0, 3]), np.array([-1, -1, X, -1, Z])
    texts = Texts.of(["of x", "of y", "of z", "", "fine"])
    return {
        "communities": Communities(levels, parents, chunks, chunks),
        "reports": Reports(texts, texts, np.array(ratings)),
    }


def test_one_level_includes_coarser_communities_without_children():
    """Z is a child of X, FINE a child of Z; Y has no children."""
    for level, expected in ((0, [Y, X]), (1, [Y, Z]), (3, [Y, FINE])):
        result = layer(level=level, levels="at", **layers(3.0, 9.0, 5.0, 10.0, 8.0))
        assert result.ids.tolist() == expected


def test_communities_without_a_report_or_with_a_negative_rating_are_left_out():
    needs = layers(3.0, -1.0, 5.0, 10.0, 8.0)
    assert layer(level=0, **needs).ids.tolist() == [X]
    equal = {"community_index": at(0, 0, 0, 0, 0), "embedder": Planted()}
    assert leaf_or_theme(QUESTION, **needs, **equal).ids.tolist() == [X]
