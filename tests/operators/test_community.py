"""Community operators, worked out by hand."""

import numpy as np
import pytest
from by_hand import Planted, ranked
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.communities import Communities, Reports
from graphrag_bench.columns import Texts
from graphrag_bench.contract import alone
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.values import Question
from operators.community.entity import entity
from operators.community.layer import layer
from operators.community.vdb import vdb

X, Y, Z, BARE, FINE = range(5)


@pytest.fixture
def held():
    """X and Y at level 0, Z at level 1, BARE without a report, FINE at level 3.

    X holds the nodes 0, 1 (rating 3, 2 chunks), Y the node 2 (rating 9, 2 chunks), Z the node 0
    (rating 5, 1 chunk), BARE every node, FINE the node 3 (rating 8, 1 chunk).
    """
    nodes = [[1, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1]]
    chunks = [[1, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1], [0, 0, 1]]
    communities = Communities(
        np.array([0, 0, 1, 0, 3]),
        np.array([-1, -1, X, -1, Z]),
        csr_matrix(np.array(nodes, bool)),
        csr_matrix(np.array(chunks, bool)),
    )
    texts = Texts.of(["of x", "of y", "of z", "", "fine"])
    ratings = np.array([3.0, 9.0, 5.0, 10.0, 8.0])
    return {"communities": communities, "reports": Reports(texts, texts, ratings)}


# ---- community.entity


def test_communities_come_by_how_many_of_the_nodes_they_hold(held):
    """X holds two of the nodes, Y and Z one; of these Y has the better rating."""
    found = entity(ranked(0, 1, 2), **held)
    assert found.ids.tolist() == [X, Y, Z]
    np.testing.assert_allclose(found.scores, [2 + 3 / 11, 1 + 9 / 11, 1 + 5 / 11])


def test_communities_below_the_level_or_without_a_report_are_left_out(held):
    assert entity(ranked(3), **held).ids.tolist() == []
    assert entity(ranked(3), level=3, **held).ids.tolist() == [FINE]
    assert entity(ranked(0), level=0, **held).ids.tolist() == [X]


def test_a_rating_out_of_range_settles_a_tie_and_outweighs_no_count(held):
    reports = Reports(
        held["reports"].titles, held["reports"].texts, np.array([99.0, -5, 0.5, 0, 0])
    )
    found = entity(ranked(0, 1, 2), communities=held["communities"], reports=reports)
    assert found.ids.tolist() == [X, Z, Y]
    np.testing.assert_allclose(found.scores, [2 + 10 / 11, 1 + 0.5 / 11, 1.0])


# ---- community.layer


def test_a_layer_holds_every_reported_community_down_to_it_by_its_number_of_chunks(held):
    """X and Y are in two chunks each, and Y has the better rating; Z is in one."""
    found = layer(**held)
    assert found.ids.tolist() == [Y, X, Z]
    np.testing.assert_allclose(found.scores, [2 + 9 / 11, 2 + 3 / 11, 1 + 5 / 11])


def test_a_report_rated_below_0_is_left_out(held):
    reports = held["reports"]
    rated = Reports(reports.titles, reports.texts, np.array([3.0, -1.0, 5.0, 10.0, 8.0]))
    assert layer(communities=held["communities"], reports=rated).ids.tolist() == [X, Z]


# ---- community.vdb


@pytest.fixture
def search(held):
    """Along axis 0 the reports lie by 0.2, 0.8, 0.6, 0 (none) and 0.4; along axis 1 not at all."""
    vectors = np.zeros((5, 2), np.float32)
    vectors[:, 0] = [0.2, 0.8, 0.6, 0.0, 0.4]
    vectors[X, 1] = -0.5
    return {
        **held,
        "community_index": VectorIndex(vectors),
        "embedder": Planted({"0": (1, 0), "1": (0, 1)}),
    }


def test_the_most_similar_reports_come_first(search):
    found = alone(vdb)(Question("q", "0"), **search)
    assert found.ids.tolist() == [Y, Z, FINE, X]
    np.testing.assert_allclose(found.scores, [0.8, 0.6, 0.4, 0.2], atol=1e-6)


def test_a_community_without_a_report_is_not_found_even_where_others_are_dissimilar(search):
    found = alone(vdb)(Question("q", "1"), top_k=5, **search)
    assert found.ids.tolist() == [Y, Z, FINE, X]


@pytest.mark.parametrize(("level", "expected"), [(0, [Y, X]), (1, [Y, Z]), (3, [Y, FINE])])
def test_at_a_level_come_its_communities_and_the_coarser_ones_that_none_divides(
    held, level, expected
):
    """Z divides X, and FINE divides Z; nothing divides Y."""
    assert layer(level=level, levels="at", **held).ids.tolist() == expected


def test_by_rating_the_better_report_comes_first(held):
    found = entity(ranked(0, 1, 2), rank_by="rating", **held)
    assert found.ids.tolist() == [Y, Z, X]
    assert found.scores.tolist() == [9.0, 5.0, 3.0]
