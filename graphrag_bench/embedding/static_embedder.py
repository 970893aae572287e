"""Static vectors: the mean of one vector per token, without a network. Very fast, less exact."""

from collections.abc import Sequence
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from graphrag_bench.embedding.embedder import Embedder, Kind, Vectors
from graphrag_bench.embedding.model_files import named
from graphrag_bench.embedding.token_batches import unit
from graphrag_bench.embedding.tokenizer import OwnTokens
from graphrag_bench.errors import UserError

PACKAGED = "wordllama"
_NOT_INSTALLED = f"The vectors of {PACKAGED} are missing: pip install 'graphrag-bench[static]'"
_TABLES = ("embeddings", "embedding.weight")
"""The name of the table in a model of model2vec, and in that of wordllama."""


class StaticEmbedder(Embedder):
    """A table of token vectors: a text's vector is the mean of those of its tokens, at length one.

    Texts are read whole, however long. A text without a token gives the first unit vector.
    Source: model2vec (Tulkens and van Dongen 2024); the packaged table is WordLlama's of 256
    numbers, made of the token embeddings of Llama 2 and others.
    """

    def __init__(
        self, model: str = PACKAGED, *, question_prefix: str = "", passage_prefix: str = ""
    ) -> None:
        self.model = model
        self.prefixes = {"question": question_prefix, "passage": passage_prefix}

    @property
    def identity(self) -> str:
        """Name with version or content, normalisation and prefixes; loads no vectors."""
        name = named(self.model, "")
        if self.model == PACKAGED:
            try:
                name = f"{PACKAGED}@{version(PACKAGED)}"
            except PackageNotFoundError:
                raise UserError(_NOT_INSTALLED) from None
        return f"static:{name}:unit:prefixes={','.join(self.prefixes.values())}"

    @property
    def dimension(self) -> int:
        """The length of a vector; loads the table."""
        return int(self._table.shape[1])

    def encode(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Float32 (n, dimension), unit rows in the order of the texts."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        prefixed = [self.prefixes[kind] + text for text in texts]
        for row, ids in zip(rows, self._tokens.bare_ids(prefixed), strict=True):
            if ids:
                row[:] = self._table[ids].mean(axis=0, dtype=np.float32)
            if not row.any():
                row[0] = 1.0
        return unit(rows)

    @cached_property
    def _files(self) -> tuple[Path, Path]:
        folder = Path(self.model).expanduser()
        files = (folder / "model.safetensors", folder / "tokenizer.json")
        if self.model == PACKAGED:
            spec = find_spec(PACKAGED)  # its files alone: the package is not imported
            if spec is None or not spec.submodule_search_locations:
                raise UserError(_NOT_INSTALLED)
            package = Path(spec.submodule_search_locations[0])
            files = (
                package / "weights" / "l2_supercat_256.safetensors",
                package / "tokenizers" / "l2_supercat_tokenizer_config.json",
            )
        if missing := [path for path in files if not path.is_file()]:
            raise UserError(f"The static vectors '{self.model}' lack their file '{missing[0]}'.")
        return files

    @cached_property
    def _table(self) -> Vectors:
        from safetensors.numpy import load_file

        tables = load_file(self._files[0])
        if len(tables) != 1 or not set(tables) <= set(_TABLES):
            names = ", ".join(sorted(tables))
            raise UserError(f"'{self._files[0]}' holds {names}, not one of {' or '.join(_TABLES)}.")
        return np.asarray(next(iter(tables.values())), np.float32)

    @cached_property
    def _tokens(self) -> OwnTokens:
        return OwnTokens(partial(self._files[1].read_text, encoding="utf-8"))
