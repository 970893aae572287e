"""Names and tokens: the one normaliser of entity names, and token counts."""

import html
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Literal

Encoding = Literal["cl100k", "o200k"]

_ASCII = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
"""What normalising makes of each character of ASCII."""


def normalise_name(name: str) -> str:
    """An entity name as node tables hold it: letters and digits of any script, single spaces.

    HTML entities are decoded, the text is NFKC-normalised and case-folded, every other character
    becomes a space. Combining marks stay with their letter.
    """
    text = html.unescape(name).strip()
    if text.isascii():  # the same, without asking about each character
        return " ".join(text.translate(_ASCII).split())
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    characters = (char if unicodedata.category(char)[0] in "LNM" else " " for char in folded)
    return " ".join("".join(characters).split())


def safe_name(name: str) -> str:
    """A name as a folder: letters, digits, dot, dash and underscore, never empty or hidden."""
    return re.sub(r"[^\w.-]", "-", name).lstrip(".") or "unnamed"


def squash(text: str) -> str:
    """Return the text without white space, by which passages are compared."""
    return "".join(text.split())


def short(text: str, n_characters: int = 60) -> str:
    """The text on one line, cut to so many characters with `...` at its end."""
    line = " ".join(text[: 4 * n_characters].split())
    whole = len(line) <= n_characters and len(text) <= 4 * n_characters
    return line if whole else line[: n_characters - 3] + "..."


def brief(value: object) -> str:
    """A dataclass in under 300 characters: texts cut, collections by their length."""
    every = tuple(getattr(value, "__dataclass_fields__", ()))
    parts = ", ".join(f"{name}={_part(getattr(value, name))}" for name in every)
    return short(f"{type(value).__name__}({parts})", 280)


def _part(value: Any) -> str:
    if isinstance(value, str):
        return repr(short(value, 40))
    if hasattr(value, "shape"):
        first = short(str(value[:4].tolist()), 40) if hasattr(value, "tolist") else ""
        return f"{first} {value.shape}".lstrip()
    plain = value is None or isinstance(value, bool | int | float)
    if not plain and hasattr(value, "__len__") and (len(value) or not isinstance(value, tuple)):
        return f"<{len(value)}>"
    return repr(value) if plain or value == () else short(repr(value), 60)


def show_briefly(*kinds: type) -> None:
    """Let dataclasses be shown by `brief`, in notebooks and messages."""
    for kind in kinds:
        type.__setattr__(kind, "__repr__", brief)


@lru_cache(maxsize=2)
def _encoder(encoding: Encoding) -> Any:
    import bpe_openai

    return bpe_openai.get_encoding(f"{encoding}_base")


def encodable(text: str) -> str:
    """The text with `?` for every half character (lone surrogate), which no file can hold."""
    return text.encode("utf-8", "replace").decode()


def encode(text: str, encoding: Encoding = "cl100k") -> list[int]:
    """The token ids of a text; special tokens in it are plain text."""
    return list(_encoder(encoding).encode_ordinary(_whole(text)))


def decode(tokens: Sequence[int], encoding: Encoding = "cl100k") -> str:
    """The text of token ids; a character cut in two at the ends is left out."""
    return str(_encoder(encoding).decode(list(tokens), errors="ignore"))


def token_spans(text: str, encoding: Encoding = "cl100k") -> list[tuple[int, int]]:
    """Start and end of every token in characters; a character cut in two belongs to both tokens."""
    first = list(accumulate((len(char.encode()) for char in _whole(text)), initial=0))
    spans, at = [], 0
    for token in _encoder(encoding).decode_tokens_bytes(encode(text, encoding)):
        end = at + len(token)
        spans.append((bisect_right(first, at) - 1, bisect_left(first, end)))
        at = end
    return spans


def count_tokens(text: str, encoding: Encoding = "cl100k") -> int:
    """The number of tokens of a text."""
    return len(encode(text, encoding))


def _whole(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def fit(n_tokens: Sequence[int], budget: float) -> int:
    """How many items from the front fit into a budget of tokens, cutting at item boundaries."""
    total = 0
    for position, count in enumerate(n_tokens):
        total += count
        if total > budget:
            return position
    return len(n_tokens)
