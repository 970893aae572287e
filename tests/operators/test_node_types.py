"""Nodes by types and attributes: every operator that finds nodes, and cases by hand."""

from dataclasses import replace

import numpy as np
import pytest
from by_hand import Planted
from small_worlds import WORLDS

from graphrag_bench.algorithms.evidence import NodeAttributes
from graphrag_bench.algorithms.graph import Graph, nodes_of
from graphrag_bench.columns import Texts
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import Operator, by_slot, operators
from graphrag_bench.embedding.tokenizer import BytePairs
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.steps import OperatorStep
from graphrag_bench.prompts import UNBOUNDED
from graphrag_bench.values import Question, Ranked
from methods.youtugraphrag.typed import chunks_by_attribute
from operators.context.rows import nodes_context

load_plugins()

TYPED = [
    op
    for op in operators.all()
    if op.origin.startswith("operators.node.") and "types" in op.settings
]

A, B, C, D = range(4)
ROAD = replace(
    Graph.from_arrays([A, B, C], [B, C, D], names=["Ada", "Bergen", "Cairo", "Dover"]),
    types=Texts.of(["Person", "place", "place", "ship"]),
)
"""Ada - Bergen - Cairo - Dover: a person, two places, a ship."""


@pytest.mark.parametrize("op", TYPED, ids=lambda op: op.name)
def test_only_rows_of_the_types_come_out(op: Operator) -> None:
    """In the first world, where every second node is a place."""
    resources, values = WORLDS[0].resources, WORLDS[0].values("several")
    base = resources["graph"]
    kinds = [("person", "place")[row % 2] for row in range(base.n_nodes)]
    resources = {**resources, "graph": replace(base, types=Texts.of(kinds))}
    state = [None if read.optional else values[read.slot] for read in op.reads]
    needs = {name: resources[name] for name in op.needs}
    slots = by_slot(op, op.function(*state, **needs, types=("place",)), resources)
    assert nodes_of(resources["graph"], ("place",))[slots["nodes"].ids].all()


def test_types_that_no_node_has_are_refused() -> None:
    with pytest.raises(UserError, match="No node .* .plase.\\. Did you mean .place."):
        nodes_of(ROAD, ("plase",))
    with pytest.raises(UserError, match="have no types"):
        nodes_of(replace(ROAD, types=None), ("place",))


@pytest.mark.parametrize(("types", "n_problems"), [((), 0), (("place",), 1)])
def test_a_plan_refuses_types_for_a_graph_that_will_have_none(
    types: tuple[str, ...], n_problems: int
) -> None:
    step = OperatorStep(operators.get("node.onehop"), {"types": types}, "step 1")
    checker = Checker(attributes=frozenset({"node.name"}), written={"question", "nodes"})
    step.check(checker)
    assert len(checker.problems) == n_problems
    assert all("step 1 requires node.type" in problem for problem in checker.problems)


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
def stated() -> dict[str, object]:
    base = Graph.from_arrays([ADA, BO], [BO, CY], node_chunk=np.eye(3))
    graph = replace(
        base,
        types=Texts.of(["person", "person", "place"]),
        node_attributes=NodeAttributes.of(STATED, 3),
    )
    vectors = np.array([[c, np.sqrt(1 - c * c)] for c in COSINES], np.float32)
    return {"graph": graph, "attribute_index": VectorIndex(vectors), "embedder": Planted()}


def chunks(stated, **settings):
    (ranked,) = chunks_by_attribute([Question("q", "?")], [None], **stated, **settings)
    return [(chunk, round(score, 3)) for chunk, score in ranked.items()]


def test_chunks_score_as_the_most_similar_attribute_that_they_state(stated):
    # Chunk 0: 0.6; chunk 1: the larger of 0.8 and 1.0; chunk 2: the larger of 0.6 and 0.5.
    assert chunks(stated) == [(1, 1.0), (0, 0.6), (2, 0.6)]
    assert chunks(stated, n_attributes=1) == [(1, 1.0)]


@pytest.mark.parametrize(
    ("settings", "texts"),
    [
        ({}, ["0,node 0,person,,1", "1,node 2,place,,1"]),
        ({"attributes": 1}, ["0,node 0,person,profession: painter,1",
                             "1,node 2,place,profession: house painter,1"]),
        ({"attributes": 5, "form": "text"}, ["node 0. profession: painter; born: 1867",
                                             "node 2. profession: house painter"]),
    ],
)  # fmt: skip
def test_a_context_tells_as_many_attributes_of_a_node_as_it_may(stated, settings, texts):
    """Ada's profession is stated by two chunks, her birth by one."""
    nodes = Ranked(np.array([ADA, CY]), np.ones(2))
    context = nodes_context(
        nodes, graph=stated["graph"], tokenizer=BytePairs(), context_budget=UNBOUNDED, **settings
    )
    assert [piece.text for piece in context.pieces] == texts
