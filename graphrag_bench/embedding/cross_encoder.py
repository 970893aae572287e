"""Cross-encoders of sentence-transformers, which score pairs of a question and a passage."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.embedding.model_files import model_name
from graphrag_bench.embedding.precision import Device
from graphrag_bench.embedding.sentence_embedder import device_of, load_model, written
from graphrag_bench.errors import UserError
from graphrag_bench.values import FloatArray

_AT_ONCE = 256
"""Number of (question, passage) pairs per batch on a GPU. On a CPU, a batch has 32 pairs."""


@dataclass(eq=False)
class CrossEncoder:
    """Cross-encoder that scores pairs of a question and a passage. It is loaded on first use.

    There is no default `model`. If a pair does not fit the window, tokens are removed from the
    longer of the two texts. `model_kwargs` are arguments of `from_pretrained`, for example `dtype`.
    """

    model: str = ""
    revision: str = ""
    _: KW_ONLY
    window: PositiveInt | None = None
    device: Device = "auto"
    trust_remote_code: bool = False
    model_kwargs: Mapping[str, Any] | None = None

    @property
    def identity(self) -> str:
        """Name, digest or revision, window and arguments. Raises UserError if `model` is empty."""
        if not self.model:
            example = "cross_encoder.model=cross-encoder/ms-marco-MiniLM-L6-v2"
            raise UserError(f"A cross-encoder needs its model, e.g. {example}.")
        code = ":remote code" if self.trust_remote_code else ""
        name = f"{model_name(self.model, self.revision)}{code}:{self.window or 'own'}"
        return f"cross-encoder:{name}{written(self.model_kwargs)}"

    def scores(
        self, questions: Sequence[str], passages: Sequence[Sequence[str]]
    ) -> list[FloatArray]:
        """Return the logits of the passages of each question, as float64 arrays (n_passages,).

        Logits are not converted to probabilities, because rounding would create ties. On a GPU,
        pairs of different questions are in the same batch, so the last digits of a score may depend
        on the other questions.
        """
        pairs = [[(q, one) for one in texts] for q, texts in zip(questions, passages, strict=True)]
        if not any(pairs) or not self._on_device:
            return [self._logits(some, 32) for some in pairs]
        ends = np.cumsum([len(some) for some in pairs])[:-1]
        return np.split(self._logits(list(chain(*pairs)), _AT_ONCE), ends)

    def _logits(self, pairs: list[tuple[str, str]], batch_size: int) -> FloatArray:
        if not pairs:
            return np.zeros(0)
        from torch.nn import Identity

        settings = {"show_progress_bar": False, "activation_fn": Identity()}
        return np.asarray(self._loaded.predict(pairs, batch_size=batch_size, **settings), float)

    @property
    def _on_device(self) -> bool:
        return bool(self._loaded.model.device.type != "cpu")

    @cached_property
    def _loaded(self) -> Any:
        _ = self.identity  # raises UserError if no model is set
        from sentence_transformers import CrossEncoder as Loaded

        model = load_model(
            Loaded,
            "cross_encoder",
            self.model,
            revision=self.revision or None,
            device=device_of(self.device, "cross_encoder"),
            trust_remote_code=self.trust_remote_code,
            max_length=self.window,
            **({"model_kwargs": dict(self.model_kwargs)} if self.model_kwargs else {}),
        )
        if (n_labels := model.config.num_labels) != 1:
            raise UserError(f"'{self.model}' returns {n_labels} scores per passage instead of one.")
        return model
