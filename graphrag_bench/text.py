"""Names and tokens: the one normaliser of entity names, and token counts."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

Encoding = Literal["cl100k", "o200k"]


def normalise_name(name: str, *, ascii_compat: bool = False) -> str:
    """An entity name as node tables hold it: letters and digits of any script, single spaces.

    HTML entities are decoded, the text is NFKC-normalised and case-folded, every other character
    becomes a space. `ascii_compat` keeps a-z, 0-9 and spaces only, as HippoRAG's code does; it
    destroys names in other scripts. Combining marks stay with their letter.
    """
    text = html.unescape(name).strip()
    if ascii_compat:
        return re.sub(r"[^a-z0-9 ]", " ", text.lower()).strip()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    kept = (char if unicodedata.category(char)[0] in "LNM" else " " for char in folded)
    return " ".join("".join(kept).split())


@lru_cache(maxsize=2)
def _encoder(encoding: Encoding) -> Any:
    import bpe_openai

    return bpe_openai.get_encoding(f"{encoding}_base")


def encode(text: str, encoding: Encoding = "cl100k") -> list[int]:
    """The token ids of a text; special tokens in it are plain text."""
    return list(_encoder(encoding).encode_ordinary(text))


def decode(tokens: Sequence[int], encoding: Encoding = "cl100k") -> str:
    """The text of token ids; a character cut in two at the ends is left out."""
    return bytes(_encoder(encoding).decode_bytes(list(tokens))).decode("utf-8", errors="ignore")


def count_tokens(text: str, encoding: Encoding = "cl100k") -> int:
    """The number of tokens of a text."""
    return len(_encoder(encoding).encode_ordinary(text))


def fit(n_tokens: Sequence[int], budget: int) -> int:
    """How many items from the front fit into a budget of tokens, cutting at item boundaries."""
    total = 0
    for position, count in enumerate(n_tokens):
        total += count
        if total > budget:
            return position
    return len(n_tokens)
