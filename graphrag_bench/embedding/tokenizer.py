"""Tokenizers of models, from a file `tokenizer.json` or from an encoding of OpenAI's models."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, cast, get_args

from graphrag_bench.embedding.model_files import TOKENIZER, hub_file
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.fingerprint import file_digest
from graphrag_bench.text import Encoding, count_tokens, token_spans

_START = r"(?:^|[/:])"
_O200K = re.compile(_START + r"(?:(?:chat)?gpt-(?:4o|4\.1|4\.5|5|oss)|o[1-9](?![a-z0-9]))")
_CL100K = re.compile(_START + r"gpt-(?:4|3\.5)|text-embedding-(?:3-|ada-002)")
Span = tuple[int, int]
"""Start and end of a token in a text, in characters."""


@dataclass(frozen=True)
class OpenAIEncoding:
    """Tokenizer of OpenAI's models. For all other models, its token counts are estimates."""

    encoding: Encoding = "cl100k"
    is_estimate: bool = False
    n_special: ClassVar = 0

    @property
    def identity(self) -> str:
        """Name of the encoding, followed by `(stand-in)` if the token counts are estimates."""
        return f"{self.encoding} (stand-in)" if self.is_estimate else self.encoding

    def count(self, text: str) -> int:
        """Return the number of tokens of a text. Special tokens are read as plain text."""
        return count_tokens(text, self.encoding)

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [self.count(text) for text in texts]

    def spans(self, text: str) -> list[Span]:
        """Return the start and the end of each token of a text, in characters."""
        return token_spans(text, self.encoding)


class FastTokenizer:
    """Fast tokenizer. On first use, it calls `read` for the content of `tokenizer.json`."""

    is_estimate = False

    def __init__(self, read: Callable[[], str]) -> None:
        self._read_file = read
        self._last: tuple[list[str], list[Any]] = ([], [])

    @cached_property
    def _tokenizer(self) -> Any:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(self._read_file())
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def n_special(self) -> int:
        """Number of special tokens that the tokenizer adds to a text."""
        return int(self._tokenizer.num_special_tokens_to_add(is_pair=False))

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special tokens."""
        return [len(one) - self.n_special for one in self._read(texts)]

    def encoded(self, texts: Sequence[str], most: int, *, cut_start: bool = False) -> list[Any]:
        """Tokenise texts, and truncate each text to `most` tokens, including special tokens."""
        whole = self._read(texts)
        long = [text for text, one in zip(texts, whole, strict=True) if len(one) > most]
        if not long:
            return whole
        cutting = type(self._tokenizer).from_str(self._tokenizer.to_str())
        cutting.enable_truncation(most, direction="left" if cut_start else "right")
        cut = iter(cutting.encode_batch_fast(long))
        return [next(cut) if len(one) > most else one for one in whole]

    def _read(self, texts: Sequence[str]) -> list[Any]:
        texts, (last, encodings) = list(texts), self._last
        if last != texts:
            encodings = self._tokenizer.encode_batch_fast(texts)
            self._last = (texts, encodings)
        return encodings

    def spans(self, text: str) -> list[Span]:
        """Return the start and the end of each token of a text, in characters."""
        return cast(list[Span], self._tokenizer.encode(text, add_special_tokens=False).offsets)


class HuggingFace(FastTokenizer):
    """Tokenizer of a model folder, a model on the hub, or a `tokenizer.json` file."""

    def __init__(self, name: str) -> None:
        super().__init__(lambda: self.file.read_text(encoding="utf-8"))
        self.name = name

    @property
    def identity(self) -> str:
        """Last part of the model's name, and the digest of `tokenizer.json`."""
        return f"hf:{Path(self.name).name}@{file_digest(self.file)}"

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without special tokens."""
        return self.counts([text])[0]

    @cached_property
    def file(self) -> Path:
        """Path of `tokenizer.json`. The file is downloaded if necessary."""
        path = Path(self.name).expanduser()
        there = next((one for one in (path, path / TOKENIZER) if one.is_file()), None)
        return there or hub_file("tokenizer", self.name, TOKENIZER)


Tokens = OpenAIEncoding | FastTokenizer
Tokenizer = OpenAIEncoding | HuggingFace


def tokenizer_of(setting: object, model: str, group: str = "llm") -> Tokenizer:
    """Return the tokenizer for a setting. If it is None, return the default for a model.

    The default for OpenAI's models is o200k or cl100k. For all other models it is cl100k, and token
    counts are estimates. Raises UserError if the setting is unknown.
    """
    if setting is None:
        if _O200K.search(model.lower()):
            return OpenAIEncoding("o200k")
        return OpenAIEncoding("cl100k", is_estimate=not _CL100K.search(model.lower()))
    kind, _, name = str(setting).partition(":")
    if kind == "hf" and name:
        return HuggingFace(name)
    if setting in get_args(Encoding):
        return OpenAIEncoding(cast(Encoding, setting))
    valid = [*get_args(Encoding), "hf:NAME_OR_PATH"]
    raise UserError(f"There is no {group}.tokenizer={setting}. {did_you_mean(str(setting), valid)}")
