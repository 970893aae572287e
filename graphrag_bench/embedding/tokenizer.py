"""The tokens of models: by their own `tokenizer.json`, or by an encoding of OpenAI's models."""

import os
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from graphrag_bench.embedding.model_files import TOKENIZER, hub_file
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.fingerprint import file_digest
from graphrag_bench.text import Encoding, count_tokens, token_spans

_START = r"(?:^|[/:])"
_O200K = re.compile(_START + r"(?:(?:chat)?gpt-(?:4o|4\.1|4\.5|5|oss)|o[1-9](?![a-z0-9]))")
_CL100K = re.compile(_START + r"gpt-(?:4|3\.5)|text-embedding-(?:3-|ada-002)")
Span = tuple[int, int]
"""Start and end of a token, in characters of the text."""


class BytePairs:
    """An encoding of OpenAI's models; a stand-in for a model whose own tokenizer is not known."""

    n_special = 0

    def __init__(self, encoding: Encoding = "cl100k", *, stand_in: bool = False) -> None:
        self.encoding: Encoding = encoding
        self.stand_in = stand_in

    @property
    def identity(self) -> str:
        """`cl100k`, `o200k`, or `cl100k (stand-in)`."""
        return f"{self.encoding} (stand-in)" if self.stand_in else self.encoding

    def count(self, text: str) -> int:
        """The number of tokens of a text; special tokens in it are plain text."""
        return count_tokens(text, self.encoding)

    def counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text."""
        return [self.count(text) for text in texts]

    def spans(self, text: str) -> list[Span]:
        """Start and end of every token."""
        return token_spans(text, self.encoding)


class OwnTokens:
    """The tokens of a model by its own fast tokenizer, however long a text is.

    `read` gives the content of its `tokenizer.json`, when it is first needed.
    """

    stand_in = False

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
        """How many special tokens stand around a text."""
        return int(self._tokenizer.num_special_tokens_to_add(is_pair=False))

    def counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, without special ones."""
        return [len(one) - self.n_special for one in self._read(texts)]

    def encoded(self, texts: Sequence[str], most: int, *, cut_start: bool = False) -> list[Any]:
        """What the tokenizer makes of each text, special tokens included, cut at `most` tokens."""
        encodings = list(self._read(texts))
        if long := [row for row, one in enumerate(encodings) if len(one) > most]:
            cutting = type(self._tokenizer).from_str(self._tokenizer.to_str())
            cutting.enable_truncation(most, direction="left" if cut_start else "right")
            cut = cutting.encode_batch_fast([texts[row] for row in long])
            for row, one in zip(long, cut, strict=True):
                encodings[row] = one
        return encodings

    def _read(self, texts: Sequence[str]) -> list[Any]:
        texts = list(texts)
        last, encodings = self._last
        if last != texts:
            encodings = self._tokenizer.encode_batch_fast(texts)
            self._last = (texts, encodings)
        return encodings

    def spans(self, text: str) -> list[Span]:
        """Start and end of every token."""
        spans: list[Span] = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return spans


class HuggingFace(OwnTokens):
    """The `tokenizer.json` of a folder, a file, or a model of the hub; read when first needed."""

    def __init__(self, name: str) -> None:
        super().__init__(lambda: self.file.read_text(encoding="utf-8"))
        self.name = name

    @property
    def identity(self) -> str:
        """The last part of the name and the fingerprint of the file."""
        return f"hf:{Path(self.name).name}@{file_digest(self.file)}"

    def count(self, text: str) -> int:
        """The number of tokens of a text, however long, without special ones around it."""
        return self.counts([text])[0]

    @cached_property
    def file(self) -> Path:
        """The `tokenizer.json`; raises UserError when there is none and none can be fetched."""
        path = Path(self.name).expanduser()
        if path.is_file():
            return path
        if (path / TOKENIZER).is_file():
            return path / TOKENIZER
        return hub_file("tokenizer", self.name, TOKENIZER)


Tokens = BytePairs | OwnTokens
"""The tokens that an embedder reads."""
Tokenizer = BytePairs | HuggingFace
"""A way of counting tokens; its identity holds its name and content, never a path."""


def tokenizer_of(setting: object, model: str, group: str = "llm") -> Tokenizer:
    """The tokenizer that a setting names, or, for None, the one that fits the model's name.

    OpenAI's names (behind `provider/` and `ft:` too) have o200k or cl100k. For any other model
    cl100k is used, so that no model need be loaded or asked. Raises UserError for another
    setting of the group.
    """
    if setting is None:
        if _O200K.search(model.lower()):
            return BytePairs("o200k")
        return BytePairs("cl100k", stand_in=not _CL100K.search(model.lower()))
    if isinstance(setting, str) and setting.startswith("hf:") and setting != "hf:":
        return HuggingFace(setting.removeprefix("hf:"))
    for encoding in get_args(Encoding):
        if setting == encoding:
            return BytePairs(encoding)
    valid = [*get_args(Encoding), "hf:NAME_OR_PATH"]
    raise UserError(f"There is no {group}.tokenizer={setting}. {did_you_mean(str(setting), valid)}")
