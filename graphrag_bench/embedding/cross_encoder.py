"""Question and passage read together: a cross-encoder of sentence-transformers."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.embedding.model_files import named
from graphrag_bench.embedding.precision import Device
from graphrag_bench.embedding.sentence_embedder import device_of, loaded_model
from graphrag_bench.errors import UserError
from graphrag_bench.values import FloatArray


class CrossEncoder:
    """A `CrossEncoder` with one label, loaded when the first passage comes.

    There is no default model: none is packaged. Computed in float32. A question and passage longer
    than the window together are cut by the model's tokenizer, the longer one first.
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
        """Name with content or revision, and a window that is set; raises UserError without one.

        A folder is known by its name and the content of its files, wherever it is.
        """
        if not self.model:
            raise UserError(
                "A cross-encoder needs its model: cross_encoder.model=NAME_OR_FOLDER, e.g. "
                "cross_encoder.model=cross-encoder/ms-marco-MiniLM-L6-v2."
            )
        code = ":remote code" if self.trust_remote_code else ""
        return f"cross-encoder:{named(self.model, self.revision)}{code}:{self.window or 'own'}"

    def scores(self, question: str, passages: Sequence[str]) -> FloatArray:
        """Float64 (n_passages,): the model's logit, any number; no sigmoid, which would make ties.

        The same question and passages in the same order give the same bits on a machine.
        """
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
        _ = self.identity  # a model must be named
        from sentence_transformers import CrossEncoder as Loaded

        model = loaded_model(
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
                f"'{self.model}' gives {n_labels} scores for a passage; a cross-encoder that "
                "reranks gives one."
            )
        return model
