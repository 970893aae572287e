"""Cross-encoders of sentence-transformers, which score a question and a passage together."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.embedding.model_files import model_name
from graphrag_bench.embedding.precision import Device
from graphrag_bench.embedding.sentence_embedder import device_of, load_model
from graphrag_bench.errors import UserError
from graphrag_bench.values import FloatArray


class CrossEncoder:
    """Cross-encoder with one label, in float32, loaded when first used. There is no default model.

    The tokenizer cuts a pair longer than the window, starting with the longer text.
    """

    def __init__(
        self,
        model: str = "",
        revision: str = "",
        *,
        window: PositiveInt | None = None,
        device: Device = "auto",
        trust_remote_code: bool = False,
    ) -> None:
        self.model = model
        self.revision = revision
        self.window = window
        self.device: Device = device
        self.trust_remote_code = trust_remote_code

    @property
    def identity(self) -> str:
        """The name with the folder's digest or the revision, and the window from the settings.

        Raises UserError without a model.
        """
        if not self.model:
            raise UserError(
                "A cross-encoder needs its model: cross_encoder.model=NAME_OR_FOLDER, e.g. "
                "cross_encoder.model=cross-encoder/ms-marco-MiniLM-L6-v2."
            )
        code = ":remote code" if self.trust_remote_code else ""
        return f"cross-encoder:{model_name(self.model, self.revision)}{code}:{self.window or 'own'}"

    def scores(self, question: str, passages: Sequence[str]) -> FloatArray:
        """Return the logits, float64 (n_passages,), without a sigmoid, which would make ties."""
        if not passages:
            return np.zeros(0)
        pairs = [(question, passage) for passage in passages]
        from torch.nn import Identity

        logits = self._loaded.predict(
            pairs, batch_size=32, show_progress_bar=False, activation_fn=Identity()
        )
        return np.asarray(logits, np.float64)

    @cached_property
    def _loaded(self) -> Any:
        _ = self.identity  # raises without a model
        from sentence_transformers import CrossEncoder as Loaded

        model = load_model(
            Loaded,
            "cross_encoder",
            self.model,
            revision=self.revision or None,
            device=device_of(self.device, "cross_encoder"),
            trust_remote_code=self.trust_remote_code,
            max_length=self.window,
        )
        if (n_labels := model.config.num_labels) != 1:
            raise UserError(
                f"'{self.model}' returns {n_labels} scores per passage; a cross-encoder for "
                "reranking returns one."
            )
        return model
