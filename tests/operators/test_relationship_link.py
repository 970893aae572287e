"""Facts linked to a question, filtered by a model, and the nodes they end, worked out by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest
from small_worlds import Babbling, Obliging

from graphrag_bench.contract import alone
from graphrag_bench.graph.graph import Graph
from graphrag_bench.llm.calls import Completion
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import Query, Question, Ranked
from operators.node.adjacent import relnode
from operators.relationship.linking import filter_llm, filter_none, link

ASKED = Question("q", "Who built the lighthouse?")


class Compass:
    """`north` is (0, 1); every other text is (1, 0)."""

    identity = "compass"
    dimension = 2

    def encode(self, texts, *, kind):
        return np.array([(0, 1) if text == "north" else (1, 0) for text in texts], np.float32)


@pytest.fixture
def facts():
    """Three facts with cosines 1, 0.6 and 0 to the question, and a synonymy edge between."""
    graph = Graph.from_arrays([0, 1, 2, 0], [1, 2, 3, 3], names=["ada", "norvik", "tarn", "ostra"])
    vectors = np.array([[0, 1], [0, 0], [0.6, 0.8], [1, 0]], np.float32)
    return {
        "graph": replace(graph, synonym=np.array([False, True, False, False])),
        "relationship_index": VectorIndex(vectors),
        "embedder": Compass(),
    }


def rows(*ids: int, scores: tuple[float, ...] = ()):
    return Ranked(np.array(ids, np.int64), np.array(scores or [1.0] * len(ids)))


def test_facts_come_by_their_place_between_the_least_and_the_most_similar(facts):
    found = alone(link)(ASKED, **facts)
    assert found.ids.tolist() == [3, 2, 0]
    np.testing.assert_allclose(found.scores, [1.0, 0.6, 0.0], atol=1e-6)


def test_a_synonymy_edge_is_no_fact_and_is_not_on_the_scale(facts):
    """To `north` the cosines are 1, 0.8 and 0: the edge's 0 would change nothing but be there."""
    found = alone(link)(ASKED, Query(("north",)), top_k=4, **facts)
    assert found.ids.tolist() == [0, 2, 3]


def test_cosines_can_be_left_as_they_are(facts):
    found = alone(link)(ASKED, Query(("east", "north")), scale="cosine", **facts)
    assert found.ids.tolist() == [0, 3, 2]
    np.testing.assert_allclose(found.scores, [1.0, 1.0, 0.8], atol=1e-6)


# ---- the filter


class Says(Obliging):
    """A model that gives one reply and keeps what it was shown."""

    def __init__(self, reply: object) -> None:
        super().__init__()
        self.reply = json.dumps(reply)
        self.shown = ""

    def call(self, request):
        self.n_calls += 1
        self.shown = request.prompt[-1].content
        return Completion(self.reply, 10, 5, model="says")


def test_the_model_sees_numbered_facts_and_those_it_names_are_kept_in_order(facts):
    model = Says({"useful": [2, 1, 9]})
    found = filter_llm(
        ASKED, rows(3, 0, 2, scores=(0.9, 0.8, 0.7)), graph=facts["graph"], llm=model
    )
    assert found.ids.tolist() == [3, 0]
    assert found.scores.tolist() == [0.9, 0.8]
    assert "1. ada, related to, ostra" in model.shown
    assert "2. ada, related to, norvik" in model.shown
    assert ASKED.text in model.shown


def test_the_model_may_keep_none(facts):
    assert len(filter_llm(ASKED, rows(0), graph=facts["graph"], llm=Says({"useful": []}))) == 0


def test_where_no_reply_can_be_read_all_are_kept(facts):
    babbling = Babbling()
    found = filter_llm(ASKED, rows(0, 2), graph=facts["graph"], llm=babbling)
    assert found.ids.tolist() == [0, 2]
    assert babbling.n_calls == 2


def test_without_facts_the_model_is_not_asked(facts):
    model = Says({})
    assert len(filter_llm(ASKED, rows(), graph=facts["graph"], llm=model)) == 0
    assert model.n_calls == 0


def test_a_filter_that_is_off_keeps_all():
    given = rows(3, 1)
    assert filter_none(given) is given


# ---- ends by the mean


def test_a_node_may_have_the_mean_of_its_relationships(facts):
    """Row 0 joins ada and norvik, row 3 ada and ostra."""
    found = relnode(rows(3, 0, scores=(1.0, 0.5)), graph=facts["graph"], score="mean")
    assert found.ids.tolist() == [0, 3, 1]
    assert found.scores.tolist() == [0.75, 1.0, 0.5]
