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
WEIGHTS = "model.pth"


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
        files = [self._file(CONFIG), self._file(WEIGHTS)]
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
        import pickle

        import torch

        path = self._file(WEIGHTS)
        try:
            weights = torch.load(path, map_location="cpu", weights_only=True)
        except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError) as error:
            raise UserError(
                f"{path}: no file of tensors alone, as torch writes it: {first_line(error)}"
            ) from None
        named = weights.get("model", weights) if isinstance(weights, dict) else None
        if not isinstance(named, dict) or not all(map(torch.is_tensor, named.values())):
            raise UserError(f"{path}: the file holds no tensors by name.")
        return {name: one.to(torch.float32).numpy() for name, one in named.items()}

    def _file(self, name: str) -> Path:
        folder = Path(self.model).expanduser()
        if not self.model or not folder.is_dir():
            _ = self.identity  # a checkpoint must be named
            return hub_file("graph.checkpoint", self.model, name, self.revision)
        if not (folder / name).is_file():
            raise UserError(f"graph.checkpoint: '{folder}' has no file {name}.")
        return folder / name
