"""A checkpoint of a small graph network, in the format of the release."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench_more.gfmrag.gnn_scorers import NetworkShape
from graphrag_bench_more.gfmrag.gnn_training import initialise

TEXT, HIDDEN, LAYERS = 32, 4, 2
SHAPE = NetworkShape(TEXT, HIDDEN, LAYERS)


def parameters() -> dict[str, np.ndarray]:
    """Parameters that nothing has trained."""
    network = SHAPE.network()
    initialise(network, np.random.default_rng(5))
    return {name: values.numpy() for name, values in network.state_dict().items()}


def config(embedder: str = "tests/hashing", **network: Any) -> dict[str, Any]:
    """What the release writes into `config.json`, with other settings of the network."""
    model = {
        "_target_": "gfmrag.ultra.models.QueryNBFNet", "input_dim": HIDDEN,
        "hidden_dims": [HIDDEN] * LAYERS, "message_func": "distmult", "aggregate_func": "sum",
        "short_cut": True, "layer_norm": True, **network,
    }  # fmt: skip
    return {
        "text_emb_model_config": {"text_emb_model_name": embedder, "normalize": False},
        "model_config": {"entity_model": model, "feat_dim": TEXT},
    }


def checkpoint(folder: Path, settings: Any = None) -> Path:
    """The folder with `config.json` and `model.pth`, the parameters under `model` as released."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(settings or config()))
    state = {name: torch.from_numpy(values) for name, values in parameters().items()}
    torch.save({"model": state}, folder / "model.pth")
    return folder
