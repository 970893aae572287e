"""Graph networks: a released checkpoint is read, and one learns from another world."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from builds import QUIET
from gnn_checkpoints import HIDDEN, SHAPE, TEXT, checkpoint, config, parameters
from small_worlds import Capitals

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.model_files import Checkpoint
from graphrag_bench.errors import UserError
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Ranked
from graphrag_bench.world.facts import WorldSettings
from graphrag_bench.world.making import make_world
from graphrag_bench.world.planted import planted_extraction
from methods.gfmrag import gnn_training
from methods.gfmrag.gnn_scorers import entity_scorer, released_weights
from methods.gfmrag.gnn_training import chunks_of, first_parameters, graph_of, trained_weights
from methods.gfmrag.network import GnnWeights, NetworkShape, mentions_weight

SHORT_WORDS = Hashing(TEXT)


def read(folder: Path, embedder: Hashing = SHORT_WORDS, **settings: str) -> GnnWeights:
    return released_weights(checkpoint=Checkpoint(str(folder)), embedder=embedder, **settings)


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_checkpoint_of_the_release_is_read_by_its_names(tmp_path: Path, wrapped: bool) -> None:
    """Weights without a layer around them are read too."""
    import torch

    folder = checkpoint(tmp_path / "gfm")
    if not wrapped:
        state = {name: torch.from_numpy(values) for name, values in parameters().items()}
        torch.save(state, folder / "model.pth")
    result = read(folder)
    assert (result.shape, result.short_cut) == (SHAPE, True)
    for name, values in parameters().items():
        assert result.parameters[name].tolist() == values.tolist()


def test_a_checkpoint_is_known_by_what_its_files_hold_and_not_by_where_they_are(tmp_path):
    first, same = (checkpoint(tmp_path / name / "gfm") for name in ("a", "b"))
    stored = parameters()
    stored["rel_mlp.bias"] = stored["rel_mlp.bias"] + 1
    other = checkpoint(tmp_path / "c" / "gfm", stored)
    one, two, three = (Checkpoint(str(folder)).identity for folder in (first, same, other))
    assert one == two != three
    assert Checkpoint("lab/network", "v2").identity == "lab/network@v2"


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
        own = {"gnn_weights": GnnWeights(parameters()), "graph": graph}
        entity_scorer(**own, embedder=Hashing(16), progress=QUIET)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({"message_func": "rotate"}, "message_func: Input should be 'distmult'"),
        ({"aggregate_func": "pna"}, "aggregate_func: Input should be 'sum'"),
        ({"hidden_dims": [4, 8]}, r"\[4, 8\] wide"),
        ({"hidden_dims": 4}, "hidden_dims: .*list"),
        ({"hidden_dims": [4, 4, 4]}, r"lack entity_model\.layers\.2"),
        ({"hidden_dims": [4]}, r"hold entity_model\.layers\.1"),
        ({"input_dim": 8, "hidden_dims": [8, 8]}, r"shape \(4, 32\).*\(8, 32\)"),
        ({"layer_norm": False}, "layer_norm"),
    ],
)
def test_a_network_that_is_not_the_one_described_is_refused(tmp_path, network, message):
    folder = checkpoint(tmp_path, settings=config(**network))
    with pytest.raises(UserError, match=message):
        read(folder)


def test_a_network_without_normalisation_and_short_cut_is_what_its_config_says(tmp_path):
    shape = NetworkShape(TEXT, HIDDEN, 1, mlp_layers=1, layer_norm=False)
    network = config(hidden_dims=[HIDDEN], layer_norm=False, short_cut=False, num_mlp_layer=1)
    result = read(checkpoint(tmp_path, parameters(shape), network))
    assert result.shape == shape
    assert not result.short_cut
    result.save(tmp_path)
    assert GnnWeights.load(tmp_path).shape == shape
    assert json.loads((tmp_path / "config.json").read_text())
    assert np.isfinite(result.parameters["entity_model.mlp.0.weight"]).all()


WORDS = Hashing(64)
SMALL = {
    "hidden": 16, "layers": 3, "world_size": 60, "questions": 40, "learning_rate": 2e-3,
}  # fmt: skip


def learnt(**settings: object) -> GnnWeights:
    chosen = {**SMALL, **settings}
    return trained_weights(embedder=WORDS, nlp=Capitals(), progress=QUIET, **chosen)


def recall_of(weights: GnnWeights) -> float:
    """The mean share of a question's evidence entities among the 20 best, in a world of its own."""
    world = make_world(WorldSettings(size=120, n_questions=40, seed=9))
    table = chunks_of(world)
    graph = graph_of(
        planted_extraction(chunk_table=table, aliases="as_written"), table, WORDS, QUIET
    )
    scorer = entity_scorer(gnn_weights=weights, graph=graph, embedder=WORDS, progress=QUIET)
    share, result = mentions_weight(graph), []
    for chain in world.chains:
        start = np.array([graph.row_of[normalise_name(world.entities[chain.start].name)]])
        (vector,) = WORDS.encode([chain.text], kind="question")
        best = Ranked.top(scorer.logits(vector, share[start], start), 20)
        chunks = [row for one in world.evidence(chain) for row in table.chunks_of(one)]
        wanted = graph.node_chunk.T.tocsr()[chunks].indices
        result.append(np.isin(np.unique(wanted), best.ids).mean())
    return float(np.mean(result))


@pytest.mark.slow
def test_what_it_learns_on_one_world_it_finds_in_another() -> None:
    after = learnt(epochs=5)
    untrained = dict(first_parameters(after.shape, np.random.default_rng(0)))
    assert recall_of(after) > recall_of(GnnWeights(untrained)) + 0.25
    measures = after.statistics
    assert measures["epoch"] in range(1, 6)
    assert measures["train_questions"] + measures["dev_questions"] <= 2 * SMALL["questions"]
    assert measures["dev_questions"] >= 2
    assert 0 < measures["dev_recall"] <= 1
    assert min(measures["dev_loss"], measures["train_loss"]) > 0


def test_a_world_without_questions_to_learn_from_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(gnn_training, "DEV_SHARE", 0.9)
    with pytest.raises(UserError, match="nothing to learn from"):
        learnt(questions=2)


def test_a_network_that_diverges_is_refused() -> None:
    with pytest.raises(UserError, match=r"build\.gnn_weights\.learning_rate"):
        learnt(epochs=2, questions=20, hidden=8, learning_rate=1e30)
