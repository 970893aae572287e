"""Nodes by types and attributes: every operator that finds nodes, and cases by hand."""

from dataclasses import replace

import numpy as np
import pytest
from small_worlds import WORLDS

from graphrag_bench.algorithms.evidence import NodeAttributes
from graphrag_bench.algorithms.graph import Graph, nodes_of
from graphrag_bench.columns import Texts
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import Operator, by_slot, operators
from graphrag_bench.embedding.tokenizer import BytePairs
from graphrag_bench.errors import UserError
from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.steps import OperatorStep
from graphrag_bench.prompts import UNBOUNDED
from graphrag_bench.values import Ranked
from operators.context.rows import nodes_context

load_plugins()

TYPED = [
    op
    for op in operators.all()
    if op.origin.startswith("operators.node.") and "types" in op.settings
]
A, B, C = range(3)
PEOPLE = replace(
    Graph.from_arrays([A, B], [B, C], node_chunk=np.eye(3), names=["ada", "bo", "cy"]),
    types=Texts.of(["Person", "person", "place"]),
)


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


def test_types_that_no_node_has_are_refused_before_and_in_a_run() -> None:
    with pytest.raises(UserError, match="place"):
        nodes_of(PEOPLE, ("plase",))
    with pytest.raises(UserError, match=r"build\.graph"):
        nodes_of(replace(PEOPLE, types=None), ("place",))
    for types, n_problems in (((), 0), (("place",), 1)):
        step = OperatorStep(operators.get("node.onehop"), {"types": types}, "step 1")
        checker = Checker(attributes=frozenset({"node.name"}), written={"question", "nodes"})
        step.check(checker)
        assert len(checker.problems) == n_problems
        assert all("node.type" in problem for problem in checker.problems)


@pytest.mark.parametrize(
    ("settings", "texts"),
    [
        ({}, ["0,ada,Person,,1", "1,cy,place,,1"]),
        ({"attributes": 1}, ["0,ada,Person,profession: painter,1",
                             "1,cy,place,profession: house painter,1"]),
        ({"attributes": 5, "form": "text"}, ["ada. profession: painter; born: 1867",
                                             "cy. profession: house painter"]),
    ],
)  # fmt: skip
def test_a_context_tells_as_many_attributes_of_a_node_as_it_may(settings, texts):
    """Ada's profession is stated by two chunks, her birth by one."""
    stated = [
        (A, "profession", "painter", (0, 2)), (A, "born", "1867", (1,)),
        (C, "profession", "house painter", (1,)),
    ]  # fmt: skip
    graph = replace(PEOPLE, node_attributes=NodeAttributes.of(stated, 3))
    context = nodes_context(
        Ranked(np.array([A, C]), np.ones(2)),
        graph=graph, tokenizer=BytePairs(), context_budget=UNBOUNDED, **settings,
    )  # fmt: skip
    assert [piece.text for piece in context.pieces] == texts
