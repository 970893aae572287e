"""The graph network by hand on four nodes, its torch form against it, and its loss by hand."""

from dataclasses import replace
from math import log

import numpy as np
import pytest

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from methods.gfmrag.gnn_training import Grouped, first_parameters, logits, loss_of
from methods.gfmrag.network import EntityScorer, GnnWeights, NetworkShape, checked, edges_of

SHAPE = NetworkShape(text=2, hidden=2, layers=2, layer_norm=False)
RELATIONS = np.array([[2, 0], [1, 3], [0, 1], [1, 1]], np.float32)
"""Vectors of `leads to` and `names`, and of the inverse of each."""
QUESTION = np.array([1, 2], np.float32)


def line() -> Graph:
    """0 leads to 1, which names 2; 3 stands alone."""
    graph = Graph.from_arrays([0, 1], [1, 2], n_nodes=4)
    return replace(graph, relations=Texts.of(["leads to", "names"]))


def plain() -> GnnWeights:
    """Maps that change nothing: a layer adds state and messages, the end adds all up but q2."""
    one, both = np.eye(2, dtype=np.float32), np.zeros(2, np.float32)
    named = {}
    for name, size in SHAPE.parameters():
        named[name] = both if size == (2,) else one if size == (2, 2) else np.zeros(size)
    for at in range(SHAPE.layers):
        named[f"entity_model.layers.{at}.linear.weight"] = np.concatenate([one, one], axis=1)
    named["entity_model.mlp.0.weight"] = np.eye(4)
    named["entity_model.mlp.2.weight"] = np.array([[1, 1, 1, -1]])
    return checked({n: v.astype(np.float32) for n, v in named.items()}, SHAPE, True)


def scorer(weights: GnnWeights, graph: Graph, relations: np.ndarray) -> EntityScorer:
    edges, _ = edges_of(graph)
    starts, stored = edges.grouped("target", graph.n_nodes)
    return EntityScorer(weights, relations, starts, stored.source, stored.kind)


def test_states_travel_along_relations_and_layers_add_their_input():
    """The question (1, 2) at node 0 with share 1/2; sums have what a node began with.

    | after | node 0 | node 1 | node 2 |
    |---|---|---|---|
    | start | (0.5, 1) | 0 | 0 |
    | sums 1 | (0.5, 1) | (0.5, 1) x (2, 0) = (1, 0) | 0 |
    | layer 1 | (0.5, 1) + (0.5, 1) + (0.5, 1) = (1.5, 3) | (1, 0) | 0 |
    | sums 2 | (1, 0) x (0, 1) + (0.5, 1) = (0.5, 1) | (1.5, 3) x (2, 0) = (3, 0) | (1, 0) |
    | layer 2 | 2 (1.5, 3) + (0.5, 1) = (3.5, 7) | 2 (1, 0) + (3, 0) = (5, 0) | (1, 0) |

    The last sum of node 2 is (1, 0) x (1, 3). The end adds a state's numbers, and 1 - 2 of the
    question.
    """
    result = scorer(plain(), line(), RELATIONS).logits(QUESTION, np.array([0.5]), np.array([0]))
    assert result.tolist() == [9.5, 4.0, 0.0, -1.0]


def test_layer_normalisation_comes_before_what_is_negative_is_cut():
    """(1, 3) has mean 2 and deviation 1: (-1, 1), times (2, 3) plus (1, 0): (-1, 3), cut (0, 3)."""
    one = NetworkShape(2, 2, 1)
    named = dict(plain().parameters)
    chosen = {name: named[name] for name, _ in one.parameters() if "layer_norm" not in name}
    layer = "entity_model.layers.0.layer_norm"
    chosen |= {f"{layer}.weight": np.array([2, 3]), f"{layer}.bias": np.array([1, 0])}
    weights = checked({n: v.astype(np.float32) for n, v in chosen.items()}, one, False)
    graph = Graph.from_arrays([], [], n_nodes=1)
    prompts = np.array([0.5, 1.5], np.float32)
    result = scorer(weights, graph, RELATIONS[:0]).logits(prompts, np.ones(1), np.array([0]))
    assert result == pytest.approx([3 + 0.5 - 1.5], abs=1e-4)


def test_every_row_has_an_inverse_and_a_synonymy_edge_leads_both_ways():
    graph = Graph.from_arrays([0, 1], [1, 2], n_nodes=3)
    graph = replace(
        graph, relations=Texts.of(["knows", "synonym of"]), synonym=np.array([False, True])
    )
    edges, names = edges_of(graph)
    assert names == ("knows", "equivalent", "inverse_knows", "inverse_equivalent")
    result = sorted(zip(*(part.tolist() for part in edges), strict=True))
    assert result == [(0, 0, 1), (1, 1, 2), (1, 2, 0), (1, 3, 2), (2, 1, 1), (2, 3, 1)]


# ---- torch


def drawn(shape: NetworkShape, seed: int = 0) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(seed)
    return {
        name: (values + 0.1 * chance.standard_normal(values.shape)).astype(np.float32)
        for name, values in first_parameters(shape, chance)
    }


def test_training_and_inference_compute_the_same():
    import torch

    chance, shape = np.random.default_rng(1), NetworkShape(3, 4, 3)
    graph = Graph.from_arrays([0, 1, 1, 4, 2], [1, 2, 3, 1, 0], n_nodes=6)
    graph = replace(graph, relations=Texts.of(["a", "b", "a", "c", "b"]))
    edges, names = edges_of(graph)
    relations = chance.standard_normal((len(names), 3)).astype(np.float32)
    prompts = chance.standard_normal((2, 3)).astype(np.float32)
    start = np.array([[1, 0, 0, 0.5, 0, 0], [0, 0, 0, 0, 0, 0.25]], np.float32)
    weights = drawn(shape)
    together = logits(
        {name: torch.from_numpy(stored) for name, stored in weights.items()}, shape,
        Grouped.of(edges, 6, len(names)), *map(torch.from_numpy, (relations, prompts, start)),
    ).numpy()  # fmt: skip
    alone = scorer(checked(weights, shape, True), graph, relations)
    for row in range(2):
        nodes = np.flatnonzero(start[row])
        result = alone.logits(prompts[row], start[row][nodes].astype(np.float64), nodes)
        assert result == pytest.approx(together[row], abs=1e-5)


def test_the_loss_of_logits_that_say_nothing():
    """Each cross-entropy is log 2, and of three equal chances the wanted one has a third."""
    import torch

    result = loss_of(torch.zeros(1, 3), torch.tensor([[1.0, 0.0, 0.0]]))
    assert float(result) == pytest.approx(0.3 * log(2) + 0.7 * log(3), abs=1e-4)


# ---- weights


def test_parameters_have_the_names_and_the_number_of_the_release():
    """512 hidden units, 6 layers, vectors of 768 numbers: the 8 million of its name.

    Two maps of texts 787,456; a layer 524,800 + 525,312 + 1,024; the end 1,049,600 + 1,025.
    """
    shape = NetworkShape(768, 512, 6)
    sizes = dict(shape.parameters())
    assert sizes["entity_model.layers.5.linear.weight"] == (512, 1024)
    assert sizes["entity_model.mlp.2.weight"] == (1, 1024)
    assert sum(int(np.prod(size)) for size in sizes.values()) == 787_456 + 6 * 1_051_136 + 1_050_625
