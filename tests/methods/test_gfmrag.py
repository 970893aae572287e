"""GFM-RAG: the network and its rankings by hand, its weights read and learnt."""

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
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.model_files import Checkpoint
from graphrag_bench.errors import UserError
from graphrag_bench.values import Ranked
from methods.gfmrag.gnn_scorers import by_entities, entity_scorer, released_weights
from methods.gfmrag.gnn_training import loss_of, trained_weights
from methods.gfmrag.network import EntityScorer, GnnWeights, NetworkShape, edges_of

ADA, NORVIK, TARN, LONELY = range(4)


@pytest.fixture
def graph() -> Graph:
    """Ada is named by chunks 0 and 1, Norvik by 1 and 2, Tarn by 2 alone, the last by none."""
    named = [[1, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]]
    return Graph.from_arrays([ADA, NORVIK], [NORVIK, TARN], node_chunk=named, n_nodes=4)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {2: 1.5, 1: 1.0, 0: 0.5}),
        ({"inverse": False}, {1: 2.0, 2: 2.0, 0: 1.0}),
        ({"scored": True}, {0: 1.0, 1: 0.5, 2: -1.5}),
        ({"scored": True, "inverse": False}, {0: 2.0, 1: 1.0, 2: -2.0}),
        ({"top_k": 1}, {2: 1.5}),
    ],
)
def test_a_chunk_adds_up_its_entities_each_by_one_over_the_chunks_that_name_it(
    graph, settings, expected
):
    """Weights: Ada and Norvik 1/2, Tarn 1; with scores 2, -1 and -1 they are 1, -1/2 and -1."""
    nodes = Ranked.of({ADA: 2.0, NORVIK: -1.0, TARN: -1.0, LONELY: -3.0})
    result = by_entities(nodes, graph=graph, **settings)
    assert dict(result.items()) == expected
    assert result.ids.tolist() == list(expected)


PLAIN = NetworkShape(text=2, hidden=2, layers=2, layer_norm=False)
RELATIONS = np.array([[2, 0], [1, 3], [0, 1], [1, 1]], np.float32)
"""Vectors of `leads to` and `names`, and of the inverse of each."""
QUESTION = np.array([1, 2], np.float32)


def plain() -> GnnWeights:
    """Maps that change nothing: a layer adds state and messages, the end adds all up but q2."""
    one = np.eye(2)
    named = {name: np.zeros(one.shape) for name, one in PLAIN.network().state_dict().items()}
    named |= {name: one for name, values in named.items() if values.shape == (2, 2)}
    for at in range(PLAIN.layers):
        named[f"entity_model.layers.{at}.linear.weight"] = np.concatenate([one, one], axis=1)
    named["entity_model.mlp.0.weight"] = np.eye(4)
    named["entity_model.mlp.2.weight"] = np.array([[1, 1, 1, -1]])
    return GnnWeights(PLAIN, {n: v.astype(np.float32) for n, v in named.items()})


def scorer(weights: GnnWeights, graph: Graph, relations: np.ndarray) -> EntityScorer:
    return EntityScorer(weights, relations, *edges_of(graph)[0])


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
    line = Graph.from_arrays([0, 1], [1, 2], n_nodes=4)
    line = replace(line, relations=Texts.of(["leads to", "names"]))
    result = scorer(plain(), line, RELATIONS).logits(QUESTION, np.array([0.5, 0, 0, 0]))
    assert result.tolist() == [9.5, 4.0, 0.0, -1.0]


def test_every_row_has_an_inverse_and_a_synonymy_edge_leads_both_ways():
    graph = Graph.from_arrays([0, 1], [1, 2], n_nodes=3)
    graph = replace(
        graph, relations=Texts.of(["knows", "synonym of"]), synonym=np.array([False, True])
    )
    edges, names = edges_of(graph)
    assert names == ("knows", "equivalent", "inverse_knows", "inverse_equivalent")
    result = sorted(zip(*(part.tolist() for part in edges), strict=True))
    assert result == [(0, 0, 1), (1, 1, 2), (1, 2, 0), (1, 3, 2), (2, 1, 1), (2, 3, 1)]


