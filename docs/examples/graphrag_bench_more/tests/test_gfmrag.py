"""GFM-RAG: the network and its rankings by hand; reading and training its weights."""

import pickle
from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np
import pytest
from builds import QUIET
from gnn_checkpoints import SHAPE, TEXT, checkpoint, config, parameters
from toy_runs import Capitals

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.model_files import Checkpoint
from graphrag_bench.errors import UserError
from graphrag_bench.values import Ranked
from graphrag_bench_more.gfmrag import gnn_scorers
from graphrag_bench_more.gfmrag.gnn_scorers import EntityScorer, GnnWeights, NetworkShape, edges_of
from graphrag_bench_more.gfmrag.gnn_training import (
    TrainingGraph,
    _batches,
    loss_of,
    trained_weights,
)


def test_a_chunk_scores_by_the_inverse_frequency_of_its_entities():
    """Node 0 is in chunks 0 and 1, 1 in 1 and 2, 2 in 2, and 3 in none.

    Weights: 1/2, 1/2 and 1; with scores 2, -1 and -1 they are 1, -1/2 and -1.
    """
    graph = Graph.from_arrays([], [], [[1, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]])
    nodes = Ranked.of({0: 2.0, 1: -1.0, 2: -1.0, 3: -3.0})
    for settings, expected in (
        ({}, {2: 1.5, 1: 1.0, 0: 0.5}),
        ({"inverse": False}, {1: 2.0, 2: 2.0, 0: 1.0}),
        ({"scored": True}, {0: 1.0, 1: 0.5, 2: -1.5}),
        ({"scored": True, "inverse": False}, {0: 2.0, 1: 1.0, 2: -2.0}),
        ({"top_k": 1}, {2: 1.5}),
    ):
        assert gnn_scorers.by_entities(nodes, graph=graph, **settings).items() == [
            *expected.items()
        ]


PLAIN = NetworkShape(text=2, hidden=2, layers=2, layer_norm=False)
RELATIONS = np.array([[2, 0], [1, 3], [0, 1], [1, 1]], np.float32)
"""Vectors of `leads to` and `names`, then of their inverses."""
QUESTION = np.array([1, 2], np.float32)


def plain() -> GnnWeights:
    """Return identity maps: a layer adds state and messages; the end adds all numbers but q2."""
    shapes = {name: one.shape for name, one in PLAIN.network().state_dict().items()}
    named = {name: np.eye(2) if s == (2, 2) else np.zeros(s) for name, s in shapes.items()}
    for at in range(PLAIN.layers):
        named[f"entity_model.layers.{at}.linear.weight"] = np.hstack([np.eye(2), np.eye(2)])
    named["entity_model.mlp.0.weight"] = np.eye(4)
    named["entity_model.mlp.2.weight"] = np.array([[1, 1, 1, -1]])
    return GnnWeights(PLAIN, {n: v.astype(np.float32) for n, v in named.items()})


def test_messages_follow_relations_and_layers_add_their_input():
    """The question (1, 2) starts at node 0 with share 1/2; sums include the initial state.

    Sums 1: (0.5, 1), (0.5, 1) x (2, 0) = (1, 0), 0. Layer 1: 3 (0.5, 1) = (1.5, 3), (1, 0), 0.
    Sums 2: (1, 0) x (0, 1) + (0.5, 1), (1.5, 3) x (2, 0), (1, 0) x (1, 3) = (1, 0).
    Layer 2: 2 (1.5, 3) + (0.5, 1), 2 (1, 0) + (3, 0), (1, 0). The end adds both numbers, and 1 - 2.
    """
    line = Graph.from_arrays([0, 1], [1, 2], n_nodes=4, relations=["leads to", "names"])
    scorer = EntityScorer(plain(), RELATIONS, *edges_of(line)[0])
    result = scorer.logits(QUESTION, np.array([0.5, 0, 0, 0]))
    assert result.tolist() == [9.5, 4.0, 0.0, -1.0]


def test_relationships_have_inverses_and_synonymy_edges_both_directions():
    graph = Graph.from_arrays([0, 1], [1, 2], relations=["knows", "synonym of"])
    edges, names = edges_of(replace(graph, synonym=np.array([False, True])))
    assert names == ("knows", "equivalent", "inverse_knows", "inverse_equivalent")
    result = sorted(zip(*(part.tolist() for part in edges), strict=True))
    assert result == [(0, 0, 1), (1, 1, 2), (1, 2, 0), (1, 3, 2), (2, 1, 1), (2, 3, 1)]


