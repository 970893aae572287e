"""The tokens of an embedder: by its own `tokenizer.json`, or by an encoding of OpenAI's models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.models.long_texts import Span
from graphrag_bench.text import Encoding, count_tokens, token_spans


class OwnTokens:
    """The tokens of a model by its own fast tokenizer, however long a text is."""

    counted_in = ""

    def __init__(self, written: str) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from tokenizers import Tokenizer

        self._tokenizer: Any = Tokenizer.from_str(written)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.n_special = int(self._tokenizer.num_special_tokens_to_add(is_pair=False))
        self._last: tuple[list[str], list[Any]] = ([], [])

    @classmethod
    def of_file(cls, path: Path) -> OwnTokens:
        """The tokens of a `tokenizer.json`."""
        return cls(path.read_text(encoding="utf-8"))

    def counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, without special ones."""
        return [len(one) - self.n_special for one in self._read(texts)]

    def encoded(self, texts: Sequence[str], most: int, *, cut_left: bool = False) -> list[Any]:
        """What the tokenizer makes of each text, special tokens included, cut at `most` tokens."""
        found = self._read(texts)
        long = [row for row, one in enumerate(found) if len(one) > most]
        if long:
            cutting = type(self._tokenizer).from_str(self._tokenizer.to_str())
            cutting.enable_truncation(most, direction="left" if cut_left else "right")
            cut = cutting.encode_batch_fast([texts[row] for row in long])
            found = list(found)
            for row, one in zip(long, cut, strict=True):
                found[row] = one
        return found

    def bare_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of the tokens of each text, without special ones."""
        found = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [one.ids for one in found]

    def _read(self, texts: Sequence[str]) -> list[Any]:
        texts = list(texts)
        last, found = self._last
        if last != texts:
            found = self._tokenizer.encode_batch_fast(texts)
            self._last = (texts, found)
        return found

    def spans(self, text: str) -> list[Span]:
        """Start and end of every token, in characters of the text."""
        found: list[Span] = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return found


class PairTokens:
    """The tokens of an encoding of OpenAI's models; a substitute for those of another model."""

    n_special = 0

    def __init__(self, encoding: Encoding = "cl100k", *, stands_in: bool = False) -> None:
        self.encoding: Encoding = encoding
        self.counted_in = f"{encoding}, a stand-in" if stands_in else ""

    def counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text."""
        return [count_tokens(text, self.encoding) for text in texts]

    def spans(self, text: str) -> list[Span]:
        """Start and end of every token, in characters of the text."""
        return token_spans(text, self.encoding)
