"""A released checkpoint of a graph network: `config.json` and weights, of a folder or the hub."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.embedding.model_files import first_line, hub_file, of_file, read_json
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest

CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "model.pth")
"""Names of the file with the weights, the first that is there."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint by its folder or its name on the model hub, with a revision for the latter."""

    model: str
    revision: str = ""

    @property
    def identity(self) -> str:
        """Name with the content of a folder's files, or with the revision; loads no weights."""
        if not self.model:
            raise UserError(
                "Released weights need their checkpoint: graph.checkpoint=FOLDER_OR_NAME, e.g. "
                "graph.checkpoint=rmanluo/GFM-RAG-8M."
            )
        folder = Path(self.model).expanduser()
        if not folder.is_dir():
            return f"{self.model}@{self.revision}"
        files = [self._file(CONFIG), self._file(*WEIGHTS)]
        return f"{folder.resolve().name}@{digest([of_file(path) for path in files])}"

    @property
    def config(self) -> Mapping[str, Any]:
        """What `config.json` says; raises UserError where it is no JSON object."""
        path = self._file(CONFIG)
        if not isinstance(config := read_json(path), dict):
            raise UserError(f"{path}: this file holds no object of settings.")
        return config

    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """The weights by their names, float32; nothing but tensors is ever read.

        A file of torch holds them under `model` or as they are.
        """
        path = self._file(*WEIGHTS)
        weights = _safetensors(path) if path.suffix == ".safetensors" else _tensors(path)
        return {name: np.array(values, np.float32) for name, values in weights.items()}

    def _file(self, *names: str) -> Path:
        """Return the first of these files that the folder has, or the last of them of the hub."""
        folder = Path(self.model).expanduser()
        if not self.model or not folder.is_dir():
            _ = self.identity  # a checkpoint must be named
            return hub_file("graph.checkpoint", self.model, names[-1], self.revision)
        for name in names:
            if (folder / name).is_file():
                return folder / name
        raise UserError(f"graph.checkpoint: '{folder}' has no file {' or '.join(names)}.")


def _tensors(path: Path) -> dict[str, Any]:
    import pickle

    import torch

    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise UserError(
            f"{path}: no file of tensors alone, as torch writes it: {first_line(error)}"
        ) from None
    weights = weights.get("model", weights) if isinstance(weights, dict) else weights
    if not isinstance(weights, dict) or not all(torch.is_tensor(one) for one in weights.values()):
        raise UserError(f"{path}: the file holds no tensors by name.")
    return {str(name): one.to(torch.float32).numpy() for name, one in weights.items()}


def _safetensors(path: Path) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return dict(load_file(path))
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: no safetensors file: {error}") from None