def test_the_loss_of_zero_logits():
    """Each cross-entropy is log 2; the wanted node has a third of three equal chances."""
    import torch

    result = loss_of(torch.zeros(1, 3), torch.tensor([[1.0, 0.0, 0.0]]))
    assert float(result) == pytest.approx(0.3 * log(2) + 0.7 * log(3), abs=1e-4)


def read(folder: Path, length: int = TEXT, **settings: str) -> GnnWeights:
    inputs = {"checkpoint": Checkpoint(str(folder)), "embedder": Hashing(length)}
    return gnn_scorers.released_weights(**inputs, **settings)


def test_a_released_checkpoint_is_read_by_parameter_name(tmp_path: Path) -> None:
    import torch

    folder = checkpoint(tmp_path)
    for wrapped in (True, False):
        if not wrapped:
            torch.save(torch.load(folder / "model.pth")["model"], folder / "model.pth")
        result = read(folder)
        assert (result.shape, result.short_cut) == (SHAPE, True)
        for name, values in parameters().items():
            assert np.array_equal(result.parameters[name], values)
    assert read(checkpoint(tmp_path, config("")), embedder_check="length").shape == SHAPE
    with pytest.raises(UserError, match=r"length 32.*length 16"):
        read(folder, 16, embedder_check="length")
    with pytest.raises(UserError, match="length 32"):
        graph = Graph.from_arrays([0], [1])
        short = {"embedder": Hashing(16), "progress": QUIET}
        gnn_scorers.entity_scorer(gnn_weights=result, graph=graph, **short)


class Evil:
    def __reduce__(self):
        return print, ("this must never be run",)


def test_a_file_that_would_run_code_is_refused(tmp_path: Path, capsys) -> None:
    folder = checkpoint(tmp_path)
    (folder / "model.pth").write_bytes(pickle.dumps({"model": Evil()}, protocol=2))
    with pytest.raises(UserError, match="not a torch file"):
        read(folder)
    assert "never" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (config("sentence-transformers/all-mpnet-base-v2"), r"embedder\.model=sentence"),
        (config("hash"), "hash'"),
        (config(""), r"embedder_check=length"),
        (config(message_func="rotate"), "message_func"),
        (config(hidden_dims=[4, 8]), r"\[4, 8\]"),
        (config(hidden_dims=[4, 4, 4]), r"entity_model\.layers\.2"),
        (config(input_dim=8, hidden_dims=[8, 8]), r"rel_mlp\.weight"),
        (config(layer_norm=False), "layer_norm"),
    ],
)
def test_another_embedder_or_network_is_refused(tmp_path: Path, settings, message) -> None:
    with pytest.raises(UserError, match=message):
        read(checkpoint(tmp_path, settings))


def learnt(**settings: object) -> GnnWeights:
    small = {"hidden": 8, "layers": 2, "world_size": 30, "questions": 30, "learning_rate": 1e-2}
    return trained_weights(
        embedder=Hashing(64), nlp=Capitals(), progress=QUIET, **{**small, **settings}
    )


@pytest.mark.slow
def test_training_raises_development_recall() -> None:
    measures = learnt(epochs=2).statistics
    unlearnt = learnt(epochs=1, learning_rate=1e-9).statistics
    assert measures["dev_recall"] > unlearnt["dev_recall"] + 0.1
    assert measures["epoch"] in (1, 2)
    assert measures["train_questions"] + measures["dev_questions"] <= 2 * 30
    with pytest.raises(UserError, match=r"build\.gnn_weights\.learning_rate"):
        learnt(epochs=2, questions=20, learning_rate=1e30)


def test_training_on_another_device_moves_every_tensor() -> None:
    """The device `meta` computes shapes only, and refuses tensors of the processor."""
    start, targets = np.eye(4, dtype=np.float32)[:2], np.eye(4, dtype=np.float32)[1:3]
    edges, _ = edges_of(Graph.from_arrays([0, 1], [1, 2], n_nodes=4))
    one = TrainingGraph(
        edges, RELATIONS, np.stack([QUESTION] * 2), start, targets, np.zeros(2, bool)
    )
    network = PLAIN.network().to("meta")
    ((scores, wanted),) = _batches(network, [one], np.random.default_rng(0))
    loss_of(scores, wanted).backward()
    assert scores.shape == (2, 4)
    assert {str(each.grad.device) for each in network.parameters()} == {"meta"}