def test_the_loss_of_logits_that_say_nothing():
    """Each cross-entropy is log 2, and of three equal chances the wanted one has a third."""
    import torch

    result = loss_of(torch.zeros(1, 3), torch.tensor([[1.0, 0.0, 0.0]]))
    assert float(result) == pytest.approx(0.3 * log(2) + 0.7 * log(3), abs=1e-4)


SHORT_WORDS = Hashing(TEXT)


def read(folder: Path, embedder: Hashing = SHORT_WORDS, **settings: str) -> GnnWeights:
    return released_weights(checkpoint=Checkpoint(str(folder)), embedder=embedder, **settings)


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_checkpoint_of_the_release_is_read_by_its_names(tmp_path: Path, wrapped: bool) -> None:
    import torch

    folder = checkpoint(tmp_path / "gfm")
    if not wrapped:
        state = {name: torch.from_numpy(values) for name, values in parameters().items()}
        torch.save(state, folder / "model.pth")
    result = read(folder)
    assert (result.shape, result.short_cut) == (SHAPE, True)
    for name, values in parameters().items():
        assert result.parameters[name].tolist() == values.tolist()


class Evil:
    def __reduce__(self):
        return print, ("this must never be run",)


def test_a_file_that_would_run_code_is_refused(tmp_path: Path, capsys) -> None:
    folder = checkpoint(tmp_path)
    (folder / "model.pth").write_bytes(pickle.dumps({"model": Evil()}, protocol=2))
    with pytest.raises(UserError, match="no file of tensors alone"):
        read(folder)
    assert "never" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sentence-transformers/all-mpnet-base-v2", r"embedder\.model=sentence"),
        ("hash", "hash'"),
        ("", r"does not name the embedder .*embedder_check=length"),
    ],
)
def test_an_embedder_that_the_checkpoint_does_not_name_is_refused_until_it_is_said_to_be_ours(
    tmp_path: Path, name: str, message: str
) -> None:
    folder = checkpoint(tmp_path, settings=config(name))
    with pytest.raises(UserError, match=message):
        read(folder)
    assert read(folder, embedder_check="length").shape == SHAPE


def test_vectors_of_another_length_are_refused_even_under_the_same_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"vectors of 32 numbers; the\s+embedder gives 16"):
        read(checkpoint(tmp_path), Hashing(16))
    graph = Graph.from_arrays([0], [1])
    with pytest.raises(UserError, match="vectors of 32 numbers"):
        own = {"gnn_weights": GnnWeights(SHAPE, parameters()), "graph": graph}
        entity_scorer(**own, embedder=Hashing(16), progress=QUIET)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({"message_func": "rotate"}, "message_func: Input should be 'distmult'"),
        ({"hidden_dims": [4, 8]}, r"\[4, 8\] wide"),
        ({"hidden_dims": [4, 4, 4]}, r"entity_model\.layers\.2"),
        ({"input_dim": 8, "hidden_dims": [8, 8]}, r"rel_mlp\.weight"),
        ({"layer_norm": False}, "layer_norm"),
    ],
)
def test_a_network_that_is_not_the_one_described_is_refused(tmp_path, network, message):
    folder = checkpoint(tmp_path, settings=config(**network))
    with pytest.raises(UserError, match=message):
        read(folder)


WORDS = Hashing(64)
SMALL = {
    "hidden": 16, "layers": 3, "world_size": 60, "questions": 40, "learning_rate": 2e-3,
}  # fmt: skip


def learnt(**settings: object) -> GnnWeights:
    chosen = {**SMALL, **settings}
    return trained_weights(embedder=WORDS, nlp=Capitals(), progress=QUIET, **chosen)


@pytest.mark.slow
def test_what_it_learns_on_one_world_it_finds_in_another() -> None:
    measures = learnt(epochs=2).statistics
    unlearnt = learnt(epochs=1, learning_rate=1e-9).statistics
    assert measures["dev_recall"] > unlearnt["dev_recall"] + 0.1
    assert measures["epoch"] in (1, 2)
    assert measures["train_questions"] + measures["dev_questions"] <= 2 * SMALL["questions"]


def test_a_network_that_diverges_is_refused() -> None:
    with pytest.raises(UserError, match=r"build\.gnn_weights\.learning_rate"):
        learnt(epochs=2, questions=20, hidden=8, learning_rate=1e30)
