"""Encode texts with a sentence-transformers model in batches of fixed shapes, on all CPU cores.

The shape of the batch for a text depends only on the length of the text, and each batch is computed
by a single thread. Therefore, other texts do not change the vector of a text, not even by rounding.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from graphrag_bench.embedding.long_texts import Vectors
from graphrag_bench.embedding.precision import NumberFormat
from graphrag_bench.embedding.tokenizer import FastTokenizer

TOKENS_PER_BATCH = {"cpu": 512, "mps": 4096, "cuda": 16384}
"""Maximum number of tokens per batch, including padding, for each type of device.
Larger batches are hardly faster."""
_MAX_THREADS = 16
_STEPS = ((16, 1), (32, 2), (64, 8))
"""(number of tokens, n): Texts of up to this number of tokens are padded to multiples of n."""
_Batch = tuple[int, bool, list[int]]
_COLUMNS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
"""Attribute of an encoded text for each input of a model."""


def padded_length(n_tokens: int, window: int) -> int:
    """Return the number of tokens to which a text of `n_tokens` tokens is padded."""
    step = next((step for most, step in _STEPS if n_tokens <= most), 16)
    return max(n_tokens, min(-(-n_tokens // step) * step, window))


def batches(lengths: Sequence[int], window: int, n_tokens: int) -> Iterator[_Batch]:
    """Divide texts into batches, given their lengths in tokens, and start with the longest texts.

    Yield (padded length, whether no text is padded, positions of the texts). A batch has at most
    `n_tokens` tokens with padding, or one text. Padded texts are in separate batches, because
    models compute unpadded batches without an attention mask.
    """
    groups: dict[tuple[int, bool], list[int]] = {}
    for row, length in enumerate(lengths):
        padded = padded_length(length, window)
        groups.setdefault((padded, padded == length), []).append(row)
    for (padded, whole), rows in sorted(groups.items(), reverse=True):
        size = max(n_tokens // padded, 1)
        for start in range(0, len(rows), size):
            yield padded, whole, rows[start : start + size]


def by_length(lengths: Sequence[int], window: int | None, n_tokens: int) -> Iterator[list[int]]:
    """Yield the positions of the texts in each batch of up to `n_tokens` tokens, longest first."""
    cut = [max(min(length, window or length), 1) for length in lengths]
    rows = sorted(range(len(cut)), key=lambda row: -cut[row])
    while rows:
        size = max(n_tokens // cut[rows[0]], 1)
        yield rows[:size]
        rows = rows[size:]


class TokenBatches:
    """Encoder that tokenises texts with a fast tokenizer and runs the model on batches."""

    def __init__(self, model: Any, window: int, precision: NumberFormat) -> None:
        self.tokens = FastTokenizer(model.tokenizer.backend_tokenizer.to_str)
        self.window = window
        self._model, self._device = model, model.device
        self._precision: NumberFormat = precision
        self._batch_tokens = TOKENS_PER_BATCH[model.device.type]
        tokenizer = model.tokenizer
        self._pads = {"input_ids": tokenizer.pad_token_id, "attention_mask": 0}
        if "token_type_ids" in tokenizer.model_input_names:
            self._pads["token_type_ids"] = tokenizer.pad_token_type_id
        self._pad_start = tokenizer.padding_side == "left"
        self._cut_start = tokenizer.truncation_side == "left"
        if precision == "bfloat16":
            import torch

            for module in model.modules():
                if type(module) is torch.nn.Linear:  # all other weights remain float32
                    module.to(torch.bfloat16)

    def encode(self, texts: list[str], *, single: bool = False) -> Vectors:
        """Return unit vectors of texts, cut to the window. `single` makes batches of one text."""
        read = self.tokens.encoded(texts, self.window, cut_start=self._cut_start)
        n_tokens = 1 if single else self._batch_tokens
        plan = list(batches([len(one.ids) for one in read], self.window, n_tokens))
        parts = self._map(partial(self._vectors, read, n_tokens), plan)
        order = np.argsort(np.concatenate([places for _, _, places in plan]))
        return normalised(np.concatenate(list(parts))[order])

    def _map(self, run: Callable[[_Batch], Vectors], plan: list[_Batch]) -> Iterator[Vectors]:
        import torch

        if self._device.type != "cpu":
            yield from map(run, plan)
            return
        n_threads = torch.get_num_threads()
        n_cores = min(n_threads, _MAX_THREADS, len(plan), os.cpu_count() or 1)
        try:
            with ThreadPoolExecutor(n_cores, "embed", torch.set_num_threads, (1,)) as pool:
                yield from pool.map(run, plan)
        finally:
            torch.set_num_threads(n_threads)  # restores the setting for new threads

    def _vectors(self, read: list[Any], n_tokens: int, batch: _Batch) -> Vectors:
        import torch

        padded, _, own = batch
        places = own + own[:1] * (max(n_tokens // padded, 1) - len(own))
        shape = (len(places), padded)
        inputs = {name: np.full(shape, pad, np.int64) for name, pad in self._pads.items()}
        for row, place in enumerate(places):
            n = len(read[place].ids)
            part = slice(padded - n, padded) if self._pad_start else slice(n)
            for name in inputs:
                inputs[name][row, part] = getattr(read[place], _COLUMNS[name])
        tensors = {name: torch.from_numpy(rows).to(self._device) for name, rows in inputs.items()}
        with torch.inference_mode(), autocast(self._device.type, self._precision):
            vectors = self._model(tensors)["sentence_embedding"]
        return np.asarray(vectors[: len(own)].float().cpu().numpy(), np.float32)


def takes_tokens(model: Any) -> bool:
    """Return whether a model needs nothing but the tokens of its fast tokenizer as input."""
    first = model[0]
    own = type(first).__module__.startswith("sentence_transformers.")
    text_alone = list(getattr(first, "modality_config", {"text": None})) == ["text"]
    tokenizer: Any = getattr(model, "tokenizer", None)
    return (
        own and type(first).__name__ == "Transformer" and text_alone
        and getattr(tokenizer, "backend_tokenizer", None) is not None
        and tokenizer.pad_token_id is not None
        and not getattr(model, "default_prompt_name", None)
    )  # fmt: skip


def autocast(device: str, precision: NumberFormat) -> Any:
    """Return a context manager that sets the number format of matrix products, but not of sums."""
    import torch

    return torch.autocast(device, dtype=torch.bfloat16, enabled=precision == "bfloat16")


def normalised(rows: Vectors) -> Vectors:
    """Return vectors scaled to norm 1. Zero vectors remain zero."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, np.float32(1e-12)), np.float32)
