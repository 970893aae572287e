"""Node types as a filter: every operator that finds nodes or relationships, and cases by hand."""

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from small_worlds import WORLDS

from graphrag_bench.algorithms.graph import Graph, nodes_of, relationships_of
from graphrag_bench.columns import Texts
from graphrag_bench.contract import Operator, by_slot, operators
from graphrag_bench.errors import UserError
from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.steps import OperatorStep
from graphrag_bench.values import Node, Ranked, Relationship
from operators.node.attributes import of_type
from operators.relationship.vdb import relationships_of_type

import_module("operators")

SLOTS = {"nodes", "relationships", "step_nodes"}
FINDERS = [
    op
    for op in operators.all()
    if op.origin.startswith("operators.")
    and not op.origin.startswith("operators.context.")  # packers
    and SLOTS & set(op.returns)
]
WITHOUT = {
    "node.agent": "a model chooses among the ends of relations",
    "node.restart": "weights of the nodes given",
    "node.topics": "the nodes given, each once",
    "node.with_attribute": "the nodes given, filtered as `node.of_type` does",
    "path.pool": "paths between the nodes given",
    "path.members": "what lies on the paths given",
    "relationship.filter.llm": "a model chooses among the relationships given",
    "relationship.filter.none": "the relationships given",
    "subgraph.steiner": "a tree, which another node may hold together",
}
"""Operators without `types`: `node.of_type` or `relationship.of_type` behind them filters."""
TYPED = [op for op in FINDERS if "types" in op.settings]

A, B, C, D = range(4)
ROAD = replace(
    Graph.from_arrays([A, B, C], [B, C, D], names=["Ada", "Bergen", "Cairo", "Dover"]),
    types=Texts.of(["Person", "place", "place", "ship"]),
)
"""Ada - Bergen - Cairo - Dover: a person, two places, a ship."""


def found(op: Operator, **settings: Any) -> dict[str, Any]:
    """What an operator writes in the first world, where every second node is a place."""
    world = WORLDS[0]
    graph = world.resources["graph"]
    kinds = [("person", "place")[row % 2] for row in range(graph.n_nodes)]
    resources = {**world.resources, "graph": replace(graph, types=Texts.of(kinds))}
    values = world.values("several")
    given = [None if read.optional else values[read.slot] for read in op.reads]
    needs = {name: resources[name] for name in op.needs}
    return by_slot(op, op.function(*given, **needs, **settings), resources)


def test_every_operator_that_finds_nodes_or_relationships_takes_types_or_says_why_not() -> None:
    assert {op.name for op in FINDERS} - {op.name for op in TYPED} == set(WITHOUT)


@pytest.mark.parametrize("op", TYPED, ids=lambda op: op.name)
def test_only_rows_of_the_types_come_out(op: Operator) -> None:
    n_nodes = WORLDS[0].resources["graph"].n_nodes
    graph = replace(
        WORLDS[0].resources["graph"],
        types=Texts.of([("person", "place")[row % 2] for row in range(n_nodes)]),
    )
    slots = found(op, types=("place",))
    for slot in {"nodes", "step_nodes"} & set(slots):
        assert nodes_of(graph, ("place",))[slots[slot].ids].all()  # type: ignore[index]
    if "relationships" in slots:
        kept = relationships_of(graph, ("place",))
        assert kept is not None
        assert kept[slots["relationships"].ids].all()


@pytest.mark.parametrize("op", TYPED, ids=lambda op: op.name)
def test_all_types_are_as_good_as_none(op: Operator) -> None:
    every, none = found(op, types=("person", "place")), found(op)
    for slot in SLOTS & set(none):
        assert every[slot].ids.tolist() == none[slot].ids.tolist()
        np.testing.assert_allclose(every[slot].scores, none[slot].scores, atol=1e-6)


def test_the_steps_that_filter_keep_order_and_scores() -> None:
    nodes = Ranked[Node](np.array([C, A, B]), np.array([0.2, 0.9, 0.4]))
    kept = of_type(nodes, graph=ROAD, types=("place",))
    assert kept.items() == [(C, 0.2), (B, 0.4)]
    rows = Ranked[Relationship](np.array([2, 0, 1]), np.array([0.1, 0.2, 0.3]))
    assert relationships_of_type(rows, graph=ROAD, types=("person",)).items() == [(0, 0.2)]
    assert of_type(nodes, graph=ROAD) is nodes


def test_a_type_that_no_node_has_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UserError, match="No node .* .plase.\\. Did you mean .place."):
        nodes_of(ROAD, ("plase",))


@pytest.mark.parametrize(("types", "n_problems"), [((), 0), (("place",), 1)])
def test_a_plan_refuses_types_for_a_graph_that_will_have_none(
    types: tuple[str, ...], n_problems: int
) -> None:
    step = OperatorStep(operators.get("relationship.onehop"), {"types": types}, "step 1")
    checker = Checker(attributes=frozenset({"node.name"}), written={"question", "nodes"})
    step.check(checker)
    assert len(checker.problems) == n_problems
    assert all("step 1 requires node.type" in said for said in checker.problems)


def test_types_are_refused_where_a_graph_has_none() -> None:
    with pytest.raises(UserError, match="have no types"):
        nodes_of(replace(ROAD, types=None), ("place",))
