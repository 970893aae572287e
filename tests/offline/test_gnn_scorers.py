"""A checkpoint in the layout of the release is read, and one that does not fit is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from gnn_checkpoints import HIDDEN, SHAPE, TEXT, checkpoint, config, parameters

from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.query_gnn import GnnWeights, Shape
from graphrag_bench.models.checkpoint import Checkpoint
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.offline.gnn_scorers import entity_scorer, released_weights
from graphrag_bench.progress import Progress

WORDS = Hashing(TEXT)


def read(folder: Path, embedder: Hashing = WORDS, **settings: str) -> GnnWeights:
    return released_weights(checkpoint=Checkpoint(str(folder)), embedder=embedder, **settings)


def test_a_checkpoint_of_the_release_is_read_by_its_names(tmp_path: Path) -> None:
    found = read(checkpoint(tmp_path / "gfm"))
    assert found.shape == SHAPE
    assert found.short_cut
    for name, values in parameters().items():
        assert found.parameters[name].tolist() == values.tolist()


def test_weights_without_a_layer_around_them_and_safetensors_are_read_too(tmp_path: Path) -> None:
    import torch
    from safetensors.numpy import save_file

    bare, safe = (checkpoint(tmp_path / name) for name in ("bare", "safe"))
    state = {name: torch.from_numpy(values) for name, values in parameters().items()}
    torch.save(state, bare / "model.pth")
    (safe / "model.pth").unlink()
    save_file(parameters(), safe / "model.safetensors")
    for folder in (bare, safe):
        found = read(folder).parameters
        assert found["rel_mlp.bias"].tolist() == parameters()["rel_mlp.bias"].tolist()


def test_a_checkpoint_is_known_by_what_its_files_hold_and_not_by_where_they_are(
    tmp_path: Path,
) -> None:
    first, same = (checkpoint(tmp_path / name / "gfm") for name in ("a", "b"))
    held = parameters()
    held["rel_mlp.bias"] = held["rel_mlp.bias"] + 1
    other = checkpoint(tmp_path / "c" / "gfm", held)
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


@pytest.mark.parametrize("file", ["config.json", "model.pth"])
def test_a_file_that_is_missing_is_named(tmp_path: Path, file: str) -> None:
    (checkpoint(tmp_path) / file).unlink()
    with pytest.raises(UserError, match=file):
        read(tmp_path)


def test_without_a_checkpoint_it_says_how_to_name_one() -> None:
    with pytest.raises(UserError, match=r"graph\.checkpoint=FOLDER_OR_NAME"):
        _ = Checkpoint("").identity


def test_another_embedder_than_that_of_the_checkpoint_is_refused(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, told=config("sentence-transformers/all-mpnet-base-v2"))
    with pytest.raises(UserError, match=r"embedder\.model=sentence-transformers/all-mpnet-base-v2"):
        read(folder)
    assert read(folder, embedder_check="length").shape == SHAPE


def test_a_checkpoint_that_names_no_embedder_is_refused_until_it_is_said_to_be_ours(
    tmp_path: Path,
) -> None:
    folder = checkpoint(tmp_path, told=config(""))
    with pytest.raises(UserError, match=r"does not name the embedder .*embedder_check=length"):
        read(folder)
    assert read(folder, embedder_check="length").shape == SHAPE


def test_the_name_of_an_embedder_is_compared_whole(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="hash'"):
        read(checkpoint(tmp_path, told=config("hash")))


def test_vectors_of_another_length_are_refused_even_under_the_same_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"vectors of 32 numbers; the\s+embedder gives 16"):
        read(checkpoint(tmp_path), Hashing(16))
    graph = Graph.from_arrays([0], [1])
    with pytest.raises(UserError, match="vectors of 32 numbers"):
        entity_scorer(
            gnn_weights=GnnWeights(parameters()),
            graph=graph, embedder=Hashing(16), progress=Progress(quiet=True),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ({"message_func": "rotate"}, "message_func='rotate'"),
        ({"aggregate_func": "pna"}, "aggregate_func='pna'"),
        ({"hidden_dims": [4, 8]}, r"\[4, 8\] wide"),
        ({"hidden_dims": 4}, "must state"),
        ({"hidden_dims": [4, 4, 4]}, r"lack entity_model\.layers\.2"),
        ({"hidden_dims": [4]}, r"hold entity_model\.layers\.1"),
        ({"input_dim": 8, "hidden_dims": [8, 8]}, r"shape \(4, 32\).*\(8, 32\)"),
        ({"layer_norm": False}, "layer_norm"),
    ],
)
def test_a_network_that_is_not_the_one_described_is_refused(
    tmp_path: Path, network: dict, said: str
) -> None:
    folder = checkpoint(tmp_path, told=config(**network))
    with pytest.raises(UserError, match=said):
        read(folder)


@pytest.mark.parametrize("text", ["[]", "{", '{"text_emb_model_config": 3}'])
def test_a_config_that_says_nothing_of_a_network_is_refused(tmp_path: Path, text: str) -> None:
    (checkpoint(tmp_path) / "config.json").write_text(text)
    with pytest.raises(UserError):
        read(tmp_path, embedder_check="length")


def test_a_network_without_normalisation_and_short_cut_is_what_its_config_says(
    tmp_path: Path,
) -> None:
    shape = Shape(TEXT, HIDDEN, 1, mlp_layers=1, layer_norm=False)
    told = config(hidden_dims=[HIDDEN], layer_norm=False, short_cut=False, num_mlp_layer=1)
    found = read(checkpoint(tmp_path, parameters(shape), told))
    assert found.shape == shape
    assert not found.short_cut
    found.save(tmp_path)
    assert GnnWeights.load(tmp_path).shape == shape
    assert json.loads((tmp_path / "config.json").read_text())
    assert np.isfinite(found.parameters["entity_model.mlp.0.weight"]).all()
