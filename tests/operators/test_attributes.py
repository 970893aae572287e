"""Nodes and chunks by attributes, on three nodes with four attributes in three chunks."""

from dataclasses import replace

import numpy as np
import pytest
from by_hand import Planted

from graphrag_bench.algorithms.evidence import NodeAttributes
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.tokenizer import BytePairs
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.prompts import UNBOUNDED
from graphrag_bench.values import Question, Ranked
from operators.chunk.channels import chunks_by_attribute
from operators.context.rows import nodes_context
from operators.node.attributes import nodes_by_attribute, with_attribute

ADA, BO, CY = range(3)
STATED = [
    (ADA, "profession", "painter", (0, 2)),
    (ADA, "born", "1867", (1,)),
    (BO, "born", "in May 1867", (2,)),
    (CY, "profession", "house painter", (1,)),
]
COSINES = (0.6, 0.8, 0.5, 1.0)
"""Of the question with each attribute."""


@pytest.fixture
def held() -> dict[str, object]:
    base = Graph.from_arrays([ADA, BO], [BO, CY], node_chunk=np.eye(3))
    graph = replace(
        base,
        types=Texts.of(["person", "person", "place"]),
        node_attributes=NodeAttributes.of(STATED, 3),
    )
    vectors = np.array([[c, np.sqrt(1 - c * c)] for c in COSINES], np.float32)
    return {"graph": graph, "attribute_index": VectorIndex(vectors), "embedder": Planted()}


def nodes(held, **settings):
    (found,) = nodes_by_attribute([Question("q", "?")], [None], **held, **settings)
    return [(node, round(score, 3)) for node, score in found.items()]


def chunks(held, **settings):
    (found,) = chunks_by_attribute([Question("q", "?")], [None], **held, **settings)
    return [(chunk, round(score, 3)) for chunk, score in found.items()]


def test_a_node_scores_as_its_most_similar_attribute(held):
    assert nodes(held) == [(CY, 1.0), (ADA, 0.8), (BO, 0.5)]


def test_attributes_of_nodes_of_some_types_alone_are_searched(held):
    assert nodes(held, types=("person",)) == [(ADA, 0.8), (BO, 0.5)]
    assert nodes(held, types=("person",), names=("born",)) == [(ADA, 0.8), (BO, 0.5)]


def test_a_chunk_scores_as_the_most_similar_attribute_that_it_states(held):
    """Chunk 0: 0.6; chunk 1: the larger of 0.8 and 1.0; chunk 2: the larger of 0.6 and 0.5."""
    assert chunks(held) == [(1, 1.0), (0, 0.6), (2, 0.6)]
    assert chunks(held, n_attributes=1) == [(1, 1.0)]


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({}, [CY, ADA, BO]),
        ({"names": ("born",)}, [ADA, BO]),
        ({"value": "Painter"}, [CY, ADA]),
        ({"value": "paint"}, []),
        ({"names": ("born",), "value": "1867"}, [ADA, BO]),
        ({"names": ("born",), "value": "may 1867"}, [BO]),
    ],
)
def test_nodes_that_have_an_attribute_stay_in_the_order_given(held, settings, left):
    given = Ranked(np.array([CY, ADA, BO]), np.ones(3))
    assert with_attribute(given, graph=held["graph"], **settings).ids.tolist() == left


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, ["0,node 0,person,,1", "1,node 2,place,,1"]),
        ({"attributes": 1}, ["0,node 0,person,profession: painter,1",
                             "1,node 2,place,profession: house painter,1"]),
        ({"attributes": 5, "form": "text"}, ["node 0. profession: painter; born: 1867",
                                             "node 2. profession: house painter"]),
    ],
)  # fmt: skip
def test_a_context_tells_as_many_attributes_of_a_node_as_it_is_told(held, settings, told):
    """Ada's profession is stated by two chunks, her birth by one."""
    given = Ranked(np.array([ADA, CY]), np.ones(2))
    made = nodes_context(
        given, graph=held["graph"], tokenizer=BytePairs(), context_budget=UNBOUNDED, **settings
    )
    assert [piece.text for piece in made.pieces] == told
