"""Nodes by types and attributes: every operator that finds nodes, and cases by hand."""

from dataclasses import replace

import numpy as np
import pytest
from small_worlds import WORLDS

from graphrag_bench.algorithms.graph import Graph, nodes_of
from graphrag_bench.columns import Texts
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import Operator, by_slot, operators
from graphrag_bench.errors import UserError
from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.steps import OperatorStep

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
    slots = by_slot(op, op([state], **needs, types=("place",))[0], resources)
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
