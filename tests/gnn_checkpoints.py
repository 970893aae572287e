"""A checkpoint of a small graph network, in the format of the release."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from methods.gfmrag.gnn_scorers import NetworkShape
from methods.gfmrag.gnn_training import initialise

TEXT, HIDDEN, LAYERS = 32, 4, 2
SHAPE = NetworkShape(TEXT, HIDDEN, LAYERS)


def parameters(shape: NetworkShape = SHAPE) -> dict[str, np.ndarray]:
    """Parameters that nothing has trained."""
    network = shape.network()
    initialise(network, np.random.default_rng(5))
    return {name: values.numpy() for name, values in network.state_dict().items()}


def config(embedder: str = "tests/hashing", **network: Any) -> dict[str, Any]:
    """What the release writes into `config.json`, with other settings of the network."""
    return {
        "text_emb_model_config": {
            "_target_": "gfmrag.text_emb_models.BaseTextEmbModel",
            "text_emb_model_name": embedder,
            "normalize": False,
        },
        "model_config": {
            "_target_": "gfmrag.models.GNNRetriever",
            "entity_model": {
                "_target_": "gfmrag.ultra.models.QueryNBFNet",
                "input_dim": HIDDEN,
                "hidden_dims": [HIDDEN] * LAYERS,
                "message_func": "distmult",
                "aggregate_func": "sum",
                "short_cut": True,
                "layer_norm": True,
                **network,
            },
            "feat_dim": TEXT,
        },
    }


def checkpoint(
    folder: Path, weights: Mapping[str, np.ndarray] | None = None, settings: Any = None
) -> Path:
    """The folder with `config.json` and `model.pth`, the parameters under `model` as released."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config() if settings is None else settings))
    named = parameters() if weights is None else weights
    state = {name: torch.from_numpy(np.array(values)) for name, values in named.items()}
    torch.save({"model": state}, folder / "model.pth")
    return folder
