"""Cross-encoders of sentence-transformers, which score pairs of a question and a passage."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np

from graphrag_bench.arrays import FloatArray
from graphrag_bench.embedding.model_files import model_name
from graphrag_bench.embedding.sentence_embedder import TransformerModel
from graphrag_bench.errors import UserError

_AT_ONCE = 256
"""Number of (question, passage) pairs per batch on a GPU. On a CPU, a batch has 32 pairs."""


@dataclass(eq=False)
class CrossEncoder(TransformerModel):
    """Cross-encoder, loaded on first use. If a pair is too long, its longer text is truncated."""

    @property
    def identity(self) -> str:
        """Name, digest or revision, window and arguments. Raises UserError if `model` is empty."""
        if not self.model:
            example = "cross_encoder.model=cross-encoder/ms-marco-MiniLM-L6-v2"
            raise UserError(f"A cross-encoder needs its model, e.g. {example}.")
        name = f"cross-encoder:{model_name(self.model, self.revision)}"
        return self.signed(name, str(self.window or "own"))

    def scores(
        self, questions: Sequence[str], passages: Sequence[Sequence[str]]
    ) -> list[FloatArray]:
        """Return the logits of the passages of each question, as float64 arrays (n_passages,).

        Logits are not converted to probabilities, because rounding would create ties. On a GPU, the
        last digits of a score may depend on the other questions.
        """
        pairs = [[(q, one) for one in texts] for q, texts in zip(questions, passages, strict=True)]
        if not any(pairs):
            return [np.zeros(0) for _ in pairs]
        from torch.nn import Identity

        settings = {"show_progress_bar": False, "activation_fn": Identity()}
        if self._on_device:
            logits = self._loaded.predict(list(chain(*pairs)), batch_size=_AT_ONCE, **settings)
            return np.split(np.asarray(logits, float), np.cumsum(list(map(len, pairs)))[:-1])
        predict = partial(self._loaded.predict, batch_size=32, **settings)
        return [np.asarray(predict(some), float) if some else np.zeros(0) for some in pairs]

    @property
    def _on_device(self) -> bool:
        return bool(self._loaded.model.device.type != "cpu")

    @cached_property
    def _loaded(self) -> Any:
        _ = self.identity  # raises UserError if no model is set
        from sentence_transformers import CrossEncoder as Loaded

        model = self.load(Loaded, "cross_encoder", self.model, max_length=self.window)
        if (n_labels := model.config.num_labels) != 1:
            raise UserError(f"'{self.model}' returns {n_labels} scores per passage instead of one.")
        return model
